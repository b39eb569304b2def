"""Tool calls: what a call accesses, what the gate decides, its effect and its outcome."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

from assent.core.llm import ImagePart, ToolCall
from assent.core.permission.mode import CustomMode, Mode
from assent.core.permission.rule import Grant
from assent.core.plan.operation import FileOperation
from assent.core.run.permit import PermitSource
from assent.core.session.agent import Agent
from assent.core.session.event import Question, Todo
from assent.core.session.record import SessionRecord

MISSING_CAPABILITY = (
    "lacks"  # metadata of a call: what is missing on this machine, so that it was not made
)


class Action(StrEnum):
    """What a call does with a resource. The gate decides by it; a tool without one is an edit."""

    READ = "read"
    EDIT = "edit"
    SHELL = "shell"
    FETCH = "fetch"
    PLAN = "plan"  # the plan's text, todos, questions, facts: Assent's own, never the files
    PRESENT = "present"
    TASK = "task"  # a child session works on something
    TOOL = "tool"  # a plugin's or a server's tool that may change anything, as nobody can tell
    OUTSIDE = "outside"  # a folder outside the workspace is looked into
    LOOP = "loop"  # the same thing once more
    SEEK = "seek"  # a tool that looks around: what it is told to look for, mostly no path


# What OpenCode's tables, and so ours, call an action. A tool may have a word of its own.
PERMISSIONS: dict[Action, str] = {
    Action.READ: "read",
    Action.EDIT: "edit",
    Action.SHELL: "bash",
    Action.FETCH: "webfetch",
    Action.PLAN: "plan",
    Action.PRESENT: "plan_exit",
    Action.TASK: "task",
    Action.TOOL: "tool",
    Action.OUTSIDE: "external_directory",
    Action.LOOP: "doom_loop",
    Action.SEEK: "seek",
}


class ResourceAccess(msgspec.Struct, frozen=True):
    """One action on one resource: a path of the workspace, a command line, a URL, a tool.

    `key` is the name that rules use for it, where that is not the action's own. `link` is the name
    by which it was reached through a symlink; rules ignore it.
    """

    action: Action
    resource: str
    key: str = ""
    link: str = ""

    @property
    def permission(self) -> str:
        return self.key or PERMISSIONS[self.action]


class Verdict(StrEnum):
    """What may happen, from the freest to the strictest."""

    RUN = "run"
    STAGE = "stage"
    ASK = "ask"
    DENY = "deny"


class Decision(msgspec.Struct, frozen=True):
    """A verdict with the reason, and the layer and rule that led to it."""

    verdict: Verdict
    reason: str = ""
    # mode, defaults, user, project, agent, command line, grant, scope, loop, hook
    layer: str = "mode"
    rule: str = ""  # as text: `bash: git push * = deny`, or a grant's id


VERDICTS_BY_STRICTNESS = (Verdict.RUN, Verdict.STAGE, Verdict.ASK, Verdict.DENY)


def strictest_decision(decisions: Sequence[Decision]) -> Decision:
    """Returns the strictest decision, the first of equals; deny if there is none (law 9)."""
    if not decisions:
        return Decision(Verdict.DENY, "The request does not say what it accesses.", "defaults")
    return max(decisions, key=lambda decision: VERDICTS_BY_STRICTNESS.index(decision.verdict))


class PermissionContext(msgspec.Struct, frozen=True):
    """Everything apart from the request itself that a permission decision depends on."""

    mode: Mode
    hosts: tuple[str, ...] = ()  # that may be fetched from while planning
    building: bool = False  # an approved plan of prose is being built,
    scope: tuple[str, ...] = ()  # which may touch these files without a question, and no others
    child: bool = False
    staging: bool = True  # plan.staging
    # Who asks: the session's agent, then for a child those of its parents; all must agree.
    agents: tuple[Agent, ...] = ()
    custom: tuple[CustomMode, ...] = ()  # the session's own mode and its parents'; all narrow
    auto: bool = False  # what would be asked runs; plan mode, denials and secrets stay as they are
    grants: tuple[Grant, ...] = ()  # remembered answers that count here
    deeper: bool = True  # a child may be started: the limit of depth is not reached
    opened: tuple[str, ...] = ()  # configuration of agents that this one call may change


class GuardedCall(msgspec.Struct, frozen=True):
    """A call as guards and hooks see it: who makes it, what it touches, what the gate said."""

    session: str
    agent: str
    mode: str
    call: ToolCall
    tool: str
    requests: tuple[ResourceAccess, ...]
    decision: Decision


class EditEffect(msgspec.Struct, frozen=True):
    """Exact changes to files, and the new contents by digest."""

    operations: tuple[FileOperation, ...]
    contents: dict[str, bytes] = {}


class PlanTextEffect(msgspec.Struct, frozen=True):
    """A plan's whole text; without a name that of the session's plan."""

    text: str
    name: str = ""


class TodosEffect(msgspec.Struct, frozen=True):
    todos: tuple[Todo, ...]


class QuestionsEffect(msgspec.Struct, frozen=True):
    """Questions of the model to the user."""

    questions: tuple[Question, ...]


class PresentPlanEffect(msgspec.Struct, frozen=True):
    """Freezes the plan and shows it to the user; it ends the turn."""


class EnterPlanEffect(msgspec.Struct, frozen=True):
    """Switches to plan mode; the user is asked."""

    reason: str = ""


class MemoryEffect(msgspec.Struct, frozen=True):
    """Something to remember about this workspace in every later session."""

    text: str


class CommandEffect(msgspec.Struct, frozen=True):
    """A command line that may change files; confined unless the user allows otherwise."""

    line: str
    folder: bytes = b""  # in the workspace
    seconds: float = 0  # most of them; 0: as many as the settings allow
    subject: str = ""  # what it is for, in the model's words
    network: bool = False  # where it is staged: it needs the network


class TaskEffect(msgspec.Struct, frozen=True):
    """Work for a child session: a new one, or an earlier one of the session by its id."""

    prompt: str
    title: str
    agent: str
    session: str = ""  # resume this one
    background: bool = False


Effect: TypeAlias = (
    EditEffect
    | PlanTextEffect
    | TodosEffect
    | QuestionsEffect
    | PresentPlanEffect
    | EnterPlanEffect
    | MemoryEffect
    | CommandEffect
    | TaskEffect
)


class ToolOutcome(msgspec.Struct, frozen=True):
    """The result of a call, as text for the model, and the effect that it requests.

    Nothing has happened yet when a tool returns it: the engine carries effects out (law 1).
    """

    text: str
    title: str = ""
    failed: bool = False
    effect: Effect | None = None
    images: tuple[ImagePart, ...] = ()
    metadata: dict[str, Any] = {}
    rest: bytes = b""  # the whole output where `text` is only its beginning; kept in a file


class EffectResult(msgspec.Struct, frozen=True):
    """The result of an effect."""

    text: str
    failed: bool = False
    ends: bool = False  # the turn is over with it
    metadata: dict[str, Any] = {}


class SessionCommandRequest(msgspec.Struct, frozen=True):
    """A command of a call, with the permission that covers it."""

    session: SessionRecord
    call: str
    command: CommandEffect
    source: PermitSource
    detail: str
    confined: bool = True
    seconds: float = 120  # the person's limit; the call may want less


# As plugins know them from before `assent.plugins`.
Edit, Outcome, Request = EditEffect, ToolOutcome, ResourceAccess
