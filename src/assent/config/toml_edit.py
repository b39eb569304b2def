"""Where a key is in a TOML text, and the text with one value changed: all else stays as it is."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec

Path: TypeAlias = tuple[str | int, ...]  # of keys; a number is the place in an array of tables

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_GAP: Final = re.compile(r"[ \t]*")
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')  # on one line
_PLAIN: Final = re.compile(r"[^#\r\n]*")  # a number, a date or a word, up to a comment
_OPEN, _CLOSE = "[{", "]}"
_ESCAPES: Final = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


class CannotEdit(Exception):
    """A text has the key in a form that cannot be changed without rewriting other parts."""


class KeySpan(msgspec.Struct, frozen=True):
    """A key with its value: where its line begins, its value begins and ends, and its line ends."""

    path: Path
    table: Path  # in whose block it is written
    start: int
    value: int
    value_end: int
    end: int


class TableSpan(msgspec.Struct, frozen=True):
    """The header of a table: where its line begins and ends."""

    path: Path
    start: int
    end: int


Span: TypeAlias = KeySpan | TableSpan


def spans(text: str) -> list[Span]:
    """Returns the keys and headers of a valid TOML text, in order."""
    found: list[Span] = []
    table: Path = ()
    arrays: dict[Path, int] = {}
    at = _skip(_BLANK, text, 0)
    while at < len(text):
        start = text.rfind("\n", 0, at) + 1
        if text[at] == "[":
            many = text.startswith("[[", at)
            keys, at = _dotted(text, at + 1 + many)
            table = _placed(keys, arrays, many=many)
            end = _line_end(text, at)
            found.append(TableSpan(table, start, end))
        else:
            keys, at = _dotted(text, at)
            value = _skip(_GAP, text, at + 1)  # behind the equals sign
            value_end = _value_end(text, value)
            end = _line_end(text, value_end)
            found.append(KeySpan((*table, *keys), table, start, value, value_end, end))
        at = _skip(_BLANK, text, end)
    return found


def line_of(text: str, path: Path) -> int:
    """Returns the line that sets a key, or the closest one around it; 0 if none does."""
    best, line = 0, 0
    for span in spans(text):
        shared = _shared(span.path, path)
        if shared in {len(span.path), len(path)} and shared > best:
            best, line = shared, text.count("\n", 0, span.start) + 1
    return line


def with_value(text: str, path: Path, value: Any) -> str:
    """Returns a text in which a key has this value; raises CannotEdit."""
    literal = toml_literal(value)
    found = spans(text)
    for span in found:
        if isinstance(span, KeySpan) and span.path == path:
            return text[: span.value] + literal + text[span.value_end :]
        if isinstance(span, KeySpan) and path[: len(span.path)] == span.path:
            raise CannotEdit(".".join(map(str, span.path)))
    *above, last = path
    place = _place(text, found, tuple(above))
    if place is None:
        header = f"[{dotted_key(tuple(above))}]\n"
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}{header}{dotted_key((last,))} = {literal}\n"
    at, table = place
    row = f"{dotted_key(path[len(table) :])} = {literal}\n"
    before, after = text[:at], text[at:]
    if before and not before.endswith("\n"):
        before += "\n"
    if not table and after.lstrip(" \t").startswith("["):
        row += "\n"
    return before + row + after


def without_key(text: str, path: Path) -> str:
    """Returns a text without a key or a table; comments above it and below it stay.

    The header of a table goes with the last of its keys, unless a comment is below it.
    """
    found = spans(text)
    gone = [span for span in found if span.path[: len(path)] == path]
    if not gone and any(isinstance(s, KeySpan) and path[: len(s.path)] == s.path for s in found):
        raise CannotEdit(".".join(map(str, path)))
    for span in reversed(gone):
        text = _cut(text, span)
    while gone and (path := path[:-1]):
        below = [span for span in spans(text) if span.path[: len(path)] == path]
        if len(below) != 1 or not isinstance(below[0], TableSpan) or _commented(text, below[0]):
            break
        text = _cut(text, below[0])
    return text


def _cut(text: str, span: Span) -> str:
    """Returns a text without the lines of a key or a header, and without a gap in their place."""
    before, after = text[: span.start], text[span.end :]
    if not after.strip():
        return before.rstrip("\n") + "\n" if before.strip() else ""
    if not before or before.endswith("\n\n"):
        after = after.lstrip("\n")
    return before + after


def _commented(text: str, header: TableSpan) -> bool:
    """Tells whether there are comments below a header without keys, such as keys to turn on.

    Those directly above the next header are about that one.
    """
    rows = [text[header.start : header.end], *text[header.end :].splitlines()]
    rows = [row.strip() for row in rows]
    after = next((at for at, row in enumerate(rows) if at and row.startswith("[")), None)
    if after is not None:
        rows = rows[:after]
        while len(rows) > 1 and rows[-1].startswith("#") and "" in rows:
            rows.pop()
    at_header = "#" in _QUOTED.sub("", rows[0])
    return at_header or any(row.startswith("#") for row in rows[1:])


def parse_key(text: str) -> tuple[str, ...]:
    """Returns the parts of a dotted key as a person types it; raises ValueError."""
    keys, end = _dotted(text, 0)
    if end != len(text) or not all(keys):
        raise ValueError(text)
    return keys


def dotted_key(path: Path) -> str:
    """Returns a key as TOML writes it."""
    return ".".join(
        str(part) if _BARE.fullmatch(str(part)) else _quoted(str(part)) for part in path
    )


def toml_literal(value: Any) -> str:
    """Returns a value as TOML writes it on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _quoted(value)
        case list() | tuple():
            return f"[{', '.join(map(toml_literal, value))}]"
        case Mapping():
            rows = [f"{dotted_key((key,))} = {toml_literal(of)}" for key, of in value.items()]
            return f"{{ {', '.join(rows)} }}" if rows else "{}"
        case _:
            return str(value)  # dates


def _place(text: str, found: list[Span], above: Path) -> tuple[int, Path] | None:
    """Returns where a new key of a table goes, and in whose block that is; None: nowhere yet."""
    tables = [span for span in found if isinstance(span, TableSpan) and span.path == above]
    inside = [span for span in found if isinstance(span, KeySpan) and span.table == above]
    if tables or not above:
        if inside:
            return inside[-1].end, above
        return (tables[-1].end, above) if tables else (_after_preface(text), ())
    dotted = [
        span
        for span in found
        if isinstance(span, KeySpan)
        and len(span.table) < len(above) < len(span.path)
        and span.path[: len(above)] == above
    ]
    return (dotted[-1].end, dotted[-1].table) if dotted else None


def _after_preface(text: str) -> int:
    """Returns where the comments end that a file begins with, if an empty line follows them."""
    match = re.match(r"(?:#[^\n]*\n)+\n", text)
    return match.end() if match else 0


def _placed(keys: tuple[str, ...], arrays: dict[Path, int], *, many: bool) -> Path:
    """Returns the path of a header; in an array of tables with the number of its last table."""
    path: Path = ()
    for number, key in enumerate(keys):
        path = (*path, key)
        if many and number == len(keys) - 1:
            arrays[path] = arrays.get(path, -1) + 1
        if path in arrays:
            path = (*path, arrays[path])
    return path


def _shared(one: Path, other: Path) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _line_end(text: str, at: int) -> int:
    return text.find("\n", at) + 1 or len(text)


def _dotted(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """Reads a dotted key; returns it with where the blanks behind it end."""
    keys = list(_keys(text, at))
    return tuple(key for key, _ in keys), keys[-1][1] if keys else at


def _keys(text: str, at: int) -> Iterator[tuple[str, int]]:
    while True:
        at = _skip(_GAP, text, at)
        start, sign = at, text[at : at + 1]
        if sign in {'"', "'"}:
            at = _string_end(text, at)
            key = _decoded(text[start:at])
        else:
            at = _skip(_BARE, text, at)
            key = text[start:at]
        at = _skip(_GAP, text, at)
        yield key, at
        if text[at : at + 1] != ".":
            return
        at += 1


def _decoded(quoted: str) -> str:
    return str(tomllib.loads(f"key = {quoted}")["key"])


def _string_end(text: str, at: int) -> int:
    """Returns where a string ends that begins here."""
    sign = text[at]
    mark = sign * 3 if text.startswith(sign * 3, at) else sign
    at += len(mark)
    while at < len(text) and not text.startswith(mark, at):
        at += 2 if sign == '"' and text[at] == "\\" else 1
    at += len(mark)
    while len(mark) > 1 and text.startswith(sign, at):  # up to two more belong to the text
        at += 1
    return at


def _value_end(text: str, at: int) -> int:
    sign = text[at : at + 1]
    if sign in {'"', "'"}:
        return _string_end(text, at)
    if not sign or sign not in _OPEN:
        return at + len(_PLAIN.match(text, at)[0].rstrip())  # type: ignore[index]
    depth = 0
    while at < len(text):
        sign = text[at]
        if sign in {'"', "'"}:
            at = _string_end(text, at)
            continue
        if sign == "#":
            at = _line_end(text, at)
            continue
        depth += (sign in _OPEN) - (sign in _CLOSE)
        at += 1
        if not depth:
            break
    return at


def _quoted(text: str) -> str:
    signs = [_ESCAPES.get(sign) or _escaped(sign) for sign in text]
    return '"' + "".join(signs) + '"'


def _escaped(sign: str) -> str:
    if sign in {'"', "\\"}:
        return f"\\{sign}"
    return sign if sign.isprintable() else f"\\U{ord(sign):08x}"
