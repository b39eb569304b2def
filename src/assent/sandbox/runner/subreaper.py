"""The subreaper: adopts processes that a call leaves without a parent, and reaps them.

Elsewhere process 1 does that; in many containers it does not, and each call would leave a dead
process behind for ever.
"""

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

_ADOPT: Final = 36  # PR_SET_CHILD_SUBREAPER


class _Subreaper:
    """Counts the calls under way: what is set here counts for the whole process."""

    def __init__(self) -> None:
        self._calls = 0
        self._lock = threading.Lock()

    def begin(self) -> None:
        self._change(1)

    def end(self) -> None:
        self._change(-1)

    def _change(self, by: int) -> None:
        with self._lock:
            before, self._calls = self._calls, self._calls + by
            if not before or not self._calls:
                ctypes.CDLL(None).prctl(_ADOPT, bool(self._calls), 0, 0, 0)


_ADOPTING: Final = _Subreaper()


@contextmanager
def child_subreaper() -> Iterator[None]:
    """Takes in orphans for as long as a call lasts."""
    _ADOPTING.begin()
    try:
        yield
    finally:
        _ADOPTING.end()


def reap(pid: int) -> None:
    """Clears away a process that has ended, if it came to us."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
