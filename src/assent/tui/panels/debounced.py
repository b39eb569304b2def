"""A panel that ignores keys typed too early, and answers typed too quickly."""

from collections.abc import Callable
from math import inf
from typing import Final, Generic, TypeVar

from textual.message import Message
from textual.timer import Timer

from assent.tui.key_timing import ANSWER_CANCELLED, TOO_QUICK, AnswerTiming
from assent.tui.line_view.view import LineView
from assent.tui.panels.panel import Panel

MOVES: Final = {
    "up": "scroll_up", "k": "scroll_up", "down": "scroll_down", "j": "scroll_down",
    "pageup": "page_up", "pagedown": "page_down", "home": "scroll_home", "end": "scroll_end",
}  # fmt: skip

Result = TypeVar("R")


class DebouncedPanel(Panel[Result], Generic[Result]):
    """Delays an answer for a moment: if another key follows at once, it was typed text."""

    decides = True

    def __init__(self) -> None:
        super().__init__()
        self.pace = AnswerTiming()
        self._answer_held: Callable[[], object] | None = None
        self._timer: Timer | None = None

    @property
    def listening(self) -> bool:
        """Whether what is asked is on the screen, so that keys count."""
        return self.pace.seen and self.ready_at < inf

    def asks(self) -> None:
        """Has answers count from when what is asked now was painted."""
        self.pace.ask()
        self.call_after_refresh(self._painted)

    @property
    def has_open_question(self) -> bool:
        """Whether a question is open that a key would answer."""
        return False

    def cancel_question(self, why: str = TOO_QUICK) -> None:
        """Takes the open question back, because a key came too quickly or the person says so."""
        raise NotImplementedError

    def interrupted(self) -> bool:
        """Takes back what is asked or answered; tells whether there was anything (Ctrl+C)."""
        if not self.pace.has_pending and not self.has_open_question:
            return False
        self.forget()
        self.cancel_question(ANSWER_CANCELLED)
        return True

    def is_hasty(self, at: float, *, answers: bool) -> bool:
        """Tells whether a key comes before anybody could see what it would do, or too soon for it.

        One that would answer takes the open question back then.
        """
        if not answers:
            return self.pace.is_early(at) or self.pace.note(at)
        if not self.pace.is_quick(at):
            return False
        self.pace.cancel()
        self.cancel_question()
        return True

    def move(self, key: str) -> bool:
        """Scrolls what is read; tells whether a key does that."""
        if key in MOVES:
            getattr(self.query_one("#all", LineView), f"action_{MOVES[key]}")()
        return key in MOVES

    def hold(self, at: float, answer: Callable[[], object]) -> None:
        """Does what an answer asks for, unless another key comes right after it."""
        self._drop_timer()
        if not self.pace.hold(at):
            answer()
            return
        self._answer_held = answer
        self._timer = self.set_timer(self.pace.wait, self._settle)

    def is_overtaken(self, at: float) -> bool:
        """Takes a key into account that follows an answer; tells whether it took that back."""
        if not self.pace.has_pending:
            return False
        if self.pace.is_overtaken(at):
            self._drop_timer()
            self.cancel_question()
            return True
        self._settle()
        return False

    def forget(self) -> None:
        """Forgets an answer that is kept back: what it answered is not what is shown any more."""
        self._drop_timer()
        self.pace.release()

    def on_screen_suspend(self) -> None:
        self.forget()

    def _settle(self) -> None:
        self._drop_timer()
        answer, self._answer_held = self._answer_held, None
        if self.pace.release() and answer is not None and self.is_attached:
            answer()

    def _drop_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _painted(self) -> None:
        self.pace.paint(Message().time, self.terminal.answer_s)
