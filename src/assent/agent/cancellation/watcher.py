"""Interrupts a turn that waits for a model when it is stopped from another process."""

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread
from types import TracebackType

from assent.core.errors import AssentError
from assent.core.session.event import TurnEnded

FIRST_CHECK_S = 1.0  # most requests are over by then, and calls look for themselves
CHECK_EVERY_S = 0.5


class CancelWatcher:
    """Polls for a stop request while a turn is running, and only then."""

    def __init__(
        self, halted: Callable[[], TurnEnded | None], pull: Callable[[TurnEnded], None]
    ) -> None:
        self._halted = halted
        self._pull = pull
        self._over = Event()
        self._alone = Lock()
        # A daemon: a process that ends does not wait for it.
        self._thread = Thread(target=self._look, name="watch", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._alone:
            self._over.set()

    def _look(self) -> None:
        pause = FIRST_CHECK_S
        while not self._over.wait(pause):
            pause = CHECK_EVERY_S
            with suppress(AssentError):  # the log is busy, say; the next look will do
                if end := self._halted():
                    self._end(end)

    def _end(self, end: TurnEnded) -> None:
        with self._alone:
            if not self._over.is_set():
                self._pull(end)
