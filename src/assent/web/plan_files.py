"""Plan files: notifies event streams when the file of a plan that someone looks at changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias

from assent.core.errors import AssentError
from assent.render.log import live_row
from assent.render.rows import encoded
from assent.web.event_feed import EventFeed, FeedMessage, encode_message

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.core.plan.record import PlanRecord

LOOK_S: Final = 0.04  # between two looks at the files that are followed
KIND: Final = "plan_file"

Stamps: TypeAlias = dict[str, tuple[int, ...]]  # by the ids of plans


class PlanFiles:
    """Looks at the files of plans while streams follow them; without any, it does nothing.

    Everything here happens in the server's loop, except the looks themselves.
    """

    def __init__(self, feed: EventFeed) -> None:
        self._feed = feed
        self._followed: dict[str, tuple[Engine, PlanRecord]] = {}
        self._streams: dict[str, int] = {}  # how many follow each
        self._known: Stamps = {}
        self._task: asyncio.Task[None] | None = None

    async def follow(
        self, engine: "Engine", record: "PlanRecord", sent: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        """Has a stream say when a plan's file changes, and first that it will from here on."""
        plan = record.plan_id
        found = await asyncio.to_thread(_stamps, ((engine, record),))
        if not self._streams.get(plan):
            self._known |= found
        self._followed[plan] = engine, record
        self._streams[plan] = self._streams.get(plan, 0) + 1
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._look())
        try:
            yield _message(engine, record)
            async for message in sent:
                yield message
        finally:
            self._streams[plan] -= 1
            if not self._streams[plan]:
                del self._streams[plan], self._followed[plan]

    async def _look(self) -> None:
        while self._followed:
            for plan, stamp in (
                await asyncio.to_thread(_stamps, tuple(self._followed.values()))
            ).items():
                if self._known.get(plan) != stamp and plan in self._followed:
                    self._known[plan] = stamp
                    engine, record = self._followed[plan]
                    sent = _message(engine, record)
                    self._feed.tell(FeedMessage(0, engine.workspace, record.session, sent))
            await asyncio.sleep(LOOK_S)


def _message(engine: "Engine", record: "PlanRecord") -> bytes:
    row = live_row(KIND, record.session, "", {"plan_id": record.plan_id})
    return encode_message(encoded({**row, "workspace": engine.workspace}), 0, KIND)


def _stamps(followed: "tuple[tuple[Engine, PlanRecord], ...]") -> Stamps:
    found: Stamps = {}
    for engine, record in followed:
        with suppress(AssentError, OSError):  # it is being replaced: the next look sees more
            found[record.plan_id] = engine.plans.stamp(record)
    return found
