"""Rebase: makes a plan whose files changed fit them, where its changes still apply."""

from collections.abc import Iterable, Sequence

import msgspec

from assent.core.digest import operation_ids, sha256
from assent.core.errors import AssentError, Drift, IllegalState, NotFound
from assent.core.event import DraftChanged, Event, PlanRebased
from assent.core.hook import PLAN_PROPOSED
from assent.core.paths import display_path, folders_above
from assent.core.plan.draft import check_tree, still_at_end
from assent.core.plan.operation import FileState, Operation, RunCommand, footprint
from assent.core.plan.plan import Plan
from assent.core.plan.rebase import RebaseConflict, conflict_text, rebase_operation
from assent.core.plan.record import PlanAction, PlanRecord, PlanState, next_state
from assent.core.run.slot_move import PathState
from assent.planning.approvals import Approvals
from assent.planning.drafts import PlanContents
from assent.planning.hook_events import fire_hooks, plan_hook_fields
from assent.planning.path_checks import refuse_denied, refuse_git_folders
from assent.planning.plans import Plans
from assent.planning.ports import Ports
from assent.planning.projections import PlanProjections
from assent.render.rebase import RebaseSummary

RELIED_ON_GONE = "is required by the plan but is no longer a file."
MAX_NAMED = 20  # conflicts spelled out in one message


class Rebase(msgspec.Struct, frozen=True):
    """A plan that fits the current files; none of it is recorded yet.

    `fates` are the staged operations, each with what it becomes: None if the files already have it.
    """

    record: PlanRecord
    fates: tuple[tuple[Operation, Operation | None], ...]
    was: Plan | None  # as it was proposed, if it was
    plan: Plan | None  # as it would be proposed
    relied_on: tuple[bytes, ...] = ()  # that changed
    contents: tuple[bytes, ...] = ()  # that merging made

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations that are staged then."""
        return tuple(op for _, op in self.fates if op is not None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing remains to do: the files have all of it. The plan stays as it is."""
        return bool(self.fates) and not self.operations

    @property
    def outcomes(self) -> tuple[tuple[Operation, Operation | None], ...]:
        """The fates, and those of what freezing adds to a draft, such as the export of the text."""
        if self.was is None or self.plan is None:
            return self.fates
        staged = {op for op, _ in self.fates}
        kept = set(self.operations)
        added = [op for op in self.plan.operations if op not in kept]
        more = [(op, _same(op, added)) for op in self.was.operations if op not in staged]
        return (*self.fates, *more)

    @property
    def differs(self) -> bool:
        """Whether anything has to change at all."""
        if self.was is not None and self.plan is not None:
            return self.was.digest != self.plan.digest
        return any(was != op for was, op in self.fates)

    @property
    def paths(self) -> tuple[bytes, ...]:
        """The files whose changes made the rebase necessary."""
        changed = [op for pair in self.outcomes if pair[0] != pair[1] for op in pair if op]
        touched = {path for op in changed for path, *_ in footprint(op)}
        return tuple(sorted(touched | set(self.relied_on)))


class Rebaser:
    """Previews and records a rebase. No file is touched."""

    def __init__(
        self, ports: Ports, plans: Plans, consents: Approvals, projections: PlanProjections
    ) -> None:
        self._ports = ports
        self._plans = plans
        self._consents = consents
        self._projections = projections
        self._contents = PlanContents(ports)

    def preview(self, record: PlanRecord) -> Rebase:
        """Returns what the plan becomes; raises Drift, with every conflict, if that fails."""
        _check_state(record)
        repository = self._plans.repository()
        was = repository.plan(record) if record.frozen else None
        now = _CurrentFiles(self._ports, self._contents, repository.operations(record))
        fates = now.fates()
        relied_on = self._relied_on(was, now)
        if now.conflicts:
            raise _unfit(map(conflict_text, now.conflicts))
        found = Rebase(record, fates, was, None, relied_on, tuple(now.made.values()))
        if found.is_empty:
            return found
        self._check(found)
        return msgspec.structs.replace(found, plan=self._frozen(found)) if was else found

    def summary(self, rebase: Rebase, record: PlanRecord) -> RebaseSummary:
        """Returns what came of a rebase, for a face to show."""
        return RebaseSummary(
            rebase.outcomes,
            rebase.was.digest if rebase.was else "",
            rebase.plan.digest if rebase.plan else "",
            rebase.relied_on,
            rebase.differs,
            rebase.is_empty,
            self._plans.reference(record),
            self._plans.reference(record, current=False),
        )

    def apply(self, rebase: Rebase) -> PlanRecord:
        """Records the rebased plan, with a new digest if it had one; it is not approved.

        All of it is one transaction, which fails if the plan changed meanwhile.
        """
        record, repository = rebase.record, self._plans.repository()
        if rebase.is_empty or not rebase.differs:
            return record
        for content in rebase.contents:
            self._contents.keep([content])
        text, events = self._plans.read_live(record)
        events += self._redrafted(rebase)
        if rebase.paths:  # else only the text is another one
            events.append(PlanRebased(rebase.was.digest if rebase.was else "", rebase.paths))
        if rebase.plan is not None:
            if rebase.plan.text != text:
                raise Drift(
                    f"{display_path(record.path)} changed during the rebase.", "assent rebase"
                )
            self._consents.check_plan(rebase.plan)
            events.append(self._consents.proposal(rebase.plan))
        changed = repository.append(record, record.plan_id, *events)
        self._projections.plan(changed, text)
        self._projections.draft(changed, rebase.operations)
        if rebase.plan is not None:
            fire_hooks(self._ports, self._projections, PLAN_PROPOSED, plan_hook_fields(changed))
        return changed

    def _relied_on(self, was: Plan | None, now: "_CurrentFiles") -> tuple[bytes, ...]:
        """Returns the relied-on files that changed; one that is gone is a conflict."""
        changed = []
        for file in was.relied_on if was else ():
            seen = now.on_disk(file.path)
            if not isinstance(seen, FileState):
                now.conflicts.append(RebaseConflict(file.path, RELIED_ON_GONE))
            elif seen.digest != file.digest:
                changed.append(file.path)
        return tuple(changed)

    def _check(self, found: Rebase) -> None:
        """Refuses operations that cannot hold together on these files."""
        files = self._ports.files
        added = [op for was, op in found.fates if op is not None and op != was]
        refuse_denied(self._ports, added, "Nothing was changed.")
        try:
            check_tree(found.operations, files.is_file, files.below)
            refuse_git_folders(files, added, found.operations)
        except AssentError as error:
            raise _unfit([error.message]) from error

    def _frozen(self, found: Rebase) -> Plan:
        text = self._plans.live_text(found.record)
        if text is None or found.was is None:
            raise NotFound(
                f"{display_path(found.record.path)} was deleted.", "assent plan new NAME"
            )
        plan = self._consents.freeze(text, found.record, found.operations)
        plan = msgspec.structs.replace(plan, workspace=found.was.workspace)
        try:
            self._consents.check_plan(plan)
        except Drift as error:
            raise _unfit([error.message]) from error
        return plan

    def _redrafted(self, rebase: Rebase) -> list[Event]:
        """Returns how the draft becomes the new one, every content of it kept."""
        old, new = (operation_ids(o) for o in ([op for op, _ in rebase.fates], rebase.operations))
        before, after = set(old), set(new)
        pairs = zip(new, rebase.operations, strict=True)
        added = tuple(op for name, op in pairs if name not in before)
        if old == new:
            return []
        self._contents.keep_all(rebase.operations, added)
        removed = tuple(name for name in old if name not in after)
        was = [op for op, _ in rebase.fates]
        at_end = still_at_end(rebase.operations, was, rebase.record.at_end)
        draft = self._plans.repository().keep_draft(rebase.operations)
        return [DraftChanged(draft, removed, added, at_end or msgspec.UNSET)]


class _CurrentFiles:
    """The files as they are, with the operations that were carried over so far on top."""

    def __init__(
        self, ports: Ports, contents: PlanContents, operations: Sequence[Operation]
    ) -> None:
        self._ports = ports
        self._overlay = contents.overlay()
        self._operations = operations
        self._left: dict[bytes, FileState | None] = {}
        self._disk: dict[bytes, PathState] = {}
        self._freed = folders_above(
            path for op in operations for path, _, after in footprint(op) if after is None
        )
        self.made: dict[str, bytes] = {}
        self.conflicts: list[RebaseConflict] = []

    def fates(self) -> tuple[tuple[Operation, Operation | None], ...]:
        """Returns every operation with what it becomes; what does not fit is a conflict."""
        return tuple((op, self._fate(op)) for op in self._operations)

    def on_disk(self, path: bytes) -> PathState:
        if path not in self._disk:
            self._disk[path] = self._ports.files.read_states((path,))[path]
        return self._disk[path]

    def _fate(self, op: Operation) -> Operation | None:
        if isinstance(op, RunCommand):
            return op
        try:
            found = rebase_operation(op, self._look, self._read)
        except AssentError as error:
            found = RebaseConflict(op.path, f"cannot be read: {error.message}")
        if isinstance(found, RebaseConflict):
            self.conflicts.append(found)
            return None
        if found.content is not None:
            self.made[sha256(found.content)] = found.content
        for path, _, after in footprint(found.op or op):
            self._left[path] = after
        return found.op

    def _look(self, path: bytes) -> PathState:
        if path in self._left:
            return self._left[path]
        seen = self.on_disk(path)
        return None if seen == "folder" and path in self._freed else seen

    def _read(self, path: bytes, state: FileState) -> bytes:
        if state.digest in self.made:
            return self.made[state.digest]
        if self._ports.blobs.has(state.digest):
            return self._ports.blobs.read(state.digest)
        content = self._overlay.content(path)
        if sha256(content) != state.digest:
            raise Drift(f"{display_path(path)} changed while it was read.", "assent rebase")
        return content


def _same(op: Operation, others: Iterable[Operation]) -> Operation | None:
    """Returns the operation of the same kind on the same file, if there is one."""
    paths = [path for path, *_ in footprint(op)]
    alike = [other for other in others if type(other) is type(op)]
    return next((o for o in alike if [path for path, *_ in footprint(o)] == paths), None)


def _check_state(record: PlanRecord) -> None:
    if record.imported or record.undoes:
        raise IllegalState("Imported plans and undo plans cannot be rebased.", "assent plan list")
    if record.state is not PlanState.AWAITING_APPROVAL:
        next_state(record.state, PlanAction.DRAFT)


def _unfit(conflicts: Iterable[str]) -> Drift:
    found = list(conflicts)
    more = f" And {len(found) - MAX_NAMED} more." if len(found) > MAX_NAMED else ""
    return Drift(
        f"The plan no longer fits the files. {' '.join(found[:MAX_NAMED])}{more} Nothing was "
        "changed. Remove conflicting operations with `assent stage remove OP`, or restore the "
        "files. Then stage those changes again and propose the plan.",
        "assent stage list",
    )
