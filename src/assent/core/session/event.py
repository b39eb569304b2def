"""Session events as plain data: messages, steps, calls, questions, todos, modes."""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from assent.core.llm import (
    ImagePart,
    ReasoningPart,
    StopReason,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from assent.core.permission.mode import Mode
from assent.core.permission.rule import PermissionPattern

TodoStatus: TypeAlias = Literal["pending", "in_progress", "completed", "cancelled"]
TurnEndReason: TypeAlias = Literal[
    "end", "presented", "limit", "budget", "interrupted", "failed",
    "declined",  # the user denied a call
    "waiting",  # a question is open that can be answered later
    "paused", "cancelled",  # the user stopped the work from elsewhere
]  # fmt: skip
RiskLevel: TypeAlias = Literal["low", "medium", "high"]
AttachmentKind: TypeAlias = Literal[
    "file", "folder", "image",
    "refused",  # by a rule, an answer, or because it cannot be read
    "missing",  # there is no such file: the `@` is literal
]  # fmt: skip


class Todo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One item of the model's list of what is to be done."""

    content: str
    status: TodoStatus = "pending"


class QuestionOption(msgspec.Struct, frozen=True):
    """One way to answer a question."""

    label: str
    description: str = ""


class Question(msgspec.Struct, frozen=True):
    """A question to the user: one choice, several, or free text."""

    header: str
    question: str
    options: tuple[QuestionOption, ...] = ()
    multiple: bool = False
    custom: bool = True  # free words are an answer, too
    by: Literal["model", "gate"] = "model"  # who asks; a model's words must not pass for the gate's
    things: tuple[str, ...] = ()  # everything that allowing it would do, one by one
    command: str = ""  # a command line that is too long, or has too many lines, for a sentence
    detail: str = ""  # what allowing it would do, as a patch
    always: tuple[PermissionPattern, ...] = ()  # what a remembered approval would cover
    risk: tuple[str, ...] = ()  # level first, then the reasons


class SessionStarted(msgspec.Struct, frozen=True, tag="session_started"):
    """A session began. A fork names where it comes from and inherits messages, never grants."""

    session: str
    workspace: str
    slug: str
    mode: Mode
    goal: str = ""
    parent: str = ""  # of a child: the session that it works for
    fork: str = ""  # of a fork: the session that it was copied from
    custom: str = ""  # id of a custom mode, whose base is `mode`
    depth: int = 0  # how many parents it has


class ModelChosen(msgspec.Struct, frozen=True, tag="model_chosen"):
    """A user chose the model of the turns to come."""

    model: str


class SessionRenamed(msgspec.Struct, frozen=True, tag="session_renamed"):
    """The session has a title; `by` is model or person."""

    title: str
    by: Literal["model", "person"] = "person"


class SessionDeleted(msgspec.Struct, frozen=True, tag="session_deleted"):
    """The session is no longer listed; what its runs did can still be undone."""


class ModeChanged(msgspec.Struct, frozen=True, tag="mode_changed"):
    """A user chose another mode, directly or by building what they approved."""

    mode: Mode
    reason: str = ""
    custom: str = ""  # id of a custom mode, whose base is `mode`


class PlanLinked(msgspec.Struct, frozen=True, tag="plan_linked"):
    """The session works on this plan, and its model knows what happened to it up to here.

    What comes later in the plan's stream, or in the workspace's, was done by others: a synthetic
    message tells the model.
    """

    plan_id: str
    seq: int  # of the plan's stream
    home: int  # of the workspace's stream


class OptionLinked(msgspec.Struct, frozen=True, tag="option_linked"):
    """As `plan_linked`, and the plan is one of several to choose from."""

    plan_id: str
    seq: int
    home: int
    option: str  # its label
    # The other options by id, each with how far the model knows its stream.
    others: tuple[tuple[str, int], ...] = ()


PlanLink: TypeAlias = PlanLinked | OptionLinked


def plan_link(
    plan_id: str, seq: int, home: int, option: str = "", others: Mapping[str, int] | None = None
) -> PlanLink:
    """Returns the marker of the plan that a session works on; of an option, with the others."""
    if not option:
        return PlanLinked(plan_id, seq, home)
    return OptionLinked(plan_id, seq, home, option, tuple((others or {}).items()))


class MessageAdded(msgspec.Struct, frozen=True, tag="message_added"):
    """The user sent a message, or Assent did for them (`synthetic` says what about).

    The newest message decides the agent of the next step.
    """

    id: str
    agent: str
    parts: tuple[TextPart | ImagePart, ...]
    synthetic: str = ""  # mode, run, rejected, plan_used, declined, build, reminder and such
    model: str = ""  # asked from here on; empty: the one of before, else the agent's own


class FilesMentioned(msgspec.Struct, frozen=True, tag="files_mentioned"):
    """The user typed paths after `@` in a message; they are attached before the next step."""

    message: str
    mentions: tuple[str, ...]


class AttachedFile(msgspec.Struct, frozen=True):
    """One `@path` of a message: what it became, and the very text that the model reads of it."""

    mention: str  # as it was typed
    kind: AttachmentKind
    path: str = ""  # from the workspace's root; outside it absolute
    text: str = ""  # empty where the message itself has the content
    size: int = 0  # bytes of it that the model reads, without headers and remarks
    images: tuple[ImagePart, ...] = ()
    seen: dict[str, str] = {}  # digests of what it shows of the workspace, by path
    why: str = ""  # it was not attached
    decided: str = ""  # who decided, and why: layer, rule and reason on one line


class UserTyped(msgspec.Struct, frozen=True):
    """What the user typed of a message; only there `@path` attaches a file.

    `attached` is what the template of a custom command attached to it.
    """

    text: str = ""
    attached: tuple[AttachedFile, ...] = ()


NOTHING_TYPED: Final = UserTyped()  # piped in, or made by a program: `@` is literal


class FilesAttached(msgspec.Struct, frozen=True, tag="files_attached"):
    """Files that the user named in a message were read for the model, or were not."""

    message: str
    files: tuple[AttachedFile, ...]


class TurnStarted(msgspec.Struct, frozen=True, tag="turn_started"):
    """Work on everything unanswered began; `build` names the run of a text plan that it does."""

    turn: int
    build: str = ""


class StepStarted(msgspec.Struct, frozen=True, tag="step_started"):
    """A request is about to be sent: the session's `step`-th."""

    step: int
    agent: str
    model: str
    mode: Mode


class PartSaid(msgspec.Struct, frozen=True, tag="part_said"):
    """The model completed a part. A call in it is pending."""

    part: TextPart | ReasoningPart | ToolCall
    seconds: float = 0.0


class StepRetried(msgspec.Struct, frozen=True, tag="step_retried"):
    """An attempt failed; its output does not count."""

    attempt: int
    wait: float
    reason: str


class StepEnded(msgspec.Struct, frozen=True, tag="step_ended"):
    """The model's answer is complete."""

    stop: StopReason
    usage: TokenUsage = TokenUsage()
    cost: float | None = None  # dollars; None: prices are not known
    words: str = ""


class PlannedCall(msgspec.Struct, frozen=True):
    """One call of a batch before it runs: what it touches, what the gate says, what it risks."""

    call: str
    tool: str
    touches: tuple[str, ...] = ()  # such as `edit src/a.py`
    verdict: str = ""  # of the gate; `fail`: the call is never judged
    risk: RiskLevel = "low"
    reasons: tuple[str, ...] = ()  # why it is refused, and what it risks


class BatchPlanned(msgspec.Struct, frozen=True, tag="batch_planned"):
    """All calls of one answer, in the order in which they will run (the execution plan)."""

    calls: tuple[PlannedCall, ...]


class CallStarted(msgspec.Struct, frozen=True, tag="call_started"):
    """A call is running."""

    call: str
    tool: str


class CallEnded(msgspec.Struct, frozen=True, tag="call_ended"):
    """A call ended: completed, or with an error that the model reads."""

    call: str
    tool: str
    result: ToolResult
    title: str = ""
    seconds: float = 0.0
    verdict: str = ""  # of the gate: run, stage, ask or deny; empty: it never got there
    metadata: dict[str, Any] = {}  # `operations`, `edits`, `run`, `output`, `seen` (path to digest)
    decided: str = ""  # who decided, and why: layer, rule and reason on one line


class QuestionAsked(msgspec.Struct, frozen=True, tag="question_asked"):
    """A question has to be answered before the call continues."""

    id: str
    call: str
    questions: tuple[Question, ...]
    tool: str = ""
    digest: str = ""  # of session, call, tool, arguments and questions; an answer must name it
    expires_at: str = ""  # an answer after this is refused
    # For whom an answer counts that is remembered: as in core/permission/rule.py.
    agent: str = ""
    mode: Mode = "plan"
    plan: str = ""
    custom: str = ""


class QuestionAnswered(msgspec.Struct, frozen=True, tag="question_answered"):
    """The user answered each question by label or text; None: no answer, which allows nothing."""

    id: str
    answers: tuple[tuple[str, ...], ...] | None
    by: str = ""  # user and channel
    grant: str = ""  # the remembered answer that it became


class AnswerTaken(msgspec.Struct, frozen=True, tag="answer_taken"):
    """A turn continues with an answer; after a crash from here on, the call's effect is unknown."""

    id: str


class WorkHalted(msgspec.Struct, frozen=True, tag="work_halted"):
    """A user wants a turn that may run elsewhere to stop before its next step."""

    how: Literal["paused", "cancelled"]
    reason: str = ""


class SessionRewound(msgspec.Struct, frozen=True, tag="session_rewound"):
    """The user rewound to before a message; the model reads nothing from it on.

    Plan and files stay as they are. The rest is as it was before that message.
    """

    message: str
    words: str = ""  # the beginning of it, for people
    left: int = 0  # messages of the user that still count
    agent: str = ""  # of the newest message that is left
    model: str = ""


class ChildStarted(msgspec.Struct, frozen=True, tag="child_started"):
    """A child session works on a task for a call of this one."""

    call: str
    child: str
    agent: str
    title: str
    background: bool = False


class ChildEnded(msgspec.Struct, frozen=True, tag="child_ended"):
    """A child session ended, for whatever reason."""

    child: str
    why: TurnEndReason
    words: str = ""


class TodosChanged(msgspec.Struct, frozen=True, tag="todos_changed"):
    """The whole list as it is now."""

    todos: tuple[Todo, ...]


class Compacted(msgspec.Struct, frozen=True, tag="compacted"):
    """All messages but the last `kept` became a summary."""

    summary: str
    kept: int
    usage: TokenUsage = TokenUsage()
    cost: float | None = None


class CompactionRejected(msgspec.Struct, frozen=True, tag="compaction_rejected"):
    """A summary was thrown away, because with it the messages would not have become shorter.

    `before` and `after` are estimates of the tokens without it and with it.
    """

    before: int
    after: int
    usage: TokenUsage = TokenUsage()
    cost: float | None = None


class CritiqueStarted(msgspec.Struct, frozen=True, tag="critique_started"):
    """A critic is asked about the plan that was just presented; the plan is frozen already."""

    plan_id: str
    digest: str
    model: str
    option: str = ""  # the label of the plan, if it is one of several to choose from


class CritiqueEnded(msgspec.Struct, frozen=True, tag="critique_ended"):
    """A critic answered, or did not: `words` say why. The plan waits for its decision either way.

    Its findings are comments on the plan.
    """

    plan_id: str
    digest: str
    model: str
    findings: int = 0
    dropped: int = 0  # findings that were too many, or could not be read
    unread: int = 0  # lines that it did not get, because there were too many
    usage: TokenUsage = TokenUsage()
    cost: float | None = 0.0  # dollars; None: not known
    words: str = ""
    option: str = ""


class ResultsPruned(msgspec.Struct, frozen=True, tag="results_pruned"):
    """Long tool results in all messages but the last `kept` became a short placeholder."""

    kept: int
    results: int
    tokens: int  # that they had, about


class TurnEnded(msgspec.Struct, frozen=True, tag="turn_ended"):
    """A turn ended; the session is idle."""

    why: TurnEndReason
    words: str = ""


SessionEvent: TypeAlias = (
    SessionStarted
    | SessionRenamed
    | ModelChosen
    | SessionDeleted
    | ModeChanged
    | PlanLinked
    | OptionLinked
    | MessageAdded
    | FilesMentioned
    | FilesAttached
    | TurnStarted
    | StepStarted
    | PartSaid
    | StepRetried
    | StepEnded
    | BatchPlanned
    | CallStarted
    | CallEnded
    | QuestionAsked
    | QuestionAnswered
    | AnswerTaken
    | WorkHalted
    | SessionRewound
    | ChildStarted
    | ChildEnded
    | TodosChanged
    | Compacted
    | CompactionRejected
    | CritiqueStarted
    | CritiqueEnded
    | ResultsPruned
    | TurnEnded
)


# How a turn ends that the user interrupted.


INTERRUPTED_PLANNING: Final = (
    "You interrupted the turn. Messages and staged operations so far are kept."
)
INTERRUPTED_WORK: Final = "You interrupted the turn. Messages and changes so far are kept."


CLOSED_PLANNING: Final = (
    "The screen was closed during the turn. Messages and staged operations so far are kept."
)
CLOSED_WORK: Final = "The screen was closed during the turn. Messages and changes so far are kept."


def interrupted_turn(mode: Mode, *, closed: bool = False) -> TurnEnded:
    """Returns the end of an interrupted turn; its text depends on the mode.

    `closed` is whether the screen closed, perhaps because its terminal went away.
    """
    planning, work = INTERRUPTED_PLANNING, INTERRUPTED_WORK
    if closed:
        planning, work = CLOSED_PLANNING, CLOSED_WORK
    return TurnEnded("interrupted", planning if mode == "plan" else work)


# Events of a session's queue: messages that wait for their turn.


class MessageQueued(msgspec.Struct, frozen=True, tag="message_queued"):
    """Something was said to a session that is at work; without text, it only goes on."""

    message: str
    text: str = ""
    user: str = ""
    plan_mode: bool = False  # decided when it is taken
    model: str = ""
    agent: str = ""
    typed: bool = False  # by a person, so that `@file` in it attaches
    attached: tuple[AttachedFile, ...] = ()  # images that were pasted into it


class MessageTaken(msgspec.Struct, frozen=True, tag="message_taken"):
    """The turn of a queued message began."""

    message: str


class MessageFinished(msgspec.Struct, frozen=True, tag="message_finished"):
    """The turn of a queued message ended, or could not begin: then `error` says why."""

    message: str
    error: str = ""


class MessageRemoved(msgspec.Struct, frozen=True, tag="message_removed"):
    """A user removed a message before its turn."""

    message: str
    user: str = ""


QueueEvent: TypeAlias = MessageQueued | MessageTaken | MessageFinished | MessageRemoved
