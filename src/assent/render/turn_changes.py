"""What the turns of a session changed: files and lines of each, and all of one as diffs (F149)."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec

from assent.core.paths import display_path
from assent.core.plan.operation import FileOperation
from assent.core.text.hidden_chars import visible_line
from assent.render.diff import NOT_SHOWN, diff_lines
from assent.render.lines import BLANK, Line, counted, table_lines, wrapped_lines
from assent.render.review import diff_line_counts
from assent.render.rows import Row, operation_kind, operation_subject, operation_verb, redacted_row

NOTHING: Final = "No turn in this session changed files."
_TAKEN: Final = {"": "", "some": "partly undone", "all": "undone"}


class FileChange(msgspec.Struct, frozen=True):
    """The net change of one file in a turn; without a diff it is not text, or too large."""

    operation: FileOperation
    diff: str | None = None
    additions: int = 0
    deletions: int = 0


class TurnChanges(msgspec.Struct, frozen=True):
    """The file changes of a turn, by all its runs and commands; 0 is before the first turn.

    Those of all turns of a session together have that number, too.
    """

    turn: int
    at: str = ""
    said: str = ""  # what the user had said
    files: tuple[FileChange, ...] = ()
    runs: tuple[str, ...] = ()
    undone: Literal["", "some", "all"] = ""
    gaps: tuple[str, ...] = ()  # what is not on record of it

    @property
    def additions(self) -> int:
        return sum(file.additions for file in self.files)

    @property
    def deletions(self) -> int:
        return sum(file.deletions for file in self.files)


def file_change(op: FileOperation, diff: str | None) -> FileChange:
    """Returns a change with its line counts."""
    return FileChange(op, diff, *diff_line_counts(diff))


def turn_row(changes: TurnChanges, *, diffs: bool = False) -> Row:
    """Returns a turn as JSON data."""
    return redacted_row(
        {
            "turn": changes.turn,
            "at": changes.at or None,
            "said": changes.said or None,
            "files": [_file_row(file, diffs=diffs) for file in changes.files],
            "additions": changes.additions,
            "deletions": changes.deletions,
            "runs": list(changes.runs),
            "undone": changes.undone or None,
            "gaps": list(changes.gaps),
        }
    )


def turn_list_lines(turns: Sequence[TurnChanges]) -> Iterator[Line]:
    """Renders the turns that changed something, in aligned columns."""
    rows = [_listed(each) for each in turns if each.files or each.gaps]
    if not rows:
        yield Line("plain", NOTHING)
        return
    first, *rest = table_lines("plain", [("TURN", "FILES", "LINES", "SAID", ""), *rows])
    yield Line("heading", first.text)
    yield from rest


def turn_lines(changes: TurnChanges) -> Iterator[Line]:
    """Renders one turn: its result, and the diff of every file."""
    yield from turn_heading_lines(changes)
    for file in changes.files:
        yield BLANK
        yield from file_heading_lines(file)
        yield from diff_lines(file.diff) if file.diff else ()


def turn_heading_lines(changes: TurnChanges) -> Iterator[Line]:
    """Renders the result of one turn, and what is not on record of it."""
    taken = f", {_TAKEN[changes.undone]}" if changes.undone else ""
    yield from _heading_lines(f"Turn {changes.turn}", changes, taken)


def session_heading_lines(changes: TurnChanges) -> Iterator[Line]:
    """Renders the same of all turns of a session together, as far as nothing was undone."""
    yield from _heading_lines("This session", changes, "")


def _heading_lines(what: str, changes: TurnChanges, taken: str) -> Iterator[Line]:
    files = counted(len(changes.files), "file")
    yield Line("heading", f"{what}: {files}, {_counts(changes)}{taken}")
    for gap in changes.gaps:
        yield from wrapped_lines("risk", f"Not recorded: {visible_line(gap)}")


def file_heading_lines(file: FileChange) -> Iterator[Line]:
    """Renders what is above the diff of a file: what was done, or that there is none."""
    op = file.operation
    about = f"{operation_verb(op)} {operation_subject(op)}, {_counts(file)}"
    yield from wrapped_lines("heading", about)
    if file.diff is None:
        yield Line("dim", NOT_SHOWN)


def _file_row(file: FileChange, *, diffs: bool) -> Row:
    op = file.operation
    row: Row = {
        "kind": operation_kind(op),
        "path": display_path(op.path),
        "to": display_path(to) if (to := getattr(op, "to", None)) else None,
        "additions": file.additions,
        "deletions": file.deletions,
    }
    return {**row, "diff": file.diff} if diffs else row


def _listed(changes: TurnChanges) -> tuple[str, ...]:
    said = visible_line(str(redacted_row({"said": changes.said})["said"]))
    files = str(len(changes.files))
    return (str(changes.turn), files, _counts(changes), said, _TAKEN[changes.undone])


def _counts(what: FileChange | TurnChanges) -> str:
    return f"+{what.additions} -{what.deletions}"
