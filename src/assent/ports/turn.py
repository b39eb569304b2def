"""Ports between a session and the driver that advances it."""

from collections.abc import Generator, Iterator, Sequence
from typing import Protocol

from assent.core.event import StoredEvent
from assent.core.llm.message import ChatMessage, ToolCall
from assent.core.llm.request import StreamDelta, ToolDefinition
from assent.core.session.agent import Agent
from assent.core.session.event import SessionEvent
from assent.core.session.record import SessionRecord


class Turn(Protocol):
    """A running turn: what a driver reads of the session, says in it, and has carried out."""

    @property
    def record(self) -> SessionRecord: ...

    @property
    def agent(self) -> Agent:
        """The agent of the newest message."""

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """What the model gets to read; the same message is the same object in every step."""

    @property
    def is_over(self) -> bool:
        """Whether a call ended the turn."""

    def available_tools(self) -> tuple[ToolDefinition, ...]:
        """Returns the tools that the model may see in this mode, as this agent."""

    def append_events(self, *events: SessionEvent) -> tuple[StoredEvent, ...]:
        """Appends events to the session, durably, in one transaction."""

    def defer_events(self, *events: SessionEvent) -> None:
        """Counts events from now on, and appends them with what is noted next.

        For what directly precedes something that is noted, so that both are one wait for the disk.
        """

    def read_new_messages(self) -> tuple[StoredEvent, ...]:
        """Takes in what others said in the session meanwhile."""

    def run_calls(self, calls: Sequence[ToolCall]) -> Iterator[StoredEvent | StreamDelta]:
        """Settles the calls of one answer; each event comes out after it was stored."""

    def reminder(self) -> str:
        """Says what holds now, whatever was forgotten: mode, plan and digest, todos, approval."""

    def confirm(self, header: str, question: str) -> Generator[StoredEvent, None, bool]:
        """Asks the person whether to go on, on record; only a plain yes is one."""

    def wait_for_children(self) -> Generator[StoredEvent | StreamDelta, None, bool]:
        """Waits for children in the background; tells whether one reported, so that work goes on.

        It also ends what must not outlive the turn, and is called before a turn ends by itself.
        """


class AgentDriver(Protocol):
    """Takes a turn forward until the session is at rest."""

    def drive(self, turn: Turn) -> Iterator[StoredEvent | StreamDelta]:
        """Yields what was stored, and what is being said at the moment.

        Raises ModelError or Interrupted after the turn was ended in the session.
        """

    def stop(self) -> None:
        """Ends the request that is under way, from any thread; `drive` then raises Interrupted."""

    def child_driver(self, steps: int = 0) -> "AgentDriver":
        """Returns a driver for a child: it shares the budget, and makes at most so many steps."""
