"""The line on the terminal that says how long a model has been waited for."""

import sys
import time
from collections.abc import Callable
from threading import Event, RLock, Thread
from typing import Final

from assent.cli.goal.output import TurnOutput
from assent.cli.goal.result import TurnResult
from assent.cli.terminal import ScreenLock
from assent.core.event import StoredEvent
from assent.core.llm import StreamDelta
from assent.core.session.event import StepRetried, StepStarted
from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import visible_line

FIRST_S: Final = 2.0  # of silence: most answers begin before
TICK_S: Final = 1.0
MOST_CHARS: Final = 60  # so that it fits on one line, which is all that can be taken away again
_CLEAR: Final = "\r\x1b[K"


class WaitingTurnOutput:
    """Implements TurnOutput around another; only where stderr is a terminal.

    The line is on stderr and is gone before anything else is shown.
    """

    def __init__(
        self,
        inner: TurnOutput,
        screen: ScreenLock,
        clock: Callable[[], float] = time.monotonic,
        first_s: float = FIRST_S,
    ) -> None:
        self._inner = inner
        self._screen = screen
        self._clock = clock
        self._first_s = first_s
        self._lock = RLock()
        self._what = ""  # is waited for; empty: nothing is
        self._since = 0.0
        self._shown = False
        self._over = Event()
        self._thread: Thread | None = None
        screen.before_asking = self._clear

    def begin(self, record: SessionRecord, *, fresh: bool) -> None:
        self._inner.begin(record, fresh=fresh)
        self._thread = Thread(target=self._tick, name="waiting line", daemon=True)
        self._thread.start()

    def hear(self, heard: StoredEvent | StreamDelta) -> None:
        with self._lock:
            self._clear()
            match heard:
                case StoredEvent(event=StepStarted(model=model)):
                    self._wait(f"Waiting for {model}")
                case StoredEvent(event=StepRetried(attempt=attempt)):
                    self._wait(f"Retrying, attempt {attempt + 1}")
                case StreamDelta("reasoning" | "call") if self._what:
                    pass  # it answers, but nothing of that is on the screen
                case _:
                    self._what = ""
            self._inner.hear(heard)

    def end(self, ending: TurnResult) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self._clear()
        self._inner.end(ending)

    def _wait(self, what: str) -> None:
        shown = visible_line(what)
        self._what = shown if len(shown) <= MOST_CHARS else f"{shown[:MOST_CHARS]}…"
        self._since = self._clock()

    def _tick(self) -> None:
        while not self._over.wait(TICK_S):
            self._screen.show_now(self.show)

    def show(self) -> None:
        """Shows how long it has been, if it has been long."""
        with self._lock:
            passed = self._clock() - self._since
            if self._what and passed >= self._first_s:
                sys.stderr.write(f"{_CLEAR}{self._what} ({passed:.0f} s)")
                sys.stderr.flush()
                self._shown = True

    def _clear(self) -> None:
        with self._lock:
            if self._shown:
                sys.stderr.write(_CLEAR)
                sys.stderr.flush()
                self._shown = False
