"""Turns in a bounded pool of threads: one at a time in a session, in the order of its messages.

Everything that is to be done is on record in the session's queue before a thread takes it. A
process that ends in between loses no message: the next one goes on.
"""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Final

from assent.core.errors import AssentError

WORKERS: Final = 32

Work = Callable[[str, str], bool]  # root and session; tells whether more waits there


class TurnPool:
    """Runs `work` for sessions in which something waits."""

    def __init__(self, work: Work, workers: int = WORKERS) -> None:
        self._work = work
        self._due: SimpleQueue[tuple[str, str] | None] = SimpleQueue()
        self._lock = Lock()
        self._known: dict[tuple[str, str], bool] = {}  # at work or due; True: look again after it
        self._workers = workers
        self._threads: list[Thread] = []
        self._closed = False

    def submit(self, root: str, session: str) -> None:
        """Has a session worked on; one that is at work is looked at once more afterwards."""
        key = root, session
        with self._lock:
            if self._closed:
                return
            if key in self._known:
                self._known[key] = True
                return
            self._known[key] = False
            if len(self._threads) < min(self._workers, len(self._known)):
                thread = Thread(target=self._run, name=f"turn-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
        self._due.put(key)

    def is_queued(self, root: str, session: str) -> bool:
        """Tells whether a session is at work, or waits for a thread."""
        with self._lock:
            return (root, session) in self._known

    def close(self) -> None:
        """Takes no more; what is at work is not waited for."""
        with self._lock:
            self._closed = True
            for _ in self._threads:
                self._due.put(None)

    def _run(self) -> None:
        while (key := self._due.get()) is not None:
            more = False
            try:
                more = self._work(*key)
            except AssentError:
                pass  # it is on record, or nothing of it is
            finally:
                self._done(key, more=more)

    def _done(self, key: tuple[str, str], *, more: bool) -> None:
        with self._lock:
            again = self._known.pop(key, False) or more
        if again:
            self.submit(*key)
