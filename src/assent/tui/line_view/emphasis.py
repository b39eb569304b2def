"""Styles code and strong words in text; every character is kept."""

import re
from collections.abc import Iterator
from typing import Final

from rich.segment import Segment
from rich.style import Style as Look

from assent.tui.theme.styles import style_in_theme

_STRONG: Final = Look(bold=True)
_PIECE: Final = re.compile(r"(`[^`]+`)|\*\*(?=\S)[^*]+(?<=\S)\*\*")


def emphasis_segments(text: str, theme: str, style: Look) -> Iterator[Segment]:
    """Yields one row of prose in segments; what begins on another row is left as it is."""
    at = 0
    for found in _PIECE.finditer(text):
        yield Segment(text[at : found.start()], style)
        yield Segment(found[0], style + (style_in_theme(theme, "code") if found[1] else _STRONG))
        at = found.end()
    yield Segment(text[at:], style)
