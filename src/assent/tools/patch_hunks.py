"""Applies the hunks of a patch to a file's lines, at the one place where each fits."""

from collections.abc import Callable

from assent.core.errors import NoMatch
from assent.tools.patch_parser import PatchToolHunk
from assent.tools.text_encoding import line_end
from assent.tools.text_match import indentation, indented, nearest_lines

UNCHANGED = "Nothing was changed."

# From strict to tolerant: line ends never count, then blanks at the end, then indentation.
LINE_NORMALIZERS: tuple[Callable[[str], str], ...] = (
    lambda line: line.removesuffix("\r"),
    lambda line: line.rstrip(" \t\r"),
    lambda line: line.strip(" \t\r"),
)


def apply_hunks(text: str, hunks: list[PatchToolHunk]) -> tuple[str, tuple[int, int]]:
    """Returns the new text, and the place of its first change; raises NoMatch."""
    lines, tail, end = _split(text)
    cursor, first = 0, -1
    for number, hunk in enumerate(hunks, 1):
        at = _found(lines, cursor, hunk, number)
        size = len(hunk.old)
        made = _rows(lines[at : at + size], hunk, end)
        lines[at : at + size] = made
        cursor, first = at + len(made), at if first < 0 else first
        if hunk.ends is not None and cursor == len(lines):
            tail = hunk.ends
    joined = "\n".join(lines)
    start = sum(len(line) + 1 for line in lines[: max(first, 0)])
    return _closed(joined, lines, tail, end), (start, 1)


def _split(text: str) -> tuple[list[str], bool, str]:
    """Returns the lines, each still with its `\\r`, whether the last has an end, and the usual."""
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
            several = f"fits several places, at lines {where}; give more lines."
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
    raise NoMatch(f"hunk {number}: no line is like {hunk.anchor!r}. {UNCHANGED}")


def _inserted(lines: list[str], start: int, hunk: PatchToolHunk) -> int:
    if hunk.anchor:
        return start
    return min(hunk.at - 1, len(lines)) if hunk.at else len(lines)


def _rows(real: list[str], hunk: PatchToolHunk, end: str) -> list[str]:
    """Returns the new lines: the context as the file has it, what is added fitted to it."""
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
