"""Law 5: what a run does next follows from its journal, after any sequence of entries."""

from collections.abc import Iterator
from typing import get_args

import pytest
from tests.core.states import A, B

from assent.core.errors import StoreError
from assent.core.journal import (
    Aborted,
    Committed,
    Conflict,
    Entry,
    Finished,
    Halted,
    Recovering,
    Result,
    Settled,
    Started,
    Step,
    Way,
    next_step,
    results,
    started,
)
from assent.core.motion import Clear, Layout, Motion, Put, Swap, Take

START = Started("plan", "digest", "approval", Layout("run"))
COMMIT = Committed()
ABORT = Aborted(1, 0, b"p", "it is gone")
HALT = Halted((Conflict(0, b"p", b"slot", "it changed"),))
DONE, BACK = Settled("done"), Settled("rolled_back")
ACCEPTED = Settled("done", accepted=True)
END = Finished("done", ("done",))
WAYS: tuple[Way, ...] = get_args(Way)


def taken_up(step: Step) -> list[tuple[Entry, Step]]:
    return [(Recovering(way), step) for way in WAYS]


# Every entry that may follow where a run stands, and where it stands then.
GRAMMAR: dict[Step, list[tuple[Entry, Step]]] = {
    Step.PREPARE: [(COMMIT, Step.FINISH), (ABORT, Step.ABANDON), *taken_up(Step.ABANDON)],
    Step.ABANDON: [(BACK, Step.SWEEP), *taken_up(Step.ABANDON)],
    Step.FINISH: [(DONE, Step.SWEEP), (ABORT, Step.REVERSE), *taken_up(Step.CONTINUE)],
    Step.CONTINUE: [(DONE, Step.SWEEP), (ABORT, Step.REVERSE), *taken_up(Step.CONTINUE)],
    Step.REVERSE: [(BACK, Step.SWEEP), (HALT, Step.WAIT), *taken_up(Step.REVERSE)],
    Step.WAIT: [
        (Recovering("auto"), Step.WAIT),
        (Recovering("resume"), Step.CONTINUE),
        (Recovering("roll_back"), Step.REVERSE),
        (Recovering("accept"), Step.ACCEPT),
    ],
    Step.ACCEPT: [(ACCEPTED, Step.SWEEP), *taken_up(Step.ACCEPT)],
    Step.SWEEP: [(END, Step.OVER), *taken_up(Step.SWEEP)],
    Step.OVER: [],
}


def stories(entries: tuple[Entry, ...], step: Step, left: int) -> Iterator[tuple[Entry, ...]]:
    """Yields the entries, and all that can follow them, if each one leads where it should."""
    assert next_step(entries) is step, entries
    yield entries
    for entry, after in GRAMMAR[step] if left else []:
        yield from stories((*entries, entry), after, left - 1)


def test_law_5_every_sequence_of_entries_says_what_comes_next() -> None:
    assert sum(1 for _ in stories((START,), Step.PREPARE, 5)) > 4_000


def test_law_5_halts_and_ways_out_can_follow_each_other_without_end() -> None:
    entries: tuple[Entry, ...] = (START, COMMIT)
    ways: tuple[tuple[Way, Step], ...] = (("resume", Step.CONTINUE), ("roll_back", Step.REVERSE))
    for way, step in ways * 2:
        if next_step(entries) in (Step.FINISH, Step.CONTINUE):
            entries = (*entries, ABORT)
        entries = (*entries, HALT, Recovering("auto"), Recovering(way))
        assert next_step(entries) is step


def test_a_run_without_entries_has_everything_before_it() -> None:
    assert next_step(()) is Step.PREPARE


def test_the_first_entry_is_the_start() -> None:
    assert started([START, COMMIT]) is START
    with pytest.raises(StoreError):
        started([COMMIT])


# Operation 0 creates, 1 deletes, 2 replaces, 3 moves to where a folder was.
MOTIONS: list[Motion] = [
    Take(1, b"deleted", b"1.old", A),
    Take(3, b"d/moved", b"3.old", A, b"d"),
    Clear(3, b"d", b"3.folder"),
    Put(0, b"created", b"0.new", A),
    Swap(2, b"replaced", b"2.new", A, B),
    Put(3, b"d", b"3.old", A, b"d/moved"),
]
ALL_DONE = ("done",) * 4
UNTOUCHED = ("not_started",) * 4


def stopped(at: int) -> Aborted:
    return Aborted(at, MOTIONS[at].index, MOTIONS[at].path, "why")


def blocked(*indices: int) -> Halted:
    return Halted(tuple(Conflict(index, b"p", b"s", "why") for index in indices))


@pytest.mark.parametrize(
    ("entries", "wanted"),
    [
        ((), UNTOUCHED),
        ((COMMIT, DONE), ALL_DONE),
        ((COMMIT, stopped(4), blocked(3), Recovering("resume"), DONE), ALL_DONE),
        ((Recovering(), BACK), UNTOUCHED),
        (
            (Aborted(0, 2, b"slot", "No space", "failed"), BACK),
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
            (COMMIT, Aborted(5, 3, b"d", "No space", "failed"), BACK),
            ("undone", "undone", "undone", "failed"),
        ),
        (
            (COMMIT, stopped(4), blocked(0, 1)),
            ("conflict", "conflict", "conflict", "undone"),
        ),
        (  # all is put back, and nobody knows whether the disk has it
            (COMMIT, stopped(4), Halted((Conflict(0, b"", b"", "not safely on disk"),))),
            ("undone", "undone", "conflict", "undone"),
        ),
        (  # reversed after all: what stood in the way is history
            (COMMIT, stopped(4), blocked(0, 1), Recovering("roll_back"), BACK),
            ("undone", "undone", "conflict", "undone"),
        ),
        (  # what was put back in an earlier attempt stays put back
            (
                COMMIT,
                stopped(0),
                Halted((Conflict(1, b"p", b"s", "why"),), (0, 2)),
                Recovering("roll_back"),
                Settled("rolled_back", undone=(3,)),
            ),
            ("undone", "conflict", "undone", "undone"),
        ),
        (  # the last stop counts
            (COMMIT, stopped(4), blocked(0), Recovering("resume"), stopped(0), blocked(2)),
            ("not_started", "conflict", "conflict", "not_started"),
        ),
        (
            (COMMIT, stopped(4), blocked(0), Recovering("accept"), ACCEPTED),
            ("conflict", "undone", "conflict", "undone"),
        ),
    ],
)
def test_f64_every_operation_has_its_own_result(
    entries: tuple[Entry, ...], wanted: tuple[Result, ...]
) -> None:
    assert results((START, *entries), MOTIONS, 4) == wanted
