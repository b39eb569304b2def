"""The base of every panel: a title, a body and a line of keys.

Derived panels ignore keys typed too early, ask for confirmation, or only show lines.
"""

from asyncio import TimerHandle
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import ClassVar, Final, Generic, TypeVar, cast

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key, Paste, Resize
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from assent.render.lines import Line
from assent.tui.context import AppContext, PanelScreen
from assent.tui.keys import ANSWER_CANCELLED, CONFIRM_KEY, TOO_QUICK, AnswerTiming
from assent.tui.line_view import LineView, Section
from assent.tui.min_size import TooSmallOverlay
from assent.tui.status import StatusLine
from assent.tui.timers import call_after

R = TypeVar("R")


class Panel(PanelScreen[R], Generic[R]):
    """Fills the screen, or most of a wide one; Esc closes it and decides nothing.

    Keys that were typed before it opened never reach it: see `TerminalApp.open_panel`.
    """

    DEFAULT_CSS = """
    Panel { align: center middle; }
    Panel > #frame {
        width: 100%; max-width: 160; height: 1fr; border: round $primary; padding: 0 1;
    }
    Panel #panel-title { height: auto; text-style: bold; }
    Panel #panel-keys { height: auto; dock: bottom; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Close")]

    heading = ""
    keys = "Esc close"
    _ending: tuple[R | None] | None = None  # with what it ends, once nothing lies over it

    def compose(self) -> ComposeResult:
        with Vertical(id="frame"):
            yield Static(self.heading, id="panel-title", markup=False)
            yield from self.body()
            yield Static(self.keys, id="panel-keys", markup=False)
        yield StatusLine(id="panel-status")
        yield TooSmallOverlay()

    def body(self) -> list[Widget]:
        """Returns the widgets between title and keys."""
        return []

    @property
    def terminal(self) -> AppContext:
        """The app that the panel is open in."""
        return cast(AppContext, self.app)

    def action_leave(self) -> None:
        self.left = True
        self.dismiss(None)

    @property
    def is_over(self) -> bool:
        """Whether it is closed, or closes as soon as nothing is open over it."""
        return self._ending is not None or self not in self.app.screen_stack

    def dismiss(self, result: R | None = None) -> AwaitComplete:
        """Closes this panel only: a panel over it stays, and is closed first.

        Textual would close whatever is on top, also when a thread reports that this panel is done
        while the user types in another one, or when it is called twice.
        """
        if not self.is_over:
            self._ending = (result,)
        if self._ending is None or not self.is_active:
            return AwaitComplete()
        return super().dismiss(*self._ending)

    def on_screen_resume(self) -> None:
        if self._ending is not None:
            self.dismiss(*self._ending)
        self._redraw()

    def on_resize(self, event: Resize) -> None:
        self.call_after_refresh(self._redraw)

    def _redraw(self) -> None:
        """Redraws views whose end may have been drawn while something covered them."""
        for paper in self.query(LineView):
            if not paper.reached_end:
                paper.refresh()


# A panel that ignores keys typed too early, and answers typed too quickly.


MOVES: Final = {
    "up": "scroll_up", "k": "scroll_up", "down": "scroll_down", "j": "scroll_down",
    "pageup": "page_up", "pagedown": "page_down", "home": "scroll_home", "end": "scroll_end",
}  # fmt: skip

Result = TypeVar("Result")


class AnswerDelay:
    """Delays an answer for a moment: if another key follows at once, it was typed text.

    It is mixed into a widget that takes decisions, before the widget's own class.
    """

    ready_at: float

    def __init__(self) -> None:
        super().__init__()
        self.pace = AnswerTiming()
        self._answer_held: Callable[[], object] | None = None
        self._timer: TimerHandle | None = None

    @property
    def _widget(self) -> Widget:
        return cast(Widget, self)

    @property
    def listening(self) -> bool:
        """Whether the question is on the screen, so that keys count."""
        return self.pace.seen and self.ready_at < inf

    def asks(self) -> None:
        """Accepts answers only after the current question was painted."""
        self.pace.ask()
        self._widget.call_after_refresh(self._painted)

    @property
    def has_open_question(self) -> bool:
        """Whether a question is open that a key would answer."""
        return False

    def cancel_question(self, why: str = TOO_QUICK) -> None:
        """Closes the open question, because a key came too soon or the user cancels."""
        raise NotImplementedError

    def interrupted(self) -> bool:
        """Cancels the open question or delayed answer; tells whether there was one (Ctrl+C)."""
        if not self.pace.has_pending and not self.has_open_question:
            return False
        self.forget()
        self.cancel_question(ANSWER_CANCELLED)
        return True

    def is_hasty(self, at: float, *, answers: bool, closes: bool = False) -> bool:
        """Tells whether a key came before the user could see its effect, or too soon after that.

        A hasty key that would answer closes the open question. One that closes the panel and
        decides nothing counts before everything is painted.
        """
        if not answers:
            return (self.pace.is_early(at) and not closes) or self.pace.note(at)
        if not self.pace.is_quick(at):
            return False
        self.pace.cancel()
        self.cancel_question()
        return True

    def hold(self, at: float, answer: Callable[[], object]) -> None:
        """Runs an answer, unless another key follows at once."""
        self._drop_timer()
        if not self.pace.hold(at):
            answer()
            return
        self._answer_held = answer
        self._timer = call_after(self._widget, self.pace.wait, self._settle)

    def is_overtaken(self, at: float) -> bool:
        """Handles a key that follows an answer; tells whether it cancelled the answer."""
        if not self.pace.has_pending:
            return False
        if self.pace.is_overtaken(at):
            self._drop_timer()
            self.cancel_question()
            return True
        self._settle()
        return False

    def forget(self) -> None:
        """Forgets a delayed answer, because its question is no longer shown."""
        self._drop_timer()
        self.pace.release()

    def _settle(self) -> None:
        self._drop_timer()
        answer, self._answer_held = self._answer_held, None
        if self.pace.release() and answer is not None and self._widget.is_attached:
            answer()

    def _drop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _painted(self) -> None:
        self.pace.paint(Message().time, cast(AppContext, self._widget.app).answer_s)


class DebouncedPanel(AnswerDelay, Panel[Result], Generic[Result]):
    """A panel that takes decisions, and ignores keys typed too early or too quickly."""

    decides = True

    def move(self, key: str) -> bool:
        """Scrolls the content; tells whether a key does that."""
        if key in MOVES:
            getattr(self.query_one("#all", LineView), f"action_{MOVES[key]}")()
        return key in MOVES

    def on_screen_suspend(self) -> None:
        self.forget()


# A panel that asks for confirmation before something that is hard to undo.


INSTEAD_KEY: Final = "ctrl+w"


class ConfirmPanel(DebouncedPanel[bool]):
    """Asks for confirmation: Ctrl+Y gives True, any other key None; Enter confirms nothing.

    `instead` names another way, which Ctrl+W opens: it gives False and decides nothing yet.
    """

    DEFAULT_CSS = """
    ConfirmPanel > #frame { height: auto; max-height: 100%; max-width: 90; }
    ConfirmPanel #about { height: auto; max-height: 16; margin: 1 0; }
    """
    AUTO_FOCUS = None
    for_one_session = True

    def __init__(self, heading: str, about: Sequence[Line], deed: str, instead: str = "") -> None:
        super().__init__()
        self.heading = heading
        more = f" · Ctrl+W {instead}" if instead else ""
        self.keys = f"Ctrl+Y {deed}{more} · Esc cancel"
        self._instead = bool(instead)
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
        elif event.key == INSTEAD_KEY and self._instead:
            self.hold(event.time, partial(self.dismiss, False))

    def on_paste(self, event: Paste) -> None:
        event.stop()  # what is pasted decides nothing

    def cancel_question(self, why: str = TOO_QUICK) -> None:
        self.query_one("#panel-keys", Static).update(f"{why} {self.keys}")

    def interrupted(self) -> bool:
        """Cancels a delayed answer; without one, nothing changes."""
        if not super().interrupted():
            self.action_leave()
        return True


# A panel of lines that are too many for the conversation, to scroll and to search.

MAX_INLINE_LINES: Final = 16


class LinesPanel(Panel[None]):
    """Shows sections of lines; it decides nothing."""

    DEFAULT_CSS = """
    LinesPanel LineView { height: 1fr; margin: 1 0 0 0; }
    """
    AUTO_FOCUS = "#lines"
    keys = "↑ ↓ PgUp PgDn scroll · / search, n next · Esc close"

    def __init__(self, heading: str, sections: Sequence[Section]) -> None:
        super().__init__()
        self.heading = heading
        self._sections = tuple(sections)

    def body(self) -> list[Widget]:
        return [LineView(id="lines")]

    def on_mount(self) -> None:
        self.query_one("#lines", LineView).show(self._sections)
