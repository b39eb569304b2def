"""Renders a model's Markdown with a style for each line; every character is kept."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from assent.core.text.hidden_chars import fold_long, visible_text
from assent.render.lines import Line, Style

INDENT: Final = "  "
_HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s")
_FENCE: Final = re.compile(r"\s*(```+|~~~+)")
_QUOTE: Final = re.compile(r"\s{0,3}>")


class MarkdownRenderer:
    """Renders one growing text: each time only its new part and its last line."""

    def __init__(self, indent: str = INDENT) -> None:
        self._indent = indent
        self._known = ""  # what is rendered
        self._lines: list[Line] = []
        self._fence = ""  # what the code began with, where one is open

    def lines(self, text: str) -> list[Line]:
        """Returns a text as lines, without empty ones at its beginning and end."""
        body = text.lstrip("\n")
        at = body.rstrip().rfind("\n") + 1  # where the last line begins that is not empty
        if at < len(self._known) or not body.startswith(self._known):
            self._forget()
        if at > len(self._known):
            whole = visible_text(body[len(self._known) : at])
            self._lines += self._styled(whole.removesuffix("\n").split("\n"))
            self._known = body[:at]
        fence = self._fence
        last = [*self._styled(visible_text(body[at:]).rstrip("\n").split("\n"))]
        self._fence = fence  # the last line may still become another
        return [*self._lines, *last]

    def _forget(self) -> None:
        self._known, self._lines, self._fence = "", [], ""

    def _styled(self, lines: Iterable[str]) -> Iterator[Line]:
        for line in lines:
            style = self._style(line)
            for piece in fold_long(line):
                yield Line(style, self._indent + piece)

    def _style(self, line: str) -> Style:
        found = _FENCE.match(line)
        if found and (not self._fence or line.strip().startswith(self._fence)):
            self._fence = "" if self._fence else found[1]
            return "dim"
        if self._fence:
            return "code"
        if _HEADING.match(line):
            return "heading"
        return "dim" if _QUOTE.match(line) else "prose"
