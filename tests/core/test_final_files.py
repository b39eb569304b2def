"""What a run's journal vouches for: what all came to, without what nobody recorded."""

from collections.abc import Sequence
from typing import get_args

import pytest
from tests.core.states import A, B, C

from assent.core.plan.operation import (
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
)
from assent.core.run.journal import (
    CommandEndedEntry,
    FinishedEntry,
    JournalEntry,
    OperationResult,
    RecoveringEntry,
    RollbackStartedEntry,
    SegmentEnteredEntry,
    SettledEntry,
    StartedEntry,
)
from assent.core.run.results import ACCEPTED_BY_USER, UNKNOWN_CHANGES, final_files, was_accepted
from assent.core.run.slot_move import SlotLayout
from assent.core.run.state import Rollback
from assent.core.run.workspace_changes import SkippedFile, SkipReason, WorkspaceChanges

RUN = RunCommand((b"make",))
WRITES = (WriteFile(b"x", None, A), WriteFile(b"y", A, B))
PLAN: tuple[Operation, ...] = (*WRITES, RUN, WriteFile(b"z", None, C))
START = StartedEntry("p", "d", "a", SlotLayout("run"))
LATER = SegmentEnteredEntry(2, SlotLayout("run.2"))
DONE: tuple[JournalEntry, ...] = (START, SettledEntry("done"))
ALL = FinishedEntry("done", ("done",) * 4)
BACK = Rollback((DeleteFile(b"x", A), WriteFile(b"y", B, A)), ((0,), (1,)))


def end(*results: OperationResult) -> FinishedEntry:
    return FinishedEntry("done", results)


def told(
    entries: Sequence[JournalEntry],
    changes: WorkspaceChanges,
    operations: tuple[Operation, ...] = PLAN,
) -> tuple[dict[bytes, FileState | None], dict[bytes, str]]:
    found = final_files(operations, entries, {"back": BACK}, lambda ended: changes)
    return dict(found.files), dict(found.uncovered)


def test_g16_what_segments_and_commands_did_comes_together() -> None:
    changes = WorkspaceChanges((WriteFile(b"x", A, B), MoveFile(b"y", b"w", B)))
    entries = (*DONE, CommandEndedEntry(2, 0), LATER, SettledEntry("done"), ALL)
    assert told(entries, changes) == ({b"x": B, b"y": None, b"w": B, b"z": C}, {})


def test_g16_what_a_command_changed_unrecorded_is_not_covered() -> None:
    changes = WorkspaceChanges(
        (), (SkippedFile(b"x", "changed", "ignored"), SkippedFile(b"z", "new", "large"))
    )
    entries = (*DONE, CommandEndedEntry(2, 0), LATER, SettledEntry("done"), ALL)
    files, uncovered = told(entries, changes)
    assert (files, list(uncovered)) == ({b"y": B, b"z": C}, [b"x"])


def test_g16_after_a_command_of_which_nothing_is_known_nothing_before_it_is_covered() -> None:
    entries = (*DONE, CommandEndedEntry(2, 0), LATER, SettledEntry("done"), ALL)
    assert told(entries, WorkspaceChanges(known=False)) == (
        {b"z": C},
        {b"x": UNKNOWN_CHANGES, b"y": UNKNOWN_CHANGES},
    )


def test_g16_what_is_as_it_was_is_no_change() -> None:
    changes = WorkspaceChanges((DeleteFile(b"x", A), WriteFile(b"y", B, A)))
    assert told((*DONE, CommandEndedEntry(2, 1), end()), changes) == ({}, {})


def test_g16_a_way_back_counts_too() -> None:
    there = (
        *DONE,
        CommandEndedEntry(2, 1),
        RecoveringEntry("roll_back"),
        RollbackStartedEntry("back"),
        SegmentEnteredEntry(0, SlotLayout("run.3")),
    )
    assert told((*there, SettledEntry("done"), end()), WorkspaceChanges()) == ({}, {})
    assert told((*there, SettledEntry("rolled_back"), end()), WorkspaceChanges()) == (
        {b"x": A, b"y": B},
        {},
    )
    cut = (*there, SettledEntry("done", accepted=True), end())
    assert told(cut, WorkspaceChanges()) == ({}, {b"x": ACCEPTED_BY_USER, b"y": ACCEPTED_BY_USER})


def test_g16_of_a_segment_that_was_accepted_the_results_decide() -> None:
    entries = (START, SettledEntry("done", accepted=True), end("done", "unknown"))
    assert told(entries, WorkspaceChanges(), WRITES) == ({b"x": A}, {b"y": ACCEPTED_BY_USER})


@pytest.mark.parametrize(
    ("last", "entries", "accepted"),
    [
        (end("done", "done"), DONE, False),
        (end("done", "failed"), DONE, True),
        (end("done", "done"), (START, SettledEntry("done", accepted=True)), True),
        (FinishedEntry("rolled_back", ("undone",)), DONE, False),
    ],
)
def test_g16_accepted_is_not_done(
    last: FinishedEntry, entries: tuple[JournalEntry, ...], accepted: bool
) -> None:
    assert was_accepted(last, entries) == accepted


@pytest.mark.parametrize("why", get_args(SkipReason))
def test_g16_whatever_was_not_recorded_is_named_with_a_reason(why: SkipReason) -> None:
    changes = WorkspaceChanges((), (SkippedFile(b"d", "changed", why),))
    files, uncovered = told((*DONE, CommandEndedEntry(2, 0), ALL), changes)
    assert uncovered[b"d"].startswith("a command changed")
    assert b"d" not in files
