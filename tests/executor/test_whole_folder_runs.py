"""Folders that come or go as a whole: one rename, the same promises, whoever interferes."""

import itertools

import pytest
from tests.executor.file_writers import Call
from tests.executor.harness import World

from assent.core.plan.operation import DeleteFile, WriteFile
from assent.testing.memory_workspace import MemoryNode, SimulatedCrash
from assent.testing.plan_cases import PlanCase

NEW, OLD, MINE = MemoryNode(b"new"), MemoryNode(b"old"), MemoryNode(b"mine")
COMES = PlanCase(
    "comes",
    {},
    tuple(WriteFile(b"w/n/" + name, None, NEW.state) for name in (b"a", b"b", b"in/c")),
    (NEW.content,),
)
GOES = PlanCase(
    "goes",
    {b"w/o/" + name: OLD for name in (b"a", b"b", b"in/c")},
    tuple(
        DeleteFile(b"w/o/" + name, OLD.state, 1 + name.count(b"/"))
        for name in (b"a", b"b", b"in/c")
    ),
)
BOTH = PlanCase("both", GOES.start, (*COMES.operations, *GOES.operations), COMES.contents)
STAGE = b".opencode/assent/stage/run"


def renamed(world: World) -> list[tuple[bytes, ...]]:
    return [call.names for call in world.hands.calls if call.verb == "rename"]


def test_each_folder_is_one_rename() -> None:
    world = World(BOTH)
    world.apply()
    assert (world.outcome, world.files, world.slots) == ("done", world.finish, {})
    assert renamed(world) == [(b"w/o", STAGE + b"/1.whole"), (STAGE + b"/0.whole", b"w/n")]
    assert world.folders == {b"w", b"w/n", b"w/n/in"}
    assert world.journal.read("run")[-1].made == (b"w/n", b"w/n/in")  # type: ignore[union-attr]


@pytest.mark.parametrize("path", [b"w/o/late", b"w/o/in/late", b"w/o/deeper/late"])
def test_a_file_that_appears_beside_them_stays_and_all_goes_back(path: bytes) -> None:
    world = World(BOTH)

    def meddle(call: Call) -> None:
        if call.verb == "rename" and call.names[0] == b"w/o":
            world.hands.disk.folders.add(path.rpartition(b"/")[0])
            world.hands.disk.files[path] = MINE

    world.hands.before.append(meddle)
    world.apply()
    assert world.outcome == "rolled_back"
    assert (world.files, world.slots) == ({**world.start, path: MINE}, {})


def test_a_file_that_has_no_way_back_is_kept_and_named() -> None:
    world = World(BOTH)
    path = b"w/o/late"

    def meddle(call: Call) -> None:
        if call.verb == "rename" and b"w/o" in call.names:  # on the way there, and on the way back
            world.hands.disk.folders.add(b"w/o")
            world.hands.disk.files[path] = MINE

    world.hands.before.append(meddle)
    world.apply()
    assert world.outcome == "rolled_back"
    assert world.files == {**world.start, path: MINE}
    assert world.slots == {STAGE + b"/1.whole/late": MINE}
    assert world.named == {STAGE + b"/1.whole"}


def test_a_change_of_one_of_them_stays_and_all_goes_back() -> None:
    world = World(BOTH)

    def meddle(call: Call) -> None:
        if call.verb == "rename" and b"w/o/b" in world.hands.disk.files:
            world.hands.disk.files[b"w/o/b"] = MINE

    world.hands.before.append(meddle)
    world.apply()
    assert world.outcome == "rolled_back"
    assert (world.files, world.slots) == ({**world.start, b"w/o/b": MINE}, {})


def test_a_folder_that_somebody_made_meanwhile_is_theirs() -> None:
    world = World(BOTH)

    def meddle(call: Call) -> None:
        if call.verb == "rename" and call.names[1] == b"w/n":
            world.hands.disk.folders.add(b"w/n")
            world.hands.disk.files[b"w/n/mine"] = MINE

    world.hands.before.append(meddle)
    world.apply()
    assert world.outcome == "rolled_back"
    assert (world.files, world.slots) == ({**world.start, b"w/n/mine": MINE}, {})


@pytest.mark.parametrize("power", [False, True])
@pytest.mark.parametrize("case", [COMES, GOES, BOTH], ids=lambda case: case.name)
def test_law_5_cut_at_any_moment_it_is_all_or_nothing(case: PlanCase, power: bool) -> None:
    ends = set()
    for moment in itertools.count():
        world = World(case)
        world.hands.disk.sync_to_disk()
        world.hands.disk.fuse.at, world.hands.disk.fuse.count = moment, 0
        try:
            world.apply()
            break
        except SimulatedCrash:
            if power:
                world.hands.disk.lose_power()
        world.hands.disk.fuse.at = None
        if world.journal.read("run"):
            world.recover()
        ends.add(world.outcome)
        wanted = world.finish if world.outcome == "done" else world.start
        assert (world.files, world.slots, moment) == (wanted, {}, moment)
    assert moment > 5
    assert "done" in ends


def test_law_6_what_was_taken_in_an_accepted_run_is_named() -> None:
    world = World(GOES)
    path = b"w/o/late"

    def meddle(call: Call) -> None:
        if call.verb == "rename" and call.names[0] == b"w/o":
            world.hands.disk.files[path] = MINE
        if call.verb == "holds_files":
            world.hands.disk.files[b"w/o"] = MINE  # somebody takes the name: no way back

    world.hands.before.append(meddle)
    world.apply()
    world.calm_down()
    assert world.outcome == "needs_you"
    world.recover("accept")
    assert world.lost() == []
    assert MINE in world.slots.values()
    assert world.named == {STAGE + b"/0.whole"}
