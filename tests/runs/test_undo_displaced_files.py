"""What a run displaces is at hand for its undo: the same file, without writing it anew."""

import os
from pathlib import Path

import pytest
from tests.support.engine import World

from assent.core.plan.record import PlanRecord
from assent.core.run.journal import drive_to_end
from assent.executor.displaced_files import LocalDisplacedFiles
from assent.planning.ports import RetentionLimits
from assent.runs.run_status import RunReport

OLD = {"kept.txt": b"old", "gone/one.txt": b"one", "gone/two.txt": b"two"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.put(OLD)
    return world


def built(world: World) -> RunReport:
    """Replaces a file, removes a folder and makes another one."""
    engine = world.engine()
    record: PlanRecord = engine.plans.new("work", "tests", "A goal")
    for path in ("kept.txt", "new/one.txt", "new/two.txt"):
        record = engine.drafts.write(record, path.encode(), [b"new"], None).record
    for path in ("gone/one.txt", "gone/two.txt"):
        record = engine.drafts.delete(record, path.encode()).record
    record = engine.approvals.propose(record)
    engine.approvals.approve(record, record.digest, "", "test")
    return world.build(record)


def undone(world: World) -> RunReport:
    engine = world.engine()
    return drive_to_end(engine.undo.apply(engine.undo.preview(), "test"))


def inodes(world: World) -> dict[str, int]:
    return {path: (world.root / path).stat().st_ino for path in world.files()}


def home(world: World) -> Path:
    return world.root.parent / "spares"


def spares(world: World) -> list[Path]:
    files = [path for path in home(world).rglob("*") if path.is_file()]
    return sorted(path for path in files if path.suffix != ".list")


def test_f60_undo_gives_back_the_very_files(world: World) -> None:
    before = inodes(world)
    assert built(world).outcome == "done"
    assert len(spares(world)) == len(OLD)
    assert undone(world).outcome == "done"
    assert world.files() == OLD
    assert inodes(world) == before


def test_redo_gives_back_what_the_undo_displaced(world: World) -> None:
    built(world)
    changed, before = world.files(), inodes(world)
    undone(world)
    engine = world.engine()
    assert drive_to_end(engine.undo.apply(engine.undo.redo(), "test")).outcome == "done"
    assert world.files() == changed
    assert inodes(world) == before


def test_an_undo_of_a_redo_gives_back_the_very_files_too(world: World) -> None:
    before = inodes(world)
    built(world)
    undone(world)
    engine = world.engine()
    drive_to_end(engine.undo.apply(engine.undo.redo(), "test"))
    assert undone(world).outcome == "done"
    assert world.files() == OLD
    assert inodes(world) == before


def test_without_spares_an_undo_restores_the_same(world: World) -> None:
    built(world)
    world.spares.trim(0)
    assert spares(world) == []
    assert undone(world).outcome == "done"
    assert world.files() == OLD


def test_spares_that_somebody_changed_are_not_used(world: World) -> None:
    built(world)
    for spare in spares(world):
        spare.write_bytes(b"evil")
    assert undone(world).outcome == "done"
    assert world.files() == OLD


def test_an_operation_alone_is_taken_back_with_its_spare(world: World) -> None:
    before = inodes(world)
    built(world)
    engine = world.engine()
    preview = engine.undo.preview(operation="1")
    assert drive_to_end(engine.undo.apply(preview, "test")).outcome == "done"
    assert inodes(world)["kept.txt"] == before["kept.txt"]
    assert len(spares(world)) == len(OLD), "two of the run, and one of the undo"


def test_what_is_given_up_leaves_no_spares(world: World) -> None:
    run = built(world).run
    keeping = world.engine().retention
    keeping.delete(keeping.check([run]))
    assert spares(world) == []


def test_the_setting_bounds_all_spares(world: World) -> None:
    world.retention = RetentionLimits(displaced_bytes=1 << 20)
    built(world)
    world.engine().retention.retain()
    assert spares(world)
    world.retention = RetentionLimits(displaced_bytes=1)
    world.engine().retention.retain()
    assert spares(world) == []


def test_room_is_made_whenever_a_command_ends(world: World) -> None:
    world.retention = RetentionLimits(displaced_bytes=1)
    built(world)
    world.engine().retention.retain(daily=True)
    assert spares(world) == []


def test_a_late_line_in_a_displaced_file_is_kept_and_named(world: World) -> None:
    with (world.root / "kept.txt").open("ab", buffering=0) as held:
        run = built(world).run
        (spare,) = [one for one in spares(world) if one.read_bytes() == b"old"]
        held.write(b".")
    engine = world.engine()
    engine.retention.delete(engine.retention.check([run]))
    (told,) = [words for words in engine.warnings if "was kept" in words]
    assert str(home(world) / f"{run}.late") in told
    assert (home(world) / f"{run}.late" / spare.name).read_bytes().startswith(b"old.")


def test_where_no_spares_can_be_kept_nothing_is_left(world: World, tmp_path: Path) -> None:
    world.spares = LocalDisplacedFiles(os.fsencode(tmp_path / "no" / "such"), 1 << 20)
    assert built(world).outcome == "done"
    assert os.listdir(world.root / ".opencode/assent/stage") == []
    assert undone(world).outcome == "done"
    assert world.files() == OLD
