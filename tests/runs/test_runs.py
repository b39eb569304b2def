"""Runs as the engine reports them: what failed, what was put back, and what never began."""

import errno
import os
from collections.abc import Callable, Mapping

import pytest
from tests.support.engine import PassedOn, World

from assent.core.digest import sha256
from assent.core.errors import ApprovalUsed, Busy, StaleError, StoreError, WorkspaceError
from assent.core.paths import STAGE
from assent.core.run.journal import RunStep, drive_to_end
from assent.executor.disk import Disk
from assent.executor.projection import LocalProjection
from assent.ports import PlanFile, Projection
from assent.store.locks import FileLocks

OLD = {"one": b"old one\n", "two": b"old two\n", "three": b"old three\n"}
NEW = {"one": b"new one\n", "two": b"new two\n", "three": b"new three\n"}


class FailingDisk(Disk):
    """Fails, or lets somebody act, before the second operation is first done."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act: Callable[[], None] | None = act

    def rename_exchange(self, one: bytes, one_at: int, other: bytes, other_at: int) -> None:
        if other == b"two" and self._act:
            act, self._act = self._act, None
            act()
        super().rename_exchange(one, one_at, other, other_at)


class FullDisk(Disk):
    """Has no room for the second file."""

    def write(self, fd: int, content: bytes | memoryview) -> int:
        if bytes(content) == NEW["two"]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(fd, content)


def no_io() -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_f64_a_failure_in_the_middle_is_reported_as_it_was(world: World) -> None:
    world.put(OLD)
    record = world.approve(NEW)
    report = world.build(record, FailingDisk(no_io))
    assert report.outcome == "rolled_back"
    assert [result for _, result in report.operations] == ["undone", "failed", "not_started"]
    assert report.notes == ("two: Input/output error.",)
    assert world.files() == OLD
    shown = world.engine().plans.find("work")
    assert (shown.state, shown.runs[-1].outcome) == ("AWAITING_APPROVAL", "rolled_back")
    with pytest.raises(ApprovalUsed):
        world.build(record)


def test_f64_a_failure_before_the_commit_touches_nothing(world: World) -> None:
    world.put(OLD)
    record = world.approve(NEW)
    report = world.build(record, FullDisk())
    assert report.outcome == "rolled_back"
    assert [result for _, result in report.operations] == ["not_started", "failed", "not_started"]
    assert "No space left on device" in report.notes[0]
    assert world.files() == OLD


def test_a_late_change_is_noticed_and_kept(world: World) -> None:
    world.put(OLD)
    record = world.approve(NEW)
    late = FailingDisk(lambda: world.put({"two": b"mine\n"}))
    report = world.build(record, late)
    assert report.outcome == "rolled_back"
    assert [result for _, result in report.operations] == ["undone", "conflict", "undone"]
    assert world.files() == {**OLD, "two": b"mine\n"}


def test_a_run_that_cannot_be_put_back_waits_for_a_person(world: World) -> None:
    world.put(OLD)
    record = world.approve(NEW)
    late = FailingDisk(lambda: world.put({"one": b"mine\n", "two": b"mine\n"}))
    report = world.build(record, late)
    assert report.outcome == "needs_you"
    assert dict(zip(NEW, [result for _, result in report.operations], strict=True)) == {
        "one": "conflict",
        "two": "conflict",
        "three": "undone",
    }
    assert world.engine().plans.find("work").state == "HALTED"
    (note,) = [note for note in report.notes if note.startswith("one: ")]
    kept = note.partition(" is kept in ")[2].rstrip(".")
    assert (world.root / kept).read_bytes() == OLD["one"]
    with pytest.raises(StaleError) as refused:
        drive_to_end(world.engine().runs.recover("accept", "another"))
    assert {"another", report.run} <= {*refused.value.message.split()}
    assert world.engine().plans.find("work").state == "HALTED"
    accepted = drive_to_end(world.engine().runs.recover("accept", report.run))
    assert accepted.outcome == "done"
    assert world.files() == {"one": b"mine\n", "two": b"mine\n", "three": OLD["three"]}


def test_progress_tells_the_steps_in_order(world: World) -> None:
    record = world.approve(NEW)
    steps = [progress.step for progress in world.engine().runs.build(record.plan_id)]
    assert list(dict.fromkeys(steps)) == [RunStep.PREPARE, RunStep.FINISH]
    assert world.files() == NEW


def test_nothing_is_left_of_the_slots(world: World) -> None:
    world.put(OLD)
    record = world.approve(NEW)
    world.build(record)
    stage = world.root / os.fsdecode(STAGE)
    assert not stage.exists() or list(stage.iterdir()) == []


def test_f66_content_that_undo_would_need_must_be_kept(world: World) -> None:
    world.put(OLD)
    record = world.approve(NEW)
    del world.blobs.contents[sha256(OLD["one"])]
    with pytest.raises(StoreError) as refused:
        world.build(record)
    assert "stored content of one is missing" in refused.value.message
    assert world.files() == OLD


def test_damaged_old_content_stops_a_run_before_it_starts(world: World) -> None:
    world.put(OLD)
    record = world.approve(NEW)
    world.blobs.contents[sha256(OLD["one"])] = b"?" * len(OLD["one"])
    with pytest.raises(StoreError):
        world.build(record)
    assert world.files() == OLD
    assert world.engine().plans.find("work").runs == ()


def test_damaged_new_content_is_never_written(world: World) -> None:
    world.put(OLD)
    record = world.approve(NEW)
    world.blobs.contents[sha256(NEW["three"])] = b"damaged"
    report = world.build(record)
    assert report.outcome == "rolled_back"
    assert [result for _, result in report.operations] == ["not_started", "not_started", "failed"]
    assert world.files() == OLD


def test_one_build_at_a_time(world: World) -> None:
    record = world.approve(NEW)
    world.locks = FileLocks(world.root.parent / "locks", patience=0)
    workspace = world.engine().plans.repository().workspace
    with world.locks.hold(workspace, "assent build elsewhere"), pytest.raises(Busy) as refused:
        world.build(record)
    assert "assent build elsewhere" in refused.value.message
    assert world.files() == {}
    assert world.build(record).outcome == "done"


class BlindProjection:
    """Implements ports.Projection, but cannot write the readable copies."""

    def __init__(self, real: LocalProjection) -> None:
        self._real = real

    def prepare(self) -> None:
        self._real.prepare()

    def plan_path(self, session: str, name: str) -> bytes:
        return self._real.plan_path(session, name)

    def find_plans(self, session: str = "") -> list[PlanFile]:
        return self._real.find_plans(session)

    def read_plan(self, path: bytes) -> bytes | None:
        return self._real.read_plan(path)

    def write_plan(self, path: bytes, text: bytes) -> None:
        self._real.write_plan(path, text)

    def delete_plan(self, path: bytes) -> None:
        self._real.delete_plan(path)

    def write_state(self, plan_id: str, files: Mapping[str, bytes]) -> None:
        raise WorkspaceError("No space left.")

    def remove_state(self, plan_id: str, name: str) -> None:
        raise WorkspaceError("No space left.")

    def remove_all_state(self, plan_id: str) -> None:
        raise WorkspaceError("No space left.")

    def tidy(self) -> bool:
        return self._real.tidy()

    def skipped(self) -> list[str]:
        return self._real.skipped()

    def read_agent(self) -> bytes | None:
        return self._real.read_agent()

    def write_agent(self, text: bytes) -> None:
        self._real.write_agent(text)

    def marker(self) -> str:
        return self._real.marker()

    def write_marker(self, workspace: str) -> None:
        self._real.write_marker(workspace)


def test_readable_copies_that_cannot_be_written_are_only_a_warning(world: World) -> None:
    blind: Projection = BlindProjection(LocalProjection(os.fsencode(world.root)))
    world.projection = blind
    record = world.approve(NEW)
    engine = world.engine()
    assert drive_to_end(engine.runs.build(record.plan_id)).outcome == "done"
    assert engine.warnings
    assert all("are outdated: No space left." in warning for warning in engine.warnings)


class Headless(PassedOn):
    """A store that lost its projection."""

    def head(self, stream: str) -> tuple[int, bytes] | None:
        return None

    def heads(self, prefix: str) -> dict[str, tuple[int, bytes]]:
        return {}


def test_a_store_without_heads_says_the_same(world: World) -> None:
    """Law 8: a head is a kept fold, and can be lost."""
    record = world.approve(NEW)
    world.build(record)
    kept = world.engine().plans.all()

    assert world.engine(Headless(world.store)).plans.all() == kept


def test_an_unreadable_blob_is_said_by_the_review(world: World) -> None:
    record = world.propose(NEW)
    del world.blobs.contents[sha256(NEW["one"])]
    with pytest.raises(StoreError):
        world.engine().reviews.review(record)
