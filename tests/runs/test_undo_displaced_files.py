"""What a run displaces is at hand for its undo: the same file, without writing it anew."""

import os
from collections.abc import Callable
from mmap import mmap
from pathlib import Path

import pytest
from tests.support.engine import World

from assent.core.digest import sha256
from assent.core.plan.operation import FileState
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import drive_to_end
from assent.executor.disk import Disk
from assent.executor.displaced_files import LocalDisplacedFiles
from assent.executor.file_writer import (
    MAX_FORGOTTEN_BYTES,
    MAX_FORGOTTEN_FILES,
    LocalFileWriter,
)
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
    assert len(spares(world)) == len(OLD) - 1, "two of the run; the undo's has only its content"


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


def replaced(world: World, *paths: str, content: bytes = b"new") -> RunReport:
    """Replaces files and does nothing else."""
    engine = world.engine()
    record: PlanRecord = engine.plans.new("replace", "tests", "A goal")
    for path in paths:
        record = engine.drafts.write(record, path.encode(), [content], None).record
    record = engine.approvals.propose(record)
    engine.approvals.approve(record, record.digest, "", "test")
    return world.build(record)


def test_a_few_small_files_are_kept_by_their_content_alone(world: World) -> None:
    (world.root / "kept.txt").chmod(0o640)
    os.setxattr(world.root / "kept.txt", "user.mark", b"1")
    before = (world.root / "kept.txt").stat()
    assert replaced(world, "kept.txt", "gone/one.txt").outcome == "done"
    assert spares(world) == []
    assert os.listdir(world.root / ".opencode/assent/stage") == []
    assert undone(world).outcome == "done"
    after = (world.root / "kept.txt").stat()
    assert world.files() == OLD
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode, before.st_uid, before.st_gid,
    )  # fmt: skip
    assert os.getxattr(world.root / "kept.txt", "user.mark") == b"1"
    engine = world.engine()
    assert drive_to_end(engine.undo.apply(engine.undo.redo(), "test")).outcome == "done"
    assert world.files() == OLD | {"kept.txt": b"new", "gone/one.txt": b"new"}


def test_a_small_file_that_a_program_may_still_write_to_is_set_aside(world: World) -> None:
    with (world.root / "kept.txt").open("ab", buffering=0) as held:
        run = replaced(world, "kept.txt").run
        held.write(b", and late work")
    (spare,) = spares(world)
    assert spare.read_bytes() == b"old, and late work"
    engine = world.engine()
    engine.retention.delete(engine.retention.check([run]))
    assert (home(world) / f"{run}.late" / spare.name).read_bytes() == b"old, and late work"


def test_a_small_file_that_is_mapped_to_be_written_is_set_aside(world: World) -> None:
    with (world.root / "kept.txt").open("r+b") as file:
        mapped = mmap(file.fileno(), 3)
    with mapped:
        replaced(world, "kept.txt")
        mapped[0:3] = b"OLD"
    assert [spare.read_bytes() for spare in spares(world)] == [b"OLD"]


def test_a_program_that_only_reads_a_small_file_keeps_none(world: World) -> None:
    with (world.root / "kept.txt").open("rb") as held:
        replaced(world, "kept.txt")
        assert held.read() == b"old"
    assert spares(world) == []


def test_a_large_file_is_set_aside(world: World) -> None:
    world.put({"kept.txt": b"x" * (MAX_FORGOTTEN_BYTES + 1)})
    replaced(world, "kept.txt")
    assert len(spares(world)) == 1


def test_many_small_files_are_set_aside(world: World) -> None:
    names = [f"file{n}" for n in range(MAX_FORGOTTEN_FILES + 1)]
    world.put(dict.fromkeys(names, b"old"))
    replaced(world, *names)
    assert len(spares(world)) == len(names)


def test_a_small_file_that_is_deleted_is_set_aside(world: World) -> None:
    """Its owner and attributes are nowhere else."""
    os.setxattr(world.root / "kept.txt", "user.mark", b"1")
    engine = world.engine()
    record = engine.plans.new("delete", "tests", "A goal")
    record = engine.drafts.delete(record, b"kept.txt").record
    record = engine.approvals.propose(record)
    engine.approvals.approve(record, record.digest, "", "test")
    world.build(record)
    assert len(spares(world)) == 1
    assert undone(world).outcome == "done"
    assert os.getxattr(world.root / "kept.txt", "user.mark") == b"1"


class NoLeases(Disk):
    """A file system without leases: whether a file has a writer cannot be known."""

    def has_no_writer(self, fd: int) -> bool:
        ends = os.pipe()  # a lease on one of them is refused like one on such a file system
        try:
            return super().has_no_writer(ends[0])
        finally:
            for end in ends:
                os.close(end)


def test_where_the_system_does_not_tell_small_files_are_set_aside(tmp_path: Path) -> None:
    site, folder = tmp_path / "site", tmp_path / "spares"
    (site / ".opencode/assent/stage/run").mkdir(parents=True)
    slot = b".opencode/assent/stage/run/0.new"
    (site / os.fsdecode(slot)).write_bytes(b"old")
    (site / os.fsdecode(slot)).chmod(0o644)
    old = {slot: FileState(sha256(b"old"), 3, 0o644)}
    for disk, only in ((Disk(), True), (NoLeases(), False)):
        aside = LocalDisplacedFiles(os.fsencode(folder), 1 << 20, disk)
        assert LocalFileWriter(os.fsencode(site), disk, spares=aside).are_only_content(old) is only


@pytest.mark.parametrize(
    "change",
    [
        lambda slot: slot.write_bytes(b"odd"),
        lambda slot: slot.chmod(0o600),
        lambda slot: os.link(slot, slot.with_name("another name")),
        lambda slot: (slot.unlink(), slot.symlink_to("/etc/passwd")),
        lambda slot: (slot.unlink(), os.mkfifo(slot)),
    ],
    ids=["content", "mode", "linked", "symlink", "pipe"],
)
def test_a_displaced_file_that_is_not_as_it_was_is_more_than_its_content(
    tmp_path: Path, change: Callable[[Path], object]
) -> None:
    slot = b".opencode/assent/stage/run/0.new"
    path = tmp_path / os.fsdecode(slot)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"old")
    path.chmod(0o644)
    writer = LocalFileWriter(os.fsencode(tmp_path))
    old = {slot: FileState(sha256(b"old"), 3, 0o644)}
    assert writer.are_only_content(old)
    change(path)
    assert not writer.are_only_content(old)
