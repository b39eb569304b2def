"""F64: a partial failure is reported truthfully, operation by operation."""

from collections.abc import Callable
from errno import ENOSPC

import pytest
from tests.executor.concurrent_changes import THEIRS, Meddler, replace
from tests.executor.file_writers import Call, failing
from tests.executor.harness import World

from assent.core.plan.operation import DeleteFile, FileOperation, MoveFile, WriteFile
from assent.core.run.journal import (
    AbortedEntry,
    FinishedEntry,
    HaltedEntry,
    OperationResult,
    PathConflict,
    RecoveryChoice,
)
from assent.core.run.slot_move import SlotLayout
from assent.testing.memory_workspace import MemoryNode
from assent.testing.plan_cases import PlanCase

OLD, NEW = MemoryNode(b"old"), MemoryNode(b"new")
OPERATIONS: tuple[FileOperation, ...] = (
    WriteFile(b"w/created", None, NEW.state),
    DeleteFile(b"w/deleted", OLD.state),
    WriteFile(b"w/replaced", OLD.state, NEW.state),
    MoveFile(b"w/moved", b"w/to", OLD.state),
)
START = {b"w/deleted": OLD, b"w/replaced": OLD, b"w/moved": OLD}
CASE = PlanCase("four", START, OPERATIONS, (NEW.content, OLD.content))


def about(verb: str, path: bytes) -> Callable[[Call], bool]:
    return lambda call: call.verb == verb and any(path in name for name in call.names)


def failed(wanted: Callable[[Call], bool]) -> World:
    world = World(CASE)
    world.hands.before.append(failing(ENOSPC, wanted))
    world.apply()
    return world


# The order of motions: takes of 1 and 3, then the put of 0, the swap of 2, the put of 3.
@pytest.mark.parametrize(
    ("wanted", "results"),
    [
        (about("create", b"0.new"), ("failed", "not_started", "not_started", "not_started")),
        (about("create", b"2.new"), ("not_started", "not_started", "failed", "not_started")),
        (about("rename", b"w/deleted"), ("not_started", "failed", "not_started", "not_started")),
        (about("rename", b"w/moved"), ("not_started", "undone", "not_started", "failed")),
        (about("rename", b"w/created"), ("failed", "undone", "not_started", "undone")),
        (about("exchange", b"w/replaced"), ("undone", "undone", "failed", "undone")),
        (about("rename", b"w/to"), ("undone", "undone", "undone", "failed")),
    ],
)
def test_f64_what_failed_what_was_undone_and_what_never_began(
    wanted: Callable[[Call], bool], results: tuple[OperationResult, ...]
) -> None:
    world = failed(wanted)
    aborts = [entry for entry in world.journal.read("run") if isinstance(entry, AbortedEntry)]
    assert (world.outcome, world.results) == ("rolled_back", results)
    assert world.files == world.start
    assert [(abort.reason, results[abort.index]) for abort in aborts] == [(f"E{ENOSPC}", "failed")]


def test_f64_a_fault_while_making_the_stage_is_the_first_operation_s() -> None:
    world = failed(lambda call: call.verb == "make_folder")
    assert world.results == ("failed", "not_started", "not_started", "not_started")


@pytest.mark.parametrize("verb", ["create", "exchange"])
def test_f64_an_error_without_a_reason_is_told_as_it_is(verb: str) -> None:
    def fail(call: Call) -> None:
        if call.verb == verb:
            raise OSError("no reason given")

    world = World(CASE)
    world.hands.before.append(fail)
    world.apply()
    aborts = [entry for entry in world.journal.read("run") if isinstance(entry, AbortedEntry)]
    assert [abort.reason for abort in aborts] == ["no reason given"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [(OSError(ENOSPC, "No space"), "No space"), (OSError("no reason given"), "no reason given")],
)
def test_f64_why_a_file_could_not_be_put_back_is_told(error: OSError, reason: str) -> None:
    world = World(CASE)
    calls = world.hands.calls

    def fail(call: Call) -> None:
        if call.verb in ("rename", "exchange") and _moved(calls):
            raise error

    world.hands.before.append(fail)
    world.apply()
    last = world.journal.read("run")[-1]
    assert isinstance(last, HaltedEntry)
    assert {conflict.reason for conflict in last.conflicts} == {reason}


def test_f64_a_run_that_is_done_is_done_everywhere() -> None:
    world = World(CASE)
    world.apply()
    assert world.results == ("done",) * 4


def halted() -> World:
    """The swap fails; then the deleted file cannot come back, because somebody took its name."""
    world = World(CASE)
    world.hands.before.append(failing(ENOSPC, about("exchange", b"w/replaced")))
    meddler = Meddler(world.hands, 3, lambda disk, _: replace(disk, b"w/deleted"))
    world.hands.before.append(meddler)
    world.apply()
    assert meddler.path == b"w/created"
    return world


def test_f64_what_cannot_be_put_back_is_a_conflict_and_its_slot_is_named() -> None:
    world = halted()
    assert (world.outcome, world.results) == (
        "needs_you", ("undone", "conflict", "failed", "undone")
    )  # fmt: skip
    slot = SlotLayout("run").slot(1, "old", b"w/deleted")
    reason = "it changed after the run wrote it"
    last = world.journal.read("run")[-1]
    assert last == HaltedEntry((PathConflict(1, b"w/deleted", slot, reason),), (0, 3))
    assert world.slots[slot] == OLD
    assert world.files == {**world.start, b"w/deleted": THEIRS}


@pytest.mark.parametrize(
    ("way", "outcome", "results"),
    [
        ("resume", "done", ("done", "done", "done", "done")),
        ("roll_back", "needs_you", ("undone", "conflict", "failed", "undone")),
        ("accept", "done", ("undone", "unknown", "undone", "undone")),
    ],
)
def test_f64_after_a_person_decided_the_results_say_what_is_true_now(
    way: RecoveryChoice, outcome: str, results: tuple[OperationResult, ...]
) -> None:
    world = halted()
    world.hands.before.clear()
    world.recover(way)
    assert (world.outcome, world.results) == (outcome, results)
    assert world.lost() == []
    assert world.files[b"w/deleted"] == THEIRS


def test_f64_an_accepted_run_tells_done_from_undone_by_the_disk() -> None:
    world = halted()
    world.hands.before.clear()
    disk = world.hands.disk
    del disk.files[b"w/deleted"]
    disk.files[b"w/created"] = NEW
    disk.files[b"w/to"] = disk.files.pop(b"w/moved")
    world.recover("accept")
    last = world.journal.read("run")[-1]
    assert last == FinishedEntry("done", ("done", "done", "undone", "done"), (), ())
    assert world.slots == {}


def test_f64_what_cannot_be_looked_at_in_an_accepted_run_is_unknown() -> None:
    world = halted()
    world.hands.before[:] = [failing(ENOSPC, lambda call: call.names[:1] == (b"w/created",))]
    world.recover("accept")
    assert (world.outcome, world.results) == ("done", ("unknown", "unknown", "undone", "undone"))


def test_f64_a_disk_that_does_not_sync_leaves_no_operation_in_conflict() -> None:
    world = World(CASE)
    calls = world.hands.calls
    late = failing(ENOSPC, lambda call: call.verb == "sync" and _moved(calls))
    world.hands.before.append(late)
    world.apply()
    assert (world.outcome, world.files) == ("needs_you", world.start)
    assert world.results == ("undone", "undone", "undone", "failed")
    reason = f"restored files may not be safely on disk (E{ENOSPC})"
    last = world.journal.read("run")[-1]
    assert last == HaltedEntry((PathConflict(0, b"", b"", reason),), (3, 2, 0, 1))


def _moved(calls: list[Call]) -> bool:
    return any(call.verb == "exchange" for call in calls)
