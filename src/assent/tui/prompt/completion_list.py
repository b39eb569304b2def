"""The short list of completions above the prompt."""

from collections.abc import Sequence
from typing import Final

from rich.text import Text
from textual.events import Click
from textual.message import Message
from textual.widgets import Static

from assent.core.text.hidden_chars import visible_line
from assent.tui.prompt.completion import Completion

ROWS: Final = 8
CHOSEN, OTHER = "▸ ", "  "
_WIDEST: Final = 48  # columns of the texts, where something is said about them


class CompletionList(Static):
    """Shows a few choices at a time, with a sign before the chosen one. Never has the focus."""

    DEFAULT_CSS = """
    CompletionList { height: auto; display: none; padding: 0 1; background: $surface; }
    CompletionList.open { display: block; }
    """

    class Accepted(Message):
        """A choice was clicked."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._choices: Sequence[Completion] = ()
        self._at = 0
        self._note = ""

    @property
    def is_open(self) -> bool:
        return self.has_class("open")

    @property
    def choices(self) -> Sequence[Completion]:
        return self._choices

    @property
    def chosen(self) -> Completion | None:
        return self._choices[self._at] if self._choices else None

    def show(self, choices: Sequence[Completion], note: str = "") -> None:
        """Shows choices, the first of them chosen; a note where there are none."""
        self._choices, self._at, self._note = choices, 0, note
        self.set_class(bool(choices or note), "open")
        self.update(self._drawn())

    def close(self) -> None:
        """Shows nothing."""
        self.show(())

    def move(self, by: int) -> None:
        """Chooses another one; after the last comes the first."""
        if self._choices:
            self._at = (self._at + by) % len(self._choices)
            self.update(self._drawn())

    def on_click(self, event: Click) -> None:
        at = self._first() + event.y
        if 0 <= at < len(self._choices):
            self._at = at
            self.post_message(self.Accepted())

    def _first(self) -> int:
        return max(0, min(self._at - ROWS // 2, len(self._choices) - ROWS))

    def _drawn(self) -> Text:
        first = self._first()
        rows = list(enumerate(self._choices))[first : first + ROWS]
        if not rows:
            return Text(visible_line(self._note), no_wrap=True, overflow="ellipsis")
        told = any(choice.about for choice in self._choices)
        width = min(max(len(choice.shown) for _, choice in rows), _WIDEST) if told else 0
        drawn = Text(no_wrap=True, overflow="ellipsis")
        for at, choice in rows:
            sign = CHOSEN if at == self._at else OTHER
            about = f"  {visible_line(choice.about)}" if choice.about else ""
            line = f"{sign}{choice.shown:<{width}}{about}"
            drawn.append(line, "reverse" if at == self._at else "")
            drawn.append("\n" if at != rows[-1][0] else "")
        more = len(self._choices) - first - len(rows)
        return drawn.append(f"\n{OTHER}… {more} more", "dim") if more > 0 else drawn
