"""A cache of slow answers: many callers cause one look, and never wait long for another's."""

from collections.abc import Callable, Hashable
from threading import Lock
from time import monotonic
from typing import Any, Final, TypeVar

from assent.web.errors import TooBusy

T = TypeVar("T")
WAIT_S: Final = 3.0  # for an answer that somebody else is waiting for already


class _Entry:
    """One answer, when it was found, and who looks for the next one."""

    def __init__(self) -> None:
        self.looking = Lock()
        self.found: Any = None
        self.until = 0.0


class AnswerCache:
    """Keeps answers for a few seconds, so that requests cannot use up the threads of a server."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, _Entry] = {}
        self._lock = Lock()

    def get(self, key: Hashable, seconds: float, find: Callable[[], T]) -> T:
        """Returns an answer that is at most `seconds` old; while one looks, others get the last."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
        last: T | None = entry.found
        if last is not None and monotonic() < entry.until:
            return last
        if not entry.looking.acquire(timeout=WAIT_S if last is None else 0):
            if last is not None:
                return last
            raise TooBusy("This takes long, and others asked for it before.", "try again")
        try:
            if entry.found is None or monotonic() >= entry.until:
                entry.found = find()
                entry.until = monotonic() + seconds
            found: T = entry.found
            return found
        finally:
            entry.looking.release()
