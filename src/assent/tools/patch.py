"""patch: adds, updates, deletes and moves several files in one call, all or nothing (F131).

It takes the `*** Begin Patch` format or a unified diff.
"""

import re
from collections.abc import Callable, Iterator
from typing import Annotated, Literal

import msgspec

from assent.core.errors import ImpossibleOperations, NoMatch, NotFound, UsageError
from assent.core.paths import one_line
from assent.core.plan.operation import DeleteFile, FileOperation, MoveFile
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.file_edit import (
    UNCHANGED,
    EditedFile,
    decode_text,
    edit_access,
    edit_diff,
    edit_outcome,
    edit_target,
    encode_text,
    entry_path,
    expected_state,
    indentation,
    indented,
    line_end,
    load_file,
    nearest_lines,
    read_access,
)
from assent.tools.tool import OptionArgs, Tool, ToolContext

# Parses a patch, as `*** Begin Patch` or as a unified diff.


BEGIN, END = "*** Begin Patch", "*** End Patch"
MARK = r"\*\*\* (Add File|Update File|Delete File|Move to): (.+)"
HUNK = r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@.*"
# A mode of git's for what is not a regular file.
LINK = r"(?:(?:new file|deleted file|old|new) mode|index [0-9a-f]+\.\.[0-9a-f]+) (?!10)\d+"
DEV_NULL = "/dev/null"
NO_END = "\\"  # `\ No newline at end of file`


class PatchToolHunk(msgspec.Struct):
    """Lines to find and their replacement; `rows` has both, each with its sign in front."""

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
    """The change of one file."""

    kind: Literal["add", "update", "delete"]
    path: str
    to: str = ""
    hunks: list[PatchToolHunk] = []


def parse_patch(patch: str) -> list[PatchToolFile]:
    """Parses a patch of either form; raises UsageError with the line that is not valid."""
    lines = patch.replace("\r\n", "\n").strip("\n").split("\n")
    begun = [at for at, line in enumerate(lines) if line.strip() == BEGIN]
    found = _marked(lines[begun[0] + 1 :]) if begun else _unified(lines)
    if not found:
        raise UsageError(
            f"patch: names no file. Start with `{BEGIN}`, or send a unified diff. Nothing was "
            "changed."
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
        _open(file).rows.append(" ")  # an empty context line that lost its leading space
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
    """Returns the first line of a hunk; one without old lines comes after its number."""
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
    """Joins the two entries that git has for a file that is renamed and changed."""
    found: list[PatchToolFile] = []
    for file in files:
        before = found[-1] if found else None
        if before and before.to and (before.path, before.to) == (file.path, file.to):
            before.hunks += file.hunks
        else:
            found.append(file)
    return found


def _odd(number: int, line: str) -> UsageError:
    return UsageError(f"patch, line {number}: unexpected {line[:80]!r}.")


# Applies the hunks of a patch to a file's lines, at the one place where each fits.


# From strict to tolerant: line ends never count, then blanks at the end, then indentation.
LINE_NORMALIZERS: tuple[Callable[[str], str], ...] = (
    lambda line: line.removesuffix("\r"),
    lambda line: line.rstrip(" \t\r"),
    lambda line: line.strip(" \t\r"),
)


def apply_hunks(text: str, hunks: list[PatchToolHunk]) -> str:
    """Returns the new text; raises NoMatch."""
    lines, tail, end = _split(text)
    cursor = 0
    for number, hunk in enumerate(hunks, 1):
        at = _found(lines, cursor, hunk, number)
        size = len(hunk.old)
        made = _rows(lines[at : at + size], hunk, end)
        lines[at : at + size] = made
        cursor = at + len(made)
        if hunk.ends is not None and cursor == len(lines):
            tail = hunk.ends
    return _closed("\n".join(lines), lines, tail, end)


def _split(text: str) -> tuple[list[str], bool, str]:
    """Returns the lines, each with its `\\r`, whether the last is ended, and the usual ending."""
    end = line_end(text)
    if not text:
        return [], True, end
    tail = text.endswith("\n")
    lines = (text[:-1] if tail else text).split("\n")
    if not tail and end == "\r\n":
        lines[-1] += "\r"  # taken away again, from the line that is last in the end
    return lines, tail, end


def _closed(joined: str, lines: list[str], tail: bool, end: str) -> str:
    if not lines:
        return ""
    if tail:
        return joined + "\n"
    return joined.removesuffix("\r") if end == "\r\n" else joined


def _found(lines: list[str], cursor: int, hunk: PatchToolHunk, number: int) -> int:
    old = hunk.old
    start = _anchored(lines, cursor, hunk, number)
    if not old:
        return _inserted(lines, start, hunk)
    for way in LINE_NORMALIZERS:
        found = _places([way(line) for line in lines], start, [way(line) for line in old])
        if hunk.last:
            found = [at for at in found if at + len(old) == len(lines)] or found[-1:]
        if hunk.at - 1 in found:
            return hunk.at - 1
        if found and (len(found) == 1 or hunk.anchor):
            return found[0]
        if found:
            where = ", ".join(str(at + 1) for at in found[:10])
            several = f"matches several places, at lines {where}; include more lines."
            raise NoMatch(f"hunk {number} {several} {UNCHANGED}")
    near = nearest_lines("\n".join(lines), "\n".join(old))
    raise NoMatch(f"hunk {number} was not found after line {start}. {UNCHANGED} {near}")


def _places(lines: list[str], start: int, old: list[str]) -> list[int]:
    last = len(lines) - len(old)
    return [
        at
        for at in range(start, last + 1)
        if lines[at] == old[0] and lines[at : at + len(old)] == old
    ]


def _anchored(lines: list[str], cursor: int, hunk: PatchToolHunk, number: int) -> int:
    """Returns the line after the hunk's anchor, or where the hunk before ended."""
    if not hunk.anchor:
        return cursor
    for way in (lambda line: line.strip() == hunk.anchor, lambda line: hunk.anchor in line):
        found = [at for at in range(cursor, len(lines)) if way(lines[at])]
        if found:
            # The anchor may be the hunk's first line as well.
            return found[0] if hunk.old[:1] == [lines[found[0]].rstrip("\r")] else found[0] + 1
    raise NoMatch(f"hunk {number}: no line matches {hunk.anchor!r}. {UNCHANGED}")


def _inserted(lines: list[str], start: int, hunk: PatchToolHunk) -> int:
    if hunk.anchor:
        return start
    return min(hunk.at - 1, len(lines)) if hunk.at else len(lines)


def _rows(real: list[str], hunk: PatchToolHunk, end: str) -> list[str]:
    """Returns the new lines: the context as in the file, added lines adapted to it."""
    crlf = any(line.endswith("\r") for line in real) if real else end == "\r\n"
    known = indentation(zip(hunk.old, real, strict=True))
    fits = all(theirs == ours for theirs, ours in known.items())
    rows, left = [], iter(real)
    for row in hunk.rows:
        if row[0] == "+":
            added = row[1:] if fits else indented(row[1:], known)
            rows.append(added + "\r" if crlf else added)
            continue
        line = next(left)
        if row[0] == " ":
            rows.append(line)
    return rows


class PatchArgs(OptionArgs, frozen=True):
    patch: Annotated[str, msgspec.Meta(description="diff of all files")]


class LocatedFilePatch(msgspec.Struct, frozen=True):
    """A file of the patch, with its real paths."""

    file: PatchToolFile
    path: bytes
    to: bytes = b""


def touches(args: PatchArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    """Returns the access for every file; an updated one is also shown, or moved to another name."""
    found = _located(args.patch, context)
    changed = [
        edit_access(path, deletes=each.file.kind == "delete")
        for each in found
        for path in (each.path, each.to)
        if path
    ]
    shown = [each.path for each in found if each.file.kind == "update"]
    return (*changed, *[read_access(path) for path in shown])


def run(args: PatchArgs, context: ToolContext) -> ToolOutcome:
    """Returns all changes of the patch, or raises for the first file where it does not fit."""
    changes: list[EditedFile] = []
    others: list[FileOperation] = []
    words: list[str] = []
    for each in _located(args.patch, context):
        change = _change(each, context) if each.file.kind != "delete" else None
        gone = _gone(each, change, context)
        others += gone
        words += [f"{one_line(each.path)}: {'moves' if each.to else 'goes'}." for _ in gone]
        if change and not any(isinstance(op, MoveFile) for op in gone):
            changes.append(change)
    made = edit_outcome(changes, tuple(others))
    return msgspec.structs.replace(made, text="\n".join([*words, made.text]).strip())


def _gone(
    each: LocatedFilePatch, change: EditedFile | None, context: ToolContext
) -> list[FileOperation]:
    """Returns the change of a file's old name: it is deleted, or moved unchanged."""
    if change and not each.to:
        return []
    before = expected_state(each.path, context)
    if before is None:
        raise NotFound(f"{one_line(each.path)} does not exist. Nothing was changed.")
    if change and change.after == before:
        return [MoveFile(each.path, each.to, before)]
    return [DeleteFile(each.path, before)]


def _located(patch: str, context: ToolContext) -> list[LocatedFilePatch]:
    found = []
    for file in parse_patch(patch):
        path = (entry_path if file.kind == "delete" else edit_target)(file.path, context)
        found.append(
            LocatedFilePatch(file, path, edit_target(file.to, context) if file.to else b"")
        )
    paths = [path for each in found for path in (each.path, each.to) if path]
    twice = [path for path in paths if paths.count(path) > 1]
    if twice:
        raise ImpossibleOperations(f"{one_line(twice[0])} is named twice; combine its hunks.")
    return found


def _change(each: LocatedFilePatch, context: ToolContext) -> EditedFile:
    goal = each.to or each.path
    if (each.file.kind == "add" or each.to) and expected_state(goal, context) is not None:
        raise ImpossibleOperations(f"{one_line(goal)} already exists. Nothing was changed.")
    if each.file.kind == "add":
        return _added(each)
    before, content = load_file(each.path, context)
    name = one_line(each.path)
    text, form = decode_text(content, name)
    try:
        after = apply_hunks(text, each.file.hunks)
    except NoMatch as error:
        raise NoMatch(f"{name}: {error.message}") from error
    new = encode_text(after, form, name)
    noun = "hunk" if len(each.file.hunks) == 1 else "hunks"
    words = f"{len(each.file.hunks)} {noun}:"
    if each.to:
        return EditedFile(goal, None, new, words, edit_diff(text, after), before.mode)
    return EditedFile(goal, before, new, words, edit_diff(text, after))


def _added(each: LocatedFilePatch) -> EditedFile:
    lines = [line for hunk in each.file.hunks for line in hunk.new]
    ends = [hunk.ends for hunk in each.file.hunks if hunk.ends is not None]
    text = "\n".join(lines) + ("" if ends[-1:] == [False] or not lines else "\n")
    noun = "line" if len(lines) == 1 else "lines"
    return EditedFile(each.path, None, text.encode(), f"new file, {len(lines)} {noun}.")


PATCH = Tool("patch", PatchArgs, touches, run, Action.EDIT, on_demand="a diff")
