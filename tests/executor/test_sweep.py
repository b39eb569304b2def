"""Sweeping: slots are emptied, but never of bytes that exist nowhere else."""

from collections.abc import Callable
from errno import EIO, ELOOP, ENOENT, ENOSPC, ENOTDIR

import pytest
from tests.executor.concurrent_changes import DEEDS, THEIRS, Meddler, fill_folder, is_slot
from tests.executor.file_writers import Call, failing
from tests.executor.harness import World

from assent.core.run.journal import FinishedEntry
from assent.core.run.slot_move import SlotLayout
from assent.testing.memory_workspace import (
    CrashInjector,
    MemoryFileWriter,
    MemoryNode,
    SimulatedCrash,
)
from assent.testing.plan_cases import single_cases

CASES = {case.name: case for case in single_cases(b"w/one")}
BESIDE = SlotLayout("", beside=((b"w/one_a", b"w"),))
S = b".opencode/assent/stage/run/"


def breaking(world: World, verb: str, count: int) -> None:
    """Everything fails from call number `count` of a verb on."""

    def is_later(_: Call) -> bool:
        return sum(call.verb == verb for call in world.hands.calls) >= count

    world.hands.before.append(failing(EIO, is_later))


def accepted(world: World) -> World:
    assert world.outcome == "needs_you"
    world.hands.before.clear()
    world.hands.after.clear()
    world.recover("accept")
    assert world.outcome == "done"
    return world


def test_g5_an_accepted_run_keeps_a_file_that_was_on_its_way() -> None:
    world = World(CASES["move"])
    breaking(world, "rename", 2)
    world.apply()
    assert accepted(world).named == {S + b"0.old"}
    assert world.slots == {S + b"0.old": MemoryNode(b"old of w/one")}
    assert world.lost() == []


def test_g5_an_accepted_run_keeps_somebody_s_late_change() -> None:
    world = World(CASES["replace"])
    world.hands.before.append(Meddler(world.hands, 0, DEEDS["changed"]))
    breaking(world, "exchange", 2)
    world.apply()
    assert accepted(world).slots == {S + b"0.new": THEIRS}
    assert world.named == {S + b"0.new"}


@pytest.mark.parametrize("name", ["replace", "delete", "create", "chmod", "folder_to_file"])
def test_g5_an_accepted_run_keeps_no_slot_whose_content_is_a_blob(name: str) -> None:
    world = World(CASES[name])
    breaking(world, "sync", 2)
    world.apply()
    assert (accepted(world).slots, world.named, world.lost()) == ({}, set(), [])


def test_g5_what_cannot_be_looked_at_is_kept() -> None:
    world = World(CASES["delete"])
    breaking(world, "sync", 2)
    world.apply()
    world.hands.before[:] = [failing(EIO, lambda call: call.names == (S + b"0.old",))]
    world.recover("accept")
    assert (world.outcome, world.named) == ("done", {S + b"0.old"})


def test_g5_a_slot_that_cannot_be_removed_is_named_and_the_run_is_done() -> None:
    world = World(CASES["replace"])
    world.hands.before.append(failing(EIO, lambda call: call.verb == "remove"))
    world.apply()
    last = world.journal.read("run")[-1]
    assert last == FinishedEntry("done", ("done",), (), (S + b"0.new",))
    assert world.files == world.finish


@pytest.mark.parametrize("error", [ENOENT, ENOTDIR, ELOOP])
def test_g5_a_stage_that_somebody_took_away_holds_nothing_of_ours(error: int) -> None:
    world = World(CASES["replace"])
    world.hands.before.append(failing(error, lambda call: call.verb == "remove"))
    world.apply()
    assert (world.outcome, world.files, world.named) == ("done", world.finish, set())


class TearingFuse(CrashInjector):
    """Breaks the disk when the first slot is half written."""

    def __init__(self, disk: MemoryFileWriter) -> None:
        super().__init__()
        self.disk = disk
        self.torn: dict[bytes, MemoryNode] = {}

    def step(self) -> None:
        if not self.torn and any(is_slot(path) for path in self.disk.files):
            self.torn = {path: node for path, node in self.disk.files.items() if is_slot(path)}
            raise OSError(ENOSPC, "full")


def test_g5_a_torn_slot_is_swept_and_not_taken_for_the_only_copy() -> None:
    world = World(CASES["replace"])
    fuse = world.hands.disk.fuse = TearingFuse(world.hands.disk)
    world.apply()
    assert fuse.torn == {S + b"0.new": MemoryNode(b"new of")}
    assert (world.outcome, world.files) == ("rolled_back", world.start)
    assert (world.slots, world.named) == ({}, set())


def test_g5_an_accepted_run_leaves_folders_alone() -> None:
    world = World(CASES["prune"])
    folders = world.folders
    breaking(world, "sync", 2)
    world.apply()
    assert accepted(world).folders == folders


def test_g5_a_folder_that_cannot_be_removed_harms_nobody() -> None:
    world = World(CASES["folder_to_file"])
    stage = lambda call: call.verb == "remove_folder" and call.names[0].startswith(S[:-1])  # noqa: E731
    world.hands.before.append(failing(EIO, stage))
    world.apply()
    assert (world.outcome, world.files, world.named) == ("done", world.finish, set())


def test_g5_slots_beside_the_person_s_files_are_gone_for_good() -> None:
    world = World(CASES["replace"], BESIDE)
    world.apply()
    verbs = [call.verb for call in world.hands.calls]
    assert verbs[-1] == "sync"
    assert verbs.index("remove") < len(verbs) - 1
    world.hands.disk.lose_power()
    assert (world.files, world.slots) == (world.finish, {})


def test_g5_a_sync_that_fails_at_the_very_end_does_not_undo_what_is_done() -> None:
    world = World(CASES["replace"], BESIDE)
    breaking(world, "sync", 3)
    world.apply()
    assert (world.outcome, world.results, world.files) == ("done", ("done",), world.finish)


def crash(verb: str, path: bytes) -> Callable[[Call], None]:
    def end(call: Call) -> None:
        if call.verb == verb and call.names[:1] == (path,):
            raise SimulatedCrash

    return end


def test_law_6_a_file_caught_in_a_folder_that_went_is_named_even_after_a_crash() -> None:
    world = World(CASES["folder_to_file"])
    world.hands.before.append(Meddler(world.hands, 1, fill_folder))
    world.hands.after.append(crash("rename", b"w/one_a"))
    with pytest.raises(SimulatedCrash):
        world.apply()
    world.hands.before.clear()
    world.hands.after.clear()
    world.recover()
    assert (world.outcome, world.named) == ("done", {S + b"0.folder"})
    assert world.slots == {S + b"0.folder/theirs": THEIRS}
