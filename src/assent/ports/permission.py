"""Ports that decide about a call: permission gate, plan rules, guards, hooks, and the user."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from assent.core.permission.command_limits import CommandLimits
from assent.core.permission.grant import PermissionPattern
from assent.core.session.event import Question, RiskLevel
from assent.core.tool import (
    Action,
    Decision,
    GuardedCall,
    PermissionContext,
    ResourceAccess,
    ToolOutcome,
)


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


class PlanRules(Protocol):
    """What the rules of user and project say about plans, whoever approved those.

    They are read anew with every question, so a rule that was added meanwhile counts.
    """

    def command_limits(self, line: str) -> CommandLimits:
        """Returns to what they hold a command, given as a line for a shell."""

    def denials(self, paths: Iterable[bytes], *, lenient: bool = False) -> Mapping[bytes, str]:
        """Returns the paths that no plan may change, each with the rule that denies it.

        Leniently, a project's configuration that cannot be read says nothing; else that raises.
        """


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
        """Hears that an answer's calls are settled; says why the turn must end, if it must."""


class HookResults(msgspec.Struct, frozen=True):
    """What hooks returned: an objection, if any, text for the model, and warnings."""

    objection: str = ""
    words: str = ""
    warnings: tuple[str, ...] = ()


class HookRunner(Protocol):
    """Runs the user's own programs on what happens."""

    def fire(self, on: str, facts: Mapping[str, Any]) -> HookResults:
        """Starts every hook for that moment with the facts as JSON; never raises.

        Of those that come before something, one that is missing, slow or fails says no.
        """
