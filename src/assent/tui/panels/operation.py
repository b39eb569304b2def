"""The operation panel: one operation of a plan in full, read-only."""

from textual.widget import Widget

from assent.render.review import OperationReview
from assent.render.status import operation_detail_lines, operation_title
from assent.tui.line_view.view import LineView, Section
from assent.tui.panels.panel import Panel


class OperationPanel(Panel[None]):
    """Shows the diff of an operation, or the command that it is."""

    keys = "↑ ↓ PgUp PgDn scroll   / search   Esc close"

    def __init__(self, number: int, operation: OperationReview, theme: str) -> None:
        super().__init__()
        self.heading = operation_title(number, operation)
        self._paper = LineView(id="operation-paper")
        self._paper.theme_name = theme
        self._operation = operation

    def body(self) -> list[Widget]:
        return [self._paper]

    def on_mount(self) -> None:
        self._paper.show([Section("operation", tuple(operation_detail_lines(self._operation)))])
        self._paper.focus()
