"""A panel that asks once more before something happens that is hard to take back."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from assent.tui.panels.panel import Panel
from assent.tui.paper import Paper, Sheet
from assent.views.lines import Line


class ConfirmPanel(Panel[bool]):
    """Ends with True for `y`, and with nothing else for any other key: Enter confirms nothing."""

    DEFAULT_CSS = """
    ConfirmPanel > #frame { height: auto; max-height: 100%; max-width: 90; }
    ConfirmPanel #about { height: auto; max-height: 16; margin: 1 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "agree", "Yes")]
    AUTO_FOCUS = None

    def __init__(self, heading: str, about: Sequence[Line], deed: str) -> None:
        super().__init__()
        self.heading = heading
        self.keys = f"y {deed} · Esc leave it as it is"
        self._about = tuple(about)

    def body(self) -> list[Widget]:
        paper = Paper(id="about")
        paper.can_focus = False
        return [paper]

    def on_mount(self) -> None:
        paper = self.query_one("#about", Paper)
        paper.styles.height = len(self._about) + 2  # long ones take a second row
        paper.show([Sheet("about", self._about)])

    def action_agree(self) -> None:
        self.dismiss(True)
