"""Parses a patch, as `*** Begin Patch` or as a unified diff."""

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from assent.core.errors import UsageError

BEGIN, END = "*** Begin Patch", "*** End Patch"
MARK = r"\*\*\* (Add File|Update File|Delete File|Move to): (.+)"
HUNK = r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@.*"
# A mode of git's for what is no regular file.
LINK = r"(?:(?:new file|deleted file|old|new) mode|index [0-9a-f]+\.\.[0-9a-f]+) (?!10)\d+"
DEV_NULL = "/dev/null"
NO_END = "\\"  # `\ No newline at end of file`


class PatchToolHunk(msgspec.Struct):
    """Lines to find and lines to put there. `rows` has both, each with its sign in front."""

    rows: list[str] = []
    anchor: str = ""  # a line somewhere before them
    at: int = 0  # the line that they should begin at; 0: not said
    last: bool = False  # they stand at the end of the file
    ends: bool | None = None  # whether the last new line ends with a line end, where it is said

    @property
    def old(self) -> list[str]:
        return [row[1:] for row in self.rows if row[0] != "+"]

    @property
    def new(self) -> list[str]:
        return [row[1:] for row in self.rows if row[0] != "-"]


class PatchToolFile(msgspec.Struct):
    """What becomes of one file."""

    kind: Literal["add", "update", "delete"]
    path: str
    to: str = ""
    hunks: list[PatchToolHunk] = []


def parse_patch(patch: str) -> list[PatchToolFile]:
    """Reads a patch of either form; raises UsageError with the line that makes no sense."""
    lines = patch.replace("\r\n", "\n").strip("\n").split("\n")
    begun = [at for at, line in enumerate(lines) if line.strip() == BEGIN]
    found = _marked(lines[begun[0] + 1 :]) if begun else _unified(lines)
    if not found:
        raise UsageError(
            f"patch: it names no file. Begin with `{BEGIN}`, or send a unified diff. "
            "Nothing was changed."
        )
    return found


def _marked(lines: list[str]) -> list[PatchToolFile]:
    files: list[PatchToolFile] = []
    kinds: dict[str, Literal["add", "update", "delete"]] = {
        "Add File": "add",
        "Update File": "update",
        "Delete File": "delete",
    }
    for number, line in enumerate(lines, 2):
        if line.strip() == END:
            break
        mark = re.fullmatch(MARK, line.rstrip())
        if mark and mark[1] in kinds:
            files.append(PatchToolFile(kinds[mark[1]], mark[2].strip(), hunks=[]))
        elif not files:
            raise _odd(number, line)
        elif mark:
            files[-1].to = mark[2].strip()
        else:
            _marked_row(files[-1], number, line)
    return files


def _marked_row(file: PatchToolFile, number: int, line: str) -> None:
    if file.kind == "delete":
        if line.strip():
            raise _odd(number, line)
        return
    if line.startswith("@@"):
        file.hunks.append(_hunk(line))
    elif line.rstrip() == "*** End of File":
        _open(file).last = True
    elif line[:1] == NO_END:
        _no_end(_open(file))
    elif line[:1] in ("+", "-", " "):
        _open(file).rows.append(line)
    elif not line:
        _open(file).rows.append(" ")  # a blank line of the context that lost its sign
    else:
        raise _odd(number, line)


def _hunk(line: str) -> PatchToolHunk:
    numbers = re.fullmatch(HUNK, line)
    if numbers:
        return PatchToolHunk([], at=_begin(numbers))
    return PatchToolHunk([], line[2:].strip().removesuffix("@@").strip())


def _open(file: PatchToolFile) -> PatchToolHunk:
    if not file.hunks:
        file.hunks.append(PatchToolHunk([]))
    return file.hunks[-1]


def _begin(numbers: re.Match[str]) -> int:
    """Returns the line that a hunk begins at; one without old lines stands after its number."""
    return int(numbers[1]) + (numbers[2] == "0")


def _unified(lines: list[str]) -> list[PatchToolFile]:
    files: list[PatchToolFile] = []
    old, renamed = "", ""
    rows = iter(enumerate(lines, 1))
    for number, line in rows:
        if line.startswith(("GIT binary patch", "Binary files ")):
            raise UsageError(f"patch, line {number}: binary files cannot be patched.")
        if re.fullmatch(LINK, line.rstrip()):
            raise UsageError(
                f"patch, line {number}: symlinks and submodules cannot be patched, only files. "
                "Nothing was changed."
            )
        if line.startswith("--- "):
            old = _name(line)
        elif line.startswith("+++ "):
            files.append(_headed(old, _name(line)))
        elif line.startswith("rename from "):
            renamed = line.removeprefix("rename from ")
        elif line.startswith("rename to "):
            files.append(PatchToolFile("update", renamed, line.removeprefix("rename to "), []))
        elif numbers := re.fullmatch(HUNK, line):
            _take(files, numbers, rows, number)
        elif line.startswith(NO_END) and files and files[-1].hunks:
            _no_end(files[-1].hunks[-1])
    return _merged(files)


def _take(
    files: list[PatchToolFile],
    numbers: re.Match[str],
    rows: Iterator[tuple[int, str]],
    number: int,
) -> None:
    """Takes as many rows as the hunk's header announces."""
    if not files:
        raise _odd(number, numbers[0])
    hunk = PatchToolHunk([], at=_begin(numbers))
    counts = re.findall(r"[-+]\d+(?:,(\d+))?", numbers[0])[:2]
    old, new = [int(count or 1) for count in counts]
    while old > 0 or new > 0:
        number, row = next(rows, (number, "@@"))
        row = row or " "
        if row[0] == NO_END:
            _no_end(hunk)
            continue
        if row[0] not in " +-":
            raise UsageError(f"patch, line {number}: the hunk is shorter than its header says.")
        hunk.rows.append(row)
        old, new = old - (row[0] != "+"), new - (row[0] != "-")
    files[-1].hunks.append(hunk)


def _no_end(hunk: PatchToolHunk) -> None:
    if hunk.rows and hunk.rows[-1][0] == "-":
        hunk.ends = True  # the old last line had no end; unless it is said again, the new one has
    elif hunk.rows:
        hunk.ends = False


def _headed(old: str, new: str) -> PatchToolFile:
    if old == DEV_NULL:
        return PatchToolFile("add", new, hunks=[])
    if new == DEV_NULL:
        return PatchToolFile("delete", old, hunks=[])
    return PatchToolFile("update", old, new if new != old else "", [])


def _name(line: str) -> str:
    """Returns the path of a `---` or `+++` line without git's `a/` and `b/`."""
    path = line[4:].partition("\t")[0].strip()
    return path[2:] if path.startswith(("a/", "b/")) else path


def _merged(files: list[PatchToolFile]) -> list[PatchToolFile]:
    """Makes one of the two mentions that git gives a file which is renamed and changed."""
    found: list[PatchToolFile] = []
    for file in files:
        before = found[-1] if found else None
        if before and before.to and (before.path, before.to) == (file.path, file.to):
            before.hunks += file.hunks
        else:
            found.append(file)
    return found


def _odd(number: int, line: str) -> UsageError:
    return UsageError(f"patch, line {number}: {line[:80]!r} makes no sense there.")
