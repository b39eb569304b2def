"""What became of each operation of a run, over all its segments and the way back."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from assent.core.course import UNKNOWN, Back, Backs, Span, spans, turned_at, well
from assent.core.journal import (
    Conflict,
    Entered,
    Entry,
    Halted,
    Ran,
    Recovering,
    Result,
    Running,
    Settled,
    Started,
    Swept,
    Turned,
    results,
)
from assent.core.motion import motions
from assent.core.operation import Operation


def run_results(
    operations: Sequence[Operation], entries: Sequence[Entry], backs: Backs
) -> tuple[Result, ...]:
    """Says of each operation of a plan what became of it, from the journal."""
    there = entries[: turned_at(entries)]
    found = _results(spans(operations), there)
    for conflict in _waiting(there):
        if conflict.path and found[conflict.index] == "not_started":
            found[conflict.index] = "conflict"
    done = [at for at, result in enumerate(found) if result == "done"]
    for back, inside in _ways_back(entries, backs):
        _take_back(found, done, back, inside)
    return tuple(found)


def _ways_back(entries: Sequence[Entry], backs: Backs) -> Iterator[tuple[Back, Sequence[Entry]]]:
    """Yields each way back with what was written on it: a later one is only about what is left."""
    turns = [at for at, entry in enumerate(entries) if isinstance(entry, Turned)]
    for at, end in pairwise([*turns, len(entries)]):
        turned, *inside = entries[at:end]
        assert isinstance(turned, Turned)
        yield backs[turned.back], inside


def made_folders(entries: Iterable[Entry]) -> tuple[bytes, ...]:
    """Returns the folders that a run had to make, in all its segments that are done."""
    done = [e for e in entries if isinstance(e, Settled) and e.outcome == "done"]
    return tuple(dict.fromkeys(folder for settled in done for folder in settled.made))


def kept_slots(entries: Iterable[Entry]) -> tuple[bytes, ...]:
    """Returns the slots of earlier segments that still hold something."""
    return tuple(slot for entry in entries if isinstance(entry, Swept) for slot in entry.kept)


def _results(course: Sequence[Span], entries: Sequence[Entry]) -> list[Result]:
    visits = _visits(course, entries)
    # Where the records of a segment were lost, the disk showed that it is done.
    found_done = {e.segment for e in entries if isinstance(e, Swept) and e.outcome == "done"}
    found: list[Result] = []
    for number, span in enumerate(course):
        inside = visits.get(number)
        if span.command:
            found.append(_command(span.first, entries))
        elif inside is None:
            found += ["done" if number in found_done else "not_started"] * len(span.operations)
        else:
            found += _files(span, inside)
    return found


def _files(span: Span, inside: Sequence[Entry]) -> Sequence[Result]:
    count, first = len(span.operations), inside[0]
    assert isinstance(first, Started | Entered)
    ends = [entry for entry in inside if isinstance(entry, Settled | Halted)]
    last = ends[-1] if ends else None
    if isinstance(last, Settled) and last.outcome == "done" and not last.accepted:
        return ["done"] * count  # without looking at every motion
    return results(inside, motions(span.files, first.layout), count)


def _visits(course: Sequence[Span], entries: Iterable[Entry]) -> dict[int, list[Entry]]:
    """Returns what was written in each segment of files when the run was in it last."""
    found: dict[int, list[Entry]] = {}
    inside: list[Entry] = []  # of no segment
    for entry in entries:
        match entry:
            case Started() if course and not course[0].command:
                inside = found[0] = [entry]
            case Entered(segment):
                inside = found[segment] = [entry]
            case Swept() | Turned():
                inside = []
            case _:
                inside.append(entry)
    return found


def _command(index: int, entries: Iterable[Entry]) -> Result:
    found: Result = "not_started"
    for entry in entries:
        match entry:
            case Recovering(trusted=trusted) if trusted >= 0 and found != "done":
                found = "unknown"  # it may have run, or run again, and its records are lost
            case Halted(contradicted=True) if found == "not_started":
                found = "unknown"
            case Running(at) if at == index:
                found = "unknown"
            case Ran(at) if at == index:
                found = "done" if well(entry) else "unknown" if entry.cut == UNKNOWN else "failed"
            case _:
                continue
    return found


def _waiting(entries: Sequence[Entry]) -> Sequence[Conflict]:
    """Returns what a segment met that could not be entered, if that is where the run stopped."""
    for entry in reversed(entries):
        match entry:
            case Halted(conflicts):
                return conflicts
            case Entered() | Running() | Recovering("resume" | "roll_back" | "accept"):
                return ()
            case _:
                continue
    return ()


def _take_back(
    found: list[Result], done: Sequence[int], back: Back, entries: Sequence[Entry]
) -> None:
    """Turns what was done into undone, where everything about it was put back."""
    outcomes = _results(spans(back.operations), entries)
    pairs = zip(back.about, outcomes, strict=True)
    open_ones = {index for about, result in pairs if result != "done" for index in about}
    covered = {index for about in back.about for index in about}.union(back.rest)
    left = {conflict.index for conflict in back.left}
    for index in done:
        if index in left:
            found[index] = "conflict"
        elif index in covered:
            found[index] = "done" if index in open_ones else "undone"
