"""A panel that asks for confirmation before something that is hard to undo."""

from collections.abc import Sequence
from functools import partial

from textual.events import Key, Paste
from textual.widget import Widget
from textual.widgets import Static

from assent.render.lines import Line
from assent.tui.key_timing import CONFIRM_KEY, TOO_QUICK
from assent.tui.line_view.view import LineView, Section
from assent.tui.panels.debounced import DebouncedPanel


class ConfirmPanel(DebouncedPanel[bool]):
    """Ends with True for Ctrl+Y, and with nothing for any other key: Enter confirms nothing."""

    DEFAULT_CSS = """
    ConfirmPanel > #frame { height: auto; max-height: 100%; max-width: 90; }
    ConfirmPanel #about { height: auto; max-height: 16; margin: 1 0; }
    """
    AUTO_FOCUS = None

    def __init__(self, heading: str, about: Sequence[Line], deed: str) -> None:
        super().__init__()
        self.heading = heading
        self.keys = f"Ctrl+Y {deed} · Esc leave it as it is"
        self._about = tuple(about)

    def body(self) -> list[Widget]:
        paper = LineView(id="about")
        paper.can_focus = False
        return [paper]

    def on_mount(self) -> None:
        paper = self.query_one("#about", LineView)
        paper.styles.height = len(self._about) + 2  # long ones take a second row
        paper.show([Section("about", self._about)])
        self.asks()

    def on_key(self, event: Key) -> None:
        if event.key == "escape":
            return
        event.stop()
        event.prevent_default()
        if self.is_overtaken(event.time):
            return
        if self.pace.is_quick(event.time):
            self.cancel_question()
        elif event.key == CONFIRM_KEY:
            self.hold(event.time, partial(self.dismiss, True))

    def on_paste(self, event: Paste) -> None:
        event.stop()  # what is pasted decides nothing

    def cancel_question(self, why: str = TOO_QUICK) -> None:
        self.query_one("#panel-keys", Static).update(f"{why} {self.keys}")

    def interrupted(self) -> bool:
        """Takes an answer back that is kept back; without one, it is left as it is."""
        if not super().interrupted():
            self.action_leave()
        return True
