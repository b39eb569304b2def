"""A child's turn as its driver sees it, which others can cancel before its next step."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import cast

from assent.core.errors import Interrupted
from assent.core.event import StoredEvent
from assent.core.llm import ChatMessage, StreamDelta, ToolCall, ToolDefinition
from assent.core.session.agent import Agent
from assent.core.session.event import SessionEvent, TurnEnded
from assent.core.session.record import SessionRecord
from assent.ports import Turn


class CancellableTurn:
    """Implements ports.Turn. Once cancelled, no step begins, and the turn ends as requested."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._end: TurnEnded | None = None
        self._unshown: tuple[StoredEvent, ...] = ()

    def cancel(self, end: TurnEnded) -> None:
        """Wants the turn to end like this, from any thread; the first who pulls decides."""
        self._end = self._end or end

    @property
    def record(self) -> SessionRecord:
        return self._turn.record

    @property
    def agent(self) -> Agent:
        return self._turn.agent

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        return self._turn.messages

    @property
    def is_over(self) -> bool:
        return self._turn.is_over

    def available_tools(self) -> tuple[ToolDefinition, ...]:
        return self._turn.available_tools()

    def append_events(self, *events: SessionEvent) -> tuple[StoredEvent, ...]:
        """Appends events; where the driver only knows that it was interrupted, it says why."""
        unshown, self._unshown = self._unshown, ()
        return (*unshown, *self._turn.append_events(*map(self._told, events)))

    def defer_events(self, *events: SessionEvent) -> None:
        self._turn.defer_events(*events)

    def read_new_messages(self) -> tuple[StoredEvent, ...]:
        """Takes in what others said; raises Interrupted if the turn is to end."""
        said = self._turn.read_new_messages()
        try:
            self._check()
        except Interrupted:
            self._unshown = said
            raise
        return said

    def run_calls(self, calls: Sequence[ToolCall]) -> Iterator[StoredEvent | StreamDelta]:
        """Settles calls until all are, or the turn is to end."""
        work = cast("Generator[StoredEvent | StreamDelta, None, None]", self._turn.run_calls(calls))
        with closing(work):
            for recorded in work:
                yield recorded
                self._check()

    def reminder(self) -> str:
        return self._turn.reminder()

    def confirm(self, header: str, question: str) -> Generator[StoredEvent, None, bool]:
        return (yield from self._turn.confirm(header, question))

    def wait_for_children(self) -> Generator[StoredEvent | StreamDelta, None, bool]:
        return (yield from self._turn.wait_for_children())

    def _check(self) -> None:
        if self._end is not None and not self._turn.is_over:  # else it has said so itself
            raise Interrupted(self._end.words)

    def _told(self, event: SessionEvent) -> SessionEvent:
        match event:
            case TurnEnded(why="interrupted") if self._end is not None:
                return self._end
            case _:
                return event
