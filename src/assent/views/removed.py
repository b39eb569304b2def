"""Removed: what interrupted work had left in the workspace and is gone now, as people read it."""

from collections.abc import Iterable, Iterator

import msgspec

from assent.core.paths import display_path
from assent.core.text.hidden_chars import visible_path
from assent.views.lines import Line, wrapped
from assent.views.rows import Row
from assent.views.status import NOTHING


class Removed(msgspec.Struct, frozen=True):
    """Files of a start that was killed, and empty folders of a command that was killed."""

    files: tuple[bytes, ...] = ()
    folders: tuple[bytes, ...] = ()


NOTHING_REMOVED = Removed()
_NOTHING_ELSE = "There was nothing else to do."


def swept_words(folders: Iterable[bytes]) -> str:
    """Says which empty folders are gone that a killed command had left."""
    names = [visible_path(path) for path in folders]
    which = "empty folders" if len(names) > 1 else "an empty folder"
    return f"Removed {which} that a killed command left: {', '.join(names)}."


def removed_lines(removed: Removed) -> Iterator[Line]:
    """Renders what is gone."""
    if removed.files:
        names = " and ".join(map(visible_path, removed.files))
        yield from wrapped("plain", f"Removed what an interrupted start left: {names}.")
    if removed.folders:
        yield from wrapped("plain", swept_words(removed.folders))


def with_removed(row: Row, lines: Iterable[Line], removed: Removed) -> tuple[Row, list[Line]]:
    """Adds what is gone to an answer, which then does not say that there was nothing to do."""
    told = list(lines)
    gone = [display_path(path) for path in (*removed.files, *removed.folders)]
    if not gone:
        return row, told
    rest = [Line(x.style, _NOTHING_ELSE) if x.text == NOTHING else x for x in told]
    return {**row, "removed": gone}, [*removed_lines(removed), *rest]
