"""Wraps lines that are wider than the screen, so that no piece looks like a line of its own.

A continued piece stands behind our mark `↪`, or is indented deeper than its line began. Text of
others cannot contain that mark, because it is escaped (core.text.hidden_chars). Text of the
conversation continues at its own indent: all of it is indented already.
"""

import re
from typing import Final

from rich.cells import cell_len, split_graphemes

from assent.core.text.hidden_chars import CONTINUATION_MARK
from assent.render.lines import GUTTER, Line, Style

# Of what others wrote, a piece that began with a sign could pass for a line of its own.
CODE_STYLES: Final[frozenset[Style]] = frozenset({"added", "removed", "hunk", "code"})
TAB: Final = 4
TEXT_STYLES: Final[frozenset[Style]] = frozenset({"prose", "said"})
HANGING_INDENT: Final = 2  # columns that a continued line of prose is deeper than it began
MAX_HANGING_INDENT: Final = 12  # a line that begins deeper is continued behind the sign
MIN_WIDTH: Final = 4  # columns; with fewer, the sign gets a row of its own

_SIGN: Final = CONTINUATION_MARK[0]
_BULLET: Final = re.compile(r" *(?:[-*+•]|\d{1,3}[.)]) +")
# Letters of one cell each, and nothing that joins with the one before: most of what is not ASCII.
_ONE_CELL: Final = re.compile(f"[ -~\u00a1-\u00ac\u00ae-\u024f\u0400-\u0481{_SIGN}│]*").fullmatch
_BEHIND: Final = GUTTER[0] + _SIGN  # a gutter in which something goes on


def wrapped_line(line: Line, width: int) -> list[Line]:
    """Returns a line as pieces that fit; nothing of it is left out."""
    text = line.text.expandtabs(TAB) if "\t" in line.text else line.text
    if (text.isascii() and len(text) <= width) or cell_len(text) <= width:
        return [line] if text is line.text else [Line(line.style, text)]
    lead = len(text) - len(text.lstrip(" "))
    if width < MIN_WIDTH:
        pieces = _narrow(text, width)
    elif text.startswith(GUTTER):
        pieces = _between_words(text, width, _BEHIND)
    elif line.style in CODE_STYLES or lead + HANGING_INDENT > min(MAX_HANGING_INDENT, width // 2):
        pieces = _cut(text, width)
    else:
        pieces = _between_words(text, width, " " * _hang(line.style, text, lead))
    return [Line(line.style, piece) for piece in pieces]


def _hang(style: Style, text: str, lead: int) -> int:
    """Returns how deep a line goes on: what is said, below its first word."""
    if style not in TEXT_STYLES or not lead:
        return lead + HANGING_INDENT
    bullet = _BULLET.match(text)
    return min(bullet.end(), lead + HANGING_INDENT + HANGING_INDENT) if bullet else lead


def _cut(text: str, width: int) -> list[str]:
    """Breaks wherever the width ends, and marks what goes on."""
    head, rest = _split(text, width)
    found = [head]
    while rest:
        head, rest = _split(rest, width - len(CONTINUATION_MARK))
        found.append(CONTINUATION_MARK + head)
    return found


def _between_words(text: str, width: int, hang: str) -> list[str]:
    """Breaks between words where there are any, and goes on behind what hangs there."""
    found: list[str] = []
    before, rest = "", text
    while rest:
        head, tail = _split(rest, width - len(before))
        if tail and not tail.startswith(" "):
            blank = head.rfind(" ", len(head) // 2)  # a long word is cut: little room is wasted
            if blank > 0:
                head, tail = rest[:blank], rest[blank:]
        found.append(before + head)
        before, rest = hang, tail.removeprefix(" ")
    return found


def _narrow(text: str, width: int) -> list[str]:
    head, rest = _split(text, width)
    found = [head]
    while rest:
        head, rest = _split(rest, width)
        found += [_SIGN, head]
    return found


def _split(text: str, width: int) -> tuple[str, str]:
    """Returns as much of a text as fits, at least one character, and the rest."""
    if text.isascii() or _ONE_CELL(text[: width + 1]):
        return text[:width], text[width:]
    cells = 0
    spans, _ = split_graphemes(text[: 4 * width + MIN_WIDTH])  # more of it never fits
    for start, _, size in spans:
        cells += size
        if cells > width and start:
            return text[:start], text[start:]
    return _split_long(text, width)


def _split_long(text: str, width: int) -> tuple[str, str]:
    """Splits a text that has many characters of no width."""
    cells = 0
    for start, _, size in split_graphemes(text)[0]:
        cells += size
        if cells > width and start:
            return text[:start], text[start:]
    return text, ""
