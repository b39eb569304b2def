"""Events: everything durable that happens, as plain data. State is their fold (law 8)."""

from typing import Final, Literal, TypeAlias

import msgspec

from assent.core.permission.rule import GrantEvent
from assent.core.plan.approval import Approval
from assent.core.plan.comment import Comment
from assent.core.plan.operation import FileOperation, Operation
from assent.core.run.journal import JournalEntry, RunOutcome
from assent.core.run.permit import CommandSource, Permit
from assent.core.session.event import QueueEvent, SessionEvent


class WorkspaceMinted(msgspec.Struct, frozen=True, tag="workspace_minted"):
    """A folder became a workspace; its id is random and goes into every plan's digest."""

    workspace: str
    root: bytes
    inode: int


class WorkspaceMoved(msgspec.Struct, frozen=True, tag="workspace_moved"):
    """The same folder was found under another path."""

    root: bytes


class SlotsDecided(msgspec.Struct, frozen=True, tag="slots_decided"):
    """A user decided what happens to slots of a run that the log does not know."""

    way: str
    slots: tuple[bytes, ...]
    user: str = ""


class PlanSelected(msgspec.Struct, frozen=True, tag="plan_selected"):
    """A plan became the workspace's current one, chosen by the user or because it was created."""

    plan_id: str
    chosen: bool = False


class FactRemembered(msgspec.Struct, frozen=True, tag="fact_remembered"):
    """A fact about the workspace that every later session gets."""

    fact: str
    text: str


class FactForgotten(msgspec.Struct, frozen=True, tag="fact_forgotten"):
    """A user removed a remembered fact."""

    fact: str


class TrustGiven(msgspec.Struct, frozen=True, tag="trust_given"):
    """A user reviewed a project file and trusts exactly this content."""

    path: str
    content_hash: str
    does: tuple[str, ...]
    user: str = ""


class TrustRevoked(msgspec.Struct, frozen=True, tag="trust_revoked"):
    """A user revoked the trust in a project file."""

    path: str
    user: str = ""


class KeyTrusted(msgspec.Struct, frozen=True, tag="key_trusted"):
    """A user trusts a key to approve plans that were made elsewhere."""

    key: str
    name: str
    user: str


class KeyRevoked(msgspec.Struct, frozen=True, tag="key_revoked"):
    """A user revoked a key; it can no longer approve plans."""

    key: str
    name: str
    user: str


Role: TypeAlias = Literal["viewer", "author", "approver"]
AccessKind: TypeAlias = Literal["cookie", "token"]


class AccessCodeIssued(msgspec.Struct, frozen=True, tag="access_code_issued"):
    """A one-time code was shown to a user on their terminal."""

    code: str  # its hash
    role: Role
    expires_at: str
    user: str


class AccessGranted(msgspec.Struct, frozen=True, tag="access_granted"):
    """A code was exchanged for a cookie, or a user created a token for a program."""

    access: str
    kind: AccessKind
    secret: str  # its hash
    role: Role
    name: str
    user: str
    code: str = ""  # the hash of the code that it was exchanged for
    expires_at: str = ""  # empty: never


class AccessRevoked(msgspec.Struct, frozen=True, tag="access_revoked"):
    """A user revoked a cookie or a token, or logged out with it."""

    access: str
    user: str


class PasswordChanged(msgspec.Struct, frozen=True, tag="password_changed"):
    """A user set the password that logins from other machines need; empty: there is none."""

    password: str  # salted and hashed by a slow function
    user: str


class WorkspaceServed(msgspec.Struct, frozen=True, tag="workspace_served"):
    """A user added a folder to those that the server shows, or removed it."""

    root: bytes
    served: bool
    user: str


class ReviewShown(msgspec.Struct, frozen=True, tag="review_shown"):
    """A user was shown all of a frozen plan; later versions are compared with it."""

    plan_id: str
    digest: str
    frozen: str
    user: str


class CommentAdded(msgspec.Struct, frozen=True, tag="comment_added"):
    """A user or a critic commented on lines of a plan; the same id again replaces the comment."""

    plan_id: str
    comment: Comment


class CommentRemoved(msgspec.Struct, frozen=True, tag="comment_removed"):
    """A user removed a comment before it was sent, or dismissed one that a critic suggested."""

    plan_id: str
    comment: str
    user: str


class CommentsSent(msgspec.Struct, frozen=True, tag="comments_sent"):
    """These comments were sent with the rejection of this digest and are no longer pending."""

    plan_id: str
    digest: str
    comments: tuple[str, ...]
    user: str


class CritiqueRequested(msgspec.Struct, frozen=True, tag="critique_requested"):
    """A critic is about to be asked about this digest.

    It is not asked again, except by the same session if its process ended before the answer.
    """

    plan_id: str
    digest: str
    model: str
    session: str = ""  # that asks; empty: recorded before it was kept, and so never repeated


class CritiqueRecorded(msgspec.Struct, frozen=True, tag="critique_recorded"):
    """What came of a critique, recorded together with the comments that it suggests."""

    plan_id: str
    digest: str
    model: str
    findings: int = 0
    dropped: int = 0  # findings that were too many, or could not be read
    unread: int = 0  # lines that it did not get
    words: str = ""  # why there are no findings, if it did not answer


class PlanRehearsed(msgspec.Struct, frozen=True, tag="plan_rehearsed"):
    """The operations of a plan or a draft were tried in a scratch copy; nothing real changed."""

    plan_id: str
    operations_hash: str
    details: str  # the blob with everything that is known of it


WorkKind: TypeAlias = Literal["build", "rehearse"]


class WorkQueued(msgspec.Struct, frozen=True, tag="work_queued"):
    """Long work on a plan was asked of the server; what it does has events of its own."""

    plan_id: str
    work: str
    kind: WorkKind
    digest: str
    access: str  # the name of the cookie or token that asked


class WorkEnded(msgspec.Struct, frozen=True, tag="work_ended", omit_defaults=True):
    """Long work is over: with an outcome, or with the error that kept it from beginning."""

    plan_id: str
    work: str
    outcome: str = ""
    run: str = ""
    error: str = ""  # its word
    message: str = ""
    next: str = ""
    warnings: tuple[str, ...] = ()


class VerificationConfirmed(msgspec.Struct, frozen=True, tag="verification_confirmed"):
    """A user confirmed which commands verify plans here; Assent had suggested them."""

    commands: tuple[str, ...]
    user: str


class NotesCarried(msgspec.Struct, frozen=True, tag="notes_carried"):
    """The notes of these approvals became items of a later plan."""

    plan_id: str
    approvals: tuple[str, ...]


class RunsDeleted(msgspec.Struct, frozen=True, tag="runs_deleted"):
    """What these runs kept for an undo was deleted, by a user or by the setting."""

    runs: tuple[str, ...]
    freed: int
    user: str = ""


class RunsWeighed(msgspec.Struct, frozen=True, tag="runs_weighed"):
    """The bytes that all runs so far keep for undo, so that only later runs are measured."""

    size: int


class PlanCreated(msgspec.Struct, frozen=True, tag="plan_created"):
    """A plan was created. An undo plan has no file and names the run that it undoes."""

    plan_id: str
    workspace: str
    session: str
    name: str
    path: bytes
    goal: str = ""
    undoes: str = ""
    user: str = ""  # who asked for it
    imported: str = ""  # the digest of the file that it came in, if it was made elsewhere
    spared: tuple[str, ...] = ()  # of an undo plan: what was done in that run and it leaves alone
    left_alone: tuple[tuple[str, str], ...] = ()  # ids of these operations, each with why
    denied: tuple[str, ...] = ()  # those among them whose paths rules denied


class OptionNamed(msgspec.Struct, frozen=True, tag="option_named"):
    """A plan was created as one of several to choose from, and has a label."""

    option: str
    options: str  # what these have in common: the id of the first of them


class OptionAdded(msgspec.Struct, frozen=True, tag="option_added"):
    """A plan is one of several to choose from; this stream is that of the choice."""

    plan_id: str
    option: str


class OptionChosen(msgspec.Struct, frozen=True, tag="option_chosen"):
    """A user approved one of several plans; the others were discarded in the same transaction."""

    plan_id: str
    option: str
    discarded: tuple[str, ...]
    user: str = ""


class TextRevised(msgspec.Struct, frozen=True, tag="text_revised"):
    """The plan's Markdown changed; the text itself is a blob named by its hash."""

    content_hash: str
    size: int


class DraftChanged(msgspec.Struct, frozen=True, tag="draft_changed"):
    """Operations were added to or removed from the draft; `draft` is the blob with all of them."""

    draft: str
    removed: tuple[str, ...]
    added: tuple[Operation, ...]
    # How many of the last operations are commands that stay behind what is staged later.
    at_end: int | msgspec.UnsetType = msgspec.UNSET


class DraftEdited(msgspec.Struct, frozen=True, tag="draft_edited"):
    """As `draft_changed`, and `draft` names no blob: the draft follows from the one before.

    What was at the places `cut` is gone, and what was added stands at `places` now, or comes last
    (`core/plan/draft.py`).
    """

    draft: str
    removed: tuple[str, ...]
    added: tuple[Operation, ...]
    cut: tuple[int, ...] = ()
    # Events that were written before there were these are still told as they were then.
    places: tuple[int, ...] | msgspec.UnsetType = msgspec.UNSET
    at_end: int | msgspec.UnsetType = msgspec.UNSET


class PlanProposed(msgspec.Struct, frozen=True, tag="plan_proposed"):
    """The draft was frozen into a plan with a digest; `frozen` is the blob of the plan."""

    digest: str
    content_hash: str
    operations_hash: str
    frozen: str
    root: bytes = b""  # of the workspace


class PlanRebased(msgspec.Struct, frozen=True, tag="plan_rebased"):
    """A plan was rebased onto changed files; `was` is its previous digest."""

    was: str
    paths: tuple[bytes, ...]


class OperationsDeclined(msgspec.Struct, frozen=True, tag="operations_declined"):
    """A user excluded operations from a plan; `followed` are those that depended on them."""

    digest: str
    declined: tuple[str, ...]
    followed: tuple[str, ...]
    note: str
    user: str


class PlanRevised(msgspec.Struct, frozen=True, tag="plan_revised"):
    """A proposed plan became a draft again."""


class PlanRejected(msgspec.Struct, frozen=True, tag="plan_rejected"):
    """A user rejected the plan and said why. Its unused approvals are void from here on."""

    digest: str
    note: str
    user: str
    comments: tuple[Comment, ...] = ()  # which the note has under their lines


class ApprovalExpired(msgspec.Struct, frozen=True, tag="approval_expired"):
    """An approval expired; it stays expired, even if the clock is set back."""

    approval: str
    expires_at: str


class PlanDeclined(msgspec.Struct, frozen=True, tag="plan_declined"):
    """A user was asked about a plan and did not approve it; the plan stays as it is."""

    digest: str
    user: str
    channel: str


class PlanApproved(msgspec.Struct, frozen=True, tag="plan_approved"):
    """A user approved one digest; branch and root are recorded next to the signed approval."""

    approval: Approval
    branch: str = ""  # that was checked out; `HEAD`: none; empty: not known
    root: bytes = b""  # of the workspace
    # Over HTTP: the name of the cookie or token, and whether it did not read to the end.
    access: str | msgspec.UnsetType = msgspec.UNSET
    skipped: bool | msgspec.UnsetType = msgspec.UNSET


class RunStarted(msgspec.Struct, frozen=True, tag="run_started"):
    """A run used an approval; a text plan is carried out in a turn of `session`."""

    run: str
    approval: str
    digest: str
    session: str = ""


class PermitGiven(msgspec.Struct, frozen=True, tag="permit_given"):
    """A call was allowed to change files outside plan mode; its run uses up the permit at once."""

    permit: Permit
    run: str
    operations: tuple[FileOperation, ...]


class CommandStarted(msgspec.Struct, frozen=True, tag="command_started"):
    """A command that may change files is about to run, with its permission and confinement.

    For a command that the user typed, `call` is empty; without a session, `session` is too.
    """

    id: str
    session: str
    call: str
    line: str
    folder: str
    source: CommandSource
    detail: str
    confined: bool
    turn: int = 0
    build: str = ""  # as of a permit
    before: str = ""  # the blob of what stood in the workspace, needed until its end is on record


class CommandEnded(msgspec.Struct, frozen=True, tag="command_ended"):
    """A command ended and changed these files; None if its changes are unknown."""

    id: str
    code: int
    cut: str = ""
    changed: tuple[str, ...] | None = None
    more: int = 0  # changed files that are not named
    changes: str = ""  # the blob that an undo rests on


class RunResumed(msgspec.Struct, frozen=True, tag="run_resumed"):
    """A halted run continued, because a user chose how."""

    run: str
    way: str


class RunHalted(msgspec.Struct, frozen=True, tag="run_halted"):
    """A run stopped and needs a user's decision."""

    run: str


class RunEnded(msgspec.Struct, frozen=True, tag="run_ended"):
    """A run ended."""

    run: str
    outcome: RunOutcome


class PlanDiscarded(msgspec.Struct, frozen=True, tag="plan_discarded"):
    """The plan was discarded. What its runs did can still be undone."""

    kept: bool = False  # its file stays as it is
    user: str = ""


class JournalWritten(msgspec.Struct, frozen=True, tag="journal_written"):
    """A run wrote an entry into its journal."""

    entry: JournalEntry


class OutputKept(msgspec.Struct, frozen=True, tag="output_kept"):
    """The whole of a tool's output that a model got only a part of, without secrets.

    `digest` names its content.
    """

    output: str
    digest: str
    size: int


class OutputsDeleted(msgspec.Struct, frozen=True, tag="outputs_deleted"):
    """The session was deleted; its kept outputs can no longer be read."""


MAX_OUTPUTS: Final = 100  # of one session that are kept; the oldest go first

PlanEvent: TypeAlias = (
    PlanCreated
    | OptionNamed
    | TextRevised
    | DraftChanged
    | DraftEdited
    | PlanProposed
    | PlanRebased
    | OperationsDeclined
    | PlanRevised
    | PlanRejected
    | PlanDeclined
    | ApprovalExpired
    | PlanApproved
    | RunStarted
    | RunResumed
    | RunHalted
    | RunEnded
    | PlanDiscarded
)
WorkspaceEvent: TypeAlias = (
    WorkspaceMinted
    | WorkspaceMoved
    | SlotsDecided
    | PlanSelected
    | FactRemembered
    | FactForgotten
    | TrustGiven
    | TrustRevoked
    | NotesCarried
    | VerificationConfirmed
    | RunsDeleted
    | RunsWeighed
)
AccessEvent: TypeAlias = (
    AccessCodeIssued | AccessGranted | AccessRevoked | PasswordChanged | WorkspaceServed
)
OptionEvent: TypeAlias = OptionAdded | OptionChosen
CommentEvent: TypeAlias = (
    CommentAdded | CommentRemoved | CommentsSent | CritiqueRequested | CritiqueRecorded
)
WorkEvent: TypeAlias = WorkQueued | WorkEnded
OutputEvent: TypeAlias = OutputKept | OutputsDeleted
PermitEvent: TypeAlias = PermitGiven | CommandStarted | CommandEnded
Event: TypeAlias = (
    PlanEvent
    | WorkspaceEvent
    | SessionEvent
    | GrantEvent
    | PermitEvent
    | CommentEvent
    | OptionEvent
    | OutputEvent
    | ReviewShown
    | PlanRehearsed
    | WorkEvent
    | KeyTrusted
    | KeyRevoked
    | AccessEvent
    | QueueEvent
    | JournalWritten
)
# An event of any kind, for code that looks for a few: mypy takes a hundred times as long to check
# a `match` whose subject is the union of all kinds.
EventBody: TypeAlias = msgspec.Struct


class StoredEvent(msgspec.Struct, frozen=True):
    """An event as the store keeps it: its place in the log and in its stream, and its time."""

    position: int
    stream: str
    seq: int
    at: str
    event: Event

    @property
    def body(self) -> EventBody:
        """Returns the event, to be matched with a few kinds."""
        return self.event


def event_tag(event: Event) -> str:
    """Returns the tag under which an event is stored and shown."""
    return str(type(event).__struct_config__.tag)
