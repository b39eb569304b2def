"""A panel of lines that are too many for the conversation, to scroll and to search."""

from collections.abc import Sequence

from textual.widget import Widget

from assent.render.lines import Line
from assent.tui.line_view.view import LineView, Section
from assent.tui.panels.panel import Panel


class LinesPanel(Panel[None]):
    """Shows lines. It decides nothing."""

    DEFAULT_CSS = """
    LinesPanel LineView { height: 1fr; margin: 1 0; }
    """
    AUTO_FOCUS = "#lines"
    keys = "↑ ↓ PgUp PgDn scroll · / search, n next · Esc close"

    def __init__(self, heading: str, lines: Sequence[Line]) -> None:
        super().__init__()
        self.heading = heading
        self._lines = tuple(lines)

    def body(self) -> list[Widget]:
        return [LineView(id="lines")]

    def on_mount(self) -> None:
        self.query_one("#lines", LineView).show([Section("lines", self._lines)])
