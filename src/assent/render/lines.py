"""Lines: the output of rendering for a face, each with safe text and the name of its style.

Formatting of times in lists is here too.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, Literal

import msgspec

from assent.core.text.hidden_chars import fold_at_words, fold_long, visible

Style = Literal[
    "heading", "risk", "added", "removed", "hunk", "dim", "plain", "digest",
    "said",  # what the user said
    "prose",  # what a model said in words
    "code",
]  # fmt: skip


class Line(msgspec.Struct, frozen=True, gc=False):
    """A line to display; its text has no line feed and no hidden characters."""

    style: Style
    text: str = ""


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
    try:
        passed = datetime.fromisoformat(now) - datetime.fromisoformat(at)
    except ValueError:
        return local_time(at)
    return f"{local_time(at)} ({_ago(int(passed.total_seconds()))})"


def _ago(seconds: int) -> str:
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "just now" if seconds >= 0 else "in the future"
