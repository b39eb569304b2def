"""Laws 1 and 5 outside plan mode: a permitted edit is applied and undone as a plan would be."""

import errno
import os

import pytest
from tests.support.engine import PassedOn, World

from assent.app.engine import Engine
from assent.core.digest import sha256
from assent.core.errors import (
    STORED,
    AssentError,
    Drift,
    Refused,
    RunUnfinished,
    StoreError,
    WorkspaceError,
)
from assent.core.event import JournalWritten, PermitGiven, RunEnded, StoredEvent
from assent.core.plan.operation import DeleteFile, FileOperation, FileState, MoveFile, WriteFile
from assent.core.run.journal import drive_to_end
from assent.core.run.permit import PermitSource
from assent.core.session.record import SessionRecord
from assent.core.tool import EditEffect
from assent.executor.disk import Disk
from assent.ports import EventBatch, EventStore
from assent.runs.run_status import RunReport

AT = "2026-01-01T12:00:00.000Z"


def state(content: bytes, mode: int = 0o644) -> FileState:
    return FileState(sha256(content), len(content), mode)


def write(path: str, before: bytes | None, after: bytes) -> EditEffect:
    old = None if before is None else state(before)
    return EditEffect((WriteFile(path.encode(), old, state(after)),), {sha256(after): after})


def session(engine: Engine, turn: int = 1) -> SessionRecord:
    workspace = engine._workspaces.open().workspace
    return SessionRecord("s1", workspace, "talk", "auto-edit", AT, AT, 1, turns=turn)


def apply(
    engine: Engine, edit: EditEffect, turn: int = 1, source: PermitSource = "mode", call: str = "c1"
) -> RunReport:
    return engine.permits.apply(session(engine, turn), call, edit, source, "auto-edit")


def undo(engine: Engine, reference: str = "") -> RunReport:
    return drive_to_end(engine.undo.apply(engine.undo.preview(reference), "test"))


def test_an_edit_is_applied_and_recorded(world: World) -> None:
    world.put({"a.txt": b"old\n"})
    engine = world.engine()
    report = apply(engine, write("a.txt", b"old\n", b"new\n"))
    assert (report.outcome, [result for _, result in report.operations]) == ("done", ["done"])
    assert world.files() == {"a.txt": b"new\n"}
    (run,) = engine.plans.repository().permit_runs()
    assert (run.run, run.outcome) == (report.run, "done")
    permit = run.permit
    told = (permit.session, permit.call, permit.source, permit.detail, permit.turn, permit.build)
    assert told == ("s1", "c1", "mode", "auto-edit", 1, "")
    assert engine.plans.all() == []


def test_a_permit_and_its_run_are_one_record(world: World) -> None:
    """Law 3: what gives the permit spends it, so it cannot be used twice."""
    engine = world.engine()
    apply(engine, write("a.txt", None, b"new\n"))
    kinds = [type(one.event) for one in engine.log() if one.stream.startswith(("permit/", "run/"))]
    assert kinds.count(PermitGiven) == kinds.count(RunEnded) == 1
    assert kinds.count(JournalWritten) == 4


def test_every_kind_of_operation_at_once(world: World) -> None:
    world.put({"gone": b"gone\n", "here": b"here\n", "kept": b"1\n"})
    operations: tuple[FileOperation, ...] = (
        DeleteFile(b"gone", state(b"gone\n")),
        MoveFile(b"here", b"deep/there", state(b"here\n")),
        WriteFile(b"kept", state(b"1\n"), state(b"1\n", 0o755)),
        WriteFile(b"born/file", None, state(b"2\n")),
    )
    engine = world.engine()
    apply(engine, EditEffect(operations, {sha256(b"2\n"): b"2\n"}))
    assert world.files() == {"deep/there": b"here\n", "kept": b"1\n", "born/file": b"2\n"}
    assert (world.root / "kept").stat().st_mode & 0o777 == 0o755
    assert undo(engine).outcome == "done"
    assert world.files() == {"gone": b"gone\n", "here": b"here\n", "kept": b"1\n"}
    assert not (world.root / "deep").exists()


def test_nothing_is_nothing(world: World) -> None:
    assert apply(world.engine(), EditEffect(())).outcome == "nothing"


def test_a_file_that_changed_since_it_was_read_is_left_alone(world: World) -> None:
    world.put({"a.txt": b"mine\n"})
    with pytest.raises(Drift) as refused:
        apply(world.engine(), write("a.txt", b"old\n", b"new\n"))
    assert "a.txt: expected" in refused.value.message
    assert "Nothing was changed" in refused.value.message
    assert world.files() == {"a.txt": b"mine\n"}
    assert world.engine().plans.repository().permit_runs() == []


@pytest.mark.parametrize(
    "path",
    [
        ".git/config", "sub/.GIT/hooks/x", ".opencode/assent/x", ".opencode/plans/s/PLAN_x.md",
        "../outside", "/etc/passwd", "a/../b", "./a", "a//b", ".opencode", "",
    ],
)  # fmt: skip
def test_paths_that_no_plan_may_touch(world: World, path: str) -> None:
    world.engine().plans.new("work", "tests", "A goal")
    before = world.files()
    with pytest.raises(Refused):
        apply(world.engine(), write(path, None, b"x"))
    assert world.files() == before


def test_a_symlinked_folder_is_never_followed(world: World) -> None:
    outside = world.root.parent / "outside"
    outside.mkdir()
    (world.root / "door").symlink_to(outside)
    with pytest.raises(AssentError):
        apply(world.engine(), write("door/a.txt", None, b"x"))
    assert list(outside.iterdir()) == []


def test_contents_must_be_what_they_are_called(world: World) -> None:
    digest = sha256(b"good")
    operations = (WriteFile(b"a", None, FileState(digest, 4, 0o644)),)
    with pytest.raises(StoreError):
        apply(world.engine(), EditEffect(operations, {digest: b"evil"}))
    with pytest.raises(StoreError):
        apply(world.engine(), EditEffect(operations))
    assert world.files() == {}


class Meddling(Disk):
    """Lets somebody write the file just before it is replaced, or fails there."""

    def __init__(self, world: World, content: bytes | None) -> None:
        self._world = world
        self._content = content

    def rename_exchange(self, one: bytes, one_at: int, other: bytes, other_at: int) -> None:
        if other == b"a.txt" and self._content is None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if other == b"a.txt" and self._content:
            content, self._content = self._content, b""
            self._world.put({"a.txt": content})
        super().rename_exchange(one, one_at, other, other_at)


@pytest.mark.parametrize(("content", "left"), [(b"mine\n", b"mine\n"), (None, b"old\n")])
def test_what_fails_is_put_back_and_said(world: World, content: bytes | None, left: bytes) -> None:
    world.put({"a.txt": b"old\n"})
    engine = world.engine(disk=Meddling(world, content))
    with pytest.raises(WorkspaceError) as failed:
        apply(engine, write("a.txt", b"old\n", b"new\n"))
    assert failed.value.message.endswith("Every file is as it was before.")
    assert world.files() == {"a.txt": left}
    (run,) = engine.plans.repository().permit_runs()
    assert run.outcome == "rolled_back"


def test_an_unfinished_plan_run_is_recovered_first(world: World) -> None:
    """A permit of another process that died between its records rolls forward or back."""
    world.put({"a.txt": b"old\n"})
    record = world.approve({"b.txt": b"b\n"})
    engine = world.engine()
    work = engine.runs.build(record.plan_id)
    next(work)
    work.close()  # the process is gone after its first record
    assert engine.runs.unfinished() is not None
    apply(world.engine(), write("a.txt", b"old\n", b"new\n"))
    assert world.engine().runs.unfinished() is None
    assert world.files() == {"a.txt": b"new\n"}


def test_undo_takes_a_turn_back_as_one(world: World) -> None:
    world.put({"a.txt": b"0\n"})
    engine = world.engine()
    apply(engine, write("a.txt", b"0\n", b"1\n"), turn=1)
    apply(engine, write("a.txt", b"1\n", b"2\n"), turn=2)
    apply(engine, write("b.txt", None, b"b\n"), turn=2)
    apply(engine, write("a.txt", b"2\n", b"3\n"), turn=2)
    preview = engine.undo.preview()
    assert preview.run == "s1.2"
    assert len(preview.plan.operations) == 2
    assert engine.undo.preview("s1.2").plan.digest == preview.plan.digest
    assert undo(engine).outcome == "done"
    assert world.files() == {"a.txt": b"1\n"}
    assert undo(engine).outcome == "done"
    assert world.files() == {"a.txt": b"0\n"}
    with pytest.raises(AssentError, match="No run to undo"):
        engine.undo.preview()


def test_undo_of_one_run_by_its_id(world: World) -> None:
    engine = world.engine()
    first = apply(engine, write("a.txt", None, b"a\n"))
    apply(engine, write("b.txt", None, b"b\n"))
    assert undo(engine, first.run).outcome == "done"
    assert world.files() == {"b.txt": b"b\n"}
    assert undo(engine).outcome == "done"  # the rest of the turn
    assert world.files() == {}


def test_undo_leaves_what_a_person_changed(world: World) -> None:
    world.put({"a.txt": b"0\n"})
    engine = world.engine()
    apply(engine, write("a.txt", b"0\n", b"1\n"))
    apply(engine, write("b.txt", None, b"b\n"))
    world.put({"b.txt": b"mine\n"})
    report = undo(engine)
    assert sorted(result for _, result in report.operations) == ["conflict", "undone"]
    assert world.files() == {"a.txt": b"0\n", "b.txt": b"mine\n"}


def test_undo_goes_back_to_what_a_person_wrote_between_two_edits(world: World) -> None:
    engine = world.engine()
    apply(engine, write("a.txt", None, b"1\n"))
    world.put({"a.txt": b"mine\n"})
    apply(engine, write("a.txt", b"mine\n", b"2\n"))
    assert undo(engine).outcome == "done"
    assert world.files() == {"a.txt": b"mine\n"}


def test_an_undo_can_be_undone(world: World) -> None:
    engine = world.engine()
    apply(engine, write("a.txt", None, b"a\n"))
    apply(engine, write("b.txt", None, b"b\n"))
    taken = undo(engine)
    assert undo(engine, taken.run).outcome == "done"
    assert world.files() == {"a.txt": b"a\n", "b.txt": b"b\n"}
    assert undo(engine).outcome == "done"
    assert world.files() == {}


class Stuck(Meddling):
    """Somebody writes the file before it is replaced, and again before it is put back."""

    _times = 0

    def rename_exchange(self, one: bytes, one_at: int, other: bytes, other_at: int) -> None:
        if other == b"a.txt":
            self._times += 1
            self._world.put({"a.txt": b"mine %d\n" % self._times})
        Disk.rename_exchange(self, one, one_at, other, other_at)


def test_one_that_cannot_be_put_back_waits_for_the_person(world: World) -> None:
    world.put({"a.txt": b"old\n"})
    engine = world.engine(disk=Stuck(world, b""))
    with pytest.raises(RunUnfinished):
        apply(engine, write("a.txt", b"old\n", b"new\n"))
    found = world.engine().runs.unfinished()
    assert found is not None
    assert (found[0], found[1].halted) == ("", True)
    with pytest.raises(RunUnfinished):
        apply(world.engine(), write("c.txt", None, b"c\n"))
    assert drive_to_end(world.engine().runs.recover("accept")).outcome == "done"
    assert apply(world.engine(), write("c.txt", None, b"c\n")).outcome == "done"


FULL = "the disk is full"


class _FullStore(PassedOn):
    """A log that takes a number of appends, and then no more."""

    def __init__(self, store: EventStore, room: int) -> None:
        super().__init__(store)
        self.room = room

    def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
        if self.room == 0:
            raise StoreError(f"Could not write the log: {FULL}. {STORED}", "df -h")
        self.room -= 1
        return super().append(*batches)


@pytest.mark.parametrize(("records", "left"), [(1, b"old\n"), (2, b"new\n"), (3, b"new\n")])
def test_a_log_that_fails_in_the_middle_of_an_edit_names_its_run(
    records: int, left: bytes, world: World
) -> None:
    world.put({"a.txt": b"old\n", "b.txt": b"old\n"})
    operations = tuple(
        WriteFile(name, state(b"old\n"), state(b"new\n")) for name in (b"a.txt", b"b.txt")
    )
    both = EditEffect(operations, {sha256(b"new\n"): b"new\n"})
    _check_failed_log(world, records, both, {"a.txt": left, "b.txt": left})
    ended = drive_to_end(world.engine().runs.recover())
    assert ended.outcome == ("rolled_back" if records == 1 else "done")


@pytest.mark.parametrize("records", [1, 2])
def test_one_that_fails_after_a_single_rename_leaves_all_of_it_or_nothing(
    records: int, world: World
) -> None:
    world.put({"a.txt": b"old\n"})
    _check_failed_log(world, records, write("a.txt", b"old\n", b"new\n"), {"a.txt": b"new\n"})
    ended = drive_to_end(world.engine().runs.recover())
    assert ended.outcome == ("rolled_back" if records == 1 else "done")
    assert world.files() == {"a.txt": b"old\n" if records == 1 else b"new\n"}
    assert world.engine().runs.unfinished() is None


def _check_failed_log(
    world: World, records: int, wanted: EditEffect, left: dict[str, bytes]
) -> None:
    """Makes an edit whose log takes only some records, and checks what it says and leaves."""
    world.engine()._workspaces.open()
    engine = world.engine(_FullStore(world.store, records))
    with pytest.raises(RunUnfinished) as stopped:
        apply(engine, wanted)
    assert world.files() == left
    found = world.engine().runs.unfinished()
    assert found is not None
    assert found[1].run in stopped.value.message
    assert FULL in stopped.value.message
    assert STORED not in stopped.value.message
    assert stopped.value.next == "assent recover"


def test_a_log_that_is_full_before_an_edit_begins_is_a_refusal(world: World) -> None:
    world.put({"a.txt": b"old\n"})
    world.engine()._workspaces.open()
    with pytest.raises(StoreError, match=FULL):
        apply(world.engine(_FullStore(world.store, 0)), write("a.txt", b"old\n", b"new\n"))
    assert world.files() == {"a.txt": b"old\n"}
    assert world.engine().runs.unfinished() is None
