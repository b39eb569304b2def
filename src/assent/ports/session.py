"""Ports of a session: the turn and its driver, and who decides about a call."""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Protocol

from assent.core.event import StoredEvent
from assent.core.llm import ChatMessage, StreamDelta, ToolCall, ToolDefinition
from assent.core.permission.rule import PermissionPattern
from assent.core.session.agent import Agent
from assent.core.session.event import Question, RiskLevel, SessionEvent
from assent.core.session.record import SessionRecord
from assent.core.tool import (
    Action,
    Decision,
    GuardedCall,
    PermissionContext,
    ResourceAccess,
    ToolOutcome,
)

# Ports between a session and the driver that advances it.


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
        """Runs the calls of one answer; each event comes out after it was stored."""

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


# Ports that decide about a call: permission gate, plan rules, guards, hooks, and the user.


class PermissionGate(Protocol):
    """Where every request is judged before anything happens (law 9)."""

    def decide(self, requests: Sequence[ResourceAccess], posture: PermissionContext) -> Decision:
        """Returns the strictest verdict that any of the requests gets."""

    def never_allowed_reason(self, tool: str, action: Action, posture: PermissionContext) -> str:
        """Says why no call of a tool can ever be allowed here; nothing if one might be."""

    def risk(self, requests: Sequence[ResourceAccess]) -> tuple[RiskLevel, tuple[str, ...]]:
        """Returns how much could go wrong, and why."""

    def parts(self, requests: Sequence[ResourceAccess]) -> tuple[str, ...]:
        """Returns every command in command lines, for a person who is asked about them."""

    def files(self, requests: Sequence[ResourceAccess]) -> tuple[ResourceAccess, ...]:
        """Returns the files that command lines open or write, for people who watch."""

    def operands(self, requests: Sequence[ResourceAccess]) -> tuple[str, ...]:
        """Returns every name in command lines that could be a file which they read."""

    def is_mandatory_ask(
        self, requests: Sequence[ResourceAccess], posture: PermissionContext
    ) -> bool:
        """Tells whether a yes to one of these counts for one session at most."""

    def grant_patterns(
        self, requests: Sequence[ResourceAccess], posture: PermissionContext
    ) -> tuple[PermissionPattern, ...]:
        """Returns what a remembered yes to these requests would cover; nothing: it cannot be."""


class Asker(Protocol):
    """A person who can be asked, or nobody. Several threads may ask; one question at a time."""

    @property
    def defers(self) -> bool:
        """Whether questions are left open, for a person who answers some day."""

    @property
    def present(self) -> bool:
        """Whether anybody is there; if not, what was open before somebody looked stays open."""

    def ask(
        self, questions: Sequence[Question], answered: Callable[[], str]
    ) -> tuple[tuple[str, ...], ...] | None:
        """Returns the labels or words for each question; None, if nobody answered, is a no.

        `answered` says, while the person thinks, what somebody answered elsewhere; once it says
        anything, None is returned, and what was answered there counts.
        """


class CallGuard(Protocol):
    """Somebody who looks at every call after the gate. It can make a verdict only stricter."""

    def before(self, attempt: GuardedCall) -> Decision | None:
        """Returns an objection, or None. What it raises is a no (law 9)."""

    def after(self, attempt: GuardedCall, outcome: ToolOutcome) -> ToolOutcome:
        """Returns the outcome, perhaps with words added for the model."""

    def turn_end_reason(self) -> str:
        """Hears that an answer's calls are over; says why the turn must end, if it must."""
