"""What a run's journal vouches for: what all came to, without what nobody recorded."""

from collections.abc import Sequence

import pytest
from tests.core.states import A, B, C

from assent.core.changes import Changes, Skipped
from assent.core.course import Back
from assent.core.journal import (
    Entered,
    Entry,
    Finished,
    Ran,
    Recovering,
    Result,
    Settled,
    Started,
    Turned,
)
from assent.core.motion import Layout
from assent.core.operation import DeleteFile, FileState, MoveFile, Operation, RunCommand, WriteFile
from assent.core.vouched import ACCEPTED, UNKNOWN, vouched, was_accepted

RUN = RunCommand((b"make",))
WRITES = (WriteFile(b"x", None, A), WriteFile(b"y", A, B))
PLAN: tuple[Operation, ...] = (*WRITES, RUN, WriteFile(b"z", None, C))
START = Started("p", "d", "a", Layout("run"))
LATER = Entered(2, Layout("run.2"))
DONE: tuple[Entry, ...] = (START, Settled("done"))
ALL = Finished("done", ("done",) * 4)
BACK = Back((DeleteFile(b"x", A), WriteFile(b"y", B, A)), ((0,), (1,)))


def end(*results: Result) -> Finished:
    return Finished("done", results)


def told(
    entries: Sequence[Entry], changes: Changes, operations: tuple[Operation, ...] = PLAN
) -> tuple[dict[bytes, FileState | None], dict[bytes, str]]:
    found = vouched(operations, entries, {"back": BACK}, lambda ended: changes)
    return dict(found.files), dict(found.uncovered)


def test_g16_what_segments_and_commands_did_comes_together() -> None:
    changes = Changes((WriteFile(b"x", A, B), MoveFile(b"y", b"w", B)))
    entries = (*DONE, Ran(2, 0), LATER, Settled("done"), ALL)
    assert told(entries, changes) == ({b"x": B, b"y": None, b"w": B, b"z": C}, {})


def test_g16_what_a_command_changed_unrecorded_is_not_covered() -> None:
    changes = Changes((), (Skipped(b"x", "changed", "ignored"), Skipped(b"z", "new", "large")))
    entries = (*DONE, Ran(2, 0), LATER, Settled("done"), ALL)
    files, uncovered = told(entries, changes)
    assert (files, list(uncovered)) == ({b"y": B, b"z": C}, [b"x"])


def test_g16_after_a_command_of_which_nothing_is_known_nothing_before_it_is_covered() -> None:
    entries = (*DONE, Ran(2, 0), LATER, Settled("done"), ALL)
    assert told(entries, Changes(known=False)) == ({b"z": C}, {b"x": UNKNOWN, b"y": UNKNOWN})


def test_g16_what_is_as_it_was_is_no_change() -> None:
    changes = Changes((DeleteFile(b"x", A), WriteFile(b"y", B, A)))
    assert told((*DONE, Ran(2, 1), end()), changes) == ({}, {})


def test_g16_a_way_back_counts_too() -> None:
    there = (*DONE, Ran(2, 1), Recovering("roll_back"), Turned("back"), Entered(0, Layout("run.3")))
    assert told((*there, Settled("done"), end()), Changes()) == ({}, {})
    assert told((*there, Settled("rolled_back"), end()), Changes()) == ({b"x": A, b"y": B}, {})
    cut = (*there, Settled("done", accepted=True), end())
    assert told(cut, Changes()) == ({}, {b"x": ACCEPTED, b"y": ACCEPTED})


def test_g16_of_a_segment_that_was_accepted_the_results_decide() -> None:
    entries = (START, Settled("done", accepted=True), end("done", "unknown"))
    assert told(entries, Changes(), WRITES) == ({b"x": A}, {b"y": ACCEPTED})


@pytest.mark.parametrize(
    ("last", "entries", "accepted"),
    [
        (end("done", "done"), DONE, False),
        (end("done", "failed"), DONE, True),
        (end("done", "done"), (START, Settled("done", accepted=True)), True),
        (Finished("rolled_back", ("undone",)), DONE, False),
    ],
)
def test_g16_accepted_is_not_done(
    last: Finished, entries: tuple[Entry, ...], accepted: bool
) -> None:
    assert was_accepted(last, entries) == accepted
