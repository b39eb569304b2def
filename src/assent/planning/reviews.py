"""Reviews: collects everything a user must see before approving, from the hashed bytes."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Literal, TypeGuard

from msgspec.structs import replace

from assent.core.digest import sha256
from assent.core.errors import AssentError, InvalidPlan, StoreError
from assent.core.paths import ancestors, base_name, display_path, parent
from assent.core.permission.command_analysis import unread_line
from assent.core.plan.operation import (
    REHEARSAL_FAILED,
    DeleteFile,
    FileOperation,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
    command_line_text,
    footprint,
    operation_level,
    reversibility,
)
from assent.core.plan.plan import Plan, Scope, declared_scope
from assent.core.plan.record import CLOSED_STATES, PlanRecord, PlanState
from assent.core.plan.rehearsal import Rehearsal
from assent.core.plan.step_score import (
    OperationFacts,
    step_facts,
    step_risk,
    step_score,
    structure_risks,
)
from assent.core.plan.steps import StepStatus
from assent.core.plan.structure import plan_structure
from assent.core.run.workspace_changes import SnapshotGaps
from assent.core.text.confusables import NO_SIBLINGS, Siblings, confusable_name, skeletons
from assent.permissions.commands.predicted_effects import predict_effects
from assent.permissions.operation_risks import RiskInput, operation_risks, scope_risks, text_risks
from assent.planning.command_operation import command_remarks
from assent.planning.path_checks import command_limits
from assent.planning.plan_status import (
    OPEN_STATES,
    PlanStatus,
    build_warnings,
    command_denied_text,
    denied_reasons,
    drifted_files,
    usable_approval,
)
from assent.planning.plans import Plans
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.steps import PlanSteps
from assent.ports import ReplacementLoss
from assent.render.diff import LIMIT, operation_diff
from assent.render.review import OperationReview, Review, diff_line_counts
from assent.render.review_warnings import REBASE, snapshot_gap_warnings
from assent.render.rows import undo_gaps
from assent.render.steps import PlanOutline

TextBasis = Literal["approved", "proposed", "recorded"]
NO_FACTS = ReplacementLoss()


class Reviews(PlanStatus):
    """Reads a plan for a person, all that they must see. Changes nothing."""

    def __init__(
        self,
        ports: Ports,
        plans: Plans,
        config: WorkspaceConfig,
        next_after_run: Callable[[str], str] = lambda run: "",
        steps: PlanSteps | None = None,
    ) -> None:
        """`next_after_run` returns the next command after a run, by the run's id.

        `steps` knows what runs and sessions here did for a plan; without it, all are to be done.
        """
        super().__init__(ports, plans, next_after_run)
        self._config = config
        self.rehearsed: Callable[[PlanRecord, Plan], Rehearsal | None] = lambda record, plan: None
        self._steps = steps or PlanSteps(plans, lambda *_: None, lambda _: ())

    def review(self, record: PlanRecord) -> Review:
        """Returns the frozen plan as it will be approved, or the current draft."""
        repository = self._plans.repository()
        plan = repository.plan(record) if record.frozen else self._draft(record)
        return self._review(record, plan, record.digest, over=record.state in CLOSED_STATES)

    def show(self, record: PlanRecord, plan: Plan) -> Review:
        """Returns a plan as it will be approved, whether it is in the log here or not."""
        return self._review(record, plan, plan.digest)

    def outline(self, record: PlanRecord) -> PlanOutline | None:
        """Returns the structure and steps of a plan; operations are read only if it has steps."""
        plan = self._plans.repository().plan(record) if record.frozen else self._draft(record)
        found = self._outline(record, plan, None)
        if found is not None and found.steps:
            with suppress(AssentError):  # contents of an old plan may be gone: then without scores
                return self.review(record).outline
        return found

    def undo_review(self, source: PlanRecord, plan: Plan, *, again: bool) -> Review:
        """Returns the plan of an undo, or of a redo (`again`), as it will be approved."""
        review = self._review(source, plan, plan.digest, written=False)
        state, verb = PlanState.AWAITING_APPROVAL, "redo" if again else "undo"
        name = f"{verb} of {review.name}"
        return replace(review, name=name, state=state, path=b"", next="", of="")

    def undo_diffs(self, source: PlanRecord, plan: Plan, *, again: bool) -> list[str | None]:
        """Returns the diff of each operation of an undo; none where a stored content is damaged.

        What the undo would do stands without them, and to apply it reads the contents again.
        """
        try:
            return [one.diff for one in self.undo_review(source, plan, again=again).operations]
        except StoreError:
            return [None for _ in plan.operations]

    def basis(self, record: PlanRecord) -> tuple[TextBasis, bytes]:
        """Returns the text that a live file is compared with, and what that text is.

        If the approval was rejected, used or expired, the text is not an approved one.
        """
        text = self._plans.text(record.content_hash)
        if not record.frozen:
            return "recorded", text
        if record.state is PlanState.AWAITING_APPROVAL or not record.runs:
            approved = usable_approval(self._ports, record) is not None
            return ("approved" if approved else "proposed"), text
        return "approved", text

    def text(self, record: PlanRecord) -> bytes:
        """Returns the text that a review shows: proposed, or the live file while drafting."""
        live = self._plans.live_text(record) if record.path and not record.frozen else None
        return live if live is not None else self._plans.text(record.content_hash)

    def _draft(self, record: PlanRecord) -> Plan:
        text = self.text(record)
        operations = self._plans.repository().operations(record)
        return Plan(text, operations, _scope_if_readable(text), (), record.workspace)

    def _review(
        self,
        record: PlanRecord,
        plan: Plan,
        digest: str,
        *,
        over: bool = False,
        written: bool = True,
    ) -> Review:
        """`written`: the text was written for the plan; that of an undo is generated."""
        ids = plan.ids
        context = _OperationReviewer(self._ports, plan, self._config, over=over)
        prose = bool(digest) and plan.is_text_only and not record.undoes
        awaited = record.state is PlanState.AWAITING_APPROVAL
        approved = awaited and usable_approval(self._ports, record) is not None
        here = awaited and digest == record.digest and not record.imported
        changed = drifted_files(plan, self._ports.files) if here else ()
        found = tuple(context.review(i, at) for at, i in enumerate(ids))
        reasons: tuple[str, ...] = ()
        told: tuple[str, ...] = ("",) * len(found)  # once its run has begun, no rule counts
        if record.state in OPEN_STATES:
            reasons, told = denied_reasons(self._ports, plan, [one.denied for one in found])
        found = tuple(replace(o, denied=why) for o, why in zip(found, told, strict=True))
        outline = self._outline(record, plan, found) if written else None
        lacks: tuple[str, ...] = ()
        if outline is not None:
            lacks = structure_risks(outline.structure, outline.steps, operations=bool(ids))
        tried = bool(ids) and written and not record.undoes and record.state in OPEN_STATES
        rehearsal = self.rehearsed(record, plan) if tried else None
        failed = (REHEARSAL_FAILED,) if rehearsal and rehearsal.passed is False else ()
        others = self._plans.options(record) if awaited else []
        next = REBASE if changed else self.next_for(record, plan.text, approved=approved)
        return Review(
            record.plan_id,
            record.session,
            record.name,
            record.path,
            record.state,
            digest,
            approved and digest == record.digest,
            plan.text,
            plan.content_hash,
            plan.operations_hash,
            plan.scope,
            plan.relied_on,
            found,
            (
                *failed,
                *(scope_risks(plan.scope) if prose else ()),
                *text_risks(plan.text),
                *lacks,
            ),
            prose,
            self.without_denied(record, plan, told) if reasons else next,
            record.expires_at if approved else "",
            drifted=changed,
            denied=reasons,
            warnings=() if over else build_warnings(self._ports, self._config, record),
            of=self._plans.reference(record, current=False),
            outline=outline,
            option=record.option,
            others=tuple(one.option for one in others if one.plan_id != record.plan_id),
            rehearsable=tried,
            rehearsal=rehearsal,
        )

    def _outline(
        self, record: PlanRecord, plan: Plan, found: Sequence[OperationReview] | None
    ) -> PlanOutline | None:
        """Reads the sections and steps of a plan's text, with scores if its operations are known.

        The text of an undo plan is generated: it has none.
        """
        if record.undoes:
            return None
        steps = self._steps.of(record, plan)
        if found is not None:
            steps = tuple(_scored(step, found) for step in steps)
        named = bool(plan.operations or plan.scope.files)
        return PlanOutline(plan_structure(plan.text), steps, named)


class _OperationReviewer:
    """Reviews the operations of one plan; each folder is read once."""

    def __init__(
        self, ports: Ports, plan: Plan, config: WorkspaceConfig, *, over: bool = False
    ) -> None:
        self._ports = ports
        self._config = config
        self._over = over
        self._operations = plan.operations
        self._scope = plan.scope
        self._siblings: dict[bytes, Siblings] = {}
        self._coverages: dict[int, SnapshotGaps] = {}  # by how many operations on files come before
        self._alike: dict[bytes, str] = {b"": ""}  # why a folder can be taken for another
        self._coming: dict[bytes, set[bytes]] = {}
        self._going: set[bytes] = set()
        for path, _, after in [step for op in plan.operations for step in footprint(op)]:
            if after is None:
                self._going.add(path)
            else:
                self._come(path)
        for op in plan.operations:
            if (type(op) is MoveFile or type(op) is DeleteFile) and op.prune:
                self._going.update(ancestors(op.path)[: op.prune])

    def _come(self, path: bytes) -> None:
        """Notes a new name, and those of the folders above it, in the folders they will be in."""
        folder, _, last = path.rpartition(b"/")
        known = self._coming.get(folder)
        if known is not None:
            known.add(last)
            return
        self._coming[folder] = {last}
        if folder:
            self._come(folder)

    def review(self, identity: str, at: int) -> OperationReview:
        op = self._operations[at]
        if isinstance(op, RunCommand):
            return self._command(identity, op, at)
        before, after = self._contents(op)
        diff = operation_diff(op, before, after)
        context, folders = self._around(op)
        facts = self._facts_of(op)
        look = RiskInput(diff, before, after, context, facts, self._scope, folders=folders)
        codes = operation_risks(op, look)
        level = operation_level(codes)
        return OperationReview(identity, op, reversibility(op), codes, diff, risk=level)

    def _command(self, identity: str, op: RunCommand, at: int) -> OperationReview:
        from assent.permissions.risk_rating import command_rating, staged_command_rating

        read = self._ports.classify_command_line or unread_line
        root = display_path(self._config.root)
        text = command_line_text(op)
        line = read(text)
        look = RiskInput(scope=self._scope, line=line, root=root)
        held = command_limits(self._ports.rules, op)
        bounds = self._config.snapshot_limits
        seen = predict_effects(op, line, root)
        unheld = "" if op.profile == "unconfined" else self._ports.no_sandbox_reason()
        here = tuple(snapshot_gap_warnings(op, bounds, self._coverage(op, at)))
        codes = operation_risks(op, look)
        network = op.network or op.profile == "unconfined"
        level, reasons = staged_command_rating(command_rating(text, line), network=network)
        return OperationReview(
            identity,
            op,
            reversibility(op),
            codes,
            risk=operation_level(codes, level),
            reasons=reasons,
            remarks=(*command_remarks(op, seen, held, unheld), *here),
            unclear=seen.unclear,
            unheld=unheld,
            denied=command_denied_text(op, held),
            not_covered=(*undo_gaps(op, bounds.file >> 20), *here),
        )

    def _coverage(self, op: RunCommand, at: int) -> SnapshotGaps:
        """How far a record would reach when a command begins, where an undo will rest on it."""
        needless = self._over or op.undo or op.profile == "commit"
        if needless or self._ports.files.stamps(b"") is None:
            return SnapshotGaps()
        before = tuple(op for op in self._operations[:at] if not isinstance(op, RunCommand))
        if len(before) not in self._coverages:  # commands in a row meet the same files
            from assent.planning.snapshot.recorder import SnapshotRecorder

            recorder = SnapshotRecorder(self._ports.files, self._ports.blobs, self._config)
            self._coverages[len(before)] = recorder.gaps(before)
        return self._coverages[len(before)]

    def _contents(self, op: FileOperation) -> tuple[bytes | None, bytes | None]:
        """Returns old and new content where they are small enough to be shown."""
        match op:
            case MoveFile(path, _, state):
                target = self._link_target(path, state) if state.kind == "link" else None
                return None, target
            case _:
                path, before, after = footprint(op)[0]
                return self._content(before, path), self._content(after, path)

    def _content(self, state: FileState | None, path: bytes) -> bytes | None:
        if state is None or state.size > LIMIT:
            return None
        if not self._ports.blobs.has(state.digest):  # an undo of a move keeps it only when approved
            content = self._link_target(path, state)
            if content is not None and sha256(content) == state.digest:
                return content
        if self._over and not self._ports.blobs.has(state.digest):
            return None  # contents of a finished plan may have been removed
        return self._ports.blobs.read(state.digest)

    def _link_target(self, path: bytes, state: FileState) -> bytes | None:
        if self._ports.blobs.has(state.digest):  # an earlier segment may have brought it
            return self._ports.blobs.read(state.digest)
        try:
            with self._ports.files.open(path) as stream:
                return stream.read()
        except (OSError, AssentError):
            return None

    def _around(self, op: Operation) -> tuple[Siblings, str]:
        """Returns the names next to a new name, and why a folder above it looks like another."""
        new = _new_path(op)
        if new is None:
            return NO_SIBLINGS, ""
        folder = parent(new)
        return self._beside(folder), self._folder_alike(folder)

    def _folder_alike(self, folder: bytes) -> str:
        if folder not in self._alike:
            above = parent(folder)
            reason = confusable_name(base_name(folder), self._beside(above))
            self._alike[folder] = self._folder_alike(above) or reason or ""
        return self._alike[folder]

    def _beside(self, folder: bytes) -> Siblings:
        """Returns the names in a folder, in the workspace and in the plan."""
        if folder not in self._siblings:
            prefix = folder + b"/" if folder else b""
            # Where a file or symlink becomes the folder, nothing is in it yet.
            new_one = not self._going.isdisjoint((folder, *ancestors(folder)))
            there = [] if new_one else self._names(folder)
            staying = {sibling for sibling in there if prefix + sibling not in self._going}
            self._siblings[folder] = skeletons(staying | self._coming.get(folder, set()))
        return self._siblings[folder]

    def _names(self, folder: bytes) -> list[bytes]:
        try:
            return self._ports.files.names(folder)
        except (OSError, AssentError):  # a symlink, perhaps: none is followed
            return []

    def _facts_of(self, op: Operation) -> ReplacementLoss:
        return self._facts.get(op.path, NO_FACTS) if _replaces(op) else NO_FACTS

    @cached_property
    def _facts(self) -> dict[bytes, ReplacementLoss]:
        """What is known of the files that are replaced, where there is anything to tell."""
        return self._ports.files.replacement_losses(
            [op.path for op in self._operations if _replaces(op)]
        )


def _scored(status: StepStatus, found: Sequence[OperationReview]) -> StepStatus:
    """Adds score and risk to a step, from the reviews of its operations."""
    own = [_facts_of_review(found[at]) for at in status.operations]
    facts = step_facts(status.step, own)
    return replace(status, score=step_score(facts), risk=step_risk(own, facts))


def _facts_of_review(one: OperationReview) -> OperationFacts:
    shown = isinstance(one.op, RunCommand) or one.diff is not None
    return OperationFacts(one.op, one.risks, *diff_line_counts(one.diff), shown, one.risk)


def _scope_if_readable(text: bytes) -> Scope:
    """A draft is shown even if its front matter cannot be read yet; proposing it is refused."""
    try:
        return declared_scope(text)
    except InvalidPlan:
        return Scope()


def _replaces(op: Operation) -> TypeGuard[WriteFile]:
    return isinstance(op, WriteFile) and op.before is not None


def _new_path(op: Operation) -> bytes | None:
    match op:
        case WriteFile(path=path, before=None):
            return path
        case MoveFile(to=to):
            return to
        case _:
            return None
