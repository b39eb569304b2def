"""Cancels a streaming answer from any thread, at once."""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

from assent.core.errors import Interrupted
from assent.core.llm import StreamEnded, StreamEvent


class StreamCancelToken:
    """Cancels one request. Code that waits registers how to wake it."""

    def __init__(self) -> None:
        self._made = threading.Event()
        self._wake: Callable[[], None] | None = None

    @property
    def is_cancelled(self) -> bool:
        return self._made.is_set()

    def on_cancel(self, wake: Callable[[], None]) -> None:
        """Says what ends the wait that comes next; at once, if the cut is made already."""
        self._wake = wake
        if self.is_cancelled:
            wake()

    def cancel(self) -> None:
        """Ends the request; a second time changes nothing."""
        self._made.set()
        if self._wake is not None:
            self._wake()

    def wait(self, seconds: float) -> None:
        """Waits, unless the cut comes first."""
        self._made.wait(seconds)

    def raise_if_cancelled(self) -> None:
        """Raises Interrupted if the cut is made."""
        if self.is_cancelled:
            raise Interrupted("The request was ended before its answer was complete.")


class CancellableModelStream:
    """Implements ports.ModelStream over a generator; it can be closed while it waits."""

    def __init__(self, begin: Callable[[StreamCancelToken], Iterator[StreamEvent]]) -> None:
        self._cut = StreamCancelToken()
        self._parts = begin(self._cut)
        self._over = False

    def __iter__(self) -> "CancellableModelStream":
        return self

    def __next__(self) -> StreamEvent:
        try:
            answer = next(self._parts)
        except (StopIteration, ValueError):  # the latter if another thread is just closing it
            if not self._over:
                self._cut.raise_if_cancelled()
            raise
        self._over = isinstance(answer, StreamEnded)
        return answer

    def close(self) -> None:
        """Ends the request; whoever wants its next part then gets Interrupted."""
        self._cut.cancel()
        with suppress(ValueError):  # it runs in another thread, which the cut has woken
            getattr(self._parts, "close", _nothing)()


def _nothing() -> None:
    """Closes an iterator that needs no closing."""
