"""The event feed by itself: what is written is seen, once, in order, by everybody who wants it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from assent.core.event import StoredEvent
from assent.web.event_feed import (
    MAX_WAITING,
    RESUME,
    EventFeed,
    FeedFilter,
    FeedMessage,
    encode_message,
    still_owed,
)

WAIT_S = 20


class Log:
    """A log in memory that only knows how many events it has."""

    def __init__(self) -> None:
        self.count = 0

    def last(self) -> int:
        return self.count

    def read_after(self, position: int, limit: int) -> list[StoredEvent]:
        end = min(self.count, position + limit)
        return [_stored(each) for each in range(position + 1, end + 1)]

    def write(self, count: int = 1) -> None:
        self.count += count


def _stored(position: int) -> StoredEvent:
    event: Any = None
    return StoredEvent(position, "session/w/s", position, "", event)


def _rendered(stored: StoredEvent) -> FeedMessage:
    workspace = "even" if stored.position % 2 == 0 else "odd"
    return FeedMessage(stored.position, workspace, "", encode_message(b"{}", stored.position))


def run(story: Callable[[Log, EventFeed], Awaitable[None]]) -> None:
    async def told() -> None:
        log = Log()
        feed = EventFeed(log, _rendered)
        task = asyncio.ensure_future(feed.run())
        await asyncio.sleep(0.05)
        try:
            await asyncio.wait_for(story(log, feed), WAIT_S)
        finally:
            task.cancel()

    asyncio.run(told())


async def ids(sent: AsyncIterator[bytes], count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        piece = await anext(sent)
        found += [int(line[4:]) for line in piece.splitlines() if line.startswith(b"id: ")]
    await sent.aclose()  # type: ignore[attr-defined]
    return found


async def subscribed(feed: EventFeed, count: int) -> None:
    while feed.subscribers < count:
        await asyncio.sleep(0.001)


def test_everybody_gets_what_they_want_once_and_in_order() -> None:
    async def story(log: Log, feed: EventFeed) -> None:
        log.write(600)
        wanted = {
            FeedFilter(): range(1, 1201),
            FeedFilter("even"): range(2, 1201, 2),
            FeedFilter("odd"): range(1, 1201, 2),
        }
        heard = {
            key: [asyncio.ensure_future(ids(feed.subscribe(key, 0), len(all))) for _ in "123"]
            for key, all in wanted.items()
        }
        await subscribed(feed, 9)
        for _ in range(60):
            log.write(10)
            await asyncio.sleep(0.001)
        for key, all in wanted.items():
            for each in heard[key]:
                assert await each == list(all)
        assert feed.subscribers == 0

    run(story)


class Connection:
    """A connection that can send at once, except where it has to be waited for."""

    def __init__(self, takes: Callable[[int], bool]) -> None:
        self.positions: list[int] = []
        self.at_once = 0
        self._takes = takes
        self._asked = 0

    def send_now(self, body: bytes) -> bool:
        assert body  # an empty chunk would end the answer
        self._asked += 1
        if not self._takes(self._asked):
            return False
        self.at_once += 1
        self.send(body)
        return True

    def send(self, body: bytes) -> None:
        lines = body.splitlines()
        self.positions += [int(line[4:]) for line in lines if line.startswith(b"id: ")]

    async def follow(self, feed: EventFeed, wanted: FeedFilter, last: int) -> None:
        sent = feed.subscribe(wanted, 0, self.send_now)
        while not self.positions or self.positions[-1] < last:
            yielded = asyncio.ensure_future(anext(sent))
            while not yielded.done() and (not self.positions or self.positions[-1] < last):
                await asyncio.sleep(0.001)
            if yielded.done():
                await asyncio.sleep(0.002)  # meanwhile nothing may go before it
                self.send(yielded.result())
            else:
                yielded.cancel()
                await asyncio.wait([yielded])
        await sent.aclose()  # type: ignore[attr-defined]


@pytest.mark.parametrize("every", [1, 2, 3, 7, 10_000])
def test_what_is_sent_at_once_and_what_waits_come_once_and_in_order(every: int) -> None:
    async def story(log: Log, feed: EventFeed) -> None:
        log.write(700)
        all, even = (Connection(lambda asked: asked % every == 0) for _ in "12")
        followed = asyncio.gather(
            all.follow(feed, FeedFilter(), 1200), even.follow(feed, FeedFilter("even"), 1200)
        )
        await subscribed(feed, 2)
        for _ in range(50):
            log.write(10)
            await asyncio.sleep(0.005)
        await followed
        assert all.positions == list(range(1, 1201))
        assert even.positions == list(range(2, 1201, 2))
        assert bool(all.at_once) == (every < 10)
        assert feed.subscribers == 0

    run(story)


def test_live_messages_reach_those_who_are_connected() -> None:
    async def story(log: Log, feed: EventFeed) -> None:
        live = FeedMessage(0, "even", "s", encode_message(b"{}", 0, "delta"))
        feed.tell(live)  # nobody is there
        mine = feed.subscribe(FeedFilter("even", "s"), None)
        others = feed.subscribe(FeedFilter("odd"), None)
        first = asyncio.ensure_future(anext(mine))
        never = asyncio.ensure_future(anext(others))
        await subscribed(feed, 2)
        await asyncio.to_thread(feed.tell, live)
        assert await first == live.sent
        assert not never.done()
        never.cancel()

    run(story)


def test_a_slow_subscriber_is_told_to_resume() -> None:
    async def story(log: Log, feed: EventFeed) -> None:
        slow = feed.subscribe(FeedFilter(), None)
        begun = asyncio.ensure_future(anext(slow))
        await subscribed(feed, 1)
        log.write()
        await begun
        quick = asyncio.ensure_future(ids(feed.subscribe(FeedFilter(), 1), MAX_WAITING + 600))
        log.write(MAX_WAITING + 600)
        assert len(await quick) == MAX_WAITING + 600
        assert await anext(slow) == RESUME

    run(story)


@pytest.mark.parametrize(
    ("owed", "passed", "computed", "left"),
    [
        (0.0, 0.02, 0.02, -0.02),
        (0.5, 0.02, 0.0, 0.0),  # nobody else wants the processor
        (0.5, 0.02, 0.01, 0.46),
        (0.5, 0.02, 0.02, 0.48),
        (0.5, 0.02, 0.04, 0.48),  # on two processors
        (0.5, 0.0, 0.0, 0.5),
    ],
)
def test_deliveries_wait_only_for_those_who_need_the_processor(
    owed: float, passed: float, computed: float, left: float
) -> None:
    assert still_owed(owed, passed, computed) == pytest.approx(left)
