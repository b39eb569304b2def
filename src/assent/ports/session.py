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
    """A running turn: what a driver reads and appends in the session, and lets it run."""

    @property
    def record(self) -> SessionRecord: ...

    @property
    def agent(self) -> Agent:
        """The agent of the newest message."""

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """The messages that the model reads; the same message is the same object in every step."""

    @property
    def has_new_images(self) -> bool:
        """Whether the user sent an image that no step and no earlier turn had."""

    @property
    def is_over(self) -> bool:
        """Whether a call ended the turn."""

    def absent_tools(self) -> frozenset[str]:
        """Returns Assent's own tools that the model can neither call nor ask for here."""

    def available_tools(self) -> tuple[ToolDefinition, ...]:
        """Returns the tools that the model may see in this mode, as this agent."""

    def append_events(self, *events: SessionEvent) -> tuple[StoredEvent, ...]:
        """Appends events to the session, durably, in one transaction."""

    def defer_events(self, *events: SessionEvent) -> None:
        """Applies events now, and stores them with the next ones that are appended.

        For events that directly precede others, so that both need only one wait for the disk.
        """

    def read_new_messages(self) -> tuple[StoredEvent, ...]:
        """Reads what others have added to the session."""

    def run_calls(self, calls: Sequence[ToolCall]) -> Iterator[StoredEvent | StreamDelta]:
        """Runs the calls of one answer; each event comes out after it was stored."""

    def mode_instructions(self) -> str:
        """Returns what the model has to know of its agent in this mode, behind all it knows."""

    @property
    def instructed(self) -> str:
        """The instructions that the model has got, and still has."""

    def reminder(self) -> str:
        """Returns a reminder of the current mode, plan and digest, todos and approval."""

    def after_response(
        self, model: str, text: str, calls: Sequence[ToolCall]
    ) -> tuple[StoredEvent, ...]:
        """Tells hooks about a model's answer, which is stored first; they cannot change it."""

    def before_compaction(self, *, asked: bool) -> str:
        """Tells hooks about a compaction; returns what they add to the summary's instructions.

        Raises Refused if one objects; the user is warned of that unless they `asked` for it.
        """

    def confirm(self, header: str, question: str) -> Generator[StoredEvent, None, bool]:
        """Asks the user whether to continue, on record; only an explicit yes counts."""

    def wait_for_children(self) -> Generator[StoredEvent | StreamDelta, None, bool]:
        """Waits for background children; tells whether one reported, so that work continues.

        It also ends what must not outlive the turn, and is called before a turn ends by itself.
        """


class AgentDriver(Protocol):
    """Drives a turn until nothing remains to do in the session."""

    def drive(self, turn: Turn) -> Iterator[StoredEvent | StreamDelta]:
        """Yields stored events, and streamed pieces.

        Raises ModelError or Interrupted after the turn was ended in the session.
        """

    def compact(
        self, turn: Turn, model: str = ""
    ) -> Generator[StoredEvent | StreamDelta, None, bool]:
        """Compacts a session outside a turn; tells whether there was anything to compact.

        `model` summarizes it; by default that is the session's own.
        """

    def stop(self) -> None:
        """Ends the current request, from any thread; `drive` then raises Interrupted."""

    def child_driver(self, steps: int = 0) -> "AgentDriver":
        """Returns a driver for a child: it shares the budget, and makes at most `steps` steps."""


# Ports that decide about a call: permission gate, plan rules, guards, hooks, and the user.


class PermissionGate(Protocol):
    """Judges every request before anything happens (law 9)."""

    def decide(
        self, requests: Sequence[ResourceAccess], permissions: PermissionContext
    ) -> Decision:
        """Returns the strictest verdict that any of the requests gets."""

    def never_allowed_reason(
        self, tool: str, action: Action, permissions: PermissionContext
    ) -> str:
        """Returns why no call of a tool can ever be allowed here; empty if one might be."""

    def risk(
        self, requests: Sequence[ResourceAccess], *, planning: bool = False, asking: bool = False
    ) -> tuple[RiskLevel, tuple[str, ...]]:
        """Returns how much could go wrong, and why; `planning`: edits change only the draft.

        `asking`: a person is asked, so a command that looks outside the workspace is of high risk.
        """

    def parts(self, requests: Sequence[ResourceAccess]) -> tuple[str, ...]:
        """Returns every command in command lines, for a user who is asked about them."""

    def files(self, requests: Sequence[ResourceAccess]) -> tuple[ResourceAccess, ...]:
        """Returns the files that command lines open or write, for display."""

    def operands(self, requests: Sequence[ResourceAccess]) -> tuple[str, ...]:
        """Returns every name in command lines that could be a file that they read."""

    def runs_in_copy(
        self, requests: Sequence[ResourceAccess], permissions: PermissionContext
    ) -> bool:
        """Tells whether a command line, if it is allowed, runs in the session's scratch copy."""

    def is_mandatory_ask(
        self, requests: Sequence[ResourceAccess], permissions: PermissionContext
    ) -> bool:
        """Tells whether an approval of one of these counts for one session at most."""

    def grant_patterns(
        self, requests: Sequence[ResourceAccess], permissions: PermissionContext
    ) -> tuple[PermissionPattern, ...]:
        """Returns what a remembered yes to these requests would cover; empty if it cannot be."""


class Asker(Protocol):
    """Asks the user, if there is one; several threads may ask, one question at a time."""

    @property
    def defers(self) -> bool:
        """Whether questions are left open, for a user who answers later."""

    @property
    def present(self) -> bool:
        """Whether a user is present; if not, questions that were open before stay open."""

    def ask(
        self, questions: Sequence[Question], answered: Callable[[], str]
    ) -> tuple[tuple[str, ...], ...] | None:
        """Returns the labels or words for each question; None means unanswered, so denied.

        `answered` returns what was answered elsewhere while the user is asked; once it returns
        anything, None is returned, and the answer from there counts.
        """


class CallGuard(Protocol):
    """Checks every call after the gate; it can only make a verdict stricter."""

    def before(self, attempt: GuardedCall) -> Decision | None:
        """Returns an objection, or None; an exception counts as an objection (law 9)."""

    def after(self, attempt: GuardedCall, outcome: ToolOutcome) -> ToolOutcome:
        """Returns the outcome, perhaps with text added for the model."""

    def turn_end_reason(self) -> str:
        """Notes that an answer's calls are over; says why the turn must end, if it must."""
