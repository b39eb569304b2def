"""Removed leftovers: what killed processes had left in the workspace and is gone now."""

from collections.abc import Iterable, Iterator

import msgspec

from assent.core.paths import display_path
from assent.core.text.hidden_chars import visible_path
from assent.render.lines import Line, wrapped_lines
from assent.render.rows import Row
from assent.render.status import NOTHING


class RemovedLeftovers(msgspec.Struct, frozen=True):
    """Files of a start that was killed, and empty folders of a command that was killed."""

    files: tuple[bytes, ...] = ()
    folders: tuple[bytes, ...] = ()


NO_LEFTOVERS = RemovedLeftovers()
_NOTHING_ELSE = "There was nothing else to do."


def removed_folders_text(folders: Iterable[bytes]) -> str:
    """Says which empty folders are gone that a killed command had left."""
    names = [visible_path(path) for path in folders]
    which = "empty folders" if len(names) > 1 else "an empty folder"
    return f"Removed {which} that a killed command left: {', '.join(names)}."


def removed_leftovers_lines(removed: RemovedLeftovers) -> Iterator[Line]:
    """Renders what is gone."""
    if removed.files:
        names = " and ".join(map(visible_path, removed.files))
        yield from wrapped_lines("plain", f"Removed what an interrupted start left: {names}.")
    if removed.folders:
        yield from wrapped_lines("plain", removed_folders_text(removed.folders))


def with_removed_leftovers(
    row: Row, lines: Iterable[Line], removed: RemovedLeftovers
) -> tuple[Row, list[Line]]:
    """Adds what is gone to an answer, which then does not say that there was nothing to do."""
    told = list(lines)
    gone = [display_path(path) for path in (*removed.files, *removed.folders)]
    if not gone:
        return row, told
    rest = [Line(x.style, _NOTHING_ELSE) if x.text == NOTHING else x for x in told]
    return {**row, "removed": gone}, [*removed_leftovers_lines(removed), *rest]
