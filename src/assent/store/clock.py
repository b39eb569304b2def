"""The system clock, and ids that sort by time."""

import os
import time
from collections.abc import Callable
from threading import Lock

from assent.core.ids import format_id

_NOISE = 80
_MILLION = 1_000_000


class SystemClock:
    """Implements ports.Clock with the time of this machine."""

    def __init__(self, nanoseconds: Callable[[], int] = time.time_ns) -> None:
        self._nanoseconds = nanoseconds
        self._last = 0
        self._turn = Lock()

    def now(self) -> str:
        return self.later(0)

    def later(self, seconds: int) -> str:
        """Returns the time a number of seconds from now."""
        whole, rest = divmod(self._nanoseconds() // _MILLION, 1000)
        return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole + seconds))}.{rest:03}Z"

    def new_id(self) -> str:
        """Returns an id greater than all before it in this process, whatever the clock does."""
        fresh = (self._nanoseconds() // _MILLION << _NOISE) | int.from_bytes(os.urandom(10))
        with self._turn:
            if fresh <= self._last:
                fresh = self._last + 1 + int.from_bytes(os.urandom(8))
            self._last = fresh
        return format_id(fresh >> _NOISE, fresh)
