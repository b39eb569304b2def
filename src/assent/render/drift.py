"""Drifted files: those that changed since a plan was proposed, as lines and JSON."""

from collections.abc import Iterator, Sequence

import msgspec

from assent.core.text.hidden_chars import visible_line, visible_path
from assent.render.lines import BLANK, Line, wrapped_lines
from assent.render.rows import Row, path_fields

REBASE = "assent rebase"


class DriftedFile(msgspec.Struct, frozen=True):
    """A path, and what became of it in words; no path where they are about all of them."""

    path: bytes
    now: str


def drift_lines(found: Sequence[DriftedFile]) -> Iterator[Line]:
    """Renders which files changed; what the plan shows of them is what it was made on."""
    if not found:
        return
    yield Line("heading", "Changed since it was proposed")
    for one in found:
        yield from wrapped_lines("risk", drift_text(one))
    yield Line("plain", "It is shown as it was made, and cannot be built on the files as they are.")
    yield BLANK


def drift_text(one: DriftedFile) -> str:
    """Returns in one line what became of a file."""
    now = visible_line(one.now)
    return f"{visible_path(one.path)}: {now}" if one.path else now


def drift_rows(found: Sequence[DriftedFile]) -> list[Row]:
    """Returns which files changed as rows."""
    return [{**path_fields("path", one.path), "now": one.now} for one in found]
