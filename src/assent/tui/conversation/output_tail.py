"""The last lines of output of the person's own shell command."""

from typing import Final

from assent.core.text.hidden_chars import fold_long, visible
from assent.core.text.secrets import redact
from assent.render.lines import Line

SHOWN: Final = 2000  # lines
# Before those that are shown as many are kept: a secret of several lines is known by its first.
MAX_KEPT_LINES: Final = 2 * SHOWN
MAX_CHARS: Final = 1 << 18  # characters, where lines are very long


class OutputTail:
    """Takes text as it comes; old lines are dropped."""

    def __init__(self) -> None:
        self._text = ""
        self._gone = 0  # lines that were let go

    def add(self, text: str) -> None:
        """Takes more of it."""
        self._text += text
        if len(self._text) > 2 * MAX_CHARS:
            self._gone += self._text.count("\n", 0, -MAX_CHARS)
            self._text = self._text[-MAX_CHARS:]
        lines = self._text.count("\n")
        if lines > MAX_KEPT_LINES + SHOWN:
            self._gone += lines - MAX_KEPT_LINES
            self._text = self._text.split("\n", lines - MAX_KEPT_LINES)[-1]

    def lines(self) -> list[Line]:
        """Returns its end; nothing if there are no words in it."""
        if not self._text.strip("\n"):
            return []
        lines = redact(self._text).strip("\n").split("\n")
        before = self._gone + len(lines) - SHOWN
        left = [f"({before} lines before)"] if before > 0 else []
        shown = visible("\n".join(lines[-SHOWN:])).split("\n")
        pieces = [piece for line in (*left, *shown) for piece in fold_long(line)]
        return [Line("dim", f"│ {piece}") for piece in pieces]
