"""Long work in a bounded pool of threads: in order, and one piece at a time where it must be."""

from collections.abc import Callable
from threading import Condition, Thread
from time import monotonic
from typing import Final, Literal, TypeAlias

import msgspec

from assent.web.errors import TooBusy

WORKERS: Final = 8
MAX_QUEUED: Final = 256
CLOSE_S: Final = 10.0  # that work gets to come to a good end when the server stops

WorkState: TypeAlias = Literal["queued", "running"]


class Work(msgspec.Struct, frozen=True):
    """Work to be done: of those with one key, one runs at a time; `stop` asks it to end."""

    id: str
    key: str
    run: Callable[[], None]
    stop: Callable[[], object]


class WorkPool:
    """Runs work as threads become free; what waits is known by its id."""

    def __init__(self, workers: int = WORKERS, most: int = MAX_QUEUED) -> None:
        """`most` is how much may wait for one of the threads."""
        self._workers, self._most = workers, most
        self._changed = Condition()
        self._queued: dict[str, Work] = {}
        self._running: dict[str, Work] = {}
        self._threads: list[Thread] = []
        self._closed = False

    def check_room(self) -> None:
        """Raises TooBusy if no more work is taken now."""
        with self._changed:
            if self._closed or len(self._queued) >= self._most:
                raise TooBusy("Too much work is waiting already. Nothing was begun.", "try again")

    def submit(self, work: Work) -> None:
        with self._changed:
            if self._closed:
                return
            self._queued[work.id] = work
            if len(self._threads) < min(self._workers, len(self._queued) + len(self._running)):
                name = f"work-{len(self._threads)}"
                thread = Thread(target=self._serve, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()
            self._changed.notify()

    def state(self, id: str) -> WorkState | None:
        """Tells where work stands; None: it is over, or was never here."""
        with self._changed:
            return "running" if id in self._running else "queued" if id in self._queued else None

    def close(self) -> None:
        """Takes no more, asks what runs to end, and waits for it a while."""
        with self._changed:
            self._closed = True
            self._queued.clear()
            running = list(self._running.values())
            self._changed.notify_all()
        for work in running:
            work.stop()
        until = monotonic() + CLOSE_S
        for thread in self._threads:
            thread.join(max(0.0, until - monotonic()))

    def _serve(self) -> None:
        while (work := self._next()) is not None:
            try:
                work.run()
            finally:
                with self._changed:
                    del self._running[work.id]
                    self._changed.notify_all()

    def _next(self) -> Work | None:
        """Waits for work whose key is free; None once the pool is closed."""
        with self._changed:
            while not self._closed:
                busy = {work.key for work in self._running.values()}
                for work in self._queued.values():
                    if work.key not in busy:
                        del self._queued[work.id]
                        self._running[work.id] = work
                        return work
                self._changed.wait()
            return None
