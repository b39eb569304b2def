"""The cancel token: ends work from any thread, with a reason, and wakes what waits in it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, RLock
from typing import Generic, TypeVar

from assent.core.errors import Interrupted
from assent.core.llm import StreamEnded, StreamEvent

Reason = TypeVar("Reason")
Wake = Callable[[], object]  # ends a wait; called from the thread that cancels

REQUEST_ENDED = "The request was cancelled before its response was complete."


class CancelToken(Generic[Reason]):
    """Cancels one piece of work, perhaps before it begins, and never after its end.

    The first reason counts. Work that waits for something attaches how to wake it; wakes are called
    under the lock, so that none is under way once `attach`, `detach` or `close` has returned.
    """

    def __init__(self) -> None:
        self._lock = RLock()  # a wake may end the very work that detaches it
        self._cancelled = Event()
        self._closed = False
        self._reason: Reason | None = None
        self._wake: Wake | None = None

    @property
    def reason(self) -> Reason | None:
        """Why the work is to end; None: it is not. Takes no lock, so that it can be read in one."""
        return self._reason

    @property
    def is_cancelled(self) -> bool:
        return self._reason is not None

    def cancel(self, reason: Reason) -> None:
        """Ends the work. A further call wakes it again: it may have begun to wait since."""
        with self._lock:
            if self._closed:
                return
            if self._reason is None:
                self._reason = reason
                self._cancelled.set()
            if self._wake is not None:
                self._wake()

    def attach(self, wake: Wake) -> None:
        """Says what ends the wait that comes next; at once, if the work is cancelled already."""
        with self._lock:
            self._wake = wake
            if self.is_cancelled:
                wake()

    def detach(self) -> None:
        """Lets a cancellation wake nothing until something else is attached."""
        with self._lock:
            self._wake = None

    @contextmanager
    def attached(self, wake: Wake) -> Iterator[None]:
        """Has a cancellation call this while a block lasts."""
        self.attach(wake)
        try:
            yield
        finally:
            self.detach()

    def close(self) -> None:
        """Lets the work end by itself; it can no longer be cancelled."""
        with self._lock:
            self._closed = True
            self._wake = None

    def wait(self, seconds: float) -> bool:
        """Waits, unless the cancellation comes first; tells whether it did."""
        return self._cancelled.wait(seconds)

    def raise_if_cancelled(self: "CancelToken[str]") -> None:
        """Raises Interrupted with the reason, where that is a sentence."""
        if self._reason is not None:
            raise Interrupted(self._reason)


class CancelRegistry(Generic[Reason]):
    """The tokens of the work that this process is at, by name where there can be several."""

    def __init__(self) -> None:
        self._tokens: dict[str, CancelToken[Reason]] = {}

    @contextmanager
    def registered(self, name: str = "") -> Iterator[CancelToken[Reason]]:
        """Lets others cancel a block; the caller holds its lock between processes."""
        token = self._tokens[name] = CancelToken()
        try:
            yield token
        finally:
            self._tokens.pop(name, None)

    def cancel(self, reason: Reason, name: str = "") -> bool:
        """Cancels the work of that name; tells whether this process is at it."""
        token = self._tokens.get(name)
        if token is not None:
            token.cancel(reason)
        return token is not None

    def is_cancelled(self, name: str = "") -> bool:
        token = self._tokens.get(name)
        return token is not None and token.is_cancelled


class CancellableModelStream:
    """Implements ports.ModelStream over a generator; it can be closed while it waits."""

    def __init__(self, begin: Callable[[CancelToken[str]], Iterator[StreamEvent]]) -> None:
        self._token = CancelToken[str]()
        self._parts = begin(self._token)
        self._over = False

    def __iter__(self) -> "CancellableModelStream":
        return self

    def __next__(self) -> StreamEvent:
        try:
            answer = next(self._parts)
        except (StopIteration, ValueError):  # the latter if another thread is just closing it
            if not self._over:
                self._token.raise_if_cancelled()
            raise
        self._over = isinstance(answer, StreamEnded)
        return answer

    def close(self) -> None:
        """Ends the request; code that waits for its next part gets Interrupted."""
        self._token.cancel(REQUEST_ENDED)
        close = getattr(self._parts, "close", None)
        with suppress(ValueError):  # it runs in another thread, which the token has woken
            if close is not None:
                close()
