"""Diffs: what an operation does to a text, as a patch that git understands, and as lines."""

from collections.abc import Iterable, Sequence
from hashlib import sha1
from itertools import pairwise
from typing import Final, TypeAlias, assert_never

from assent.core.plan.operation import (
    DeleteFile,
    FileKind,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
)
from assent.core.text.hidden_chars import fold_long, has_long_line, visible_diff
from assent.core.text.line_diff import LineChange, line_changes
from assent.render.lines import Line, Style

LIMIT: Final = 8 * 1024 * 1024  # of a content or a diff; no one reads more than that
CONTEXT: Final = 3

Lines: TypeAlias = list[bytes]

_NOWHERE: Final = b"/dev/null"
INCOMPLETE: Final = b"\n\\ No newline at end of file"
_FORMATS: Final[dict[FileKind, int]] = {"file": 0o100000, "link": 0o120000}
_ESCAPES = {7: b"a", 8: b"b", 9: b"t", 10: b"n", 11: b"v", 12: b"f", 13: b"r", 34: b'"', 92: b"\\"}
_QUOTED = {
    byte: b"\\" + _ESCAPES[byte] if byte in _ESCAPES else b"\\%03o" % byte
    for byte in (*range(0x20), 0x22, 0x5C, *range(0x7F, 0x100))
}
_UNQUOTED = bytes(set(range(0x100)) - _QUOTED.keys())


def operation_diff(op: Operation, before: bytes | None, after: bytes | None) -> str | None:
    """Returns an operation as a git patch, given its contents; None if they are not text."""
    match op:
        case WriteFile():  # first, because plans are full of them
            return _written(op, before, after)
        case RunCommand():
            return None
        case MoveFile(path, to):
            names = [b"rename from " + git_quoted(path), b"rename to " + git_quoted(to)]
            title = _title(*_names(path, to))
            return _text([title, b"similarity index 100%", *names], [])
        case DeleteFile(path, state):
            return _gone(path, state, before)
        case _:
            assert_never(op)


def unified_diff(
    before: bytes | None, after: bytes | None, path_before: bytes, path_after: bytes
) -> str | None:
    """Returns a unified diff, empty if nothing differs, None if binary; None as content: absent."""
    old = None if before is None else git_quoted(b"a/" + path_before)
    new = None if after is None else git_quoted(b"b/" + path_after)
    return _text([], _body(before or b"", after or b"", old, new))


def text_diff(before: bytes, after: bytes, name_before: str, name_after: str) -> str | None:
    """Returns the diff between two texts, such as two revisions of a plan."""
    names = git_quoted(name_before.encode()), git_quoted(name_after.encode())
    return _text([], _body(before, after, *names))


def git_quoted(path: bytes) -> bytes:
    """Returns a path as git writes it: unusual ones in quotes, with escapes, in ASCII."""
    if not path.translate(None, _UNQUOTED):
        return path
    return b'"' + b"".join([_QUOTED.get(byte, b"%c" % byte) for byte in path]) + b'"'


def _written(op: WriteFile, before: bytes | None, after: bytes | None) -> str | None:
    was, now = op.before, op.after
    if was is None:
        return _made(op.path, now, after)
    if was.kind != now.kind:
        gone, made = _gone(op.path, was, before), _made(op.path, now, after)
        return None if gone is None or made is None else gone + made
    old, new = _names(op.path, op.path)
    title = [_title(old, new)]
    if was.mode != now.mode:
        title += [b"old mode " + _mode(was), b"new mode " + _mode(now)]
    if was.digest == now.digest:
        return _text(title, [])
    if before is None or after is None:
        return None
    if now.kind == "link":
        title.append(b"index %b..%b %b" % (_blob(before), _blob(after), _mode(now)))
    return _text(title, _body(before, after, old, new))


def _made(path: bytes, state: FileState, content: bytes | None) -> str | None:
    if content is None:
        return None
    old, new = _names(path, path)
    title = [_title(old, new), b"new file mode " + _mode(state)]
    return _text(title, _body(b"", content, None, new))


def _gone(path: bytes, state: FileState, content: bytes | None) -> str | None:
    if content is None:
        return None
    old, new = _names(path, path)
    title = [_title(old, new), b"deleted file mode " + _mode(state)]
    return _text(title, _body(content, b"", old, None))


def _names(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    return git_quoted(b"a/" + old), git_quoted(b"b/" + new)


def _title(old: bytes, new: bytes) -> bytes:
    return b"diff --git %b %b" % (old, new)


def _mode(state: FileState) -> bytes:
    mode = 0 if state.kind == "link" else state.mode
    return b"%06o" % (_FORMATS[state.kind] | mode)


def _blob(content: bytes) -> bytes:
    """Returns git's blob id of a content, which an index line needs to mark a symlink."""
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest().encode()


def _body(before: bytes, after: bytes, old: bytes | None, new: bytes | None) -> Lines | None:
    """Returns the lines of a diff from `---` on, none if the contents are equal."""
    if max(len(before), len(after)) > LIMIT or b"\0" in before or b"\0" in after:
        return None
    if before == after:
        return []
    if not before or not after:
        return _whole(before or after, b"+" if after else b"-", old, new)
    old_lines, new_lines = _lines(before), _lines(after)
    body = [b"--- " + _label(old), b"+++ " + _label(new)]
    for group in _groups(line_changes(old_lines, new_lines)):
        body += _hunk(old_lines, new_lines, group)
    return body


def _whole(content: bytes, sign: bytes, old: bytes | None, new: bytes | None) -> Lines:
    """Returns the body of a diff that creates or removes a whole text, without matching lines."""
    complete = content.endswith(b"\n")
    body = content.removesuffix(b"\n")
    some, none = _span(0, body.count(b"\n") + 1), _span(0, 0)
    hunk = (none, some) if sign == b"+" else (some, none)
    signed = sign + body.replace(b"\n", b"\n" + sign) + (b"" if complete else INCOMPLETE)
    return [b"--- " + _label(old), b"+++ " + _label(new), b"@@ -%b +%b @@" % hunk, signed]


def _label(name: bytes | None) -> bytes:
    """Returns a name for a `---` or `+++` line; as git does, a tab ends one that has spaces."""
    if name is None:
        return _NOWHERE
    return name + b"\t" if b" " in name else name


def _lines(content: bytes) -> Lines:
    """Splits at line feeds only; a last line without one carries git's remark about that."""
    lines = content.split(b"\n")
    last = lines.pop()
    if last:
        lines.append(last + INCOMPLETE)
    return lines


def _groups(found: list[LineChange]) -> list[list[LineChange]]:
    """Groups changes whose contexts overlap into one hunk."""
    groups = [found[:1]]
    for previous, change in pairwise(found):
        if change[0] - previous[1] > 2 * CONTEXT:
            groups.append([])
        groups[-1].append(change)
    return groups


def _hunk(old: Lines, new: Lines, group: Sequence[LineChange]) -> Lines:
    first, last = group[0], group[-1]
    start, end = max(first[0] - CONTEXT, 0), min(last[1] + CONTEXT, len(old))
    new_start, new_end = first[2] - first[0] + start, last[3] - last[1] + end
    hunk = [b"@@ -%b +%b @@" % (_span(start, end), _span(new_start, new_end))]
    for i, j, k, m in group:
        hunk += _signed(b" ", old[start:i])
        hunk += _signed(b"-", old[i:j])
        hunk += _signed(b"+", new[k:m])
        start = j
    hunk += _signed(b" ", old[start:end])
    return hunk


def _signed(sign: bytes, lines: Lines) -> Lines:
    return [sign + (b"\n" + sign).join(lines)] if lines else []


def _span(start: int, end: int) -> bytes:
    """Returns a range as git writes it: an empty one names the line before, a 1 is omitted."""
    if end - start == 1:
        return b"%d" % end
    return b"%d,%d" % (start + 1 if end > start else start, end - start)


def _text(title: Lines, body: Lines | None) -> str | None:
    if body is None:
        return None
    text = b"\n".join([*title, *body, b""]).decode("utf-8", "backslashreplace")
    return text if len(text) <= LIMIT else None


# Renders a diff in full, as lines or as plain text.


_SIGNS: dict[str, Style] = {"+": "added", "-": "removed", "@": "hunk", "\\": "dim"}


_PART = "\ndiff --git "  # content always has a sign before it, so this can only be our own


def diff_lines(diff: str) -> list[Line]:
    """Renders a diff in full; the sign at the start of each line says the same as its color."""
    if not diff:
        return []
    first, *others = visible_diff(diff).removesuffix("\n").split(_PART)
    found = _part_lines(first)
    for other in others:
        found += _part_lines(_PART[1:] + other)
    return found


def diff_text(diff: str) -> str:
    """Renders the same as one text without color, because a value per line takes far longer."""
    text = visible_diff(diff).removesuffix("\n")
    return "\n".join([line.text for line in diff_lines(diff)]) if has_long_line(text) else text


def _part_lines(part: str) -> list[Line]:
    """Renders the part of a diff about one file: its header, then its hunks."""
    header, hunk, rest = part.partition("\n@@ ")
    about, hunks = header.split("\n"), f"@@ {rest}".split("\n") if hunk else []
    lines = [Line("dim", line) for line in about]
    lines += [Line(_SIGNS.get(line[:1], "plain"), line) for line in hunks]
    if not has_long_line(part):
        return lines
    return [Line(line.style, piece) for line in lines for piece in fold_long(line.text)]


# Why a content is not shown: as a sentence, at the end of one, and before what is known instead.
_REASON: Final = "binary or too large"
NOT_SHOWN: Final = f"Not shown: {_REASON}."
IS_NOT_SHOWN: Final = f"not shown: {_REASON}."
NOT_SHOWN_BUT: Final = f"Not shown ({_REASON}):"


def text_diff_lines(patch: str | None) -> Iterable[Line]:
    """Renders the difference of two texts, or says why it is not shown."""
    return [Line("plain", f"The texts are {IS_NOT_SHOWN}")] if patch is None else diff_lines(patch)
