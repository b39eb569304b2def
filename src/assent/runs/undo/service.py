"""Builds the inverse plan of a run, previews it, and applies it with the executor."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from assent.core.errors import AssentError, Drift
from assent.core.event import PlanCreated, PlanDiscarded, TextRevised
from assent.core.paths import ancestors, one_line
from assent.core.plan.operation import FileOperation, FileState, Operation, RunCommand, footprint
from assent.core.plan.plan import Plan
from assent.core.plan.record import REWIND_GOAL, PlanRecord, PlanRun, PlanState
from assent.core.run.journal import DONE, OperationResult
from assent.core.run.slot_move import PathState
from assent.core.shell.process import shell_line
from assent.core.undo import (
    FILES_ONLY,
    NOT_A_FILE,
    NOT_APPLIED,
    NOT_COVERED,
    STILL_DIFFERENT,
    AppliedChange,
    Inversion,
    UndoContext,
    UndoExtent,
    UndoGap,
    behind_foreign_links,
    combined_operations,
    has_state,
    invert,
    is_behind_link,
    overwrite_warnings,
    undo_blockers,
    undo_command,
    undo_text,
)
from assent.planning.approvals import Approvals, WebApprover, approved_event
from assent.planning.drafts import PlanContents
from assent.planning.path_checks import denied_operations, refuse_denied
from assent.planning.ports import Ports
from assent.runs.run_status import RunReport
from assent.runs.runs import Runs, RunSteps
from assent.runs.undo.history import recorded_undo, skipped_operations
from assent.runs.undo.targets import (
    UndoTarget,
    UndoTargets,
    commands_with_undo,
    operation_names,
    original_ids,
    redo_extent,
    select_operation,
    selected_changes,
    skipped_changes,
    undo_extent,
    undo_status,
    undo_without_commands,
)


class UndoPlan(msgspec.Struct, frozen=True):
    """The inverse of a run as a plan, before it is approved."""

    target: UndoTarget
    plan: Plan
    originals: tuple[FileOperation, ...]
    ids: tuple[str, ...]  # of the originals
    inversion: Inversion
    extent: UndoExtent = FILES_ONLY
    compensated: tuple[AppliedChange, ...] = ()  # commands that commands of the plan undo

    @property
    def run(self) -> str:
        """The name of the run, or the turn, that it undoes."""
        return self.target.name

    @property
    def source(self) -> PlanRecord:
        return self.target.record

    @property
    def restores_todos(self) -> bool:
        """Whether the todos of its session are set back with it: it undoes a whole run (F128)."""
        return bool(self.source.plan_id) and not self.target.only and not self.extent.again

    @property
    def command(self) -> str:
        """The command for it."""
        return undo_command(self.run, self.extent)


_FAILED: frozenset[OperationResult] = NOT_APPLIED - {"not_started"}


class UndoService:
    """Undoes and redoes runs by a plan like any other, with its own digest (law 7)."""

    def __init__(self, ports: Ports, runs: Runs, consents: Approvals) -> None:
        self._ports = ports
        self._runs = runs
        self._consents = consents

    def preview(
        self, reference: str = "", plan_id: str = "", operation: str = "", *, exempt: bool = False
    ) -> UndoPlan:
        """Creates the inverse plan of a run, a turn, or one operation; nothing is recorded.

        What rules deny is skipped, unless `exempt` says that it rolls back a run that has begun.
        """
        back = UndoTargets(self._ports, self._runs.repository())
        target = back.find(reference, plan_id)
        wanted = select_operation(back, target, operation) if operation else target
        return self._inverse(back, wanted, exempt=exempt)

    def preview_target(
        self, back: UndoTargets, target: UndoTarget, gaps: Iterable[UndoGap] = ()
    ) -> UndoPlan:
        """Creates the inverse plan of runs that were chosen; `gaps` are what it does not cover."""
        return self._inverse(back, target, UndoExtent(gaps=tuple(gaps)))

    def redo(self, reference: str = "") -> UndoPlan:
        """Creates the plan that reverts an undo; it does not run commands again.

        It repeats the original changes, so rules refuse it as they refuse a build.
        """
        back = UndoTargets(self._ports, self._runs.repository())
        target = back.find_undo(reference)
        return self._inverse(back, target, redo_extent(back, target))

    def apply(
        self,
        undo: UndoPlan,
        channel: str,
        note: str = "",
        *,
        exempt: bool = False,
        by: WebApprover | None = None,
    ) -> RunSteps:
        """Records the approval of an undo plan and builds it; files that changed since stop it."""
        record = self._record(undo, channel, note, by)
        try:
            report = yield from self._runs.build(record.plan_id, exempt=exempt)
        except Drift as drift:
            self._discard(record)
            raise Drift(drift.message, f"{undo.command} --dry-run") from None
        except AssentError:
            self._discard(record)
            raise
        return self._in_terms_of_originals(undo, report)

    def recorded(self, report: RunReport) -> tuple[UndoPlan, RunReport] | None:
        """Returns the undo that a run carried out, from the record, and how to report its end.

        None if it was not an undo: then the report is complete.
        """
        every = [(record, note) for record in self._runs.repository().all() for note in record.runs]
        found = [one for one in every if one[0].undoes and one[1].run == report.run]
        try:
            undo = self._recalled(*found[0]) if found else None
        except AssentError:  # the files are as they should be; only their story cannot be read
            undo = None
        return (undo, self._in_terms_of_originals(undo, report)) if undo else None

    def earlier(self, undo: UndoPlan, plan_id: str = "") -> str:
        """Returns the command for the newest earlier run, if a run leaves nothing to undo."""
        back = UndoTargets(self._ports, self._runs.repository())
        found = (self._inverse(back, target) for target in back.earlier(undo.target, plan_id))
        return next((one.command for one in found if one.plan.operations), "")

    def status(self, run: str) -> tuple[bool, str]:
        """Tells whether a run was undone, and returns the command that reverts that."""
        return undo_status(UndoTargets(self._ports, self._runs.repository()), run)

    def next_command(self, undo: UndoPlan, report: RunReport) -> str:
        """Returns the command after an undo or a redo: to undo the rest, or to revert it."""
        target, back = undo.target, UndoTargets(self._ports, self._runs.repository())
        results = [result for _, result in report.operations]
        failed = not _FAILED.isdisjoint(results[: len(undo.compensated)])
        if failed and (without := undo_without_commands(back, target)):
            return without
        if report.outcome == "rolled_back":
            return undo.command
        if undo.inversion.skipped or not NOT_APPLIED.isdisjoint(results):
            return f"assent runs show {target.runs[0]}"
        if redo := back.redo_command(target.only or target.whole or target.runs[0]):
            return redo
        redone = {token.partition(":")[0] for token in target.record.undoes.split()}
        # Of what was pruned nothing is known any more; what redid it can be undone.
        # And after a rewind, the newest run that can be undone is only one of those that it redid.
        known = back.pruned.keys().isdisjoint(redone) and not target.record.rewound_to
        return "assent undo" if known else f"assent undo {report.run}"

    def _recalled(self, record: PlanRecord, note: PlanRun) -> UndoPlan | None:
        repository = self._runs.repository()
        plan, back = repository.plan(note), UndoTargets(self._ports, repository, before=note.run)
        target = back.target_of_undo(record)
        changes = selected_changes(back, target)
        plain = [change for change in changes if change.undo is None]
        done = combined_operations(plain)
        ids = original_ids(plain, done)
        no = {at for at, name in enumerate(ids) if name in record.denied}
        found = recorded_undo(plan, done, skipped_operations(record, plain, done, ids), no)
        ran = commands_with_undo(changes)
        commands = tuple(op for op in plan.operations if isinstance(op, RunCommand))
        if found is None or commands != tuple(change.undo for change in ran):
            return None
        redo = back.is_redo(UndoTarget(note.run, (note.run,), record))
        reach = undo_extent(target, changes, redo_extent(back, target) if redo else FILES_ONLY)
        names = original_ids(plain, found.originals)
        return UndoPlan(target, plan, found.originals, names, found.inversion, reach, ran)

    def _inverse(
        self,
        back: UndoTargets,
        target: UndoTarget,
        more: UndoExtent = FILES_ONLY,
        *,
        exempt: bool = False,
    ) -> UndoPlan:
        """Inverts what was done: only that, and of each path what all of it came to."""
        every, changes = back.done(target), selected_changes(back, target)
        plain = [change for change in changes if change.undo is None]
        operations = self._other_by_now(plain)
        ids = original_ids(plain, operations)
        made = {folder for run in target.runs for folder in back.applied.made_folders(run)}
        made.update(folder for change in changes for folder in change.made)
        ground = self._ground(operations, every, changes)
        if more.again:
            refuse_denied(self._ports, operations, "Nothing was changed.")
        elif not exempt:
            no = denied_operations(self._ports, operations, lenient=True)
            ground = msgspec.structs.replace(ground, denied=no)
        inversion = invert(operations, made, ground)
        reach = self._reach(target, every, changes, more)
        names = operation_names(back, target, ids)
        text = undo_text(target.record.name, inversion, names, reach, runs=len(target.runs))
        files = [op for _, op in inversion.operations]
        inverses: tuple[Operation, ...] = (*reach.commands, *files)
        plan = Plan(text, inverses, workspace=self._runs.repository().workspace)
        return UndoPlan(
            target, plan, operations, ids, inversion, reach, commands_with_undo(changes)
        )

    def _reach(
        self,
        target: UndoTarget,
        every: Sequence[AppliedChange],
        changes: Sequence[AppliedChange],
        more: UndoExtent,
    ) -> UndoExtent:
        """Returns how far an undo goes, and which files its commands may overwrite."""
        ran = commands_with_undo(changes)
        seen = self._seen([op for change in ran for op in change.operations]) if ran else {}
        told = overwrite_warnings(ran, every, seen)
        return msgspec.structs.replace(undo_extent(target, changes, more), overwrites=told)

    def _other_by_now(self, changes: Sequence[AppliedChange]) -> tuple[FileOperation, ...]:
        """Returns what all of it came to; what a command did may be back already, by whomever."""
        operations = combined_operations(changes)
        if not any(change.ordered for change in changes):
            return operations
        seen = self._seen(operations)
        steps = [step for op in operations for step in footprint(op)]
        moved = behind_foreign_links(seen, steps)
        other = {p for p, before, _ in steps if p in moved or not has_state(seen[p], before)}
        return tuple(op for op in operations if any(p in other for p, *_ in footprint(op)))

    def _ground(
        self,
        operations: Sequence[FileOperation],
        changes: Sequence[AppliedChange],
        taken: Sequence[AppliedChange],
    ) -> UndoContext:
        seen = self._seen(operations)
        there = {state.digest for state in seen.values() if isinstance(state, FileState)}
        blobs = self._ports.blobs
        return UndoContext(
            seen,
            self._ports.files.below,
            lambda digest: digest in there or blobs.has(digest),
            undo_blockers(operations, changes, taken),
        )

    def _discard(self, record: PlanRecord) -> None:
        """Discards an undo plan that was refused, and with it the unused approval."""
        repository = self._runs.repository()
        current = repository.load(record.plan_id)
        if current.state is PlanState.AWAITING_APPROVAL:
            repository.append(current, current.plan_id, PlanDiscarded())

    def _seen(self, operations: Iterable[FileOperation]) -> dict[bytes, PathState]:
        """Looks at every path of a run and at the folders above; what is odd now has changed."""
        paths = {path for op in operations for path, *_ in footprint(op)}
        paths |= {above for path in paths for above in ancestors(path)}
        try:
            return self._ports.files.read_states(sorted(paths))
        except AssentError:
            seen: dict[bytes, PathState] = {}
            for path in sorted(paths):  # folders come before what is in them
                seen[path] = None if is_behind_link(path, seen) else self._one(path)
            return seen

    def _one(self, path: bytes) -> PathState:
        try:
            return self._ports.files.read_states((path,))[path]
        except AssentError:
            return NOT_A_FILE

    def _record(
        self, undo: UndoPlan, channel: str, note: str, by: WebApprover | None
    ) -> PlanRecord:
        repository = self._runs.repository()
        blobs, source = self._ports.blobs, undo.source
        # A move keeps no copy; undone together with more, it may have become a write.
        PlanContents(self._ports).keep_all(undo.plan.operations, undo.plan.operations)
        plan_id = self._ports.clock.new_id()
        text, size = blobs.keep([undo.plan.text])
        target = undo.target
        runs = target.only or " ".join(filter(None, (target.whole, *target.runs)))
        alone = undo.inversion.skipped
        left = [undo.originals[index] for index, _ in alone]
        created = PlanCreated(
            plan_id,
            repository.workspace,
            source.session,
            source.name,
            b"",
            undoes=runs,
            spared=skipped_changes(UndoTargets(self._ports, repository), target, left),
            left_alone=tuple((undo.ids[at], reason) for at, reason in alone),
            denied=tuple(undo.ids[at] for at, _ in undo.inversion.denied),
            goal=f"{REWIND_GOAL}{target.rewound_to}" if target.rewound_to else "",
        )
        # One transaction: an undo plan without its approval would stay pending forever.
        return repository.append(
            None,
            plan_id,
            created,
            TextRevised(text, size),
            self._consents.proposal(undo.plan),
            approved_event(self._consents.sign(plan_id, undo.plan, note, channel), by),
        )

    def _in_terms_of_originals(self, undo: UndoPlan, report: RunReport) -> RunReport:
        """Names the original operations: what was undone, and what was left as it is.

        A redo names its own: undoing an undo means doing it again.
        """
        notes = list(report.notes)
        with self._runs.housekeeping("Could not list what the undo skipped"):
            notes += self._told(undo, report)
        return self._renamed(undo, report, tuple(notes))

    def _renamed(self, undo: UndoPlan, report: RunReport, notes: tuple[str, ...]) -> RunReport:
        if undo.extent.again:
            left = undo.inversion.results
            rows = (*report.operations, *[(undo.ids[i], result) for i, result in left.items()])
            about = (*undo.plan.operations, *[undo.originals[i] for i in left])
            return _report(report, undo, rows, notes, about)
        undone: dict[str, OperationResult] = {"done": "undone", "undone": "done"}
        found: dict[int, OperationResult] = dict.fromkeys(range(len(undo.ids)), "not_started")
        found.update(undo.inversion.results)
        count = len(undo.compensated)
        pairs = zip(undo.inversion.operations, report.operations[count:], strict=True)
        found.update({index: undone.get(result, result) for (index, _), (_, result) in pairs})
        ran = zip(undo.compensated, report.operations[:count], strict=True)
        commands = [(change, undone.get(result, result)) for change, (_, result) in ran]
        rows = (
            *[(change.id, result) for change, result in commands],
            *[(undo.ids[index], found[index]) for index in sorted(found)],
        )
        about = (*[_command(change) for change, _ in commands], *undo.originals)
        return _report(report, undo, rows, notes, about)

    def _told(self, undo: UndoPlan, report: RunReport) -> Iterator[str]:
        """Says what an undo left and what it does not cover; nothing if it was rolled back.

        If a command failed to undo another, this says how to undo without it.
        """
        if report.outcome == "rolled_back":
            return
        yield from _left(undo)
        if report.outcome in DONE:
            yield from self._still_other(undo)
        ran = zip(undo.compensated, report.operations, strict=False)
        failed = [change.undo for change, (_, result) in ran if change.undo and result in _FAILED]
        if not failed:
            return
        if command := undo_without_commands(
            UndoTargets(self._ports, self._runs.repository()), undo.target
        ):
            first = "" if report.outcome in DONE else "assent recover --roll-back, then "
            yield (
                f"Undoing the whole run runs $ {shell_line(failed[0].argv)} again. To undo without "
                f"it: {first}{command}."
            )

    def _still_other(self, undo: UndoPlan) -> Iterator[str]:
        """Names the files that a command changed, and that its own undo did not put back."""
        operations = [op for change in undo.compensated for op in change.operations]
        seen = self._seen(operations)
        first: dict[bytes, FileState | None] = {}
        for path, before, _ in [step for op in reversed(operations) for step in footprint(op)]:
            first[path] = before
        for path, before in sorted(first.items()):
            if seen[path] != before:
                yield f"{STILL_DIFFERENT}: {one_line(path)}."


def _report(
    report: RunReport,
    undo: UndoPlan,
    rows: tuple[tuple[str, OperationResult], ...],
    notes: tuple[str, ...],
    about: tuple[Operation, ...],
) -> RunReport:
    """Returns a report with other operations; the exits of commands stand first in both.

    What commands changed may be put back without one: then they have no exit, and are named none.
    """
    involved = (None,) * len(rows) if undo.extent.recorded else ()
    exits = report.exits or involved
    return msgspec.structs.replace(report, operations=rows, notes=notes, about=about, exits=exits)


def _command(change: AppliedChange) -> Operation:
    assert change.ordered is not None
    assert change.ordered.command is not None, "only a plan's command has an undo of its own"
    return change.ordered.command


def _left(undo: UndoPlan) -> Iterator[str]:
    for _, reason in undo.inversion.skipped:
        yield f"Skipped: {reason.removesuffix('.')}."
    yield from undo.extent.overwrites
    for gap in undo.extent.gaps:
        yield f"{NOT_COVERED}: {gap.line}."
