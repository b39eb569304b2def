"""The frame: what the screen is made of, and how panels open over it."""

from collections.abc import Callable
from math import inf
from typing import Any, ClassVar, Final

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Event, Key, MouseEvent, Paste, Resize
from textual.widgets import Static

from assent.tui.conversation import Conversation
from assent.tui.host import Host
from assent.tui.keys import bindings
from assent.tui.panels.panel import Panel
from assent.tui.prompt import Prompt
from assent.tui.small import ACROSS, DOWN, Small, is_lost
from assent.tui.status import StatusLine

WIDE: Final = 110  # columns from which the side area has room beside the conversation


class Frame(App[int]):
    """Conversation, side area, prompt and status line; and a stack of panels."""

    TITLE = "Assent"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS, VERTICAL_BREAKPOINTS = ACROSS, DOWN
    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]
    CSS = """
    Screen { layers: base over small; }
    #main { height: 1fr; }
    #left { width: 1fr; }
    #activity { height: 1; padding: 0 2; color: $text-muted; }
    #side { display: none; width: 42%; max-width: 90; height: 1fr; }
    .side #side { display: block; }
    .side.narrow #side {
        layer: over; dock: right; width: 100%; max-width: 100; background: $surface;
    }
    """

    def __init__(self, host: Host) -> None:
        super().__init__()
        self.host = host
        self.side_wanted = True  # where there is room for it

    def compose(self) -> ComposeResult:
        with Horizontal(id="main"):
            with Vertical(id="left"):
                yield Conversation(id="conversation")
                yield Static("", id="activity", markup=False)
                yield Prompt(files=self.host.files, id="prompt")
            yield Vertical(id="side")
        yield StatusLine(id="status")
        yield Small()

    @property
    def conversation(self) -> Conversation:
        return self.screen_stack[0].query_one("#conversation", Conversation)

    @property
    def prompt(self) -> Prompt:
        return self.screen_stack[0].query_one("#prompt", Prompt)

    @property
    def is_there(self) -> bool:
        """Whether the screen can be drawn on: not before it is made, nor while it goes away."""
        return self.is_running and any(
            screen.is_attached and screen.query("#status") for screen in self.screen_stack[:1]
        )

    def on_resize(self, event: Resize) -> None:
        narrow = event.size.width < WIDE
        screen = self.screen_stack[0]
        screen.set_class(narrow, "narrow")
        screen.set_class(self.side_wanted and not narrow, "side")

    def open_panel(self, panel: Panel[Any], then: Callable[[Any], None] | None = None) -> None:
        """Opens a panel; what was typed before the person could see it is dropped."""
        panel.ready_at = inf
        self.push_screen(panel, then)
        panel.call_after_refresh(self._panel_shown, panel)

    def is_open(self, kind: type[Panel[Any]]) -> bool:
        """Tells whether a panel of a kind is open."""
        return any(isinstance(screen, kind) for screen in self.screen_stack)

    def hint(self, words: str) -> None:
        """Shows a few words above the prompt, and in the last line of a panel that covers it."""
        self.activity(words)
        for line in self.screen.query("#panel-keys").results(Static) if words else ():
            line.update(words)

    def activity(self, words: str) -> None:
        """Shows what is at work."""
        line = self.screen_stack[0].query_one("#activity", Static)
        if words != line.content:
            line.update(words, layout=False)

    async def on_event(self, event: Event) -> None:
        typed = isinstance(event, Key | Paste | MouseEvent)
        if typed and (self._is_early(event) or is_lost(event, self.size)):
            return
        await super().on_event(event)

    def _is_early(self, event: Event) -> bool:
        """Tells whether something was typed before the panel that would get it was in sight."""
        if isinstance(event, Key) and event.key == "ctrl+c":
            return False  # it decides nothing but to leave
        top = self.screen_stack[-1] if self.screen_stack else None
        return event.time < getattr(top, "ready_at", 0.0)

    def _panel_shown(self, panel: Panel[Any]) -> None:
        panel.ready_at = Event().time

    def _print_error_renderables(self) -> None:
        """Prints nothing: what failed is told on the terminal as it was before."""
