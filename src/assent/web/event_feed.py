"""The event feed: what is recorded by any process, and what models say live, for many subscribers.

The log is read once for all of them. A subscriber that is too slow is dropped, and told to resume
from the last event that it got: nobody waits for it, and nothing is lost.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Annotated, Final, Protocol

import msgspec

from assent.core.event import StoredEvent

POLL_S: Final = 0.02  # between two looks whether anything was recorded
HEARTBEAT_S: Final = 15.0
MAX_WAITING: Final = 2_000  # messages that a subscriber may be behind
PAGE: Final = 500  # events that are read at once
MAX_POSITION: Final = 2**62  # of the log; what is larger can only be a mistake
HEARTBEAT: Final = b": still here\n\n"
RESUME: Final = b"event: resume\ndata: {}\n\n"  # it was too slow, and connects again by its last id


class FeedSource(Protocol):
    """The log, as the feed reads it."""

    def last(self) -> int: ...
    def read_after(self, position: int, limit: int) -> list[StoredEvent]:
        """Returns the next events after a position of the log."""


class FeedMessage(msgspec.Struct, frozen=True):
    """One message as it is sent; live ones have no position, and are not sent again."""

    position: int
    workspace: str
    session: str
    sent: bytes


class FeedFilter(msgspec.Struct, frozen=True):
    """What a subscriber wants: everything, or one workspace or session."""

    workspace: str = ""
    session: str = ""

    def wants(self, message: FeedMessage) -> bool:
        return self.workspace in ("", message.workspace) and self.session in ("", message.session)


class EventQuery(FeedFilter, frozen=True):
    """Which events a client wants, and after which position of the log."""

    after: Annotated[int, msgspec.Meta(ge=0, le=MAX_POSITION)] | None = None


def encode_message(body: bytes, position: int = 0, kind: str = "") -> bytes:
    """Returns a message in the form of server-sent events; a body has no line breaks."""
    named = f"event: {kind}\n".encode() if kind else b""
    placed = f"id: {position}\n".encode() if position else b""
    return b"%s%sdata: %s\n\n" % (placed, named, body)


class _Subscriber:
    """What waits for one connection."""

    def __init__(self, wanted: FeedFilter) -> None:
        self._wanted = wanted
        self._waiting: list[FeedMessage] = []
        self._filled = asyncio.Event()
        self.dropped = False

    def put(self, message: FeedMessage) -> None:
        if self.dropped or not self._wanted.wants(message):
            return
        self._waiting.append(message)
        if len(self._waiting) > MAX_WAITING:
            self.dropped, self._waiting = True, []
        self._filled.set()

    def beat(self) -> None:
        """Wakes the connection, so that both sides notice whether the other is still there."""
        self._filled.set()

    async def take(self) -> list[FeedMessage]:
        """Waits for messages and returns them all; none: nothing happened for a while."""
        await self._filled.wait()
        self._filled.clear()
        found, self._waiting = self._waiting, []
        return found


class EventFeed:
    """Reads the log for all subscribers; `run` is a task of the server's loop."""

    def __init__(
        self, source: FeedSource, rendered: Callable[[StoredEvent], FeedMessage | None]
    ) -> None:
        self._source = source
        self._rendered = rendered
        self._subscribers: set[_Subscriber] = set()
        self._position = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def subscribers(self) -> int:
        return len(self._subscribers)

    async def run(self) -> None:
        """Delivers what is recorded, until it is cancelled."""
        self._loop = asyncio.get_running_loop()
        self._position = await asyncio.to_thread(self._source.last)
        beat_at = self._loop.time() + HEARTBEAT_S
        while True:
            if self._loop.time() >= beat_at:
                beat_at += HEARTBEAT_S
                for each in self._subscribers:
                    each.beat()
            if self._source.last() > self._position:
                await self._deliver()
            await asyncio.sleep(POLL_S)

    async def _deliver(self) -> None:
        while True:
            found = await asyncio.to_thread(self._source.read_after, self._position, PAGE)
            for stored in found:
                self._position = stored.position
                message = self._rendered(stored) if self._subscribers else None
                if message is not None:
                    self._spread(message)
            if len(found) < PAGE:
                return

    def tell(self, message: FeedMessage) -> None:
        """Delivers something live, from any thread; it is lost for those who are not connected."""
        if self._loop is not None and self._subscribers:
            with suppress(RuntimeError):  # the server is closing
                self._loop.call_soon_threadsafe(self._spread, message)

    def _spread(self, message: FeedMessage) -> None:
        for each in self._subscribers:
            each.put(message)

    async def subscribe(self, wanted: FeedFilter, after: int | None) -> AsyncIterator[bytes]:
        """Yields what is sent to one subscriber: recorded events after a position, then new ones.

        Without a position it begins with what happens from now on.
        """
        mine = _Subscriber(wanted)
        self._subscribers.add(mine)
        try:
            reached = self._position if after is None else min(after, self._position)
            async for message in self._past(reached):
                reached = message.position
                if wanted.wants(message):
                    yield message.sent
            while True:
                found = await mine.take()
                if mine.dropped:
                    yield RESUME
                    return
                # What was read above may have come this way, too.
                new = [each for each in found if not each.position or each.position > reached]
                reached = max([reached, *(each.position for each in new)])
                yield b"".join(each.sent for each in new) or HEARTBEAT
        finally:
            self._subscribers.discard(mine)

    async def _past(self, after: int) -> AsyncIterator[FeedMessage]:
        """Yields recorded events up to where the feed is; the rest comes by the queue."""
        while after < self._position:
            found = await asyncio.to_thread(self._source.read_after, after, PAGE)
            for stored in found:
                if stored.position > self._position:
                    return
                after = stored.position
                message = self._rendered(stored)
                if message is not None:
                    yield message
            if not found:
                return
