"""Plan records: states and allowed actions in one table, and the state folded from events."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import msgspec

from assent.core.errors import IllegalState
from assent.core.event import (
    DraftChanged,
    DraftEdited,
    EventBody,
    OperationsDeclined,
    OptionNamed,
    PlanApproved,
    PlanCreated,
    PlanDiscarded,
    PlanProposed,
    PlanRejected,
    PlanRevised,
    RunEnded,
    RunHalted,
    RunResumed,
    RunStarted,
    StoredEvent,
    TextRevised,
)
from assent.core.plan.approval import Approval, is_expired
from assent.core.run.journal import ReportedOutcome, RunOutcome

# The plan lifecycle: states and allowed actions in one table; anything else is refused.


class PlanState(StrEnum):
    """The state of a plan."""

    DRAFTING = "DRAFTING"
    AWAITING_APPROVAL = "AWAITING_APPROVAL"
    EXECUTING = "EXECUTING"
    COMPLETED = "COMPLETED"
    HALTED = "HALTED"
    DISCARDED = "DISCARDED"

    @property
    def label(self) -> str:
        """The state as people read it; JSON and the log have its value."""
        return _LABELS[self]


# A plan in one of these is over: what is staged next goes into another.
CLOSED_STATES: Final = (PlanState.COMPLETED, PlanState.DISCARDED)
# What a user, or the model, can still change or decide about.
UNDECIDED_STATES: Final = (PlanState.DRAFTING, PlanState.AWAITING_APPROVAL)
MAX_OPTIONS: Final = 3  # plans of one choice: as many as people can compare
_LABELS: Final = {
    PlanState.DRAFTING: "Draft",
    PlanState.AWAITING_APPROVAL: "Waiting for approval",
    PlanState.EXECUTING: "Building",
    PlanState.COMPLETED: "Built",
    PlanState.HALTED: "Stopped",
    PlanState.DISCARDED: "Discarded",
}


class PlanAction(StrEnum):
    """What can happen to a plan."""

    DRAFT = "draft"
    PROPOSE = "propose"
    REVISE = "revise"
    REJECT = "reject"
    APPROVE = "approve"
    BUILD = "build"
    FINISH = "finish"
    ROLL_BACK = "roll back"
    HALT = "halt"
    RESUME = "resume"
    ACCEPT = "accept"
    DISCARD = "discard"


TRANSITIONS: dict[tuple[PlanState, PlanAction], PlanState] = {
    (PlanState.DRAFTING, PlanAction.DRAFT): PlanState.DRAFTING,
    (PlanState.DRAFTING, PlanAction.PROPOSE): PlanState.AWAITING_APPROVAL,
    (PlanState.AWAITING_APPROVAL, PlanAction.REVISE): PlanState.DRAFTING,
    (PlanState.AWAITING_APPROVAL, PlanAction.REJECT): PlanState.DRAFTING,
    (PlanState.AWAITING_APPROVAL, PlanAction.APPROVE): PlanState.AWAITING_APPROVAL,
    (PlanState.AWAITING_APPROVAL, PlanAction.BUILD): PlanState.EXECUTING,
    (PlanState.EXECUTING, PlanAction.FINISH): PlanState.COMPLETED,
    (PlanState.EXECUTING, PlanAction.ROLL_BACK): PlanState.AWAITING_APPROVAL,
    (PlanState.EXECUTING, PlanAction.HALT): PlanState.HALTED,
    (PlanState.HALTED, PlanAction.RESUME): PlanState.EXECUTING,
    (PlanState.HALTED, PlanAction.ACCEPT): PlanState.COMPLETED,
    (PlanState.DRAFTING, PlanAction.DISCARD): PlanState.DISCARDED,
    (PlanState.AWAITING_APPROVAL, PlanAction.DISCARD): PlanState.DISCARDED,
    (PlanState.COMPLETED, PlanAction.DISCARD): PlanState.DISCARDED,
    (PlanState.HALTED, PlanAction.DISCARD): PlanState.DISCARDED,
}

_STANDS = {
    PlanState.DRAFTING: "is still a draft",
    PlanState.AWAITING_APPROVAL: "is waiting for a decision",
    PlanState.EXECUTING: "is being built",
    PlanState.HALTED: "stopped and is waiting for your decision",
    PlanState.COMPLETED: "is done",
    PlanState.DISCARDED: "was discarded",
}
_DEEDS = {
    PlanAction.DRAFT: "changed",
    PlanAction.PROPOSE: "proposed",
    PlanAction.REVISE: "revised",
    PlanAction.REJECT: "rejected",
    PlanAction.APPROVE: "approved",
    PlanAction.BUILD: "built",
    PlanAction.FINISH: "finished",
    PlanAction.ROLL_BACK: "rolled back",
    PlanAction.HALT: "halted",
    PlanAction.RESUME: "resumed",
    PlanAction.ACCEPT: "accepted",
    PlanAction.DISCARD: "discarded",
}
_WAYS_ON = {
    PlanState.DRAFTING: "assent propose",
    PlanState.AWAITING_APPROVAL: "assent review",
    PlanState.EXECUTING: "assent recover",
    PlanState.HALTED: "assent recover",
    PlanState.COMPLETED: "assent plan new NAME",
    PlanState.DISCARDED: "assent plan new NAME",
}


def next_state(state: PlanState, moment: PlanAction) -> PlanState:
    """Returns the state after an action; refuses an action that the table does not allow."""
    try:
        return TRANSITIONS[state, moment]
    except KeyError:
        told = f"This plan {_STANDS[state]}, so it cannot be {_DEEDS[moment]}."
        raise IllegalState(told, _WAYS_ON[state]) from None


_ENDS: dict[RunOutcome, PlanAction] = {
    "done": PlanAction.FINISH,
    "nothing": PlanAction.FINISH,
    "rolled_back": PlanAction.ROLL_BACK,
}


NOTHING_SEEN: Final[Mapping[str, str]] = MappingProxyType({})


class TextRevision(msgspec.Struct, frozen=True):
    """One version of the plan's text."""

    n: int
    at: str
    content_hash: str


class ApprovalRecord(msgspec.Struct, frozen=True):
    """An approval, the run that used it, if any, and whether a rejection or newer one voided it."""

    approval: Approval
    run: str = ""
    void: bool = False
    branch: str = ""  # that was checked out then; empty: not known
    seq: int = 0  # of its event in the plan's stream; 0 in what older versions kept


class PlanRun(msgspec.Struct, frozen=True):
    """A run of the plan, as far as the plan knows it."""

    run: str
    digest: str
    frozen: str
    outcome: RunOutcome | None = None
    halted: bool = False
    session: str = ""  # of a text plan: the session whose turn carries it out


REWIND_GOAL: Final = "Rewind to message "  # of an undo plan; the message's id follows


class PlanRecord(msgspec.Struct, frozen=True):
    """A plan, folded from its events; `seq` is the last event included."""

    plan_id: str
    workspace: str
    session: str
    name: str
    path: bytes
    goal: str
    undoes: str
    created_at: str
    seq: int
    state: PlanState = PlanState.DRAFTING
    draft: str = ""  # the version of the staged operations: their blob, or named by the last edit
    revisions: tuple[TextRevision, ...] = ()
    digest: str = ""
    frozen: str = ""
    consents: tuple[ApprovalRecord, ...] = ()
    runs: tuple[PlanRun, ...] = ()
    declined: tuple[OperationsDeclined, ...] = ()  # by people who approved the rest
    user: str = ""  # who asked for it
    imported: str = ""  # the digest of the file that it came in, if it was made elsewhere
    spared: tuple[str, ...] = ()  # of an undo: deeds of that run that it leaves alone
    left: str = ""  # of a discarded plan: the digest of the text that stays in its file
    left_alone: tuple[tuple[str, str], ...] = ()  # of an undo: ids of operations, and why it does
    denied: tuple[str, ...] = ()  # of an undo: those among them whose paths rules denied
    updated_at: str = ""  # when its last event was recorded; empty in what older versions kept
    root: bytes = b""  # where the workspace was when it was last proposed or approved
    edits: int = 0  # of the draft since it was last stored whole
    edits_of: str = ""  # the blob with the operations before the first of them; empty: none
    edits_after: int = 0  # the event before it
    at_end: int = 0  # how many of the last staged operations are commands that stay last
    option: str = ""  # its label, if it is one of several plans to choose from
    options: str = ""  # what these have in common: the id of the first of them

    @property
    def stream(self) -> str:
        """Where its events are kept."""
        return f"plan/{self.workspace}/{self.plan_id}"

    @property
    def whole_draft(self) -> str:
        """The blob with the operations that were last stored whole; empty if there is none."""
        return self.edits_of if self.edits else self.draft

    @property
    def rewound_to(self) -> str:
        """Of an undo: the id of the user's message that a session goes back to with it."""
        if not self.undoes or not self.goal.startswith(REWIND_GOAL):
            return ""
        return self.goal.removeprefix(REWIND_GOAL)

    @property
    def content_hash(self) -> str:
        return self.revisions[-1].content_hash if self.revisions else ""

    @property
    def changed_at(self) -> str:
        """When it last changed, as far as is known."""
        known = [revision.at for revision in self.revisions]
        known += [consent.approval.approved_at for consent in self.consents]
        return self.updated_at or max([self.created_at, *known])

    @property
    def unfinished(self) -> PlanRun | None:
        """The unfinished run of the executor, if there is one."""
        return next((n for n in self.runs if n.outcome is None and not n.session), None)

    @property
    def building(self) -> PlanRun | None:
        """The unfinished build of a text plan by a session's turn, if there is one."""
        return next((n for n in self.runs if n.outcome is None and n.session), None)

    @property
    def expires_at(self) -> str:
        """When the last unused approval of the current digest becomes void; empty: never."""
        fitting = [c for c in self.consents if c.approval.digest == self.digest]
        ends = [c.approval.expires_at for c in fitting if not c.run and not c.void]
        return max(ends) if ends and all(ends) else ""

    def ending(self, outcome: RunOutcome) -> ReportedOutcome:
        """Returns how a run of it ended, as reported to users."""
        left = self.left_alone or self.spared
        return "partial" if outcome == "done" and left else outcome

    def branch_of(self, approval: Approval | None) -> str:
        """Returns the branch on which an approval was given; empty where that is not known."""
        given = [c.branch for c in self.consents if approval and c.approval.id == approval.id]
        return given[-1] if given else ""

    def usable(self, now: str, latest: Mapping[str, str] = NOTHING_SEEN) -> Approval | None:
        """Returns the newest approval of the current digest that is not used, void or expired.

        Of each key only the newest approval counts. `latest` has the latest times recorded after
        approvals, by approval id.
        """
        for consent in reversed(self.consents):
            fits = consent.approval.digest == self.digest and not consent.run and not consent.void
            if fits and not is_expired(consent.approval, now, latest.get(consent.approval.id, "")):
                return consent.approval
        return None


def fold_plan(record: PlanRecord | None, recorded: StoredEvent) -> PlanRecord:
    """Returns the record after one more event."""
    event = recorded.event
    if isinstance(event, PlanCreated):
        return PlanRecord(
            event.plan_id, event.workspace, event.session, event.name, event.path,
            event.goal, event.undoes, recorded.at, recorded.seq,
            user=event.user, imported=event.imported, spared=event.spared,
            left_alone=event.left_alone, denied=event.denied, updated_at=recorded.at,
        )  # fmt: skip
    assert record is not None, "a plan's first event creates it"
    changes = _changes(record, recorded)
    return msgspec.structs.replace(record, seq=recorded.seq, updated_at=recorded.at, **changes)


def fold_plan_events(record: PlanRecord | None, events: Iterable[StoredEvent]) -> PlanRecord | None:
    """Folds some events of a plan's stream; they may be split anywhere."""
    for recorded in events:
        record = fold_plan(record, recorded)
    return record


def _changes(record: PlanRecord, recorded: StoredEvent) -> dict[str, object]:
    """Returns the fields that an event changes."""
    event = recorded.body
    match event:
        case OptionNamed(option, options):
            return {"option": option, "options": options}
        case TextRevised(content_hash):
            revision = TextRevision(len(record.revisions) + 1, recorded.at, content_hash)
            return {"revisions": (*record.revisions, revision)}
        case DraftChanged(draft, at_end=at_end):
            none = {"edits": 0, "edits_of": "", "edits_after": 0}
            return {"draft": draft, "at_end": at_end or 0, **none}
        case DraftEdited(draft, at_end=at_end):
            first = {} if record.edits else {"edits_of": record.draft, "edits_after": record.seq}
            return {"draft": draft, "at_end": at_end or 0, "edits": record.edits + 1, **first}
        case OperationsDeclined():
            return {"declined": (*record.declined, event), "consents": _voided(record)}
        case RunStarted() | RunHalted() | RunResumed() | RunEnded():
            return _run_changes(record, event)
        case _:
            return _consent_changes(record, recorded)


def _consent_changes(record: PlanRecord, recorded: StoredEvent) -> dict[str, object]:
    match recorded.body:
        case PlanProposed(digest=digest, frozen=frozen, root=root):
            named = {"digest": digest, "frozen": frozen, "root": root}
            return {**named, **_moved(record, PlanAction.PROPOSE)}
        case PlanRevised():
            return {"digest": "", "frozen": "", **_moved(record, PlanAction.REVISE)}
        case PlanRejected():
            back = _moved(record, PlanAction.REJECT)
            return {"digest": "", "frozen": "", "consents": _voided(record), **back}
        case PlanApproved(approval, branch, root):
            given = ApprovalRecord(approval, branch=branch, seq=recorded.seq)
            consents = (*_replaced(record, approval), given)
            return {"consents": consents, "root": root, **_moved(record, PlanAction.APPROVE)}
        case PlanDiscarded(kept):
            left = record.content_hash if kept else ""
            return {"left": left, **_moved(record, PlanAction.DISCARD)}
        case _:
            return {}


def _run_changes(record: PlanRecord, event: EventBody) -> dict[str, object]:
    match event:
        case RunStarted(run, approval, digest, session):
            spent = tuple(
                msgspec.structs.replace(c, run=run) if c.approval.id == approval else c
                for c in record.consents
            )
            runs = (*record.runs, PlanRun(run, digest, record.frozen, session=session))
            return {"consents": spent, "runs": runs, **_moved(record, PlanAction.BUILD)}
        case RunHalted(run):
            return {"runs": _noted(record, run, halted=True), **_run_moved(record, PlanAction.HALT)}
        case RunResumed(run):
            return {"runs": _noted(record, run, halted=False), **_moved(record, PlanAction.RESUME)}
        case RunEnded(run, outcome):
            moment = PlanAction.ACCEPT if record.state is PlanState.HALTED else _ENDS[outcome]
            ended = _noted(record, run, outcome=outcome, halted=False)
            return {"runs": ended, **_run_moved(record, moment)}
        case _:
            return {}


def _voided(record: PlanRecord) -> tuple[ApprovalRecord, ...]:
    return tuple(msgspec.structs.replace(c, void=True) for c in record.consents)


def _replaced(record: PlanRecord, approval: Approval) -> tuple[ApprovalRecord, ...]:
    """A newer approval replaces earlier ones with its key: if it covers less, less is meant."""
    meant = (approval.digest, approval.key)
    return tuple(
        msgspec.structs.replace(c, void=True)
        if not c.run and (c.approval.digest, c.approval.key) == meant
        else c
        for c in record.consents
    )


def _moved(record: PlanRecord, moment: PlanAction) -> dict[str, object]:
    return {"state": next_state(record.state, moment)}


def _run_moved(record: PlanRecord, moment: PlanAction) -> dict[str, object]:
    """A plan that was discarded while it waited stays discarded, however its run ends."""
    return {} if record.state is PlanState.DISCARDED else _moved(record, moment)


def _noted(record: PlanRecord, run: str, **changes: object) -> tuple[PlanRun, ...]:
    return tuple(
        msgspec.structs.replace(note, **changes) if note.run == run else note
        for note in record.runs
    )
