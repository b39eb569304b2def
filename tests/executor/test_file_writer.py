"""The hands' folders, removals and flushes."""

import errno
import os
from pathlib import Path

import pytest
from tests.executor.disk_doubles import WatchedDisk, failing, file_state, link_state, put, tree

from assent.core.run.slot_move import SlotContent
from assent.executor.file_writer import LocalFileWriter
from assent.executor.pending_sync import MAX_SINGLE_SYNCS

STAGE = b".opencode/assent/stage/run"


@pytest.fixture
def hands(tmp_path: Path) -> LocalFileWriter:
    return LocalFileWriter(os.fsencode(tmp_path))


def test_make_folder_tells_whether_it_was_missing(tmp_path: Path, hands: LocalFileWriter) -> None:
    assert [hands.create_folder(path) for path in (b"a/b", b"a/b", b"a", b"")] == [True] + 3 * [
        False
    ]
    put(tmp_path, b"file")
    (tmp_path / "link").symlink_to("a")
    with pytest.raises(NotADirectoryError):
        hands.create_folder(b"file/x")
    for path in (b"link", b"link/x"):
        with pytest.raises(OSError, match="symlink"):
            hands.create_folder(path)
    assert tree(tmp_path / "a") == {b"b": None}


def test_missing_lists_folders_that_are_not_there(tmp_path: Path, hands: LocalFileWriter) -> None:
    put(tmp_path, b"a/file")
    asked = (b"a", b"a/b", b"a/b/c", b"a/file", b"a/file/x", b"new\n\xff")
    assert hands.missing_folders(asked) == (b"a/b", b"a/b/c", b"a/file", b"a/file/x", b"new\n\xff")


def test_empty_folders_go_with_the_empty_ones_in_them(
    tmp_path: Path, hands: LocalFileWriter
) -> None:
    for path in ("a/b/c", "a/b/d", "a/e"):
        (tmp_path / path).mkdir(parents=True)
    assert hands.delete_empty_folder(b"a") is True
    assert hands.delete_empty_folder(b"a") is False
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("kind", ["file", "link", "pipe"])
def test_a_folder_that_holds_anything_stays_whole(
    tmp_path: Path, hands: LocalFileWriter, kind: str
) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "a/empty").mkdir()
    thing = tmp_path / "a/b/c/thing"
    match kind:
        case "file":
            thing.touch()
        case "link":
            thing.symlink_to("x")
        case _:
            os.mkfifo(thing)
    assert hands.folder_holds_files(b"a") is True
    assert hands.folder_holds_files(b"a/empty") is False
    assert hands.delete_empty_folder(b"a") is False
    assert (tmp_path / "a/empty").is_dir()


def test_only_folders_are_removed_as_folders(tmp_path: Path, hands: LocalFileWriter) -> None:
    put(tmp_path, b"file")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    before = tree(tmp_path)
    paths = (b"file", b"link", b"no", b"file/x", b"")
    assert [hands.delete_empty_folder(path) for path in paths] == 5 * [False]
    assert tree(tmp_path) == before


def test_a_folder_in_use_stays_and_other_errors_come_out(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for code in (errno.EBUSY, errno.ENOTEMPTY):
        assert not LocalFileWriter(
            os.fsencode(tmp_path), failing("rmdir", code)
        ).delete_empty_folder(b"a")
    with pytest.raises(PermissionError):
        LocalFileWriter(os.fsencode(tmp_path), failing("rmdir", errno.EACCES)).delete_empty_folder(
            b"a"
        )


def test_a_removed_folder_can_be_made_again(tmp_path: Path, hands: LocalFileWriter) -> None:
    hands.create_folder(b"a/b")
    hands.delete_empty_folder(b"a")
    assert hands.create_folder(b"a/b") is True
    assert tree(tmp_path) == {b"a": None, b"a/b": None}


def test_remove_takes_one_name(tmp_path: Path, hands: LocalFileWriter) -> None:
    put(tmp_path, b"a/file")
    (tmp_path / "a/link").symlink_to("file")
    hands.delete_path(b"a/link")
    assert tree(tmp_path) == {b"a": None, b"a/file": b""}
    hands.delete_path(b"a/file")
    for path in (b"a/file", b"no/file"):
        with pytest.raises(FileNotFoundError):
            hands.delete_path(path)
    (tmp_path / "away").symlink_to("a")
    with pytest.raises(OSError, match="symlink"):
        hands.delete_path(b"away/file")


def create(hands: LocalFileWriter, *numbers: int) -> None:
    for number in numbers:
        slot = STAGE + b"/%d.new" % number
        hands.write_slot(SlotContent(number, slot, file_state(b"x"), None), [b"x"])


def flushes(disk: WatchedDisk) -> tuple[int, int]:
    return disk.calls["fsync"], disk.calls["syncfs"]


def test_a_few_files_are_flushed_one_by_one(tmp_path: Path) -> None:
    disk = WatchedDisk()
    hands = LocalFileWriter(os.fsencode(tmp_path), disk)
    hands.create_folder(STAGE)
    create(hands, 0, 1)
    hands.sync_to_disk()
    # Two files, their folder, and the four folders that got a new entry with it.
    assert flushes(disk) == (2 + 1 + 4, 0)
    disk.calls.clear()
    hands.rename_unless_taken(STAGE + b"/0.new", b"a")
    hands.sync_to_disk()
    assert flushes(disk) == (2, 0)
    disk.calls.clear()
    hands.sync_to_disk()
    assert flushes(disk) == (0, 0)


def test_many_files_are_flushed_together(tmp_path: Path) -> None:
    disk = WatchedDisk()
    hands = LocalFileWriter(os.fsencode(tmp_path), disk)
    create(hands, *range(MAX_SINGLE_SYNCS))
    hands.sync_to_disk()
    assert flushes(disk) == (0, 1)
    disk.calls.clear()
    for number in range(MAX_SINGLE_SYNCS):
        hands.create_folder(b"%d" % number)
        hands.rename_unless_taken(STAGE + b"/%d.new" % number, b"%d/file" % number)
    hands.sync_to_disk()
    assert flushes(disk) == (0, 1)


def test_a_symlink_is_flushed_with_its_folder(tmp_path: Path) -> None:
    disk = WatchedDisk()
    hands = LocalFileWriter(os.fsencode(tmp_path), disk)
    hands.write_slot(SlotContent(0, b".assent-run-0.new", link_state(b"x"), None), [b"x"])
    hands.sync_to_disk()
    assert flushes(disk) == (1, 0)


def test_content_renamed_before_its_flush_is_flushed_all_the_same(tmp_path: Path) -> None:
    put(tmp_path, b"a", b"old")
    disk = WatchedDisk()
    hands = LocalFileWriter(os.fsencode(tmp_path), disk)
    create(hands, 0)
    hands.exchange(STAGE + b"/0.new", b"a")
    hands.sync_to_disk()
    assert disk.calls["syncfs"] == 1


@pytest.mark.parametrize("code", [errno.EINVAL, errno.EACCES])
def test_what_cannot_be_flushed_alone_is_flushed_with_all(tmp_path: Path, code: int) -> None:
    disk = failing("fsync", code)
    hands = LocalFileWriter(os.fsencode(tmp_path), disk)
    create(hands, 0)
    hands.sync_to_disk()
    assert disk.calls["syncfs"] == 1


def test_what_is_removed_needs_no_flush(tmp_path: Path) -> None:
    disk = WatchedDisk()
    hands = LocalFileWriter(os.fsencode(tmp_path), disk)
    create(hands, 0)
    hands.delete_path(STAGE + b"/0.new")
    hands.delete_empty_folder(b".opencode")
    hands.sync_to_disk()
    assert flushes(disk) == (1, 0)


@pytest.mark.parametrize(("call", "count"), [("fsync", 1), ("syncfs", MAX_SINGLE_SYNCS)])
def test_a_failed_flush_is_an_error(tmp_path: Path, call: str, count: int) -> None:
    hands = LocalFileWriter(os.fsencode(tmp_path), failing(call, errno.EIO))
    create(hands, *range(count))
    with pytest.raises(OSError, match="Input/output error"):
        hands.sync_to_disk()


def test_after_a_sync_folders_are_seen_as_they_are(tmp_path: Path, hands: LocalFileWriter) -> None:
    hands.create_folder(b"a")
    (tmp_path / "a").rename(tmp_path / "b")
    hands.sync_to_disk()
    create(hands, 0)
    with pytest.raises(FileNotFoundError):
        hands.rename_unless_taken(STAGE + b"/0.new", b"a/file")
