"""The queue of a session: messages that wait for their turn, as a fold of events.

A message stays on record until its turn has ended, so that it survives a process that ends in
between: what was taken and not finished is gone on with.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from assent.core.session.event import (
    MessageFinished,
    MessageQueued,
    MessageRemoved,
    MessageTaken,
    QueueEvent,
)

MAX_QUEUED: Final = 100  # messages of one session
MAX_TEXT_CHARS: Final = 1_000_000


class MessageQueue(msgspec.Struct, frozen=True):
    """What waits in a session, and what is at work."""

    waiting: tuple[MessageQueued, ...] = ()
    taken: MessageQueued | None = None
    seq: int = 0

    @property
    def next(self) -> MessageQueued | None:
        """The message whose turn is to begin, or to go on; None: nothing waits."""
        return self.taken or (self.waiting[0] if self.waiting else None)


def fold_queue(events: Iterable[QueueEvent], queue: MessageQueue | None = None) -> MessageQueue:
    """Returns the queue after events."""
    queue = queue or MessageQueue()
    waiting, taken, seq = list(queue.waiting), queue.taken, queue.seq
    for event in events:
        seq += 1
        match event:
            case MessageQueued():
                waiting.append(event)
            case MessageTaken(message):
                taken = next((one for one in waiting if one.message == message), taken)
                waiting = [one for one in waiting if one.message != message]
            case MessageFinished():
                taken = None
            case MessageRemoved(message):
                waiting = [one for one in waiting if one.message != message]
    return MessageQueue(tuple(waiting), taken, seq)
