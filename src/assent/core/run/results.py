"""What a run did by its journal: results of operations, final files, and displaced files."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias, TypeGuard

import msgspec

from assent.core.plan.operation import FileOperation, FileState, Operation, footprint
from assent.core.run.journal import (
    CommandEndedEntry,
    CommandStartedEntry,
    FinishedEntry,
    HaltedEntry,
    JournalEntry,
    OperationResult,
    PathConflict,
    RecoveringEntry,
    RollbackStartedEntry,
    SegmentEnteredEntry,
    SegmentSweptEntry,
    SettledEntry,
    StartedEntry,
    segment_results,
)
from assent.core.run.slot_move import MoveToSlot, SlotLayout, SlotMove, SwapWithSlot, slot_moves
from assent.core.run.state import (
    UNKNOWN_END,
    Rollback,
    Rollbacks,
    SegmentRange,
    effective_entries,
    rollback_start,
    segment_ranges,
    succeeded,
)
from assent.core.run.workspace_changes import SkipReason, WorkspaceChanges


def run_results(
    operations: Sequence[Operation], entries: Sequence[JournalEntry], backs: Rollbacks
) -> tuple[OperationResult, ...]:
    """Returns the result of each operation of a plan, from the journal."""
    there = entries[: rollback_start(entries)]
    found = _segment_results(segment_ranges(operations), there)
    for conflict in _waiting(there):
        if conflict.path and found[conflict.index] == "not_started":
            found[conflict.index] = "conflict"
    done = [at for at, result in enumerate(found) if result == "done"]
    for back, inside in _ways_back(entries, backs):
        _take_back(found, done, back, inside)
    return tuple(found)


def _ways_back(
    entries: Sequence[JournalEntry], backs: Rollbacks
) -> Iterator[tuple[Rollback, Sequence[JournalEntry]]]:
    """Yields each rollback with its entries: a later one covers only what remains."""
    turns = [at for at, entry in enumerate(entries) if isinstance(entry, RollbackStartedEntry)]
    for at, end in pairwise([*turns, len(entries)]):
        turned, *inside = entries[at:end]
        assert isinstance(turned, RollbackStartedEntry)
        yield backs[turned.back], inside


def made_folders(entries: Iterable[JournalEntry]) -> tuple[bytes, ...]:
    """Returns the folders that a run created, in all its finished segments."""
    done = [e for e in entries if isinstance(e, SettledEntry) and e.outcome == "done"]
    return tuple(dict.fromkeys(folder for settled in done for folder in settled.made))


def kept_slots(entries: Iterable[JournalEntry]) -> tuple[bytes, ...]:
    """Returns the slots of earlier segments that are not empty."""
    return tuple(
        slot for entry in entries if isinstance(entry, SegmentSweptEntry) for slot in entry.kept
    )


def _segment_results(
    course: Sequence[SegmentRange], entries: Sequence[JournalEntry]
) -> list[OperationResult]:
    visits = _visits(course, entries)
    # Where the records of a segment were lost, the disk showed that it is done.
    found_done = {
        e.segment for e in entries if isinstance(e, SegmentSweptEntry) and e.outcome == "done"
    }
    found: list[OperationResult] = []
    for number, span in enumerate(course):
        inside = visits.get(number)
        if span.command:
            found.append(_command_result(span.first, entries))
        elif inside is None:
            found += ["done" if number in found_done else "not_started"] * len(span.operations)
        else:
            found += _file_results(span, inside)
    return found


def _file_results(span: SegmentRange, inside: Sequence[JournalEntry]) -> Sequence[OperationResult]:
    count, first = len(span.operations), inside[0]
    assert isinstance(first, StartedEntry | SegmentEnteredEntry)
    ends = [entry for entry in inside if isinstance(entry, SettledEntry | HaltedEntry)]
    last = ends[-1] if ends else None
    if isinstance(last, SettledEntry) and last.outcome == "done" and not last.accepted:
        return ["done"] * count  # without looking at every motion
    return segment_results(inside, slot_moves(span.files, first.layout), count)


def _visits(
    course: Sequence[SegmentRange], entries: Iterable[JournalEntry]
) -> dict[int, list[JournalEntry]]:
    """Returns what was written in each segment of files when the run was in it last."""
    found: dict[int, list[JournalEntry]] = {}
    inside: list[JournalEntry] = []  # of no segment
    for entry in entries:
        match entry:
            case StartedEntry() if course and not course[0].command:
                inside = found[0] = [entry]
            case SegmentEnteredEntry(segment):
                inside = found[segment] = [entry]
            case SegmentSweptEntry() | RollbackStartedEntry():
                inside = []
            case _:
                inside.append(entry)
    return found


def _command_result(index: int, entries: Iterable[JournalEntry]) -> OperationResult:
    found: OperationResult = "not_started"
    for entry in entries:
        match entry:
            case RecoveringEntry(trusted=trusted) if trusted >= 0 and found != "done":
                found = "unknown"  # it may have run, or run again, and its records are lost
            case HaltedEntry(contradicted=True) if found == "not_started":
                found = "unknown"
            case CommandStartedEntry(at) if at == index:
                found = "unknown"
            case CommandEndedEntry(at) if at == index:
                found = (
                    "done"
                    if succeeded(entry)
                    else "unknown"
                    if entry.cut == UNKNOWN_END
                    else "failed"
                )
            case _:
                continue
    return found


def _waiting(entries: Sequence[JournalEntry]) -> Sequence[PathConflict]:
    """Returns what a segment met that could not be entered, if that is where the run stopped."""
    for entry in reversed(entries):
        match entry:
            case HaltedEntry(conflicts):
                return conflicts
            case (
                SegmentEnteredEntry()
                | CommandStartedEntry()
                | RecoveringEntry("resume" | "roll_back" | "accept")
            ):
                return ()
            case _:
                continue
    return ()


def _take_back(
    found: list[OperationResult],
    done: Sequence[int],
    back: Rollback,
    entries: Sequence[JournalEntry],
) -> None:
    """Turns what was done into undone, where everything about it was put back."""
    outcomes = _segment_results(segment_ranges(back.operations), entries)
    pairs = zip(back.about, outcomes, strict=True)
    open_ones = {index for about, result in pairs if result != "done" for index in about}
    covered = {index for about in back.about for index in about}.union(back.rest)
    left = {conflict.index for conflict in back.left}
    for index in done:
        if index in left:
            found[index] = "conflict"
        elif index in covered:
            found[index] = "done" if index in open_ones else "undone"


# Final files: what a run left under each path by its journal, and paths it cannot vouch for.


_SKIP_REASONS: Final[dict[SkipReason, str]] = {
    "ignored": "a command changed it, but files that Git ignores are not recorded",
    "large": "a command changed it, but it is too large to be recorded",
    "too many": "a command changed it, but too many files changed to record them all",
    "odd": "a command changed it, but it cannot be read or is neither a file nor a symlink",
    "git": "a command changed it, but it belongs to Git",
    "folder": "a command changed the mode of this folder, which is not recorded",
}
UNKNOWN_CHANGES: Final = "a command ran after it was written, and the command's changes are unknown"
ACCEPTED_BY_USER: Final = "the run was accepted while this file was being changed"


class FinalFiles(msgspec.Struct, frozen=True):
    """The files that a run changed, None where one is gone, and the paths it cannot vouch for."""

    files: Mapping[bytes, FileState | None]
    uncovered: Mapping[bytes, str]


def was_accepted(end: FinishedEntry, entries: Iterable[JournalEntry]) -> bool:
    """Tells whether a run ended because a user accepted the files as they are."""
    settled = any(isinstance(entry, SettledEntry) and entry.accepted for entry in entries)
    return end.outcome == "done" and (settled or not set(end.results) <= {"done"})


def final_files(
    operations: Sequence[Operation],
    entries: Sequence[JournalEntry],
    backs: Rollbacks,
    changes: Callable[[CommandEndedEntry], WorkspaceChanges],
) -> FinalFiles:
    """Returns the net effect of a run and its commands, including any rollback."""
    account = _FinalFilesFold()
    course, at, turned = segment_ranges(operations), 0, False
    end = entries[-1]
    results = end.results if isinstance(end, FinishedEntry) else ()
    for entry in effective_entries(entries):
        match entry:
            case RollbackStartedEntry(back):
                course, at, turned = segment_ranges(backs[back].operations), 0, True
            case SegmentEnteredEntry(segment):
                at = segment
            case SettledEntry("done", accepted=True):
                account.accept(course[at], () if turned else results)
            case SettledEntry("done"):
                account.change(course[at].files)
            case CommandEndedEntry():
                account.command(changes(entry))
            case _:
                continue
    return account.closed()


class _FinalFilesFold:
    """What stands under each path that was touched, and what stood there first."""

    def __init__(self) -> None:
        self._first: dict[bytes, FileState | None] = {}
        self._now: dict[bytes, FileState | None] = {}
        self._lost: dict[bytes, str] = {}

    def change(self, operations: Iterable[FileOperation]) -> None:
        for path, before, after in [step for op in operations for step in footprint(op)]:
            self._first.setdefault(path, before)
            self._now[path] = after
            self._lost.pop(path, None)

    def command(self, changes: WorkspaceChanges) -> None:
        if not changes.known:
            for path in self._now:
                self._lost[path] = UNKNOWN_CHANGES
        self.change(changes.operations)
        for skipped in changes.skipped:
            self._lost[skipped.path] = _SKIP_REASONS[skipped.why]

    def accept(self, span: SegmentRange, results: Sequence[OperationResult]) -> None:
        """Adopts what the disk showed at the end; where that was unclear, the state is unknown."""
        for at, op in enumerate(span.files, span.first):
            result = results[at] if results else "unknown"
            if result == "done":
                self.change([op])
            elif result != "undone":
                self._lost.update({path: ACCEPTED_BY_USER for path, *_ in footprint(op)})

    def closed(self) -> FinalFiles:
        files = {
            path: state
            for path, state in self._now.items()
            if path not in self._lost and state != self._first[path]
        }
        return FinalFiles(files, dict(sorted(self._lost.items())))


# Finds the slots of the files that a run displaced, from its journal.


# Returns the slot into which a run moved a file of that state; it may be a displaced file now.
DisplacedLookup: TypeAlias = Callable[[bytes, FileState], bytes | None]
DisplacedSlots: TypeAlias = dict[tuple[bytes, FileState], bytes]


def no_displaced(path: bytes, state: FileState) -> bytes | None:
    """Returns None: there are no displaced files."""
    return None


def displaces_file(move: SlotMove) -> TypeGuard[SwapWithSlot | MoveToSlot]:
    """Tells whether a finished slot move leaves the old content of its path in its slot."""
    return type(move) is SwapWithSlot or (type(move) is MoveToSlot and move.to is None)


def displaced_slots(
    operations: Sequence[Operation], entries: Sequence[JournalEntry]
) -> DisplacedSlots:
    """Returns the slots of everything that a run displaced permanently, by path and state."""
    found: DisplacedSlots = {}
    course, at, layout = segment_ranges(operations), 0, SlotLayout("")
    for entry in entries[: rollback_start(entries)]:
        match entry:
            case StartedEntry():
                layout = entry.layout
            case SegmentEnteredEntry():
                at, layout = entry.segment, entry.layout
            case SegmentSweptEntry(outcome="done") | FinishedEntry(outcome="done") if at < len(
                course
            ):
                for move in slot_moves(course[at].files, layout):
                    if displaces_file(move):
                        found[move.path, move.before] = move.slot
            case _:
                pass
    return found
