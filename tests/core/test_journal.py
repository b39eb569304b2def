"""Law 5: what a run does next follows from its journal, after any sequence of entries."""

from collections.abc import Iterator
from typing import get_args

import pytest
from tests.core.states import A, B

from assent.core.errors import StoreError
from assent.core.run.journal import (
    AbortedEntry,
    CommittedEntry,
    FinishedEntry,
    HaltedEntry,
    JournalEntry,
    OperationResult,
    PathConflict,
    RecoveringEntry,
    RecoveryChoice,
    RunStep,
    SettledEntry,
    StartedEntry,
    next_step,
    segment_results,
    started_entry,
)
from assent.core.run.slot_move import (
    ClearFolder,
    MoveFromSlot,
    MoveToSlot,
    SlotLayout,
    SlotMove,
    SwapWithSlot,
)

START = StartedEntry("plan", "digest", "approval", SlotLayout("run"))
COMMIT = CommittedEntry()
ABORT = AbortedEntry(1, 0, b"p", "it is gone")
HALT = HaltedEntry((PathConflict(0, b"p", b"slot", "it changed"),))
DONE, BACK = SettledEntry("done"), SettledEntry("rolled_back")
ACCEPTED = SettledEntry("done", accepted=True)
END = FinishedEntry("done", ("done",))
WAYS: tuple[RecoveryChoice, ...] = get_args(RecoveryChoice)


def taken_up(step: RunStep) -> list[tuple[JournalEntry, RunStep]]:
    return [(RecoveringEntry(way), step) for way in WAYS]


# Every entry that may follow where a run stands, and where it stands then.
GRAMMAR: dict[RunStep, list[tuple[JournalEntry, RunStep]]] = {
    RunStep.PREPARE: [
        (COMMIT, RunStep.FINISH),
        (ABORT, RunStep.ABANDON),
        *taken_up(RunStep.ABANDON),
    ],
    RunStep.ABANDON: [(BACK, RunStep.SWEEP), *taken_up(RunStep.ABANDON)],
    RunStep.FINISH: [(DONE, RunStep.SWEEP), (ABORT, RunStep.REVERSE), *taken_up(RunStep.CONTINUE)],
    RunStep.CONTINUE: [
        (DONE, RunStep.SWEEP),
        (ABORT, RunStep.REVERSE),
        *taken_up(RunStep.CONTINUE),
    ],
    RunStep.REVERSE: [(BACK, RunStep.SWEEP), (HALT, RunStep.WAIT), *taken_up(RunStep.REVERSE)],
    RunStep.WAIT: [
        (RecoveringEntry("auto"), RunStep.WAIT),
        (RecoveringEntry("resume"), RunStep.CONTINUE),
        (RecoveringEntry("roll_back"), RunStep.REVERSE),
        (RecoveringEntry("accept"), RunStep.ACCEPT),
    ],
    RunStep.ACCEPT: [(ACCEPTED, RunStep.SWEEP), *taken_up(RunStep.ACCEPT)],
    RunStep.SWEEP: [(END, RunStep.OVER), *taken_up(RunStep.SWEEP)],
    RunStep.OVER: [],
}


def stories(
    entries: tuple[JournalEntry, ...], step: RunStep, left: int
) -> Iterator[tuple[JournalEntry, ...]]:
    """Yields the entries, and all that can follow them, if each one leads where it should."""
    assert next_step(entries) is step, entries
    yield entries
    for entry, after in GRAMMAR[step] if left else []:
        yield from stories((*entries, entry), after, left - 1)


def test_law_5_every_sequence_of_entries_says_what_comes_next() -> None:
    assert sum(1 for _ in stories((START,), RunStep.PREPARE, 5)) > 4_000


def test_law_5_halts_and_ways_out_can_follow_each_other_without_end() -> None:
    entries: tuple[JournalEntry, ...] = (START, COMMIT)
    ways: tuple[tuple[RecoveryChoice, RunStep], ...] = (
        ("resume", RunStep.CONTINUE),
        ("roll_back", RunStep.REVERSE),
    )
    for way, step in ways * 2:
        if next_step(entries) in (RunStep.FINISH, RunStep.CONTINUE):
            entries = (*entries, ABORT)
        entries = (*entries, HALT, RecoveringEntry("auto"), RecoveringEntry(way))
        assert next_step(entries) is step


def test_a_run_without_entries_has_everything_before_it() -> None:
    assert next_step(()) is RunStep.PREPARE


def test_the_first_entry_is_the_start() -> None:
    assert started_entry([START, COMMIT]) is START
    with pytest.raises(StoreError):
        started_entry([COMMIT])


# Operation 0 creates, 1 deletes, 2 replaces, 3 moves to where a folder was.
MOTIONS: list[SlotMove] = [
    MoveToSlot(1, b"deleted", b"1.old", A),
    MoveToSlot(3, b"d/moved", b"3.old", A, b"d"),
    ClearFolder(3, b"d", b"3.folder"),
    MoveFromSlot(0, b"created", b"0.new", A),
    SwapWithSlot(2, b"replaced", b"2.new", A, B),
    MoveFromSlot(3, b"d", b"3.old", A, b"d/moved"),
]
ALL_DONE = ("done",) * 4
UNTOUCHED = ("not_started",) * 4


def stopped(at: int) -> AbortedEntry:
    return AbortedEntry(at, MOTIONS[at].index, MOTIONS[at].path, "why")


def blocked(*indices: int) -> HaltedEntry:
    return HaltedEntry(tuple(PathConflict(index, b"p", b"s", "why") for index in indices))


@pytest.mark.parametrize(
    ("entries", "wanted"),
    [
        ((), UNTOUCHED),
        ((COMMIT, DONE), ALL_DONE),
        ((COMMIT, stopped(4), blocked(3), RecoveringEntry("resume"), DONE), ALL_DONE),
        ((RecoveringEntry(), BACK), UNTOUCHED),
        (
            (AbortedEntry(0, 2, b"slot", "No space", "failed"), BACK),
            ("not_started", "not_started", "failed", "not_started"),
        ),
        (
            (COMMIT, stopped(0), BACK),
            ("not_started", "conflict", "not_started", "not_started"),
        ),
        (
            (COMMIT, stopped(2), BACK),
            ("not_started", "undone", "not_started", "conflict"),
        ),
        (
            (COMMIT, stopped(4), BACK),
            ("undone", "undone", "conflict", "undone"),
        ),
        (
            (COMMIT, AbortedEntry(5, 3, b"d", "No space", "failed"), BACK),
            ("undone", "undone", "undone", "failed"),
        ),
        (
            (COMMIT, stopped(4), blocked(0, 1)),
            ("conflict", "conflict", "conflict", "undone"),
        ),
        (  # all is put back, and nobody knows whether the disk has it
            (COMMIT, stopped(4), HaltedEntry((PathConflict(0, b"", b"", "not safely on disk"),))),
            ("undone", "undone", "conflict", "undone"),
        ),
        (  # reversed after all: what stood in the way is history
            (COMMIT, stopped(4), blocked(0, 1), RecoveringEntry("roll_back"), BACK),
            ("undone", "undone", "conflict", "undone"),
        ),
        (  # what was put back in an earlier attempt stays put back
            (
                COMMIT,
                stopped(0),
                HaltedEntry((PathConflict(1, b"p", b"s", "why"),), (0, 2)),
                RecoveringEntry("roll_back"),
                SettledEntry("rolled_back", undone=(3,)),
            ),
            ("undone", "conflict", "undone", "undone"),
        ),
        (  # the last stop counts
            (COMMIT, stopped(4), blocked(0), RecoveringEntry("resume"), stopped(0), blocked(2)),
            ("not_started", "conflict", "conflict", "not_started"),
        ),
        (
            (COMMIT, stopped(4), blocked(0), RecoveringEntry("accept"), ACCEPTED),
            ("conflict", "undone", "conflict", "undone"),
        ),
    ],
)
def test_f64_every_operation_has_its_own_result(
    entries: tuple[JournalEntry, ...], wanted: tuple[OperationResult, ...]
) -> None:
    assert segment_results((START, *entries), MOTIONS, 4) == wanted
