"""A panel: what opens over the screen, with a title, a body and a line that says its keys."""

from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from assent.tui.small import Small

R = TypeVar("R")


class Panel(ModalScreen[R], Generic[R]):
    """Fills the screen, or most of a wide one. Esc closes it and decides nothing.

    Keys that were typed before it opened never reach it: see `TerminalApp.open_panel`.
    """

    DEFAULT_CSS = """
    Panel { align: center middle; }
    Panel > #frame {
        width: 100%; max-width: 160; height: 100%; border: round $primary; padding: 0 1;
    }
    Panel #panel-title { height: auto; text-style: bold; }
    Panel #panel-keys { height: auto; dock: bottom; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Close")]

    heading = ""
    keys = "Esc close"
    ready_at = 0.0  # what was typed before is dropped

    def compose(self) -> ComposeResult:
        with Vertical(id="frame"):
            yield Static(self.heading, id="panel-title", markup=False)
            yield from self.body()
            yield Static(self.keys, id="panel-keys", markup=False)
        yield Small()

    def body(self) -> list[Widget]:
        """Returns what stands between title and keys."""
        return []

    def action_leave(self) -> None:
        self.dismiss(None)
