"""The ways out of `needs you`: resume, roll back or accept, with everything still there."""

from errno import ENOSPC

import pytest
from tests.executor.concurrent_changes import DEEDS, THEIRS, Deed, delete, replace
from tests.executor.file_writers import failing
from tests.executor.harness import World

from assent.core.paths import STAGE
from assent.core.run.journal import HaltedEntry, RecoveryChoice
from assent.testing.memory_workspace import MemoryNode
from assent.testing.plan_cases import combined_case, single_cases

ONE = {case.name: case for case in single_cases(b"w/one")}
TWO = {case.name: case for case in single_cases(b"w/two")}


def stopped(name: str, deed: Deed) -> World:
    """Operation 0 is done; then somebody does a deed to its path, and operation 1 fails."""
    world = World(combined_case((ONE[name], TWO["link"])))
    path = ONE[name].operations[0].path

    def put_link(names: tuple[bytes, ...]) -> bool:
        return names[-1:] == (b"w/two_a",)

    world.hands.before += [
        lambda call: (
            deed(world.hands.disk, path) if call.verb == "rename" and put_link(call.names) else None
        ),
        failing(ENOSPC, lambda call: call.verb == "rename" and put_link(call.names)),
    ]
    world.apply()
    world.hands.before.clear()
    return world


@pytest.mark.parametrize("name", ["replace", "chmod", "create", "file_by_link"])
def test_g5_a_change_after_the_run_wrote_a_file_waits_for_a_person(name: str) -> None:
    world = stopped(name, replace)
    assert (world.outcome, world.results) == ("needs_you", ("conflict", "failed"))
    assert world.files == {**world.start, b"w/one_a": THEIRS}
    assert world.lost() == []
    last = world.journal.read("run")[-1]
    assert isinstance(last, HaltedEntry)
    wanted = b"" if name == "create" else STAGE + b"/run/0.new"  # nobody is sent to an empty place
    assert [conflict.kept for conflict in last.conflicts] == [wanted]


@pytest.mark.parametrize("name", ["replace", "chmod", "create", "file_by_link"])
def test_g5_once_the_change_is_taken_away_the_run_rolls_back(name: str) -> None:
    world = stopped(name, replace)
    delete(world.hands.disk, b"w/one_a")
    world.recover("roll_back")
    assert (world.outcome, world.files, world.slots) == ("rolled_back", world.start, {})


@pytest.mark.parametrize("name", ["replace", "chmod", "create", "file_by_link"])
def test_g5_a_resumed_run_leaves_the_change_where_it_is(name: str) -> None:
    world = stopped(name, replace)
    world.recover("resume")
    assert (world.outcome, world.files) == ("done", {**world.finish, b"w/one_a": THEIRS})
    assert (world.slots, world.lost()) == ({}, [])


def test_g5_an_accepted_run_changes_nothing_more() -> None:
    world = stopped("replace", replace)
    files = world.files
    world.recover("accept")
    assert (world.outcome, world.files, world.slots) == ("done", files, {})
    assert world.results == ("unknown", "undone")


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("way", ["resume", "roll_back", "accept"])
@pytest.mark.parametrize(
    "name", [name for name in ONE if name not in ("file_to_folder", "folder_to_file")]
)
def test_g5_no_way_out_loses_anything_and_accepting_always_ends_it(
    name: str, way: RecoveryChoice, deed: str
) -> None:
    world = stopped(name, DEEDS[deed])
    theirs = {path: node for path, node in world.files.items() if is_theirs(node)}
    if world.outcome == "needs_you":
        world.recover(way)
    if world.outcome == "needs_you":
        world.recover("accept")
    assert world.outcome in ("done", "rolled_back")
    assert {path: node for path, node in world.files.items() if is_theirs(node)} == theirs
    assert (world.lost(), world.spent) == ([], 1)


def is_theirs(node: MemoryNode) -> bool:
    return node.content.startswith(b"somebody")
