"""The result of each operation of a run, over all its segments and its rollback."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from assent.core.plan.operation import Operation
from assent.core.run.journal import (
    CommandEndedEntry,
    CommandStartedEntry,
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
from assent.core.run.slot_move import slot_moves
from assent.core.run.state import (
    UNKNOWN_END,
    Rollback,
    Rollbacks,
    SegmentRange,
    rollback_start,
    segment_ranges,
    succeeded,
)


def run_results(
    operations: Sequence[Operation], entries: Sequence[JournalEntry], backs: Rollbacks
) -> tuple[OperationResult, ...]:
    """Says of each operation of a plan what became of it, from the journal."""
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
    """Yields each way back with what was written on it: a later one is only about what is left."""
    turns = [at for at, entry in enumerate(entries) if isinstance(entry, RollbackStartedEntry)]
    for at, end in pairwise([*turns, len(entries)]):
        turned, *inside = entries[at:end]
        assert isinstance(turned, RollbackStartedEntry)
        yield backs[turned.back], inside


def made_folders(entries: Iterable[JournalEntry]) -> tuple[bytes, ...]:
    """Returns the folders that a run had to make, in all its segments that are done."""
    done = [e for e in entries if isinstance(e, SettledEntry) and e.outcome == "done"]
    return tuple(dict.fromkeys(folder for settled in done for folder in settled.made))


def kept_slots(entries: Iterable[JournalEntry]) -> tuple[bytes, ...]:
    """Returns the slots of earlier segments that still hold something."""
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
