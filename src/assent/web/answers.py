"""What endpoints answer, for the OpenAPI document: the same rows that commands print as JSON.

Rows are made in `render`; that they are as described here is checked for every answer in the tests.
"""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from assent.core.event import Role

Row: TypeAlias = dict[str, Any]


class WarningFields(TypedDict):
    """Warnings, if there are any."""

    warnings: NotRequired[list[str]]


class PathFields(TypedDict):
    """A path; with its exact bytes in base64 if it is not UTF-8."""

    path: str | None
    path_b64: NotRequired[str]


# The server


class AccessAnswer(TypedDict):
    """Who calls; `csrf` is what changes by this cookie must carry."""

    csrf: str | None
    kind: Literal["cookie", "token"]
    name: str
    role: Role
    granted_at: str
    expires_at: str | None
    decides: bool


class WorkspaceRow(TypedDict):
    """A workspace that is served, and how much waits in it."""

    workspace: str | None
    root: str
    root_b64: NotRequired[str]
    name: str
    waiting: int


class WorkspacesAnswer(TypedDict):
    """The workspaces that are served."""

    workspaces: list[WorkspaceRow]


class WaitingRow(TypedDict):
    """A plan, a question or a run that waits for a person."""

    workspace: str
    kind: str
    id: str
    title: str
    session: str | None
    plan_id: str | None
    name: str | None
    digest: str | None
    depth: int
    operations: int | None
    risks: int | None
    at: str
    age_s: int
    preview: list[str]
    look: str
    commands: list[str]


class WaitingAnswer(TypedDict):
    """Everything that waits, oldest first."""

    waiting: list[WaitingRow]


class FilesAnswer(TypedDict):
    """Files that were found, best first."""

    files: list[PathFields]
    more: bool


# Configuration


class ModelRow(TypedDict):
    """A model that can be used, and why."""

    model: str
    provider: str
    why: str
    context: int
    output: int
    default: bool
    images: bool | None


class ModelsAnswer(WarningFields):
    """Models that can be used."""

    models: list[ModelRow]


class AgentRow(TypedDict):
    """An agent, and where it is defined."""

    name: str
    description: str | None
    kind: str
    source: str
    model: str | None
    steps: int | None
    tools: dict[str, bool]


class AgentsAnswer(WarningFields):
    """All agents."""

    agents: list[AgentRow]


class ModeRow(TypedDict):
    """A mode; a custom one narrows its base."""

    id: str
    base: str
    label: str | None
    source: str
    tools: Row | list[str] | None
    edit: list[str] | None
    prompt: str | None
    within: list[str] | str | None


class ModesAnswer(WarningFields):
    """All modes."""

    modes: list[ModeRow]


class RulesAnswer(WarningFields):
    """Permission rules by layer, and remembered answers."""

    layers: list[Row]
    grants: list[Row]


class SettingRow(TypedDict):
    """A setting, its value and its default."""

    key: str
    value: Any
    default: Any
    meaning: str


class SettingsAnswer(WarningFields):
    """All settings."""

    settings: list[SettingRow]


# Plans


class PlanAnswer(WarningFields):
    """A plan; a draft has no digest."""

    workspace: str
    plan_id: str
    session: str | None
    name: str
    path: str | None
    path_b64: NotRequired[str]
    state: str
    digest: str | None
    approved: bool
    created_at: str
    updated_at: str
    expires_at: NotRequired[str]
    imported: NotRequired[str]
    option: NotRequired[str]
    options: NotRequired[str]


class PlansAnswer(TypedDict):
    """Plans, newest first."""

    plans: list[PlanAnswer]


class StructureRow(TypedDict):
    """The parts of a plan's text; null where there is none."""

    title: str | None
    overview: str | None
    steps: list[str]
    files: list[str]
    risks: str | None
    tests: str | None
    rollback: str | None
    open_questions: str | None
    success_criteria: str | None
    references: str | None
    missing: list[str]


class StepRow(TypedDict):
    """A step of a plan; operations are counted from 1."""

    id: str
    title: str
    group: str | None
    after: list[str]
    state: str
    score: int | None
    complexity: str | None
    risk: str | None
    operations: list[int]
    problems: list[str]


class OutlineFields(TypedDict):
    """The outline of a plan's text."""

    structure: NotRequired[StructureRow]
    steps: NotRequired[list[StepRow]]
    progress: NotRequired[Row | None]


class OutlinedPlanAnswer(PlanAnswer, OutlineFields):
    """A plan with its outline."""


class WorkAnswer(TypedDict):
    """A build or a rehearsal that was asked for here; `run` is what it did."""

    id: str
    kind: Literal["build", "rehearse"]
    plan_id: str
    digest: str | None
    state: str
    at: str
    ended_at: str | None
    outcome: str | None
    run: str | None
    error: NotRequired[str]
    message: NotRequired[str]
    next: NotRequired[str]


class WorkListAnswer(TypedDict):
    """Builds and rehearsals of a plan, oldest first."""

    work: list[WorkAnswer]


class WholePlanAnswer(OutlinedPlanAnswer):
    """A plan with its text and what was last asked for."""

    text: str
    work: WorkAnswer | None


class RevisionRow(TypedDict):
    """A revision of a plan's text."""

    n: int
    at: str
    content_hash: str


class RevisionsAnswer(TypedDict):
    """Revisions, oldest first."""

    revisions: list[RevisionRow]


class RevisionAnswer(TypedDict):
    """The text of one revision."""

    n: int
    text: str


class DiffAnswer(TypedDict):
    """A unified diff."""

    diff: str


class OperationRow(TypedDict):
    """An operation; a command has its arguments or script instead of a path."""

    id: str
    kind: str
    path: NotRequired[str | None]
    path_b64: NotRequired[str]
    to: NotRequired[str | None]
    to_b64: NotRequired[str]
    argv: NotRequired[list[str]]
    argv_b64: NotRequired[list[str]]
    script: NotRequired[str]
    script_b64: NotRequired[list[str]]
    cwd: NotRequired[str]
    env: NotRequired[dict[str, str]]
    timeout: NotRequired[int]
    network: NotRequired[bool]
    undo: NotRequired[list[str]]
    undo_b64: NotRequired[list[str]]
    profile: NotRequired[str]


class StagedOperationsAnswer(WarningFields):
    """What was staged; `operation` is null if the file is that already."""

    operation: NotRequired[OperationRow | None]
    operations: NotRequired[list[OperationRow]]
    notes: NotRequired[list[str]]


class OperationsAnswer(TypedDict):
    """Operations in their order; `operation`, if there is only one."""

    operation: NotRequired[OperationRow]
    operations: list[OperationRow]


class RemovedOperationsAnswer(WarningFields):
    """What was removed, with what depended on it."""

    operation: NotRequired[OperationRow]
    removed: list[OperationRow]
    operations: list[OperationRow]
    remaining: int


class OperationContentAnswer(TypedDict):
    """Content of an operation, in base64 if it is not UTF-8."""

    id: str
    side: str
    kind: str
    mode: int
    size: int
    digest: str
    content: str | None
    content_b64: str | None


class CommentAnswer(WarningFields):
    """A comment; `first` and `last` are null if it is about all of its part.

    `reply_to` is the id of the comment that it replies to.
    """

    id: str
    number: int
    on: str
    operation: str | None
    about: str | None
    first: int | None
    last: int | None
    standing: str
    quote: list[str]
    text: str
    digest: str | None
    at: str
    user: str | None
    reply_to: NotRequired[str]
    author: NotRequired[str]
    state: NotRequired[str]
    model: NotRequired[str]


class CommentsAnswer(TypedDict):
    """Comments on a plan."""

    comments: list[CommentAnswer]


class ReviewedOperationRow(OperationRow):
    """An operation as it is decided about."""

    reversible: str
    risk: str
    risks: list[str]
    reasons: NotRequired[list[str]]
    diff: str | None
    seen: bool
    remarks: NotRequired[list[str]]
    denied: NotRequired[str]
    not_covered: NotRequired[list[str]]


class ExcludedFields(TypedDict):
    """Operations that are left out, and those that depend on them."""

    declined: NotRequired[list[OperationRow]]
    followed: NotRequired[list[OperationRow]]


class ReviewAnswer(ExcludedFields, OutlineFields, WarningFields):
    """All that is decided about; later pages have operations only."""

    plan_id: str
    name: str
    state: str
    digest: str | None
    approved: bool
    operations: list[ReviewedOperationRow]
    session: NotRequired[str | None]
    option: NotRequired[str]
    discards: NotRequired[list[str]]
    path: NotRequired[str | None]
    path_b64: NotRequired[str]
    expires_at: NotRequired[str]
    text: NotRequired[str]
    content_hash: NotRequired[str]
    operations_hash: NotRequired[str]
    risks: NotRequired[list[str]]
    scope: NotRequired[dict[str, list[str]]]
    relied_on: NotRequired[list[Row]]
    rehearsal: NotRequired[Row | None]
    notes: NotRequired[list[Row]]
    missing_notes: NotRequired[list[Row]]
    since: NotRequired[Row | None]
    denied: NotRequired[list[Row]]
    drifted: NotRequired[list[Row]]
    comments: NotRequired[list[CommentAnswer]]
    critique: NotRequired[Row]
    estimate: NotRequired[Row]
    page: NotRequired[int]
    pages: NotRequired[int]
    page_operations: NotRequired[int]


class ApprovedPlanAnswer(PlanAnswer, ExcludedFields):
    """An approved plan; with its build, if one was asked for, too."""

    discarded: NotRequired[list[str]]
    work: NotRequired[WorkAnswer]


class RejectedPlanAnswer(PlanAnswer):
    """A plan that was sent back, and how many comments with it."""

    comments: NotRequired[int]


class RebasedPlanAnswer(PlanAnswer):
    """A plan on the files as they are now, and what that changed."""

    was: str
    differs: bool
    unchanged: list[Row]
    changed: list[Row]
    dropped: list[Row]
    relied_on: list[Row]
    dry_run: bool


# Runs


class RunFields(TypedDict):
    """What a past run is, without its operations."""

    workspace: str
    run: str
    kind: str
    plan: str
    plan_id: str | None
    session: str | None
    runs: list[str]
    at: str
    outcome: str | None
    own: int
    shared: int
    undone: bool
    partly_undone: bool
    accepted: bool
    given_up: str | None


class RunRow(RunFields):
    """A past run, and how many operations it had."""

    operations: int


class RunsAnswer(TypedDict):
    """Runs, newest first; `more` were not listed."""

    runs: list[RunRow]
    more: int
    kept: int


class RunAnswer(RunFields):
    """A run with the result of each operation; `seen` is named to recover it."""

    operations: list[Row]
    unfinished: bool
    seen: int | None
    working: NotRequired[bool]
    notes: NotRequired[list[str]]
    next: NotRequired[list[str]]


class RunOutputAnswer(TypedDict):
    """What the commands of a run printed and changed."""

    run: str
    commands: list[Row]


class EvidenceAnswer(TypedDict):
    """A DSSE envelope."""

    payloadType: str
    payload: str
    signatures: list[dict[str, str]]


class UndoAnswer(TypedDict):
    """What an undo or a redo would do; without a digest there is nothing to do."""

    run: str | None
    digest: str | None
    operations: list[Row]
    conflicts: list[Row]
    denied: list[Row]
    not_covered: list[Row]
    overwrites: NotRequired[list[str]]
    guessed: NotRequired[list[str]]
    outcome: NotRequired[str]


class RunReportAnswer(WarningFields):
    """How a run ended; `next` if a person has to decide. `work` is a build that goes on."""

    run: NotRequired[str | None]
    outcome: NotRequired[str]
    operations: NotRequired[list[Row]]
    notes: NotRequired[list[str]]
    next: NotRequired[list[str]]
    restored: NotRequired[list[OperationRow]]
    conflicts: NotRequired[list[Row]]
    denied: NotRequired[list[Row]]
    not_covered: NotRequired[list[Row]]
    digest: NotRequired[str | None]
    work: NotRequired[WorkAnswer]


# Sessions and questions


class QueuedMessageRow(TypedDict):
    """A message that waits for its turn, or is worked on."""

    message: str
    text: str
    by: str
    plan_mode: bool


class SessionAnswer(TypedDict):
    """A session, and the messages that wait in it."""

    workspace: str
    session: str
    slug: str
    title: str
    mode: str
    custom_mode: str | None
    missing_mode: str | None
    agent: str | None
    model: str | None
    plan_id: str | None
    created_at: str
    updated_at: str
    messages: int
    turns: int
    steps: int
    todos: list[Row]
    usage: dict[str, int]
    cost: float | None
    parent: str | None
    fork: str | None
    children: int
    state: str
    failure: str | None
    at_work_on: QueuedMessageRow | None
    queue: list[QueuedMessageRow]
    questions: list[str]


class SessionsAnswer(TypedDict):
    """Sessions, newest first, children after their parents."""

    sessions: list[SessionAnswer]


class StartedSessionAnswer(SessionAnswer):
    """A session and its first message."""

    message: str


class AcceptedMessageAnswer(StartedSessionAnswer):
    """A message that was taken; `ahead` of it are those whose turns come first."""

    ahead: int


class RewoundFields(TypedDict):
    """The message to which a session is rewound, and what was done since then."""

    rewound_to: NotRequired[str | None]
    text: NotRequired[str]
    turns_since: NotRequired[list[int]]
    runs_since: NotRequired[list[str]]


class RewoundSessionAnswer(SessionAnswer, RewoundFields, WarningFields):
    """A session as it was before a message; `result` is how the undo of its files ended."""

    files: Literal["kept", "restored"]
    result: NotRequired[RunReportAnswer]


class SessionEventRow(TypedDict):
    """An event of a session; `n` counts within it."""

    n: int
    seq: int
    at: str
    kind: str
    session: str
    body: Row


class SessionEventsAnswer(TypedDict):
    """Events of a session; `last` is the next request's `after`."""

    messages: list[SessionEventRow]
    last: int
    more: bool


class RewindUndoRow(UndoAnswer):
    """What would be undone, of all these runs."""

    runs: list[str]


class RewindPointsAnswer(RewoundFields):
    """Messages to which a session can be rewound; with `to`, what that would undo."""

    messages: list[Row]
    undo: NotRequired[RewindUndoRow]


class TodosAnswer(TypedDict):
    """The todos of a session."""

    todos: list[Row]


class QuestionAnswer(TypedDict):
    """A question; an answer names its digest."""

    workspace: str
    id: str
    question: str
    digest: str
    standing: str
    session: str
    root: str
    slug: str
    depth: int
    agent: str | None
    task: str | None
    mode: str
    call: str
    tool: str
    args: Row
    asked_at: str
    age_s: int
    expires_at: str | None
    questions: list[Row]
    answers: list[list[str]] | None
    answered_by: str | None
    answered_at: str | None
    grant: Row | str | None


class QuestionsAnswer(TypedDict):
    """Questions that wait, oldest first."""

    questions: list[QuestionAnswer]


class AnsweredQuestionAnswer(TypedDict):
    """An answer that counts; the session goes on when no question is open."""

    workspace: str
    id: str
    question: str
    digest: str
    session: str
    root: str
    answers: list[list[str]]
    by: str
    grant: Row | str | None
    others: list[Row | str]
    yes: bool | None
    words: str
    open: int
    at_work: bool
    next: str
