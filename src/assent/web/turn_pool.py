"""Turns in a bounded pool of threads: one at a time in a session, in the order of its messages.

Everything that is to be done is on record in the session's queue before a thread takes it. A
process that ends in between loses no message: the next one goes on.
"""

import sys
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread, Timer
from traceback import print_exc
from typing import Final, TypeAlias

from assent.core.errors import AssentError

WORKERS: Final = 32

# Works on a session of a workspace, by its folder; returns in how many seconds to look there again,
# or None if nothing waits there.
Work: TypeAlias = Callable[[str, str], float | None]


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

    @property
    def at_work(self) -> int:
        """How many sessions are worked on, or wait for it."""
        return len(self._known)

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

    def close(self) -> None:
        """Takes no more; what is at work is not waited for."""
        with self._lock:
            self._closed = True
            for _ in self._threads:
                self._due.put(None)

    def _run(self) -> None:
        while (key := self._due.get()) is not None:
            again: float | None = None
            try:
                again = self._work(*key)
            except AssentError as error:
                print(f"assent serve: {error.message}", file=sys.stderr)
            except Exception:  # a fault of ours must not end the thread: other sessions need it
                print_exc()
            finally:
                self._done(key, again)

    def _done(self, key: tuple[str, str], again: float | None) -> None:
        with self._lock:
            asked = self._known.pop(key, False)
        if asked or again == 0:
            self.submit(*key)
        elif again is not None:
            later = Timer(again, self.submit, key)
            later.daemon = True
            later.start()
