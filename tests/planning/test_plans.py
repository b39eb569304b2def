"""Plans and drafts as the engine keeps them: commands, workspaces, and what is not taken in."""

import os
import shutil
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs
from tests.support.engine import World

from assent.core.errors import NotFound, WorkspaceMismatch
from assent.core.event import StoredEvent
from assent.core.plan.operation import RunCommand
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import drive_to_end
from assent.ports import EventBatch, EventStore


def new(world: World) -> PlanRecord:
    return world.engine().plans.new("work", "tests", "A goal")


def test_a_command_is_drafted_and_proposed_like_any_operation(world: World) -> None:
    record = new(world)
    engine = world.engine()
    staged = engine.drafts.stage(record, [RunCommand((b"make", b"test"))]).record
    assert engine.reviews.review(staged).operations[0].reversible == "reversible"
    assert engine.approvals.propose(staged).state == "AWAITING_APPROVAL"


def test_reading_a_folder_that_is_no_workspace_makes_none(world: World) -> None:
    engine = world.engine()
    assert engine.plans.all() == []
    assert engine.status() == (None, None)
    assert engine.log() == []
    assert engine.plans.sessions() == {}
    with pytest.raises(NotFound):
        engine.plans.find()
    assert world.store.streams("") == []
    assert list(world.root.iterdir()) == []


def test_a_copy_of_a_workspace_is_another_one(world: World) -> None:
    record = world.approve({"a.txt": b"a\n"})
    copied = world.root.with_name("copied")
    shutil.copytree(world.root, copied)
    original, world.root = world.root, copied
    with pytest.raises(NotFound):
        world.engine().plans.find()
    with pytest.raises(WorkspaceMismatch) as refused:
        drive_to_end(world.engine().runs.build(record.plan_id))
    assert refused.value.exit == 5
    world.root = original
    assert world.build(record).outcome == "done"


def test_a_moved_workspace_is_the_same_one(world: World) -> None:
    record = world.approve({"a.txt": b"a\n"})
    moved = world.root.with_name("moved")
    os.rename(world.root, moved)
    world.root = moved
    assert world.engine().plans.find().plan_id == record.plan_id
    assert world.build(record).outcome == "done"
    assert world.files() == {"a.txt": b"a\n"}


def test_another_folder_in_the_old_place_is_another_workspace(world: World) -> None:
    record = world.approve({"a.txt": b"a\n"})
    os.rename(world.root, world.root.with_name("away"))
    world.root.mkdir()
    with pytest.raises(NotFound):
        world.engine().plans.find()
    with pytest.raises(WorkspaceMismatch):
        world.engine().runs.repository().load(record.plan_id)


def test_the_current_plan_is_the_last_made_used_or_proposed(world: World) -> None:
    engine = world.engine()
    one = engine.plans.new("one", "tests")
    two = engine.plans.new("two", "tests")
    assert engine.plans.find() == two
    engine.plans.use("one")
    assert engine.plans.find() == one
    two = engine.plans.write(two, b"# Two\n\nSay more.\n")
    assert engine.approvals.propose(two) == engine.plans.find()


def test_old_and_new_content_are_kept_when_an_operation_is_staged(world: World) -> None:
    world.put({"a.txt": b"old\n", "b.txt": b"gone\n"})
    record = new(world)
    engine = world.engine()
    staged = engine.drafts.write(record, b"a.txt", [b"new\n"], None).record
    engine.drafts.delete(staged, b"b.txt")
    kept = set(world.blobs.contents.values())
    assert {b"old\n", b"new\n", b"gone\n"} <= kept


def test_f40_a_plan_that_is_given_up_leaves_its_file_which_is_no_plan_until_it_changes(
    world: World,
) -> None:
    record = new(world)
    path = world.root / os.fsdecode(record.path)
    before = path.read_bytes()
    plans = world.engine().plans
    given_up = plans.discard(record)
    assert (given_up.state, given_up.left) == ("DISCARDED", record.content_hash)
    assert path.read_bytes() == before
    assert plans.all() == []
    path.write_bytes(b"# Taken up again\n")
    assert [(found.plan_id != record.plan_id, found.state) for found in plans.all()] == [
        (True, "DRAFTING")
    ]


def test_a_plan_that_was_deleted_is_taken_in_again_when_its_file_comes_back(world: World) -> None:
    record = new(world)
    path = world.root / os.fsdecode(record.path)
    before = path.read_bytes()
    world.engine().plans.delete([record])
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(before)
    assert [found.plan_id != record.plan_id for found in world.engine().plans.all()] == [True]


def test_f40_what_was_typed_into_the_file_is_on_record_when_a_plan_is_given_up(
    world: World,
) -> None:
    record = new(world)
    (world.root / os.fsdecode(record.path)).write_bytes(b"# Mine\n")
    plans = world.engine().plans
    given_up = plans.discard(record)
    assert plans.text(given_up.left) == b"# Mine\n"
    assert plans.all() == []


class Overtaken:
    """A store in front of another, beside which somebody mints a workspace at the worst moment."""

    def __init__(self, store: EventStore, meanwhile: Callable[[], object]) -> None:
        self._store = store
        self._meanwhile: list[Callable[[], object]] = [meanwhile]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
        while self._meanwhile:
            self._meanwhile.pop()()
        return self._store.append(*batches)


def test_a_folder_that_two_processes_open_for_the_first_time_is_one_workspace(
    world: World,
) -> None:
    faster, slower = world.engine()._workspaces, world.engine()._workspaces
    doors = slower._ports
    slower._ports = structs.replace(doors, store=Overtaken(doors.store, faster.open))
    assert slower.open() == faster.open()
    assert len(world.store.streams("workspace/")) == 1
