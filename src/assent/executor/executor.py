"""The executor's loop: check the plan, read the journal, do the next step, record it."""

from collections.abc import Generator, Sequence

import msgspec
from msgspec.structs import replace

from assent.core.errors import DigestMismatch, Refused
from assent.core.paths import display_path
from assent.core.plan.approval import ApprovedPlan
from assent.core.plan.operation import FileOperation, RunCommand
from assent.core.plan.plan import Plan
from assent.core.run.journal import (
    AbortedEntry,
    CommandEndedEntry,
    CommandStartedEntry,
    FinishedEntry,
    HaltedEntry,
    JournalEntry,
    OperationResult,
    PathConflict,
    RecoveringEntry,
    RecoveryChoice,
    RunOutcome,
    RunStep,
    RunUpdate,
    SegmentEnteredEntry,
    SegmentSweptEntry,
    SettledEntry,
    StartedEntry,
    started_entry,
)
from assent.core.run.orphan_slot import OrphanChoice as OrphanWay
from assent.core.run.orphan_slot import OrphanCleanup, OrphanSlot
from assent.core.run.permit import PermittedPlan
from assent.core.run.results import DisplacedLookup, kept_slots, made_folders, no_displaced
from assent.core.run.slot_move import SlotLayout
from assent.core.run.state import RunState, fold_run, segment_ranges
from assent.core.run.workspace_changes import state_changes
from assent.core.shell.process import shell_line
from assent.executor.command import CommandExecution, DueCommand, failure_text
from assent.executor.drift import check_blobs, check_disk, first_segment_files
from assent.executor.orphan_slots import clear_orphan_slots, remove_probes
from assent.executor.reconciliation import completed_operations, contradictions, unlike_start
from assent.executor.rollback import JournaledRun, changes_reader, plan_rollback, read_rollbacks
from assent.executor.segment import (
    SegmentRun,
    enter_segment,
    plan_index,
    result_on_disk,
    slot_layout,
)
from assent.ports import BlobStore, Journal, PlanCommandRunner
from assent.ports.external import NoPlanCommandRunner
from assent.ports.file_writer import FileWriter

# Preflight: checks a plan before its run starts, so that a failure does not use the approval.


def check_start(
    plan: Plan, writer: FileWriter, blobs: BlobStore, commander: PlanCommandRunner
) -> tuple[FileOperation, ...]:
    """Refuses a plan that could not be applied; returns the files that it begins with.

    Commands decide what the files of later segments are; those are checked when they begin.
    """
    commands = [op for op in plan.operations if type(op) is RunCommand]
    if commands:
        meant = state_changes(op for op in plan.operations if not isinstance(op, RunCommand))
        for command in commands:
            commander.check(command, meant)
    course = segment_ranges(plan.operations)
    for span in course:
        check_blobs(span.files, blobs)
    files = first_segment_files(plan)
    check_disk(plan, files, writer)
    return () if course and course[0].command else files


# How a run halts or ends: the reason, and the result of each operation.


class RunPosition(msgspec.Struct, frozen=True):
    """Where a run is: its id, its plan, its journal entries, and the state that follows."""

    run: str
    plan: Plan
    history: JournaledRun
    course: RunState


def final_results(position: RunPosition, writer: FileWriter) -> tuple[OperationResult, ...]:
    """Returns the result of each operation; where the journal cannot tell, the disk does."""
    found = list(position.history.results)
    for index in _doubtful(position, found):
        op = position.plan.operations[index]
        found[index] = "unknown" if isinstance(op, RunCommand) else result_on_disk(writer, op)
    return tuple(found)


def _doubtful(position: RunPosition, found: Sequence[OperationResult]) -> set[int]:
    """Returns the operations whose state on disk the user accepted, whatever it is."""
    now = position.course
    if now.phase == "files":
        if not now.segment_outcome.accepted:
            return set()
        indices = range(now.segment.first, now.segment.first + len(now.segment.operations))
        about = now.back.about if now.back else [(at,) for at in range(indices.stop)]
        return {original for index in indices for original in about[index]}
    accepted = now.word == "accept" and now.back is not None
    return {at for at, result in enumerate(found) if accepted and result == "conflict"}


def halt_reason(position: RunPosition) -> HaltedEntry:
    """Says what stopped the run: a command, files that could not be changed, or foreign changes."""
    now = position.course
    if now.phase != "failed":
        return HaltedEntry(now.back.left if now.back else ())
    stops = (
        e
        for e in reversed(position.history.entries)
        if isinstance(e, CommandEndedEntry | AbortedEntry)
    )
    match next(stops):
        case CommandEndedEntry(index) as ended:
            done = f"{command_label(now)} failed: " if now.back else ""
            reason = done + failure_text(ended)
            conflict = PathConflict(plan_index(now, index), b"", b"", reason)
        case AbortedEntry(_, index, path, reason):
            at = plan_index(now, now.segment.first + index)
            conflict = PathConflict(at, path, b"", reason)
    return HaltedEntry((conflict,))


def command_label(now: RunState) -> str:
    """Names the undo command that is due in a rollback; else returns `it`."""
    if now.back is None or now.segment.command is None:
        return "it"
    return f"its undo command, $ {shell_line(now.segment.command.argv)},"


StepUpdates = Generator[RunUpdate, None, JournalEntry]
RunUpdates = Generator[RunUpdate, None, None]


class Executor:
    """Applies approved or permitted plans with the one file writer (law 1); it decides nothing."""

    def __init__(
        self,
        writer: FileWriter,
        blobs: BlobStore,
        journal: Journal,
        commander: PlanCommandRunner | None = None,
    ) -> None:
        self._writer = writer
        self._blobs = blobs
        self._journal = journal
        self._commander = commander or NoPlanCommandRunner()
        self._at: SegmentRun | None = None  # the segment that was last processed
        self._spares: DisplacedLookup = no_displaced
        self._again = False  # an earlier process began the run

    def apply(
        self,
        consented: ApprovedPlan | PermittedPlan,
        run: str,
        spares: DisplacedLookup = no_displaced,
    ) -> RunUpdates:
        """Applies a plan. A refusal comes before the first journal entry and uses up nothing.

        `spares` names displaced files that the plan could restore.
        """
        self._spares = spares
        plan_id, consent = _consent(consented)
        plan = consented.plan
        first = check_start(plan, self._writer, self._blobs, self._commander)
        if isinstance(consented, PermittedPlan) and len(first) < len(plan.operations):
            raise Refused("A permit covers only files. Nothing was changed.")
        layout, missing = slot_layout(self._writer, run, first) if first else (SlotLayout(run), ())
        self._journal.write(run, StartedEntry(plan_id, plan.digest, consent, layout, missing))
        yield from self._drive(run, plan)

    def recover(self, plan: Plan, run: str, way: RecoveryChoice, trusted: int = -1) -> RunUpdates:
        """Resumes a run that an earlier process left, with the plan that it was started with.

        If the journal is damaged, only the first `trusted` entries count.
        """
        self._again = True
        entries = self._journal.read(run)
        if plan.digest != started_entry(entries).digest:
            raise DigestMismatch("The run belongs to another plan.", "assent status")
        if self._place(run, plan).course.step is RunStep.OVER:
            return
        word = RecoveringEntry(way, trusted)
        backs = read_rollbacks(entries, self._blobs)
        ended = any(isinstance(entry, CommandEndedEntry) and entry.cut for entry in entries)
        if ended or fold_run(plan.operations, (*entries, word), backs).step is RunStep.RECKON:
            self._commander.check_at_rest()  # a refused word must not be on record (law 6)
        self._journal.write(run, word)
        yield from self._drive(run, plan)

    def clear(self, orphans: Sequence[OrphanSlot], way: OrphanWay) -> OrphanCleanup:
        """Clears slots of a run that has no journal, as a user decided."""
        return clear_orphan_slots(self._writer, orphans, way)

    def remove_probes(self) -> list[bytes]:
        """Removes probe files of a start that was killed while it tested the disk."""
        return remove_probes(self._writer)

    def _drive(self, run: str, plan: Plan) -> RunUpdates:
        """Goes on until the journal says that the run is over or waits for a person (law 5)."""
        while True:
            position = self._place(run, plan)
            step = position.course.step
            if step in (RunStep.WAIT, RunStep.OVER):
                return
            entry = yield from self._do(step, position)
            self._write(run, entry)

    def _write(self, run: str, entry: JournalEntry) -> None:
        """Records an entry; a command's end cannot be found out later, so an interrupt waits."""
        try:
            self._journal.write(run, entry)
        except KeyboardInterrupt:
            if isinstance(entry, CommandEndedEntry) and isinstance(
                self._journal.read(run)[-1], CommandStartedEntry
            ):
                self._journal.write(run, entry)
            raise

    def _place(self, run: str, plan: Plan) -> RunPosition:
        entries = self._journal.read(run)
        backs = read_rollbacks(entries, self._blobs)
        history = JournaledRun(plan.operations, entries, backs, changes_reader(self._blobs))
        return RunPosition(run, plan, history, fold_run(plan.operations, entries, backs))

    def _do(self, step: RunStep, position: RunPosition) -> StepUpdates:
        now = position.course
        match step:
            case RunStep.RUN if halted := self._doubts(position, "resume"):
                return halted
            case RunStep.RUN | RunStep.RECKON:
                return (yield from self._command(step, position))
            case RunStep.ENTER | RunStep.TURN if self._is_done_already(position):
                return SegmentSweptEntry(now.at, "done")
            case RunStep.REVERSE if self._went_on(position):
                return SettledEntry("done", now.entered.folders)
            case RunStep.ENTER:
                return enter_segment(self._writer, self._blobs, now, _slots(position))
            case RunStep.SWEEP:
                return self._sweep(position)
            case RunStep.TURN | RunStep.HALT | RunStep.CLOSE:
                return self._decide(step, position)
            case _:
                return (yield from self._segment(now).do(step))

    def _decide(self, step: RunStep, position: RunPosition) -> JournalEntry:
        match step:
            case RunStep.TURN:
                lossy = position.course.lost != "nothing"
                return plan_rollback(position.history, self._writer, self._blobs, lossy=lossy)
            case RunStep.HALT:
                return replace(halt_reason(position), warned=position.course.lost != "nothing")
            case _:
                now = position.course
                back = now.back is not None and now.word != "accept"
                if back and (halted := self._doubts(position)):
                    return halted
                return self._finished(position, "rolled_back" if back else "done")

    def _doubts(self, position: RunPosition, unless: RecoveryChoice = "auto") -> HaltedEntry | None:
        """Returns a halt if a run did, or may have done, more than its journal still records.

        For files the disk shows it, which does not count if `unless` was chosen. For commands
        nothing does: the user is warned once, and may then repeat what is to be done.
        """
        now = position.course
        beyond = self._beyond(position) if now.word != unless else ()
        commands = [op for op in position.plan.operations if isinstance(op, RunCommand)]
        unwarned = now.lost == "unwarned" and _has_unknown(position)
        if not beyond and not unwarned:
            return None
        return HaltedEntry(beyond, contradicted=bool(beyond), warned=bool(commands))

    def _beyond(self, position: RunPosition) -> tuple[PathConflict, ...]:
        """Returns the files that a run changed beyond all that its journal still tells."""
        # In a segment, conflicts count its own operations; none of these is one of them.
        inside = position.course.phase == "files"
        found = self._shown(position)
        return tuple(PathConflict(0 if inside else at, b"", b"", words) for at, words in found)

    def _shown(self, position: RunPosition) -> list[tuple[int, str]]:
        """Returns the operations that the disk shows as done, but the journal does not record."""
        if not self._again:
            return []
        results, operations = position.history.results, position.plan.operations
        untold = [at for at, result in enumerate(results) if result == "not_started"]
        others = {at: op for at in untold if not isinstance(op := operations[at], RunCommand)}
        seen = contradictions(self._writer, tuple(others.values()), "rolled_back")
        seen = unlike_start(self._writer, operations, seen)
        indices = list(others)
        return [(indices[one.index], f"{display_path(one.path)}: {one.reason}") for one in seen]

    def _is_done_already(self, position: RunPosition) -> bool:
        """Tells whether the disk shows a segment as done of which the journal has lost all."""
        now = position.course
        if (
            now.lost == "nothing"
            or now.back is not None
            or now.at >= len(now.spans)
            or not now.segment.files
        ):
            return False
        return len(completed_operations(self._writer, now.segment.files, ())) == len(
            now.segment.files
        )

    def _went_on(self, position: RunPosition) -> bool:
        """Tells whether a run to roll back had left this segment, which its log has lost.

        What came later may have changed the same files, so all of it is rolled back as one.
        """
        now = position.course
        if now.lost == "nothing" or now.word != "roll_back" or now.back is not None:
            return False
        later = now.segment.first + len(now.segment.operations)
        if not any(at >= later for at, _ in self._shown(position)):
            return False
        return not contradictions(self._writer, now.segment.files, "done")

    def _segment(self, now: RunState) -> SegmentRun:
        """Returns the segment that the run is in; its motions are worked out once."""
        if self._at is None or not self._at.goes_on(now):
            self._at = SegmentRun(self._writer, self._blobs, now, self._spares, again=self._again)
        return self._at

    def _command(self, step: RunStep, position: RunPosition) -> StepUpdates:
        commanding = CommandExecution(self._commander, self._writer, self._blobs, self._journal)
        span = position.course.segment
        assert span.command is not None, "a command is due"
        left = state_changes(trace.operation for trace in position.history.file_changes())
        about, called = plan_index(position.course, span.first), command_label(position.course)
        digest, total = position.plan.digest, _total(position)
        order = DueCommand(span.first, span.command, digest, left, total, about, called)
        if step is RunStep.RECKON:
            entries = reversed(position.history.entries)
            return commanding.record_lost_end(
                next(e for e in entries if isinstance(e, CommandStartedEntry)), order
            )
        return (yield from commanding.run(position.run, order))

    def _sweep(self, position: RunPosition) -> JournalEntry:
        now, settled = position.course, position.course.segment_outcome
        if halted := self._segment(now).contradicted():
            return halted
        ends_back = now.ends and settled.outcome == "rolled_back"
        turns = ends_back and now.lost != "nothing" and now.word == "roll_back"
        turns = turns and bool(self._beyond(position))  # the disk shows what else to roll back
        if ends_back and not turns and (halted := self._doubts(position)):
            return halted
        again = any(isinstance(entry, RecoveringEntry) for entry in position.history.entries)
        kept = self._segment(now).sweep(again=again)
        if turns or not now.ends:
            return SegmentSweptEntry(now.at, settled.outcome, settled.made, kept)
        return self._finished(position, settled.outcome, kept)

    def _finished(
        self, position: RunPosition, outcome: RunOutcome, kept: tuple[bytes, ...] = ()
    ) -> FinishedEntry:
        entries = position.history.entries
        made = made_folders(entries) if outcome == "done" else ()
        return FinishedEntry(
            outcome, final_results(position, self._writer), made, (*kept_slots(entries), *kept)
        )


def _has_unknown(position: RunPosition) -> bool:
    """Tells whether a command may have run unknown to the journal, or the undo that is due may."""
    now, rows = (
        position.course,
        zip(position.plan.operations, position.history.results, strict=True),
    )
    unknown = any(result == "unknown" for op, result in rows if isinstance(op, RunCommand))
    return unknown or (now.at < len(now.spans) and now.segment.command is not None)


def _total(position: RunPosition) -> int:
    """Returns how many operations there are on the way that the run is on, there or back."""
    return sum(len(span.files) + (span.command is not None) for span in position.course.spans)


def _slots(position: RunPosition) -> str:
    """Names the slots of a segment: no other one of this run has ever had the same."""
    earlier = sum(isinstance(entry, SegmentEnteredEntry) for entry in position.history.entries)
    return f"{position.run}.{earlier + 1}"


def _consent(consented: ApprovedPlan | PermittedPlan) -> tuple[str, str]:
    """Returns the plan's id, which a permitted one has not, and the consent's; nothing else is."""
    match consented:
        case ApprovedPlan():
            return consented.approval.plan_id, consented.approval.id
        case PermittedPlan():
            return "", consented.permit.id
        case _:
            raise TypeError("The executor accepts only an ApprovedPlan or a PermittedPlan.")
