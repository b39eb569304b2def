"""Keeps a turn's output back while a person is asked something on the same terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock


class ScreenLock:
    """Keeps a question the last thing on screen until it is answered."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._asking = 0
        self._held: list[Callable[[], None]] = []

    def show(self, write: Callable[[], None]) -> None:
        """Writes now, or after the answer if somebody is being asked."""
        with self._lock:
            if self._asking:
                self._held.append(write)
            else:
                write()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Holds back what others write, until the person has answered."""
        with self._lock:
            self._asking += 1
        try:
            yield
        finally:
            with self._lock:
                self._asking -= 1
            if not self._asking:
                self.flush_held()

    def flush_held(self) -> None:
        """Writes what was held back."""
        with self._lock:
            held, self._held = self._held, []
            for write in held:
                write()
