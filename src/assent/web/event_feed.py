"""The event feed: what is recorded by any process, and what models say live, for many subscribers.

The log is read once for all of them, and what those with the same filter get is made once. While
turns need the processor, the more subscribers there are, the less often something is sent. One that
is too slow is dropped, and resumes from the last event that it got: others do not wait for it, and
nothing is lost.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from time import process_time, thread_time
from typing import Annotated, Final, Protocol

import msgspec

from assent.core.event import StoredEvent
from assent.web.chunks import SendNow

POLL_S: Final = 0.02  # between two looks whether anything was recorded
SHARE: Final = 0.1  # of the time of the server's loop, that deliveries may take beside turns
MAX_PACE_S: Final = 1.0  # between two deliveries, however long they take
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
    """Which events a client wants, and after which position of the log.

    With `plan`, the stream also says when that plan's file changes.
    """

    after: Annotated[int, msgspec.Meta(ge=0, le=MAX_POSITION)] | None = None
    plan: str = ""


def encode_message(body: bytes, position: int = 0, kind: str = "") -> bytes:
    """Returns a message in the form of server-sent events; a body has no line breaks."""
    named = f"event: {kind}\n".encode() if kind else b""
    placed = f"id: {position}\n".encode() if position else b""
    return b"%s%sdata: %s\n\n" % (placed, named, body)


def still_owed(owed: float, passed: float, computed: float) -> float:
    """Returns how long turns are still left alone after some time, of the time that they are owed.

    In that time the rest of the process computed that long. Where no one else wants the processor,
    nothing has to wait.
    """
    busy = min(max(computed, 0.0) / passed, 1.0) if passed > 0 else 1.0
    return owed - passed / busy if busy > 0 else 0.0


class FeedBatch(msgspec.Struct, frozen=True):
    """Messages that go out together, for everybody who wants the same."""

    messages: tuple[FeedMessage, ...]
    sent: bytes
    first: int  # the lowest position in it; 0: all are live
    last: int  # the highest one

    def after(self, reached: int) -> bytes:
        """Returns what is sent of it to a subscriber that has everything up to a position."""
        if not self.first or self.first > reached:
            return self.sent
        new = [each for each in self.messages if not each.position or each.position > reached]
        return b"".join(each.sent for each in new)


def make_batch(messages: Sequence[FeedMessage]) -> FeedBatch:
    """Returns messages, of which there is at least one, as a batch."""
    sent = b"".join(each.sent for each in messages)
    positions = [each.position for each in messages if each.position] or [0]
    return FeedBatch(tuple(messages), sent, min(positions), max(positions))


class _Subscriber:
    """What one connection has, and what waits for it.

    While nothing waits, messages are sent at once: to wake a task for each of many connections, and
    to pass every layer of the server, takes three times as long.
    """

    def __init__(self, send_now: SendNow | None) -> None:
        self._send_now = send_now
        self._waiting: list[FeedBatch] = []
        self._count = 0
        self._filled = asyncio.Event()
        self._resting = False  # everything that was taken has been sent
        self.reached = 0  # the position up to which it has everything
        self.dropped = False

    def put(self, batch: FeedBatch) -> None:
        if self.dropped or self._is_sent(batch):
            return
        self._waiting.append(batch)
        self._count += len(batch.messages)
        if self._count > MAX_WAITING and len(self._waiting) > 1:
            self.dropped, self._waiting = True, []
        self._filled.set()

    def _is_sent(self, batch: FeedBatch) -> bool:
        """Sends a batch at once if nothing is before it; tells whether it did."""
        if self._send_now is None or not self._resting or self._filled.is_set():
            return False
        body = batch.after(self.reached)
        if body and not self._send_now(body):
            return False
        self.reached = max(self.reached, batch.last)
        return True

    def beat(self) -> None:
        """Wakes the connection, so that both sides notice whether the other is still there."""
        self._filled.set()

    async def take(self) -> bytes:
        """Waits for messages and returns them all; none: nothing happened for a while."""
        self._resting = True
        await self._filled.wait()
        self._resting = False
        self._filled.clear()
        found, self._waiting, self._count = self._waiting, [], 0
        # What was read from the log before may have come this way, too.
        sent = b"".join([batch.after(self.reached) for batch in found])
        self.reached = max([self.reached, *(batch.last for batch in found)])
        return sent


class EventFeed:
    """Reads the log for all subscribers; `run` is a task of the server's loop."""

    def __init__(
        self, source: FeedSource, rendered: Callable[[StoredEvent], FeedMessage | None]
    ) -> None:
        self._source = source
        self._rendered = rendered
        self._groups: dict[FeedFilter, set[_Subscriber]] = {}
        self._live: deque[FeedMessage] = deque()
        self._position = 0

    @property
    def subscribers(self) -> int:
        return sum(map(len, self._groups.values()))

    def last(self) -> int:
        """Returns the position of the newest event in the log."""
        return self._source.last()

    async def run(self) -> None:
        """Delivers what is recorded, until it is cancelled."""
        clock = asyncio.get_running_loop().time
        self._position = await asyncio.to_thread(self._source.last)
        beat_at = clock() + HEARTBEAT_S
        while True:
            if clock() >= beat_at:
                beat_at += HEARTBEAT_S
                for each in self._everybody():
                    each.beat()
            used = 0.0
            if self._live:
                used = await self._send([self._live.popleft() for _ in range(len(self._live))])
            if self._source.last() > self._position:
                used += await self._deliver()
            await self._rest(used / SHARE)

    async def _rest(self, owed: float) -> None:
        """Waits until turns had the processor for the time that they are owed, or do not need it.

        What they recorded last goes out as soon as they have ended.
        """
        clock = asyncio.get_running_loop().time
        ends = clock() + MAX_PACE_S
        looked, computed = clock(), process_time()
        await asyncio.sleep(POLL_S)
        while clock() < ends:
            now, used = clock(), process_time()
            owed = still_owed(owed, now - looked, used - computed)
            if owed <= 0:
                return
            looked, computed = now, used
            await asyncio.sleep(POLL_S)

    async def _deliver(self) -> float:
        """Sends what was recorded; returns the processor time that this took."""
        used = 0.0
        while True:
            found = await asyncio.to_thread(self._source.read_after, self._position, PAGE)
            began = thread_time()
            messages = [self._rendered(stored) for stored in found] if self._groups else []
            used += thread_time() - began
            if found:
                self._position = found[-1].position
            used += await self._send([each for each in messages if each is not None])
            if len(found) < PAGE:
                return used

    def tell(self, message: FeedMessage) -> None:
        """Delivers something live, from any thread; it is lost for those who are not connected."""
        if self._groups:
            self._live.append(message)

    async def _send(self, messages: Sequence[FeedMessage]) -> float:
        """Gives messages to all who want them; returns the processor time until all sent them."""
        began = thread_time()
        for wanted, group in self._groups.items():
            found = [each for each in messages if wanted.wants(each)]
            if found:
                batch = make_batch(found)
                for each in group:
                    each.put(batch)
        if messages:
            for _ in range(3):  # the connections wake up, and write
                await asyncio.sleep(0)
        return thread_time() - began

    def _everybody(self) -> list[_Subscriber]:
        return [each for group in self._groups.values() for each in group]

    async def subscribe(
        self, wanted: FeedFilter, after: int | None, send_now: SendNow | None = None
    ) -> AsyncIterator[bytes]:
        """Yields what is sent to one subscriber: recorded events after a position, then new ones.

        Without a position it begins with what happens from now on. With `send_now` only what that
        could not send is yielded; who asks for the next one has sent those before.
        """
        mine = _Subscriber(send_now)
        self._groups.setdefault(wanted, set()).add(mine)
        try:
            mine.reached = self._position if after is None else min(after, self._position)
            while mine.reached < self._position:
                mine.reached, sent = await asyncio.to_thread(self._page, wanted, mine.reached)
                if sent:
                    yield sent
            while True:
                sent = await mine.take()
                if mine.dropped:
                    yield RESUME
                    return
                yield sent or HEARTBEAT
        finally:
            self._leave(wanted, mine)

    def _leave(self, wanted: FeedFilter, mine: _Subscriber) -> None:
        group = self._groups[wanted]
        group.discard(mine)
        if not group:
            del self._groups[wanted]

    def _page(self, wanted: FeedFilter, after: int) -> tuple[int, bytes]:
        """Returns recorded events after a position, and how far that is: at most to where it is.

        What comes later comes by the queue.
        """
        end = self._position
        found = [one for one in self._source.read_after(after, PAGE) if one.position <= end]
        messages = [message for one in found if (message := self._rendered(one)) is not None]
        sent = b"".join(message.sent for message in messages if wanted.wants(message))
        return (found[-1].position if found else end), sent
