"""Lines: the output of rendering for a face, each with safe text and the name of its style.

A part of a line with a role of its own is a span. Formatting of times in lists is here too.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, Literal, TypeAlias

import msgspec

from assent.core.text import counted as counted  # faces take it from here
from assent.core.text.hidden_chars import (
    EMPTY_LINES_MARK,
    RETURN,
    fold_at_words,
    fold_long,
    visible,
)

Style = Literal[
    "heading", "risk", "added", "removed", "hunk", "dim", "plain", "digest",
    "said",  # what the user said
    "prose",  # what a model said in words
    "code",
]  # fmt: skip


# What a part of a line is, in code and in Markdown.
Role = Literal[
    "plain",
    "keyword", "type", "function", "constant", "string", "comment", "tag",
    "heading", "strong", "emphasis", "struck", "code", "link", "target", "quote",
    "marker",  # signs of Markdown, such as `**`
    "gutter",  # before text that others wrote: line numbers, a bar
    "hidden",  # the notation of a hidden character
]  # fmt: skip


class Span(msgspec.Struct, frozen=True, gc=False):
    """A part of a line with its role; `changed` if it differs from the other side of a diff."""

    text: str
    role: Role = "plain"
    changed: bool = False


Spans: TypeAlias = tuple[Span, ...]


class Line(msgspec.Struct, frozen=True, gc=False):
    """A line to display; its text has no line feed and no hidden characters.

    If it has spans, their texts make up its text.
    """

    style: Style
    text: str = ""
    spans: Spans = ()


BLANK: Final = Line("plain")
GUTTER: Final = "│ "  # before text that others wrote, so that it cannot pass for ours


def untrusted_lines(text: str) -> Iterator[Line]:
    """Renders a text written by others, in full, with a gutter."""
    for line in visible(text).removesuffix("\n").split("\n"):
        for piece in fold_long(line):
            yield Line("plain", GUTTER + piece)


def wrapped_lines(style: Style, text: str) -> Iterator[Line]:
    """Renders one safe line, wrapped between words if it is very long."""
    for piece in fold_at_words(text):
        yield Line(style, piece)


def table_lines(style: Style, rows: Iterable[Sequence[str]]) -> Iterator[Line]:
    """Renders safe cells in columns two spaces apart; the last may be of any width."""
    cells = list(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)][:-1]
    for *row, last in cells:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield from wrapped_lines(style, "  ".join([*padded, last]).rstrip(" "))


def more_lines(more: int, noun: str, command: str) -> Iterator[Line]:
    """Says how many older rows a list does not show, and the command that shows them."""
    if more:
        words = noun if more == 1 else f"{noun}s"
        yield Line("dim", f"{more} older {words} not shown. To list all: {command} --all")


_NOTATION: Final = re.compile(f"<U\\+[0-9A-F]{{4,6}}>|{RETURN}|{EMPTY_LINES_MARK[0]}")


def spans_text(spans: Iterable[Span]) -> str:
    """Returns the text that spans make up."""
    return "".join([span.text for span in spans])


def merged_spans(spans: Iterable[Span]) -> Spans:
    """Returns spans without empty ones, and with neighbours of one kind as one."""
    found: list[Span] = []
    for span in spans:
        last = found[-1] if found else None
        if last is not None and (last.role, last.changed) == (span.role, span.changed):
            found[-1] = Span(last.text + span.text, span.role, span.changed)
        elif span.text:
            found.append(span)
    return tuple(found)


def with_hidden_marked(spans: Spans) -> Spans:
    """Returns the spans of safe text with the notations of hidden characters as their own."""
    text = spans_text(spans)
    if text.isascii() and "<U+" not in text:
        return spans
    found = [one.span() for one in _NOTATION.finditer(text)]
    return overlaid_spans(spans, found, lambda span: Span(span.text, "hidden", span.changed))


def overlaid_spans(
    spans: Spans, ranges: Sequence[tuple[int, int]], change: Callable[[Span], Span]
) -> Spans:
    """Returns spans of the same text, changed in some ranges, which are in order."""
    if not ranges:
        return spans
    found: list[Span] = []
    edges = [edge for pair in ranges for edge in pair]
    at = inside = 0  # edges that were passed: an odd number inside a range
    for span in spans:
        rest = span.text
        while inside < len(edges) and edges[inside] < at + len(rest):
            size = edges[inside] - at
            piece = Span(rest[:size], span.role, span.changed)
            found.append(change(piece) if inside % 2 else piece)
            at, rest, inside = at + size, rest[size:], inside + 1
        piece = Span(rest, span.role, span.changed)
        found.append(change(piece) if inside % 2 else piece)
        at += len(rest)
    return merged_spans(found)


# Times as lists show them: in the user's local time, or relative.


_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"))


def local_time(at: str) -> str:
    """Returns a time to the minute; the text itself if it is not a time."""
    try:
        return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return at[:16]


def relative_time(at: str, now: str) -> str:
    """Returns a time and how long ago it was, such as `2026-03-01 12:00 (2 min ago)`."""
    ago = time_ago(at, now)
    return f"{local_time(at)} ({ago})" if ago else local_time(at)


def time_ago(at: str, now: str) -> str:
    """Returns how long ago a time was, such as `2 min ago`; empty if it is not a time."""
    try:
        passed = datetime.fromisoformat(now) - datetime.fromisoformat(at)
    except ValueError:
        return ""
    return _ago(int(passed.total_seconds()))


def _ago(seconds: int) -> str:
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "just now" if seconds >= 0 else "in the future"
