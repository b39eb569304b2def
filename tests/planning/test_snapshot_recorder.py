"""F139, F144, F145: what stood before a command is kept, and what it changed is told."""

import os
import socket
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from tests.support.snapshot import Act, Folder, changed, later, state

from assent.core.digest import sha256
from assent.core.errors import StoreError
from assent.core.plan.operation import DeleteFile, WriteFile
from assent.core.run.workspace_changes import SkippedFile, WorkspaceChanges
from assent.runs.command_end import ChangedFile, changed_files
from assent.store.memory import MemoryBlobStore


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    root = tmp_path / "work"
    root.mkdir()
    return Folder(root, MemoryBlobStore())


def replace_by_folder(root: Path) -> None:
    (root / "a").unlink()
    (root / "a").mkdir()
    (root / "a/b").write_bytes(b"b")


def replace_by_link(root: Path) -> None:
    (root / "a").unlink()
    (root / "a").symlink_to("nowhere")


A = state(b"a\n")
TABLE: list[tuple[Act, WorkspaceChanges]] = [
    (lambda root: None, WorkspaceChanges()),
    (lambda root: (root / "a").touch(), WorkspaceChanges()),
    (lambda root: os.utime(root / "a", (1, 1)), WorkspaceChanges()),
    (lambda root: (root / "a").write_bytes(b"a\n"), WorkspaceChanges()),
    (
        lambda root: (root / "a").write_bytes(b"b\n"),
        WorkspaceChanges((WriteFile(b"a", A, state(b"b\n")),)),
    ),
    (lambda root: (root / "a").unlink(), WorkspaceChanges((DeleteFile(b"a", A),))),
    (
        lambda root: (root / "a").chmod(0o755),
        WorkspaceChanges((WriteFile(b"a", A, state(b"a\n", 0o755)),)),
    ),
    (
        lambda root: (root / "a").rename(root / "z"),
        WorkspaceChanges((DeleteFile(b"a", A), WriteFile(b"z", None, A))),
    ),
    (
        replace_by_link,
        WorkspaceChanges((WriteFile(b"a", A, state(b"nowhere", 0o777, link=True)),)),
    ),
    (
        replace_by_folder,
        WorkspaceChanges((DeleteFile(b"a", A), WriteFile(b"a/b", None, state(b"b"))), made=(b"a",)),
    ),
    (lambda root: (root / "empty").mkdir(), WorkspaceChanges(made=(b"empty",))),
    (
        lambda root: (root / "sub/c").write_bytes(b"\0\xff"),
        WorkspaceChanges((WriteFile(b"sub/c", None, state(b"\0\xff")),)),
    ),
]


@pytest.mark.parametrize(("act", "expected"), TABLE)
def test_f139_what_a_command_changed_is_told_as_operations(
    folder: Folder, act: Act, expected: WorkspaceChanges
) -> None:
    folder.put({"a": b"a\n", "sub/b": b"b\n"})
    assert changed(folder, act) == expected


def test_f139_old_and_new_contents_are_kept_without_git(folder: Folder) -> None:
    folder.put({"a": b"old\n", "gone": b"gone\n"})

    def act(root: Path) -> None:
        (root / "a").write_bytes(b"new\n")
        (root / "gone").unlink()

    changed(folder, act)
    kept = [folder.blobs.read(sha256(each)) for each in (b"old\n", b"new\n", b"gone\n")]
    assert kept == [b"old\n", b"new\n", b"gone\n"]


def test_f144_what_is_ignored_is_named_and_not_kept(folder: Folder) -> None:
    ignored = {"b.log": b"1", "out/x": b"1", "keep.log": b"1", "sub/y.tmp": b"1", "z.tmp": b"1"}
    folder.put({".gitignore": b"*.log\nout/\n!keep.log\n", "sub/.ignore": b"*.tmp\n", **ignored})

    def act(root: Path) -> None:
        for name in ignored:
            (root / name).write_bytes(b"2")
        (root / "out/x").unlink()
        (root / "out/new").write_bytes(b"2")

    assert changed(folder, act) == WorkspaceChanges(
        (
            WriteFile(b"keep.log", state(b"1"), state(b"2")),
            WriteFile(b"z.tmp", state(b"1"), state(b"2")),
        ),
        (
            SkippedFile(b"b.log", "changed", "ignored"),
            SkippedFile(b"out/new", "new", "ignored"),
            SkippedFile(b"out/x", "gone", "ignored"),
            SkippedFile(b"sub/y.tmp", "changed", "ignored"),
        ),
    )


def test_f144_rules_that_the_command_writes_hide_nothing_that_was_kept(folder: Folder) -> None:
    folder.put({"a": b"1"})

    def act(root: Path) -> None:
        (root / ".gitignore").write_bytes(b"*\n!.gitignore\n")
        (root / "a").write_bytes(b"2")
        (root / "b").write_bytes(b"2")

    found = changed(folder, act)
    assert WriteFile(b"a", state(b"1"), state(b"2")) in found.operations
    assert found.skipped == (SkippedFile(b"b", "new", "ignored"),)


def test_f144_git_s_own_exclude_counts(folder: Folder) -> None:
    folder.put({".git/info/exclude": b"mine\n", "mine": b"1", ".git/HEAD": b"x"})

    def act(root: Path) -> None:
        (root / "mine").write_bytes(b"2")
        (root / ".git/HEAD").write_bytes(b"y")

    assert changed(folder, act) == WorkspaceChanges(
        (), (SkippedFile(b"mine", "changed", "ignored"),)
    )


def test_what_is_no_file_is_named(folder: Folder) -> None:
    folder.put({"was": b"1"})
    os.mkfifo(folder.root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder.root / "s"))

    def act(root: Path) -> None:
        (root / "pipe").unlink()
        (root / "s").unlink()
        (root / "was").unlink()
        os.mkfifo(root / "was")

    assert changed(folder, act) == WorkspaceChanges(
        (DeleteFile(b"was", state(b"1")),),
        (
            SkippedFile(b"pipe", "gone", "odd"),
            SkippedFile(b"s", "gone", "odd"),
            SkippedFile(b"was", "changed", "odd", kept=True),
        ),
    )


def test_a_repository_below_is_named_and_its_files_are_kept(folder: Folder) -> None:
    folder.put({"sub/.git/config": b"x", "sub/a": b"1"})

    def act(root: Path) -> None:
        (root / "sub/.git/config").write_bytes(b"y")
        (root / "sub/a").write_bytes(b"2")
        (root / "more/.git").mkdir(parents=True)

    assert changed(folder, act) == WorkspaceChanges(
        (WriteFile(b"sub/a", state(b"1"), state(b"2")),),
        (SkippedFile(b"more/.git", "new", "git"),),
        made=(b"more",),
    )


def test_f139_odd_names_are_kept_as_they_are(folder: Folder) -> None:
    names = [b"two\nlines", b"\xff\xfe", b" ", b"-rf", b"*"]
    for name in names:
        (folder.root / os.fsdecode(name)).write_bytes(b"1")

    def act(root: Path) -> None:
        for name in names:
            (root / os.fsdecode(name)).unlink()

    found = changed(folder, act)
    assert found == WorkspaceChanges(tuple(DeleteFile(name, state(b"1")) for name in sorted(names)))


def test_a_change_that_keeps_size_time_and_inode_is_noticed(folder: Folder) -> None:
    """The file is younger than a tick of any clock, so its content decides."""
    folder.put({"a": b"old\n"})
    path = folder.root / "a"
    recorder = folder.recorder()
    before = recorder.take()
    found = path.stat()
    with path.open("r+b") as file:
        file.write(b"new\n")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert [row.sure for row in before.rows] == [False]
    operations = recorder.changes(before).operations
    assert operations == (WriteFile(b"a", state(b"old\n"), state(b"new\n")),)


def test_what_is_settled_is_not_read_again(folder: Folder) -> None:
    folder.put({"a": b"1", "b": b"1"})
    recorder = folder.recorder(clock=later)
    first = recorder.take()
    assert recorder.take() == first
    assert all(row.sure for row in first.rows)
    (folder.root / "b").unlink()
    assert recorder.changes(first) == WorkspaceChanges((DeleteFile(b"b", state(b"1")),))


def test_a_content_that_was_given_up_meanwhile_is_kept_again(folder: Folder) -> None:
    folder.put({"a": b"1"})
    recorder = folder.recorder(clock=later)
    recorder.take()
    empty = Folder(folder.root, MemoryBlobStore())
    recorder._blobs = empty.blobs
    recorder.take()
    assert empty.blobs.has(sha256(b"1"))


class Full(MemoryBlobStore):
    """A store on a disk without room."""

    def keep(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        raise StoreError("There is no room left.")


def test_where_contents_cannot_be_kept_nothing_is_recorded(folder: Folder) -> None:
    folder.put({"a": b"1"})
    with pytest.raises(StoreError, match="no room"):
        Folder(folder.root, Full()).recorder().take()


def test_where_new_contents_cannot_be_kept_changes_are_told_all_the_same(folder: Folder) -> None:
    folder.put({"a": b"1"})
    before = folder.recorder().take()
    (folder.root / "a").write_bytes(b"2")
    found = Folder(folder.root, Full()).recorder().changes(before)
    assert found == WorkspaceChanges((WriteFile(b"a", state(b"1"), state(b"2")),))


def test_a_file_that_nobody_may_read_is_named(folder: Folder) -> None:
    folder.put({"a": b"1", "b": b"1"})

    def act(root: Path) -> None:
        (root / "a").unlink()
        (root / "b").unlink()

    found = changed(msgspec.structs.replace(folder, closed=b"a"), act)
    assert found.skipped == (SkippedFile(b"a", "gone", "odd"),)


def test_f139_the_old_content_of_what_may_not_be_read_any_more_is_kept(folder: Folder) -> None:
    folder.put({"a": b"old\n"})
    before = folder.recorder().take()
    (folder.root / "a").write_bytes(b"new\n")
    shut = msgspec.structs.replace(folder, closed=b"a").recorder()
    found = shut.changes(before)
    assert found == WorkspaceChanges(
        (DeleteFile(b"a", state(b"old\n")),), (SkippedFile(b"a", "changed", "odd", kept=True),)
    )
    assert changed_files(found) == (ChangedFile(b"a", "changed"),)
