"""Renders lines as terminal text with ANSI colours; colour never carries meaning alone."""

from collections.abc import Iterable, Iterator
from operator import attrgetter

from assent.render.lines import Line, Style

_CODES: dict[Style, str] = {
    "heading": "\x1b[1m",
    "risk": "\x1b[1;31m",
    "added": "\x1b[32m",
    "removed": "\x1b[31m",
    "hunk": "\x1b[36m",
    "dim": "\x1b[2m",
    "plain": "",
    "prose": "",
    "digest": "\x1b[1;33m",
    "said": "\x1b[1;34m",
    "code": "\x1b[35m",
}
_RESET = "\x1b[0m"
_text = attrgetter("text")


def ansi(lines: Iterable[Line], color: bool) -> Iterator[str]:
    """Turns lines into text without line feeds; without colour no escape is written."""
    return map(_colored, lines) if color else map(_text, lines)


def _colored(line: Line) -> str:
    code = _CODES[line.style] if line.text else ""
    return f"{code}{line.text}{_RESET}" if code else line.text
