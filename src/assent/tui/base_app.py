"""The base of the app: its layout, how panels open over it, and hints for a moment."""

from asyncio import TimerHandle
from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Event, Key, MouseEvent, Paste, Resize
from textual.filter import LineFilter, Monochrome, NoColor
from textual.visual import VisualType
from textual.widgets import Static

from assent.tui.context import PanelScreen
from assent.tui.conversation.view import ConversationView
from assent.tui.host import ScreenHost
from assent.tui.key_actions import DOUBLE_PRESS_S
from assent.tui.keys import ANSWER_S, BURST_S, CLOSE_S, DEBOUNCE_S, KeyDebounce, bindings
from assent.tui.min_size import (
    HEIGHT_BREAKPOINTS,
    WIDTH_BREAKPOINTS,
    TooSmallOverlay,
    is_ignored_input,
    size_classes,
)
from assent.tui.prompt.input import PromptInput
from assent.tui.queued_messages import QueuedView
from assent.tui.status import StatusLine
from assent.tui.textual_internals import DrivenApp
from assent.tui.timers import call_after

if TYPE_CHECKING:
    from assent.tui.panels.question.block import InlineQuestion

NO_COLOR: Final = NoColor()
SIDEBAR_MIN_WIDTH: Final = 110  # columns from which the side area fits next to the conversation


class BaseApp(DrivenApp):
    """Shows conversation, sidebar, prompt and status line, with a stack of panels."""

    TITLE = "Assent"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS, VERTICAL_BREAKPOINTS = WIDTH_BREAKPOINTS, HEIGHT_BREAKPOINTS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]
    CSS = """
    Screen { layers: base over small; }
    #main { height: 1fr; }
    #left { width: 1fr; }
    #activity { height: 1; padding: 0 2; color: $text-muted; }
    #side { display: none; width: 42%; max-width: 90; height: 1fr; }
    .side #side { display: block; }
    .side.narrow #side {
        layer: over; dock: right; width: 100%; max-width: 100%; background: $surface;
    }
    .side.narrow #left { visibility: hidden; }  /* so that it never gets keys unseen */
    """

    def __init__(self, host: ScreenHost) -> None:
        super().__init__()
        self.host = host
        self.question: InlineQuestion | None = None  # below the conversation, once one was asked
        self.side_wanted = True  # where there is room for it
        self.quiet_s, self.answer_s, self.close_s = DEBOUNCE_S, ANSWER_S, CLOSE_S
        self.burst_s, self.again_s = BURST_S, DOUBLE_PRESS_S
        self.typed_at = -inf  # when something was typed last
        self._early: str | None = ""  # what was typed before the prompt was there
        self._aftermath = (
            KeyDebounce()
        )  # after a panel that decides, before the prompt is typed into
        self.pressed: dict[str, float] = {}  # when a key was pressed that means more if repeated
        self._hinted: tuple[Static, VisualType, str] | None = None  # where, over what, with what
        self._hint_ends: TimerHandle | None = None

    def compose(self) -> ComposeResult:
        screen = self.screen_stack[0]
        screen.update_classes(
            size_classes(self.size) | self._side_classes(self.size.width), update=False
        )
        with Horizontal(id="main"):
            with Vertical(id="left"):
                yield ConversationView(id="conversation")
                yield Static("", id="activity", markup=False)
                yield QueuedView(id="queued")
                yield PromptInput(files=self.host.files, symbols=self.host.symbols, id="prompt")
            yield Vertical(id="side")
        yield StatusLine(id="status")
        yield TooSmallOverlay()

    @property
    def conversation(self) -> ConversationView:
        return self.screen_stack[0].query_one("#conversation", ConversationView)

    @property
    def prompt(self) -> PromptInput:
        return self.screen_stack[0].query_one("#prompt", PromptInput)

    @property
    def is_there(self) -> bool:
        """Whether the screen can be drawn on: not before it is mounted, nor while it closes."""
        return self.is_running and any(
            screen.is_attached and screen.query("#status") for screen in self.screen_stack[:1]
        )

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Has NO_COLOR take colours away, and nothing else.

        Textual makes grey of everything, and black on black of a terminal's own colours.
        """
        return [NO_COLOR if isinstance(f, Monochrome) else f for f in super().get_line_filters()]

    def on_resize(self, event: Resize) -> None:
        screen = self.screen_stack[0]
        classes = self._side_classes(event.size.width)
        if classes["narrow"] and screen.has_class("side"):
            self.call_after_refresh(self.prompt.focus_text)  # the side area goes, and had the keys
        screen.update_classes(classes)

    def _side_classes(self, width: int) -> dict[str, bool]:
        """Returns the classes that say whether there is a side area, and how wide the screen is."""
        narrow = width < SIDEBAR_MIN_WIDTH
        return {"narrow": narrow, "side": self.side_wanted and not narrow}

    def open_panel(
        self, panel: PanelScreen[Any], then: Callable[[Any], None] | None = None
    ) -> None:
        """Opens a panel; keys typed before the user could see it are dropped."""
        panel.update_classes(size_classes(self.size), update=False)
        if self.question is not None:
            self.question.covered()
        self.push_screen(panel, then)
        self.debounce_keys(panel)

    def debounce_keys(self, panel: PanelScreen[Any]) -> None:
        """Ignores keys in a panel until its content was painted and typing has paused."""
        panel.ready_at = inf
        panel.call_after_refresh(self._panel_shown, panel)

    def pop_screen(self) -> AwaitComplete:
        """Closes the top panel; keys still typed for a panel that decides go nowhere else."""
        if isinstance(self.screen, PanelScreen) and self.screen.decides and not self.screen.left:
            self.question_closed()
        self.call_after_refresh(self._uncover_question)
        return super().pop_screen()

    def _uncover_question(self) -> None:
        """Has a question that had the keys hear them again, once it is seen again."""
        one = self.question
        if one is not None and one.is_open and one.is_keyed and len(self.screen_stack) == 1:
            one.take_keyboard()

    def question_closed(self) -> None:
        """Drops keys that were typed for what just closed, before the prompt gets any."""
        self._aftermath = KeyDebounce(self.close_s, max(self.typed_at, Event().time))

    def is_open(self, kind: type[PanelScreen[Any]]) -> bool:
        """Tells whether a panel of a kind is open."""
        return any(isinstance(screen, kind) for screen in self.screen_stack)

    def hint(self, words: str) -> None:
        """Shows a short hint for a moment: above the prompt, or as the last line of a panel."""
        self.unhint()
        where = "#panel-keys" if len(self.screen_stack) > 1 else "#activity"
        for line in self.screen.query(where).results(Static):
            self._hinted = (line, line.content, words)
            line.update(words)
            self._hint_ends = self.call_after(self.again_s, self.unhint)

    def call_after(self, delay: float, callback: Callable[[], object]) -> TimerHandle:
        """Calls something after a delay in seconds."""
        return call_after(self, delay, callback)

    def unhint(self) -> None:
        """Restores what a hint replaced, unless something else is shown there now."""
        if self._hint_ends is not None:
            self._hint_ends.cancel()
        if self._hinted is not None:
            line, before, words = self._hinted
            if line.is_attached and line.content == words:
                line.update(before)
        self._hinted = self._hint_ends = None

    def activity(self, words: str) -> None:
        """Shows what is running."""
        line = self.screen_stack[0].query_one("#activity", Static)
        if self._hinted is not None and self._hinted[0] is line:
            self._hinted = (line, words, self._hinted[2])  # it is shown after the hint
        elif words != line.content:
            line.update(words, layout=False)

    async def on_event(self, event: Event) -> None:
        if self._keep_early(event):
            return
        typed = isinstance(event, Key | Paste | MouseEvent)
        if typed and (self._is_early(event) or is_ignored_input(event, self.size)):
            return
        if isinstance(event, Key | Paste):
            self._disarm(event)
        await super().on_event(event)

    def begin_typing(self) -> None:
        """Puts into the prompt what was typed before it was there; from now on it gets the keys."""
        typed, self._early = (self._early or "").strip("\n"), None
        if typed:
            self.typed_at = Event().time
            self.prompt.load(typed)

    def _keep_early(self, event: Event) -> bool:
        """Keeps text that is typed before the prompt is there, and nothing else; it is not sent."""
        if self._early is None or not isinstance(event, Key | Paste):
            return False
        if isinstance(event, Paste):
            self._early += event.text
        elif event.key in ("enter", "ctrl+j"):
            self._early += "\n"
        elif event.key == "backspace":
            self._early = self._early[:-1]
        elif event.is_printable and event.character:
            self._early += event.character
        else:
            return False
        return True

    def _disarm(self, event: Key | Paste) -> None:
        """Resets a key that does more when repeated, once another key is pressed."""
        if not isinstance(event, Key) or event.key not in self.pressed:
            self.pressed = {}
            self.unhint()

    def _is_early(self, event: Event) -> bool:
        """Tells whether something was typed before the panel that would get it was visible.

        A panel that decides also requires a pause in typing, and so does the prompt after it.
        """
        key = event.key if isinstance(event, Key) else ""
        if key == "ctrl+c":
            return False  # it decides nothing but to leave
        top = self.screen_stack[-1] if self.screen_stack else None
        if event.time < getattr(top, "ready_at", 0.0):
            return True
        if isinstance(event, MouseEvent):
            return False
        self.typed_at = max(self.typed_at, event.time)
        silence = top.silence if isinstance(top, PanelScreen) else self._aftermath
        return silence.breaks(event.time, key)

    def _panel_shown(self, panel: PanelScreen[Any]) -> None:
        panel.ready_at = now = Event().time
        since = max(self.typed_at, now)
        panel.silence = KeyDebounce(self.quiet_s, since) if panel.decides else KeyDebounce()
