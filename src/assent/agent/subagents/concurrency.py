"""Limits how many children of one session tree work at the same time, at any depth."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition


class ConcurrencyLimit:
    """Limits one tree; a parent that waits for its children does not count, so they can run."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._busy = 0
        self._change = Condition()

    @contextmanager
    def acquired(self, unwanted: Callable[[], bool]) -> Iterator[None]:
        """Holds a slot; stops waiting for one when the work is no longer wanted."""
        self._take(unwanted)
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def released(self, unwanted: Callable[[], bool]) -> Iterator[None]:
        """Releases one's own slot to others in this context."""
        self._give()
        try:
            yield
        finally:
            self._take(unwanted)

    def wake(self) -> None:
        """Wakes all who wait, so that they check whether they are still wanted."""
        with self._change:
            self._change.notify_all()

    def _take(self, unwanted: Callable[[], bool]) -> None:
        with self._change:
            while self._busy >= self._most and not unwanted():
                self._change.wait()
            self._busy += 1

    def _give(self) -> None:
        with self._change:
            self._busy -= 1
            self._change.notify_all()
