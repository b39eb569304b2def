"""Proposes a frozen plan, and records a user's approval or rejection of its digest."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from assent.core.errors import (
    ApprovalUsed,
    ConcurrentChange,
    DigestMismatch,
    Expired,
    IllegalState,
    InvalidPlan,
    NotApproved,
    NotFound,
    NotIndependent,
    PlanTextDiffers,
)
from assent.core.event import Event, PlanApproved, PlanDeclined, PlanProposed, PlanRejected
from assent.core.hook import PLAN_APPROVED, PLAN_PROPOSED
from assent.core.paths import GIT, display_path, normalize
from assent.core.plan.approval import MAX_LIFETIME_S, Approval, Approver, signed_bytes
from assent.core.plan.comment import Comment
from assent.core.plan.git_commit import commit_command, plan_title, without_commit
from assent.core.plan.operation import STRUCTURE_RISKS, FileState, Operation
from assent.core.plan.plan import (
    NO_SCOPE,
    Plan,
    ReliedOnFile,
    declared_reliance,
    declared_scope,
    declared_verification,
    misspelled_keys,
)
from assent.core.plan.record import PlanAction, PlanRecord, PlanState, next_state
from assent.core.session.record import SessionRecord
from assent.executor.drift import check_disk, first_segment_files
from assent.planning.drafts import PlanExport
from assent.planning.hook_events import fire_hooks, plan_hook_fields, session_hook_fields
from assent.planning.options import MAX_TRIES, PlanOptions
from assent.planning.path_checks import refuse_case_collisions
from assent.planning.plan_status import (
    build_warnings,
    current_approval,
    expiry_reason,
    is_approved,
)
from assent.planning.plans import WRITE_COMMAND, Plans, check_note
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.projections import PlanProjections
from assent.ports import EventBatch

if TYPE_CHECKING:
    from assent.render.review import Review

# Refuses approval by the user who requested the plan, where approve.independent asks for it.


def check_independent(wanted: bool | tuple[str, ...], review: "Review", *, same: bool) -> None:
    """Refuses an approval by the plan's requester, if its risks need another user's."""
    risks = {*review.risks, *(code for each in review.operations for code in each.risks)}
    if not isinstance(wanted, tuple):  # hints about the text are no reason, unless named as such
        risks.difference_update(STRUCTURE_RISKS)
    unclear = any(each.unclear for each in review.operations)
    if isinstance(wanted, bool):
        met = risks
    else:  # a command whose effects are unclear may have all of these risks
        met = set(wanted) if unclear else risks.intersection(wanted)
    if not same or not (met if isinstance(wanted, tuple) else wanted):
        return
    doubt = ["its effects cannot be predicted"] if unclear else []
    found = ", ".join([*sorted(met & risks), *doubt])
    why = f" ({found})" if found else ""
    raise NotIndependent(
        f"The person who requested this plan cannot approve it{why}: approve.independent requires "
        "another person. Nothing was approved.",
        "assent review",
    )


class WebApprover(msgspec.Struct, frozen=True):
    """Who approved over HTTP: the cookie or token by its name, and whether it read to the end."""

    access: str
    skipped: bool = False


def approved_event(
    signed: Approval, by: WebApprover | None = None, branch: str = "", root: bytes = b""
) -> PlanApproved:
    """Returns the event of an approval, with how it came where that was not a terminal."""
    if by is None:
        return PlanApproved(signed, branch, root)
    return PlanApproved(signed, branch, root, by.access, by.skipped or msgspec.UNSET)


NOT_APPROVED = "This plan is not approved."
USED_BY_RUN = "The approval was already used by run"
EMPTY_PLAN = "and nothing is staged, so there is nothing to approve. Nothing was proposed."
EMPTY_TEXT = "so it does not say what the staged operations are for. Nothing was proposed."


def check_digest(record: PlanRecord, digest: str) -> None:
    """Refuses a plan that is no longer the one that was shown."""
    if digest != record.digest:
        now = (
            f"now has digest {record.digest}"
            if record.digest
            else f"is no longer proposed; its state is {record.state.label!r}"
        )
        told = f"The plan changed: it {now}; you named {digest}. Nothing was done."
        raise DigestMismatch(told, "assent review")


def _unread(record: PlanRecord) -> "Review":
    raise AssertionError("the engine says who reads plans")


class Approvals:
    """The steps between a draft and a run. Only a user's channel may call approve (law 9)."""

    def __init__(
        self, ports: Ports, config: WorkspaceConfig, plans: Plans, projections: PlanProjections
    ) -> None:
        self._ports = ports
        self._config = config
        self._plans = plans
        self._projections = projections
        self._exports = PlanExport(ports, config)
        self.options = PlanOptions(plans, projections, config.user)
        self.reviewed: Callable[[PlanRecord], Review] = _unread
        self.check_rehearsal: Callable[[PlanRecord, Plan], None] = lambda record, plan: None
        self.next_after_run: Callable[[str], str] = lambda run: ""  # what to type, once it is over

    def propose(
        self, record: PlanRecord, session: SessionRecord | None = None, *, portable: bool = False
    ) -> PlanRecord:
        """Freezes the draft and the live text into a plan with a digest.

        `session` is the one whose model presents it; hooks are notified. A portable plan is bound
        to no workspace and relies on the contents it expects.
        """
        frozen = self._frozen(record, portable=portable)
        return self._proposed([record], [frozen], session)[0]

    def propose_options(
        self, records: Sequence[PlanRecord], session: SessionRecord | None = None
    ) -> list[PlanRecord]:
        """Freezes several drafts for a user to choose from, all of them or none."""
        frozen = [self._frozen(record) for record in records]
        digests = [plan.digest for _, plan, _ in frozen]
        if len(set(digests)) < len(digests):
            raise InvalidPlan("Two of these options are the same plan. Nothing was proposed.")
        return self._proposed(records, frozen, session)

    def _frozen(
        self, record: PlanRecord, *, portable: bool = False
    ) -> tuple[bytes, Plan, tuple[Event, ...]]:
        """Returns text, plan and events of a proposal, if everything is as it has to be."""
        text, drafted = self._plans.read_live(record)
        self._check_text(record, text)
        plan = self.freeze(text, record)
        if portable:
            plan = msgspec.structs.replace(plan, workspace="")
        self.check_plan(plan)
        return text, plan, (*drafted, self.proposal(plan))

    def _proposed(
        self,
        records: Sequence[PlanRecord],
        frozen: Sequence[tuple[bytes, Plan, tuple[Event, ...]]],
        session: SessionRecord | None,
    ) -> list[PlanRecord]:
        """Records proposals in one transaction."""
        repository, told = self._plans.repository(), [events for _, _, events in frozen]
        beside = [
            repository.batch(record, record.plan_id, *events)
            for record, events in zip(records[1:], told[1:], strict=True)
        ]
        first = repository.append(records[0], records[0].plan_id, *told[0], beside=beside)
        found = [first, *[repository.load(record.plan_id) for record in records[1:]]]
        self._plans.select(first)
        for proposed, (text, plan, _) in zip(found, frozen, strict=True):
            self._projections.plan(proposed, text)
            self._projections.warnings += self._warnings(plan)
        self._projections.write_due()
        for proposed in found:
            self._tell(PLAN_PROPOSED, proposed, session)
        return found

    def _check_text(self, record: PlanRecord, text: bytes) -> None:
        """Refuses a text that says nothing, as for a model; the goal that a person gave does."""
        if not text.strip():
            raise InvalidPlan(f"{display_path(record.path)} is empty.", WRITE_COMMAND)
        if not self._plans.is_untouched(record, text):
            return
        if not self._plans.repository().operations(record):
            raise InvalidPlan(
                f"{display_path(record.path)} is still the template, {EMPTY_PLAN}", WRITE_COMMAND
            )
        if not record.goal.strip():
            raise InvalidPlan(
                f"{display_path(record.path)} is still the template, {EMPTY_TEXT}", WRITE_COMMAND
            )

    def freeze(
        self, text: bytes, record: PlanRecord, staged: Sequence[Operation] | None = None
    ) -> Plan:
        """Returns the immutable plan from the text and the draft, or from other operations."""
        relied_on = sorted(map(self._relied_on, set(map(normalize, declared_reliance(text)))))
        scope = declared_scope(text)
        declared_verification(text)  # refuses what a rehearsal would refuse
        known = self._plans.repository().operations(record) if staged is None else tuple(staged)
        drafted = without_commit(known)
        operations = self._exports.added(text, drafted)
        export = self._exports.path() if operations and not drafted else b""
        if drafted and self._commits():
            operations = (*operations, commit_command(plan_title(text)))
        return Plan(text, operations, scope, tuple(relied_on), record.workspace, export)

    def _commits(self) -> bool:
        """Tells whether plans end with a commit here: if configured, and in a git repository."""
        return self._config.commit and GIT in self._ports.files.names(b"")

    def proposal(self, plan: Plan) -> PlanProposed:
        """Stores the plan as a blob and returns the event that names it."""
        frozen = self._plans.repository().keep_plan(plan)
        root = self._config.recorded_root
        return PlanProposed(plan.digest, plan.content_hash, plan.operations_hash, frozen, root)

    def approval(self, signed: Approval, by: WebApprover | None = None) -> PlanApproved:
        """Returns the event of an approval in this workspace, with branch and root."""
        branch, root = self._ports.git_state().branch, self._config.recorded_root
        return approved_event(signed, by, branch, root)

    def build_warnings(self, record: PlanRecord) -> tuple[str, ...]:
        """Warns of what a user should know about the place where a plan would be built now."""
        return build_warnings(self._ports, self._config, record)

    def approve(
        self,
        record: PlanRecord,
        digest: str,
        note: str,
        channel: str,
        *,
        expires_s: int | None = None,
        by: WebApprover | None = None,
    ) -> PlanRecord:
        """Records a user's approval of the digest that was shown, unless the plan changed since."""
        record = self._plans.repository().load(record.plan_id)
        self.options.check_open(record)
        check_digest(record, digest)
        self.check_approvable(record)
        self.check_live(record)
        self.check_independent(record)
        plan = self._plans.repository().plan(record)
        self.check_rehearsal(record, plan)
        approval = self.sign(record.plan_id, plan, note, channel, expires_s)
        approved = self.record_approval(record, self.approval(approval, by))
        self._projections.plan(approved)
        self._tell(PLAN_APPROVED, approved)
        return approved

    def check_live(self, record: PlanRecord) -> None:
        """Refuses a plan whose file is not what was proposed.

        The file of an option is removed when another one is approved, which says more.
        """
        try:
            self._plans.check_live(record)
        except PlanTextDiffers:
            self.options.check_open(self._plans.repository().load(record.plan_id))
            raise

    def check_approvable(self, record: PlanRecord) -> None:
        """Refuses a plan whose state does not allow an approval, and says what was decided."""
        self.options.check_open(record)
        next_state(record.state, PlanAction.APPROVE)

    def record_approval(self, record: PlanRecord, *events: Event) -> PlanRecord:
        """Records events that approve a plan; of an option, with the end of the others, or nothing.

        If another option changed meanwhile, that is tried again: it does not concern this one.
        """
        repository = self._plans.repository()
        for _ in range(MAX_TRIES):
            try:
                choice = self.options.choice(record)
                approved = repository.append(record, record.plan_id, *events, beside=choice.batches)
            except ConcurrentChange as error:
                if not record.options or repository.load(record.plan_id).seq != record.seq:
                    raise self.options.explained(record, error) from None
                continue
            self.options.finish(approved, choice)
            return approved
        raise ConcurrentChange(
            "Other processes keep changing these options. Nothing was approved; try again.",
            "assent review",
        )

    def check_independent(self, record: PlanRecord) -> None:
        """Refuses the plan's requester as approver, if another person is required."""
        if self._config.independent:
            own = self._config.account or self._config.user
            same = record.user in ("", own)  # unknown for old plans
            check_independent(self._config.independent, self.reviewed(record), same=same)

    def check_rehearsed(self, record: PlanRecord) -> None:
        """Refuses a plan without a passed rehearsal, if one is required."""
        self.check_rehearsal(record, self._plans.repository().plan(record))

    def check_files(self, record: PlanRecord) -> None:
        """Refuses a proposed plan whose files are not as it saw them."""
        self.check_plan(self._plans.repository().plan(record))

    def sign(
        self, plan_id: str, plan: Plan, note: str, channel: str, expires_s: int | None = None
    ) -> Approval:
        """Creates the signed approval, with the configured expiry unless another is given."""
        clock = self._ports.clock
        seconds = self._config.expires_s if expires_s is None else expires_s
        expires_at = clock.later(min(seconds, MAX_LIFETIME_S)) if seconds else ""
        approval = Approval(
            clock.new_id(),
            plan_id,
            plan.content_hash,
            plan.operations_hash,
            plan.digest,
            Approver(self._config.user, channel),
            check_note(note),
            clock.now(),
            expires_at,
            self._ports.signer.key(),
        )
        signature = self._ports.signer.sign(signed_bytes(approval))
        return msgspec.structs.replace(approval, signature=signature)

    def reject(
        self,
        record: PlanRecord,
        note: str,
        comments: tuple[Comment, ...] = (),
        beside: Sequence[EventBatch] = (),
    ) -> PlanRecord:
        """Records a user's rejection with feedback; the plan becomes a draft again.

        The note has these comments under their lines; `beside` is recorded with it, or nothing is.
        """
        rejected = PlanRejected(record.digest, note, self._config.user, comments)
        changed = self._plans.repository().append(record, record.plan_id, rejected, beside=beside)
        self._plans.leave(changed)
        self._projections.plan(changed)
        return changed

    def reject_all(
        self,
        rejections: Sequence[tuple[PlanRecord, PlanRejected]],
        beside: Sequence[EventBatch] = (),
    ) -> list[PlanRecord]:
        """Records the rejections of several options in one transaction."""
        repository = self._plans.repository()
        (first, event), *rest = rejections
        batches = [repository.batch(record, record.plan_id, no) for record, no in rest]
        repository.append(first, first.plan_id, event, beside=[*batches, *beside])
        found = [repository.load(record.plan_id) for record, _ in rejections]
        for changed in found:
            self._projections.plan(changed)
        return found

    def decline(self, record: PlanRecord, digest: str, channel: str) -> None:
        """Records that a user was asked about a digest and did not approve it."""
        current = self._plans.repository().load(record.plan_id)
        if current.digest == digest:
            declined = PlanDeclined(digest, self._config.user, channel)
            self._plans.repository().append(current, current.plan_id, declined)

    def usable(self, record: PlanRecord) -> Approval:
        """Returns the approval that a build would use, or says why there is none."""
        approval = current_approval(self._ports, record)
        if record.state is PlanState.DISCARDED:
            refusal = IllegalState if approval else NotApproved
            raise refusal("The plan was discarded and cannot be built.", "assent plan list")
        if approval is not None:
            return approval
        fitting = [c for c in record.consents if c.approval.digest == record.digest and not c.void]
        if not record.digest or not fitting:
            raise NotApproved(
                f"{NOT_APPROVED} State: {record.state.label}.",
                "assent review" if record.digest else "assent propose",
            )
        again = f"assent approve --digest {record.digest}"
        if record.state is PlanState.COMPLETED:
            again = self.next_after_run(record.runs[-1].run)
        if fitting[-1].run:
            raise ApprovalUsed(f"{USED_BY_RUN} {fitting[-1].run}.", again)
        raise Expired(expiry_reason(fitting[-1].approval, self._ports.clock.now()), again)

    def is_approved(self, record: PlanRecord) -> bool:
        """Tells whether an unused, unexpired approval of the current digest exists."""
        return is_approved(self._ports, record)

    def is_trusted_signature(self, approval: Approval, *, imported: bool = False) -> bool:
        """Tells whether this machine's key signed the approval; for an import, a trusted key."""
        payload, keys = signed_bytes(approval), self._ports.keys
        if self._ports.signer.verify(approval.key, payload, approval.signature):
            return True
        trusted = imported and keys.trusted(approval.key)
        return trusted and keys.verify(approval.key, payload, approval.signature)

    def _tell(self, on: str, record: PlanRecord, session: SessionRecord | None = None) -> None:
        facts = {**plan_hook_fields(record), **session_hook_fields(session)}
        fire_hooks(self._ports, self._projections, on, facts)

    def _warnings(self, plan: Plan) -> list[str]:
        """Says what a person may have meant otherwise, although the plan is in order."""
        keys = misspelled_keys(plan.text)
        told = [f"In the front matter, `{key}` is ignored; use `{ours}`." for key, ours in keys]
        return [*told, NO_SCOPE] if plan.covers_nothing else told

    def check_plan(self, plan: Plan) -> None:
        """Refuses a plan whose files are not as it saw them, or that names one of them twice."""
        refuse_case_collisions(self._ports.files, plan.operations)
        check_disk(plan, first_segment_files(plan), self._ports.files)

    def _relied_on(self, path: bytes) -> ReliedOnFile:
        seen = self._ports.files.read_states((path,))[path]
        if not isinstance(seen, FileState):
            raise NotFound(f"The plan relies on {display_path(path)}, which is not a file here.")
        return ReliedOnFile(path, seen.digest)
