"""Somebody else changes a name between the check and the rename: noticed, and nothing is lost."""

import itertools
from errno import EIO

import pytest
from tests.executor.concurrent_changes import (
    DEEDS,
    THEIRS,
    Deed,
    Meddler,
    delete,
    fill_folder,
    is_slot,
)
from tests.executor.file_writers import Call, failing
from tests.executor.harness import World

from assent.core.run.journal import AbortedEntry
from assent.core.run.slot_move import SlotLayout, slot_moves
from assent.executor.finish import PROGRESS_INTERVAL
from assent.testing.memory_workspace import MemoryFileWriter, MemoryNode
from assent.testing.plan_cases import PlanCase, combined_case, single_cases

ONE, TWO = single_cases(b"w/one"), single_cases(b"w/two")
CASES = {case.name: case for case in ONE}
SWAPS = ("file_to_folder", "folder_to_file")
PLAIN = [case for case in ONE if case.name not in SWAPS]
BESIDE = ((b"w/one_a", b"w"), (b"w/one_b", b"w"), (b"w/one_x/y/z", b"w"))
LAYOUTS = {
    "exchange": SlotLayout(""),
    "stepwise": SlotLayout("", exchanges=False),
    "beside": SlotLayout("", beside=BESIDE),
}


def renames(case: PlanCase, layout: SlotLayout) -> int:
    """Counts the renames and exchanges of an undisturbed run."""
    world = World(case, layout)
    world.apply()
    assert (world.outcome, world.files, world.slots) == ("done", world.finish, {})
    return sum(call.verb in ("rename", "exchange") for call in world.hands.calls)


def disturbed(case: PlanCase, layout: SlotLayout, at: int, deed: Deed) -> tuple[World, Meddler]:
    """Applies a case while somebody does a deed before rename number `at`."""
    world = World(case, layout)
    meddler = Meddler(world.hands, at, deed)
    world.hands.before.append(meddler)
    world.apply()
    assert meddler.path, "nothing was disturbed"
    return world, meddler


def with_deed(files: dict[bytes, MemoryNode], path: bytes, deed: Deed) -> dict[bytes, MemoryNode]:
    """The files after the same deed on a disk where nothing else happens."""
    disk = MemoryFileWriter(files)
    deed(disk, path)
    return disk.files


def folders_with_deed(world: World, path: bytes, deed: Deed) -> set[bytes]:
    """No folder of the run is left over, and none of the person's is missing."""
    disk = MemoryFileWriter(world.start)
    deed(disk, path)
    return disk.folders | MemoryFileWriter(world.files).folders


@pytest.mark.parametrize("case", PLAIN, ids=lambda case: case.name)
def test_f66_a_change_between_check_and_rename_rolls_back_and_stays(case: PlanCase) -> None:
    layout = LAYOUTS["exchange"]
    for at, (name, deed) in itertools.product(range(renames(case, layout)), DEEDS.items()):
        world, meddler = disturbed(case, layout, at, deed)
        if name == "deleted" and not meddler.destroyed:
            assert (world.outcome, world.files) == ("done", world.finish)
            continue
        assert world.outcome == "rolled_back", name
        assert world.files == with_deed(world.start, meddler.path, deed), name
        assert (world.slots, world.named, world.spent) == ({}, set(), 1)
        if name != "empty folder":  # in a folder that the run made, it goes with that folder
            assert world.folders == folders_with_deed(world, meddler.path, deed), name
        assert "conflict" in world.results
        assert set(world.results) <= {"conflict", "undone", "not_started"}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", ONE, ids=lambda case: case.name)
def test_f66_where_a_name_was_free_for_a_moment_a_person_decides(
    case: PlanCase, layout: str
) -> None:
    how = LAYOUTS[layout]
    for at, (name, deed) in itertools.product(range(renames(case, how)), DEEDS.items()):
        world, meddler = disturbed(case, how, at, deed)
        assert world.lost(meddler) == [], name
        if world.outcome == "done":
            assert (meddler.destroyed, meddler.brought) == ([], [])
        if world.outcome != "needs_you":
            assert world.outcome in ("done", "rolled_back")
            continue
        assert all(node in world.files.values() for node in meddler.brought)
        tidy_up(world, meddler)
        world.recover("roll_back")
        if world.outcome == "needs_you":  # the folder that they made is in use by now
            assert (case.name, name[-6:], world.files) == ("folder_to_file", "folder", world.start)
            world.recover("accept")
        assert world.files == world.start
        assert (world.slots, world.named, world.spent) == ({}, set(), 1)


def tidy_up(world: World, meddler: Meddler) -> None:
    """Takes the other's files away, and their folder if nothing is left in it."""
    disk = world.hands.disk
    disk.files = {path: node for path, node in disk.files.items() if node not in meddler.brought}
    if not disk.folder_holds_files(meddler.path):
        delete(disk, meddler.path)


@pytest.mark.parametrize("second", TWO, ids=lambda case: case.name)
@pytest.mark.parametrize("first", ONE, ids=lambda case: case.name)
def test_f66_the_other_operations_of_the_plan_are_taken_back_too(
    first: PlanCase, second: PlanCase
) -> None:
    case = combined_case((first, second))
    for at in range(renames(case, LAYOUTS["exchange"])):
        world, meddler = disturbed(case, LAYOUTS["exchange"], at, DEEDS["changed"])
        assert world.outcome in ("rolled_back", "needs_you")
        assert world.files[meddler.path] == THEIRS
        assert world.lost(meddler) == []
        swapped = any(one.name in SWAPS for one in (first, second))
        if world.outcome == "rolled_back":
            assert world.files == with_deed(world.start, meddler.path, DEEDS["changed"])
        else:
            assert swapped, "only a name that was free for a moment needs a person"


def test_f66_a_file_that_appears_in_a_folder_which_must_go_stays_there() -> None:
    case = CASES["folder_to_file"]
    world, meddler = disturbed(case, LAYOUTS["exchange"], 1, fill_folder)
    assert meddler.path == b"w/one_a"
    assert world.outcome == "rolled_back"
    assert world.files == {**world.start, b"w/one_a/theirs": THEIRS}
    assert world.results == ("conflict", "undone")


def test_f66_a_file_put_in_the_place_of_a_folder_which_must_go_is_noticed() -> None:
    world, meddler = disturbed(CASES["folder_to_file"], LAYOUTS["exchange"], 1, DEEDS["changed"])
    assert meddler.path == b"w/one_a"
    assert (world.outcome, world.files[b"w/one_a"]) == ("needs_you", THEIRS)


@pytest.mark.parametrize(
    ("name", "at", "deed", "reason"),
    [
        ("replace", 0, "changed", "it changed just before it was replaced"),
        ("replace", 0, "deleted", "it no longer exists"),
        ("create", 0, "changed", "something else was created there"),
        ("delete", 0, "folder", "it changed just before it was replaced"),
        ("move", 1, "symlink", "something else was created there"),
        ("folder_to_file", 1, "folder", "a file appeared in this folder"),
        ("folder_to_file", 1, "changed", "a file replaced this folder"),
    ],
)
def test_f66_the_journal_says_what_was_in_the_way(
    name: str, at: int, deed: str, reason: str
) -> None:
    world, meddler = disturbed(CASES[name], LAYOUTS["exchange"], at, DEEDS[deed])
    aborts = [entry for entry in world.journal.read("run") if isinstance(entry, AbortedEntry)]
    assert [(abort.path, abort.reason, abort.result) for abort in aborts] == [
        (meddler.path, reason, "conflict")
    ]
    assert not is_slot(aborts[0].path)


def many(count: int) -> PlanCase:
    """Replaces more files than are looked at together."""
    replaced = [single_cases(b"w/n%03d" % at) for at in range(count)]
    return combined_case([next(one for one in each if one.name == "replace") for each in replaced])


@pytest.mark.parametrize("layout", ["exchange", "stepwise"])
@pytest.mark.parametrize("at", [0, PROGRESS_INTERVAL - 1, PROGRESS_INTERVAL, 2 * PROGRESS_INTERVAL])
def test_f66_one_of_many_files_that_changed_is_found_and_all_go_back(layout: str, at: int) -> None:
    case = many(2 * PROGRESS_INTERVAL + 1)
    world, meddler = disturbed(case, LAYOUTS[layout], at, DEEDS["changed"])
    aborts = [entry for entry in world.journal.read("run") if isinstance(entry, AbortedEntry)]
    assert [(abort.index, abort.path) for abort in aborts] == [(at, meddler.path)]
    assert world.outcome == "rolled_back"
    assert world.files == with_deed(world.start, meddler.path, DEEDS["changed"])
    assert world.results[at] == "conflict"
    assert world.results.count("conflict") == 1


def test_f66_a_displaced_file_that_cannot_be_read_is_named() -> None:
    case = many(PROGRESS_INTERVAL)
    world = World(case)
    bad = slot_moves(case.operations, SlotLayout("run"))[5]
    renamed: list[Call] = []
    fail = failing(EIO, lambda call: bool(renamed) and bad.slot in call.names)

    def read(call: Call) -> None:
        renamed.extend([call] if call.verb == "exchange" else [])
        if call.verb == "look":
            fail(call)

    world.hands.before.append(read)
    world.apply()
    aborts = [entry for entry in world.journal.read("run") if isinstance(entry, AbortedEntry)]
    assert [(abort.index, abort.path, abort.result) for abort in aborts] == [
        (bad.index, bad.path, "failed")
    ]
