"""Messages that wait in a session: added, taken in order and said, or removed."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from assent.agent.sessions import Sessions
from assent.core.errors import ConcurrentChange, IllegalState, NotFound, UsageError
from assent.core.session.event import (
    NOTHING_TYPED,
    MessageAdded,
    MessageFinished,
    MessageQueued,
    MessageRemoved,
    MessageTaken,
    QueueEvent,
    UserTyped,
)
from assent.core.session.queue import MAX_QUEUED, MAX_TEXT_CHARS, MessageQueue, fold_queue
from assent.core.session.record import SessionRecord
from assent.planning.ports import Ports, WorkspaceConfig
from assent.ports import EventBatch

MAX_TRIES = 20  # at a queue that others change, too
MAX_LEFT = 1_000  # queues that are remembered
T = TypeVar("T")


class MessageQueues:
    """The queues of a workspace's sessions."""

    def __init__(self, ports: Ports, config: WorkspaceConfig) -> None:
        self._ports = ports
        self._config = config
        # As this process left them, if something waits there. The log takes what is based on one
        # only if nobody else has changed it since.
        self._left: dict[str, MessageQueue] = {}

    def queue(self, record: SessionRecord) -> MessageQueue:
        """Returns what waits in a session."""
        return self._read(_stream(record))

    def pending(self, workspace: str) -> list[str]:
        """Returns the sessions in which something waits, or was at work when a process ended."""
        prefix = f"queue/{workspace}/"
        streams = self._ports.store.streams(prefix) if workspace else []
        return [name.removeprefix(prefix) for name in streams if self._read(name).next]

    def add(self, record: SessionRecord, message: MessageQueued) -> MessageQueued:
        """Adds a message at the end."""
        if len(message.text) > MAX_TEXT_CHARS:
            raise UsageError(f"A message has at most {MAX_TEXT_CHARS:,} characters.")
        new = msgspec.structs.replace(message, message=self._ports.clock.new_id())

        def added(queue: MessageQueue) -> QueueEvent:
            if len(queue.waiting) >= MAX_QUEUED:
                raise IllegalState(f"{MAX_QUEUED} messages are waiting already.")
            return new

        self._append(record, added)
        return new

    def start(
        self,
        sessions: Sessions,
        goal: str,
        mode: str,
        agent: str = "",
        model: str = "",
        typed: UserTyped = NOTHING_TYPED,
        user: str = "",
    ) -> tuple[SessionRecord, MessageQueued]:
        """Starts a session whose goal waits for its turn: both are recorded, or nothing is."""
        new = MessageQueued(self._ports.clock.new_id(), user=user)

        def queued(record: SessionRecord) -> tuple[EventBatch, ...]:
            return (EventBatch(_stream(record), 0, self._ports.clock.now(), (new,)),)

        record = sessions.start(goal, mode, agent, model, typed=typed, beside=queued)
        self._leave(_stream(record), fold_queue((new,)))
        return record, new

    def take(self, record: SessionRecord) -> MessageQueued | None:
        """Returns the message whose turn it is; None if there is none.

        One that was taken before and not finished comes again.
        """

        def taken(now: MessageQueue) -> QueueEvent | None:
            if now.taken is not None or not now.waiting:
                return None
            return MessageTaken(now.waiting[0].message)

        return self._append(record, taken, self._left.get(_stream(record))).taken

    def finish(self, record: SessionRecord, message: str, error: str = "") -> MessageQueue:
        """Records that a message's turn ended; returns what waits then."""
        return self._append(
            record,
            lambda now: MessageFinished(message, error) if now.taken else None,
            self._left.get(_stream(record)),
        )

    def remove(self, record: SessionRecord, message: str) -> None:
        """Removes a message before its turn; raises NotFound if it has begun or is not there."""

        def removed(queue: MessageQueue) -> QueueEvent:
            if all(one.message != message for one in queue.waiting):
                raise NotFound(f"No message {message!a} is waiting.")
            return MessageRemoved(message, self._config.user)

        self._append(record, removed)

    def say(
        self,
        sessions: Sessions,
        record: SessionRecord,
        message: MessageQueued,
        typed: UserTyped | None = None,
    ) -> SessionRecord:
        """Adds a taken message to its session, once: another process may have done so already.

        `typed` is what the user saw of it at the prompt, if that is still known.
        """
        if not message.text:
            return record
        events = sessions.events(record)
        if any(isinstance(e.event, MessageAdded) and e.event.id == message.message for e in events):
            return record
        seen = typed or UserTyped(message.text if message.typed else "", message.attached)
        return sessions.say(
            record, message.text, message.agent, message.model, typed=seen, id=message.message
        )

    def _append(
        self,
        record: SessionRecord,
        event: Callable[[MessageQueue], QueueEvent | None],
        known: MessageQueue | None = None,
    ) -> MessageQueue:
        """Appends what `event` makes of the queue, if anything; returns the queue after it.

        A `known` queue need not be read, if something is to be appended to it.
        """
        stream, store = _stream(record), self._ports.store
        for _ in range(MAX_TRIES):
            new = event(known) if known else None
            queue = known if known and new else self._read(stream)
            known, new = None, new or event(queue)
            if new is None:
                return queue
            try:
                store.append(EventBatch(stream, queue.seq, self._ports.clock.now(), (new,)))
            except ConcurrentChange:
                continue
            queue = fold_queue((new,), queue)
            self._leave(stream, queue)
            return queue
        raise ConcurrentChange("The queue of this session keeps changing.")

    def _leave(self, stream: str, queue: MessageQueue) -> None:
        """Remembers a queue in which something waits, or is at work."""
        self._left.pop(stream, None)
        if queue.next is not None:
            if len(self._left) >= MAX_LEFT:
                self._left.clear()
            self._left[stream] = queue

    def _read(self, stream: str) -> MessageQueue:
        return fold_queue(stored.event for stored in self._ports.store.read(stream))  # type: ignore[misc]


def _stream(record: SessionRecord) -> str:
    return f"queue/{record.workspace}/{record.session}"
