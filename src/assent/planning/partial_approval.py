"""Partial approval: a user excludes some operations and approves the smaller plan."""

from collections.abc import Sequence, Set

import msgspec

from assent.core.digest import operation_ids
from assent.core.errors import DigestMismatch, IllegalState, ImpossibleOperations, StoreError
from assent.core.event import DraftChanged, Event, OperationsDeclined, PlanProposed, PlanRevised
from assent.core.hook import PLAN_APPROVED, PLAN_PROPOSED
from assent.core.plan.draft import check_tree, still_at_end
from assent.core.plan.operation import Operation, RunCommand, WriteFile
from assent.core.plan.partial_approval import PartialPlan, chosen_operations, partial_plan
from assent.core.plan.plan import Plan
from assent.core.plan.record import PlanRecord, PlanRun
from assent.planning.approvals import Approvals, WebApprover
from assent.planning.drafts import PlanContents
from assent.planning.hook_events import fire_hooks, plan_hook_fields
from assent.planning.plans import Plans
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.projections import PlanProjections
from assent.render.approval import ExcludedOperation

REJECT_COMMAND = "assent reject --note 'TEXT'"


class PartialApproval(msgspec.Struct, frozen=True):
    """The smaller plan that a user is about to decide on; none of it is recorded yet."""

    record: PlanRecord
    was: Plan
    plan: Plan
    smaller: PartialPlan

    @property
    def excluded(self) -> tuple[ExcludedOperation, ...]:
        """What the user excluded, and what depended on it."""
        return _left_out(self.was, self.smaller)


class PartialApprovals:
    """Previews and approves a part of a plan. Only a user's channel may call approve (law 9)."""

    def __init__(
        self,
        ports: Ports,
        config: WorkspaceConfig,
        plans: Plans,
        consents: Approvals,
        copies: PlanProjections,
    ) -> None:
        self._ports = ports
        self._config = config
        self.plans = plans
        self._consents = consents
        self._copies = copies

    def preview(self, record: PlanRecord, references: Sequence[str]) -> PartialApproval:
        """Returns a proposed plan without some operations; records nothing."""
        self._consents.check_approvable(record)
        if record.imported:
            raise IllegalState("The plan was imported and cannot be changed here.", REJECT_COMMAND)
        was = self.plans.repository().plan(record)
        left = partial_plan(was.operations, chosen_operations(was.ids, references))
        self._refuse_empty(was, left)
        files = self._ports.files
        check_tree(left.kept, files.is_file, files.below)
        known = set(was.operations)
        composed = [op for op in left.kept if op not in known]
        PlanContents(self._ports).keep_all(left.kept, composed)
        plan = msgspec.structs.replace(was, operations=left.kept)
        self._consents.check_plan(plan)
        return PartialApproval(record, was, plan, left)

    def approve(
        self,
        partial: PartialApproval,
        note: str,
        channel: str,
        expires_s: int | None = None,
        by: WebApprover | None = None,
    ) -> PlanRecord:
        """Records the excluded operations and the approval of the rest, all of it or nothing."""
        repository = self.plans.repository()
        record, plan = repository.load(partial.record.plan_id), partial.plan
        if record.digest != partial.was.digest:
            raise DigestMismatch(
                "The plan changed since you reviewed it. Nothing was approved.", "assent review"
            )
        self.plans.check_live(record)
        self._consents.check_independent(record)
        self._consents.check_rehearsal(record, plan)
        self._consents.check_plan(plan)
        ids, left = partial.was.ids, partial.smaller
        declined = tuple(ids[index] for index in left.declined)
        followed = tuple(ids[index] for index, _ in left.followed)
        user = self._config.user
        approved = self._consents.record_approval(
            record,
            PlanRevised(),
            *self._redrafted(record, plan),
            OperationsDeclined(partial.was.digest, declined, followed, note, user),
            self._consents.proposal(plan),
            self._consents.approval(
                self._consents.sign(record.plan_id, plan, note, channel, expires_s), by
            ),
        )
        self._copies.plan(approved)
        self._copies.draft(approved, repository.operations(approved))
        for on in (PLAN_PROPOSED, PLAN_APPROVED):
            fire_hooks(self._ports, self._copies, on, plan_hook_fields(approved))
        return approved

    def excluded(self, record: PlanRecord) -> tuple[tuple[ExcludedOperation, ...], bool]:
        """Returns what users excluded from a plan so far, and whether more may depend on it."""
        repository, found, unsure = self.plans.repository(), list[ExcludedOperation](), False
        if not record.declined:
            return (), False
        now = set(repository.plan(record).ids) if record.frozen else set[str]()
        events = [one.event for one in self._ports.store.read(repository.stream(record.plan_id))]
        frozen = {e.digest: e.frozen for e in events if isinstance(e, PlanProposed)}
        for event in record.declined:
            try:
                was = repository.plan(PlanRun("", event.digest, frozen[event.digest]))
            except StoreError:  # it is only said in the log, then
                continue
            left = partial_plan(was.operations, chosen_operations(was.ids, event.declined))
            found += _left_out(was, left, now)
            unsure = unsure or any(was.ids[index] in now for index in left.unsure)
        return tuple(found), unsure

    def _refuse_empty(self, was: Plan, left: PartialPlan) -> None:
        if not left.declined:
            raise IllegalState("No operation is excluded.", "assent approve")
        if not left.kept:
            also = " and the operations that depend on it" if left.followed else ""
            raise ImpossibleOperations(
                f"Excluding that{also} would remove the whole plan. Reject the plan instead.",
                REJECT_COMMAND,
            )
        if all(self._by_a_setting(op, was) for op in left.kept):
            raise ImpossibleOperations(
                "Only what your settings add would remain: the commit or the exported plan text. "
                "Reject the plan instead.",
                REJECT_COMMAND,
            )

    def _redrafted(self, record: PlanRecord, plan: Plan) -> list[Event]:
        """Returns how the draft becomes what the smaller plan holds of it."""
        repository = self.plans.repository()
        drafted = repository.operations(record)
        known = set(drafted)
        wanted = [op for op in plan.operations if op in known or not self._by_a_setting(op, plan)]
        old, new = operation_ids(drafted), operation_ids(wanted)
        if old == new:
            return []
        before, after = set(old), set(new)
        added = tuple(op for name, op in zip(new, wanted, strict=True) if name not in before)
        removed = tuple(name for name in old if name not in after)
        at_end = still_at_end(wanted, drafted, record.at_end)
        return [
            DraftChanged(repository.keep_draft(wanted), removed, added, at_end or msgspec.UNSET)
        ]

    def _by_a_setting(self, op: Operation, plan: Plan) -> bool:
        """Tells whether freezing added an operation: it is in no draft."""
        match op:
            case RunCommand(profile="commit"):
                return True
            case WriteFile(path, after=after):
                return path == self._config.export and after.digest == plan.content_hash
            case _:
                return False


def _left_out(
    was: Plan, left: PartialPlan, now: Set[str] = frozenset()
) -> tuple[ExcludedOperation, ...]:
    reasons = {**dict.fromkeys(left.declined, ""), **dict(left.followed)}
    return tuple(
        ExcludedOperation(
            was.ids[index], was.operations[index], reasons[index], was.ids[index] in now
        )
        for index in sorted(reasons)
    )
