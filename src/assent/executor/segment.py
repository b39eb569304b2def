"""Carries out one segment of files: checks the disk, prepares, finishes or reverses, sweeps."""

from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from errno import EEXIST
from functools import cached_property

import msgspec

from assent.core.errors import AssentError, StoreError, WorkspaceError
from assent.core.paths import display_path, is_inside
from assent.core.plan.operation import FileOperation, MoveFile, footprint
from assent.core.plan.plan import Plan
from assent.core.run.journal import (
    AbortedEntry,
    CommittedEntry,
    HaltedEntry,
    JournalEntry,
    OperationResult,
    PathConflict,
    RecoveringEntry,
    RunOutcome,
    RunStep,
    SegmentEnteredEntry,
    SettledEntry,
    StepProgress,
    is_one_rename,
)
from assent.core.run.results import DisplacedLookup, no_displaced
from assent.core.run.slot_move import (
    SlotLayout,
    SlotMove,
    needed_folders,
    slot_contents,
    slot_moves,
)
from assent.core.run.state import RunState, SegmentRange
from assent.executor import reconciliation
from assent.executor.drift import PathDrift, check_blobs, drifted_paths
from assent.executor.finish import finish
from assent.executor.prepare import SlotContents, prepare
from assent.executor.reverse import reverse
from assent.executor.sweep import SegmentSlots, sweep
from assent.ports import BlobStore
from assent.ports.file_writer import FileWriter


class SegmentRun:
    """The file segment that a run is in, with the file writer to carry it out."""

    def __init__(
        self,
        writer: FileWriter,
        blobs: BlobStore,
        course: RunState,
        spares: DisplacedLookup = no_displaced,
        *,
        again: bool = False,
    ) -> None:
        self._writer = writer
        self._blobs = blobs
        self._course = course
        self._operations = course.segment.files
        self._layout = course.entered.layout
        self._contents = SlotContents(blobs, self._operations, spares)
        self._again = again  # an earlier process began it: what it says is compared with the disk

    def goes_on(self, course: RunState) -> bool:
        """Moves on to a later state of the same segment; tells whether it is the same."""
        if course.phase != "files" or course.entered.layout.run != self._layout.run:
            return False
        self._course = course
        return True

    @cached_property
    def _renames(self) -> Sequence[SlotMove]:
        return slot_moves(self._operations, self._layout)

    @property
    def _is_one_rename(self) -> bool:
        return is_one_rename(self._course.entered, self._operations)

    def do(self, step: RunStep) -> Generator[StepProgress, None, JournalEntry]:
        """Does one step and returns the entry that says so."""
        entered, writer = self._course.entered, self._writer
        match step:
            case RunStep.PREPARE:
                slots, folder = slot_contents(self._operations, self._renames), self._layout.folder
                work: Generator[int, None, JournalEntry] = prepare(
                    writer, self._contents, folder, slots, alone=self._is_one_rename
                )
                return (yield from _watched(step, len(slots), work))
            case RunStep.FINISH:
                work = finish(writer, self._renames, entered, look=False, alone=self._is_one_rename)
                return (yield from _watched(step, len(self._renames), work))
            case RunStep.CONTINUE:
                return (yield from self._continue(refill=self._course.word == "resume"))
            case RunStep.REVERSE:
                return self._reverse(refill=self._again and self._course.word == "roll_back")
            case RunStep.ABANDON:
                return (yield from self._abandon())
            case _:
                return SettledEntry("done", entered.folders, accepted=True)

    def _continue(self, *, refill: bool) -> Generator[StepProgress, None, JournalEntry]:
        """Does what is missing; with `refill`, also where slots are gone or were never filled."""
        writer, entered = self._writer, self._course.entered
        standing = reconciliation.completed_operations(writer, self._operations, self._renames)
        if not refill and len(standing) < len(self._operations):
            standing = frozenset()  # its slots tell how far it got
        if refill:
            try:
                reconciliation.refill_new(writer, self._contents, self._operations, self._renames)
            except (OSError, StoreError) as error:
                return _unfilled(error)
        work = finish(writer, self._renames, entered, look=True, standing=standing)
        entry = yield from _watched(RunStep.CONTINUE, len(self._renames), work)
        if isinstance(entry, SettledEntry) and (found := self._contradictions("done")):
            one = found[0]
            entry = AbortedEntry(len(self._renames), one.index, one.path, one.reason, "conflict")
        if isinstance(entry, AbortedEntry) and not self._is_committed:
            # By the journal there is nothing to go back from; a person decides once more.
            stopped = PathConflict(entry.index, entry.path, b"", entry.reason)
            return HaltedEntry((stopped,), contradicted=True)
        return entry

    @property
    def _is_committed(self) -> bool:
        return any(isinstance(entry, CommittedEntry) for entry in self._course.inside)

    def _reverse(self, *, refill: bool) -> JournalEntry:
        """Puts everything back; with `refill`, also what is gone from the slot it was moved to."""
        if refill:
            if not self._has_moved():
                return SettledEntry("rolled_back")  # what is in the slots never left them
            try:
                reconciliation.refill_old(
                    self._writer, self._contents, self._operations, self._renames
                )
            except (OSError, StoreError) as error:
                return _unfilled(error)
        entry = reverse(self._writer, self._renames, self._course.entered.folders)
        if isinstance(entry, SettledEntry) and (found := self._contradictions("rolled_back")):
            return HaltedEntry(tuple(found), entry.undone, contradicted=True)
        if isinstance(entry, HaltedEntry) and self._again:
            lost = any(one.path and not one.kept for one in entry.conflicts)
            return msgspec.structs.replace(entry, contradicted=lost)
        return entry

    def _abandon(self) -> Generator[StepProgress, None, JournalEntry]:
        """Abandons what was only prepared, unless the disk shows that more was done."""
        found = (
            reconciliation.unlogged_renames(self._writer, self._operations, self._renames)
            if self._again
            else []
        )
        if not found:
            return SettledEntry("rolled_back")
        if self._is_one_rename and self._course.word == "auto":
            return self._reverse(refill=True)  # it was not committed, which nothing waits for
        match self._course.word:
            case "resume":
                return (yield from self._continue(refill=True))
            case "roll_back":
                return self._reverse(refill=True)
            case _:
                return HaltedEntry(tuple(found), contradicted=True)

    def _has_moved(self) -> bool:
        """Tells whether anything was renamed, as far as journal and disk know."""
        if self._is_committed:
            return True
        return bool(reconciliation.unlogged_renames(self._writer, self._operations, self._renames))

    def _contradictions(self, outcome: RunOutcome) -> list[PathConflict]:
        """Returns what the disk shows against an outcome that rests on what another process did."""
        if not self._again:
            return []
        return reconciliation.contradictions(self._writer, self._operations, outcome)

    def contradicted(self) -> HaltedEntry | None:
        """Returns a halt if the disk contradicts how the segment was settled."""
        settled = self._course.segment_outcome
        if settled.accepted:
            return None
        found = self._contradictions(settled.outcome)
        return HaltedEntry(tuple(found), contradicted=True) if found else None

    def sweep(self, *, again: bool) -> tuple[bytes, ...]:
        """Empties the slots; returns those whose content exists nowhere else.

        If a run is resumed (`again`), it is unknown what was removed already and is not on disk
        yet.
        """
        slots = SegmentSlots(
            self._layout,
            self._operations,
            self._renames,
            self._blobs.has,
            old_is_stored=self._course.back is None,  # so `check_blobs` made sure
        )
        emptied = sweep(
            self._writer, self._course.segment_outcome, slots, careful=self._is_decided()
        )
        if self._layout.beside or emptied.pruned or again:
            # An emptied slot, or a folder, must not reappear among the user's files. If it does
            # after all, it holds nothing that is not elsewhere: the segment is settled and on disk.
            with suppress(OSError):
                self._writer.sync_to_disk()
        return emptied.kept

    def _is_decided(self) -> bool:
        """Tells whether a person decided how it goes on, so that slots may hold anything."""
        inside = self._course.inside
        return any(isinstance(e, HaltedEntry) or _is_lossy(e) for e in inside)


def _is_lossy(entry: JournalEntry) -> bool:
    return isinstance(entry, RecoveringEntry) and entry.trusted >= 0


def _unfilled(error: OSError | StoreError) -> HaltedEntry:
    why = error.message if isinstance(error, StoreError) else error.strerror or str(error)
    return HaltedEntry((PathConflict(0, b"", b"", f"a slot could not be filled again ({why})"),))


def enter_segment(
    writer: FileWriter, blobs: BlobStore, course: RunState, name: str
) -> SegmentEnteredEntry | HaltedEntry:
    """Checks the files of the next segment, as they are now, and lays out its slots.

    `name` is unique to these slots: what a power failure brings back must not be in the way.
    """
    span = course.segment
    try:
        if course.back is None:
            check_blobs(span.files, blobs)
        else:
            _check_restored(span.files, blobs)
        found = list(drifted_paths(Plan(b"", span.files), span.files, writer))
        if found:
            return HaltedEntry(tuple(_conflict(course, span, difference) for difference in found))
        layout, missing = slot_layout(writer, name, span.files)
    except AssentError as error:
        return HaltedEntry((PathConflict(plan_index(course, span.first), b"", b"", error.message),))
    return SegmentEnteredEntry(course.at, layout, missing)


def slot_layout(
    writer: FileWriter, name: str, operations: Sequence[FileOperation]
) -> tuple[SlotLayout, tuple[bytes, ...]]:
    """Decides where slots are, and which folders are missing; changes no user files."""
    try:
        layout = writer.choose_layout(name, operations)
        return layout, writer.missing_folders(needed_folders(operations))
    except OSError as error:
        # Two names of one file stay so, however often it is tried.
        next = "assent stage list" if error.errno == EEXIST else "assent build"
        told = f"The workspace could not be prepared ({error.strerror}). Nothing was changed."
        raise WorkspaceError(told, next) from error


def plan_index(course: RunState, index: int) -> int:
    """Returns the index in the plan of an operation of a run or its rollback."""
    if course.back is None:
        return index
    about = course.back.about[index]
    return about[0] if about else 0


def result_on_disk(writer: FileWriter, op: FileOperation) -> OperationResult:
    """Returns the result of an operation in a run that a user accepted as it is."""
    try:
        seen = writer.read_states([path for path, *_ in footprint(op)])
    except OSError:
        return "unknown"
    if all(seen[path] == after for path, _, after in footprint(op)):
        return "done"
    if all(seen[path] == before for path, before, _ in footprint(op)):
        return "undone"
    return "unknown"


def _conflict(course: RunState, span: SegmentRange, difference: PathDrift) -> PathConflict:
    named = difference.path
    touched = (
        at
        for at, op in enumerate(span.files)
        if any(is_inside(path, named) for path, *_ in footprint(op))
    )
    index = plan_index(course, span.first + next(touched, 0))
    reason = f"expected {difference.expected}, found {difference.found}"
    return PathConflict(index, named, b"", reason)


def _check_restored(operations: Iterable[FileOperation], blobs: BlobStore) -> None:
    """Refuses to roll back unless what is restored is kept; what a command made may be lost."""
    for op in operations:
        for path, _, after in footprint(op) if not isinstance(op, MoveFile) else ():
            if after is not None and not blobs.has(after.digest):
                raise StoreError(f"The stored content of {display_path(path)} is missing.")


def _watched(
    step: RunStep, total: int, work: Generator[int, None, JournalEntry]
) -> Generator[StepProgress, None, JournalEntry]:
    """Turns counts into progress and passes on the entry that the work ends with."""
    while True:
        try:
            yield StepProgress(step, next(work), total)
        except StopIteration as end:
            entry: JournalEntry = end.value
            return entry
