"""F139, F145: how far a record of a workspace reaches, and what it says about the rest."""

import os
import shutil
from pathlib import Path

import msgspec
import pytest
from tests.support.snapshot import Folder, changed, state

from assent.core.plan.operation import DeleteFile, FileOperation, MoveFile, WriteFile
from assent.core.run.workspace_changes import (
    SkippedFile,
    SnapshotGaps,
    SnapshotLimits,
    WorkspaceChanges,
)
from assent.planning.ports import WorkspaceConfig
from assent.planning.snapshot.recorder import MAX_READ_CHECKS, SnapshotRecorder
from assent.store.memory import MemoryBlobStore
from assent.workspace.files import LocalWorkspaceFiles


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    root = tmp_path / "work"
    root.mkdir()
    return Folder(root, MemoryBlobStore())


def test_f145_what_is_too_large_is_named(folder: Folder) -> None:
    folder.put({"big": b"12345", "small": b"1234", "grows": b"1"})

    def act(root: Path) -> None:
        (root / "big").write_bytes(b"54321")
        (root / "small").unlink()
        (root / "grows").write_bytes(b"123456")
        (root / "new").write_bytes(b"123456")

    assert changed(folder, act, SnapshotLimits(file=4)) == WorkspaceChanges(
        (
            DeleteFile(b"small", state(b"1234")),
            WriteFile(b"grows", state(b"1"), state(b"123456")),
        ),
        (SkippedFile(b"big", "changed", "large"), SkippedFile(b"new", "new", "large")),
    )


def test_f145_what_does_not_fit_any_more_is_named(folder: Folder) -> None:
    folder.put({"a": b"123", "b": b"123", "c": b"1"})

    def act(root: Path) -> None:
        for name in "abc":
            (root / name).write_bytes(b"")

    found = changed(folder, act, SnapshotLimits(total=4))
    assert len(found.operations) + len(found.skipped) == 3
    assert {each.why for each in found.skipped} == {"too many"}
    assert len(found.skipped) == 1


def test_f145_with_too_many_files_nobody_claims_to_know(folder: Folder) -> None:
    folder.put({"a": b"1", "b": b"1"})
    assert changed(folder, lambda root: None, SnapshotLimits(files=1)) == WorkspaceChanges(
        known=False
    )
    assert changed(folder, lambda root: None, SnapshotLimits(files=2)) == WorkspaceChanges()
    assert changed(folder, lambda root: (root / "d").touch(), SnapshotLimits(files=0)).known


def test_f145_with_too_many_files_those_are_kept_that_fit(folder: Folder) -> None:
    folder.put({"a": b"1", "b": b"1", "sub/c": b"1"})

    def act(root: Path) -> None:
        for name in ("a", "b", "sub/c"):
            (root / name).write_bytes(b"2")
        (root / "sub/new").write_bytes(b"2")
        (root / "new").mkdir()
        (root / "new/new").write_bytes(b"2")

    found = changed(folder, act, SnapshotLimits(files=2))
    new = WriteFile(b"new/new", None, state(b"2"))
    ops = [WriteFile(name, state(b"1"), state(b"2")) for name in (b"a", b"b")]
    assert found == WorkspaceChanges(
        (*ops, new), known=False, made=(b"new",)
    )  # sub/new: nobody knows
    first = changed(folder, lambda root: (root / "b").unlink(), SnapshotLimits(files=1))
    assert first == WorkspaceChanges(known=False)


def test_f145_a_command_that_makes_too_many_files_hides_no_other_change(folder: Folder) -> None:
    folder.put({"a": b"1", "sub/b": b"1"})

    def act(root: Path) -> None:
        (root / "a").unlink()
        (root / "sub/b").write_bytes(b"2")
        for number in range(4):
            (root / f"0{number}").touch()

    found = changed(folder, act, SnapshotLimits(files=2))
    assert found.operations == (
        DeleteFile(b"a", state(b"1")),
        WriteFile(b"00", None, state(b"")),
        WriteFile(b"01", None, state(b"")),
        WriteFile(b"sub/b", state(b"1"), state(b"2")),
    )
    assert not found.known


def test_f145_what_is_ignored_takes_no_room(folder: Folder) -> None:
    out = {f"out/{number}": b"1" for number in range(3)}
    folder.put({".gitignore": b"out/\n*.log\n", "a": b"1", "x.log": b"1", "z/b": b"1", **out})

    def act(root: Path) -> None:
        for name in ("a", "z/b", "out/0"):
            (root / name).unlink()

    found = changed(folder, act, SnapshotLimits(files=4))
    gone = (DeleteFile(b"a", state(b"1")), DeleteFile(b"z/b", state(b"1")))
    assert found == WorkspaceChanges(gone, (SkippedFile(b"out/0", "gone", "ignored"),))
    fewer = changed(folder, lambda root: None, SnapshotLimits(files=2))
    assert fewer == WorkspaceChanges((), (SkippedFile(b"out", "unknown", "ignored"),))


def test_what_is_assents_own_does_not_count(folder: Folder) -> None:
    own = (
        ".opencode/assent/x", ".opencode/plans/s/PLAN_p.md", ".opencode/.gitignore",
        ".opencode/plans/s/.PLAN_p.md.11286.2140", ".opencode/agents/.plan.md.1.2",
    )  # fmt: skip
    folder.put(dict.fromkeys((*own, ".opencode/agents/mine.md"), b"1"))

    def act(root: Path) -> None:
        folder.put(dict.fromkeys((*own, ".opencode/agents/mine.md"), b"2"))

    assert [op.path for op in changed(folder, act).operations] == [b".opencode/agents/mine.md"]


PERSONS = (
    ".opencode/plans/mine", ".opencode/plans/a/b/PLAN_p.md", ".opencode/plans/.mine.1.2",
    ".opencode/plans/s/.PLAN_p.md.1.2/x", ".opencode/plans/PLAN_p.md/x", ".opencode/.assent.1.2",
)  # fmt: skip


@pytest.mark.parametrize("path", PERSONS)
def test_f139_only_plans_are_left_out_of_their_folder(folder: Folder, path: str) -> None:
    folder.put({path: b"1"})
    found = changed(folder, lambda root: (root / path).unlink())
    assert found == WorkspaceChanges((DeleteFile(path.encode(), state(b"1")),))


def test_f139_where_plans_lie_among_sources_all_of_them_are_kept(folder: Folder) -> None:
    names = ("src/main.py", "src/PLAN_mine.md", "src/s/PLAN_p.md")
    folder.put(dict.fromkeys(names, b"1"))

    def act(root: Path) -> None:
        for name in names:
            (root / name).unlink()

    found = changed(msgspec.structs.replace(folder, plans=b"src"), act)
    assert sorted(op.path for op in found.operations) == sorted(map(str.encode, names))


class Closed(LocalWorkspaceFiles):
    """A workspace of which one folder cannot be read until it is opened."""

    closed: bytes | None = None

    def stamps(self, folder: bytes) -> dict[bytes, tuple[int, ...]] | None:
        return None if folder == self.closed else super().stamps(folder)


def closing(folder: Folder) -> tuple[Closed, SnapshotRecorder]:
    root = os.fsencode(folder.root)
    files = Closed(root, root)
    return files, SnapshotRecorder(
        files, folder.blobs, WorkspaceConfig(root, 0, b".opencode/plans", "me")
    )


def test_what_lay_in_a_folder_that_could_not_be_read_is_not_new(folder: Folder) -> None:
    folder.put({"e/a": b"1", "e/f/b": b"1", "c": b"1"})
    files, recorder = closing(folder)
    files.closed = b"e"
    before = recorder.take()
    (folder.root / "c").unlink()
    assert recorder.changes(before) == WorkspaceChanges((DeleteFile(b"c", state(b"1")),))
    files.closed = None
    found = recorder.changes(before)
    assert found == WorkspaceChanges(
        (DeleteFile(b"c", state(b"1")),), (SkippedFile(b"e", "unknown", "odd"),)
    )
    shutil.rmtree(folder.root / "e")
    assert recorder.changes(before).skipped == (SkippedFile(b"e", "gone", "odd"),)


def test_what_lies_in_a_folder_that_was_closed_is_kept_and_nobody_knows_of_it(
    folder: Folder,
) -> None:
    folder.put({"e/a": b"1", "e/f/b": b"1"})
    files, recorder = closing(folder)
    before = recorder.take()
    files.closed = b"e"
    assert recorder.changes(before) == WorkspaceChanges(
        (DeleteFile(b"e/a", state(b"1")), DeleteFile(b"e/f/b", state(b"1"))),
        (
            SkippedFile(b"e", "unknown", "odd"),
            SkippedFile(b"e/a", "unknown", "odd", kept=True),
            SkippedFile(b"e/f/b", "unknown", "odd", kept=True),
        ),
    )


def test_a_workspace_that_cannot_be_read_is_not_known(folder: Folder) -> None:
    folder.put({"a": b"1"})
    files, recorder = closing(folder)
    files.closed = b""
    before = recorder.take()
    assert not before.known
    files.closed = None
    assert recorder.changes(before).operations == ()
    assert not recorder.changes(before).known


def test_a_path_too_long_for_the_system_is_named_and_not_new(folder: Folder) -> None:
    folder.put({"a": b"1"})
    here = os.open(folder.root, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("deep", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    found = changed(folder, lambda root: (root / "a").unlink())
    assert found == WorkspaceChanges((DeleteFile(b"a", state(b"1")),))
    coverage = folder.recorder().gaps()
    assert [len(path) > 3800 for path in coverage.closed] == [True]


def test_f145_coverage_names_files_that_cannot_be_read(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    folder = Folder(root, MemoryBlobStore(), closed=b"closed")
    folder.put({"a/closed": b"1", "b/closed": b"1", "mine": b"1", "open": b"1"})
    for name, mode in {"a/closed": 0, "b/closed": 0o600, "mine": 0o600}.items():
        (root / name).chmod(mode)
    unread = (b"a/closed", b"b/closed")
    assert folder.recorder().gaps() == SnapshotGaps(2, unread=unread)
    planned = WriteFile(b"mine", state(b"1", 0o600), state(b"2", 0))
    assert folder.recorder().gaps((planned,)) == SnapshotGaps(2, unread=unread)


def test_f145_of_files_that_only_their_owner_may_read_some_are_tried(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    folder = Folder(root, MemoryBlobStore(), closed=b"closed")
    folder.put({f"{number:05}": b"" for number in range(MAX_READ_CHECKS)} | {"last/closed": b"1"})
    for path in (*root.iterdir(), root / "last/closed"):
        path.chmod(0o700)
    assert folder.recorder().gaps() == SnapshotGaps(MAX_READ_CHECKS + 1)
    (root / "last/closed").chmod(0o044)
    assert folder.recorder().gaps() == SnapshotGaps(MAX_READ_CHECKS, unread=(b"last/closed",))


def test_folders_that_were_there_are_not_made_by_a_command(folder: Folder) -> None:
    (folder.root / "logs").mkdir(0o700)

    def act(root: Path) -> None:
        folder.put({"logs/a": b"1", "more/b": b"1"})

    found = changed(folder, act)
    assert found.made == (b"more",)
    assert found.skipped == ()


def test_a_folder_s_mode_that_changed_is_named(folder: Folder) -> None:
    folder.put({"sub/a": b"1"})
    found = changed(folder, lambda root: (root / "sub").chmod(0o700))
    assert found == WorkspaceChanges((), (SkippedFile(b"sub", "changed", "folder"),))


RULES = b"out/\n"
NEW = WriteFile(b"new", None, state(b"12"))
RULED = WriteFile(b".gitignore", None, state(RULES))


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ((), SnapshotGaps(3)),
        ((NEW,), SnapshotGaps(3, whole=False)),
        ((WriteFile(b"a", state(b"1"), state(b"2")),), SnapshotGaps(3)),
        ((DeleteFile(b"a", state(b"1")), NEW), SnapshotGaps(3)),
        ((DeleteFile(b"a", state(b"1")),), SnapshotGaps(2)),
        ((NEW, DeleteFile(b"new", state(b"12"))), SnapshotGaps(3)),
        ((MoveFile(b"a", b"deep/down/a", state(b"1")),), SnapshotGaps(3)),
        ((DeleteFile(b"a", state(b"1")), WriteFile(b"a/b", None, state(b"1"))), SnapshotGaps(3)),
        ((WriteFile(b"x/y/z", None, state(b"1")),), SnapshotGaps(3, whole=False)),
        ((WriteFile(b"a", state(b"1"), state(b"123456")),), SnapshotGaps(2, beyond=1)),
        ((RULED,), SnapshotGaps(3)),  # one more, and one that is ignored
        ((RULED, WriteFile(b"out/c", None, state(b"1"))), SnapshotGaps(3)),
        ((WriteFile(b".opencode/plans/PLAN_x.md", None, state(b"1")),), SnapshotGaps(3)),
    ],
)
def test_f145_coverage_counts_what_will_stand_there(
    folder: Folder, before: tuple[FileOperation, ...], expected: SnapshotGaps
) -> None:
    folder.put({"a": b"1", "b": b"1", "out/d": b"1"})
    folder.blobs.keep([RULES])
    bounds = SnapshotLimits(total=len(RULES) + 2, files=3)
    assert folder.recorder(bounds).gaps(before) == expected
