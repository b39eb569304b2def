"""A panel in which a person writes: a comment, or a note that goes along with a yes."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import TextArea

from assent.tui.panels.panel import Panel
from assent.tui.paper import Paper, Sheet
from assent.views.lines import Line


class WordsPanel(Panel[str]):
    """Takes words. It ends with them, or with None if the person wants it as it was."""

    DEFAULT_CSS = """
    WordsPanel Paper { height: auto; max-height: 40%; margin: 1 0 0 0; }
    WordsPanel TextArea {
        height: auto; min-height: 5; max-height: 1fr; margin: 1 0; padding: 0 1;
        border: none; border-left: thick $primary;
    }
    WordsPanel TextArea:focus { border: none; border-left: thick $accent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "keep", "Keep", priority=True),
    ]
    keys = "Ctrl+S keep · Esc leave as it was"

    def __init__(self, heading: str, about: Sequence[Line] = (), words: str = "") -> None:
        super().__init__()
        self.heading = heading
        self._about = about
        self._words = words

    def body(self) -> list[Widget]:
        paper = Paper(id="about")
        paper.can_focus = False
        paper.display = bool(self._about)
        return [paper, TextArea(self._words, id="words", soft_wrap=True)]

    def on_mount(self) -> None:
        paper = self.query_one("#about", Paper)
        paper.styles.height = min(len(self._about), 8)
        paper.show([Sheet("about", tuple(self._about))])
        self.query_one("#words", TextArea).focus()

    def action_keep(self) -> None:
        self.dismiss(self.query_one("#words", TextArea).text.strip("\n"))
