"""Renames never replace and lose nothing, with the kernel's flags and without them."""

import errno
import os
from pathlib import Path

import pytest
from tests.executor.disk_doubles import WatchedDisk, failing, file_state, put, tree

from assent.executor.disk import Disk
from assent.executor.file_writer import LocalFileWriter

SLOT = b".opencode/assent/stage/run/0.old"


class PlainDisk(WatchedDisk):
    """A disk whose file system knows no flags, and links only if told so."""

    def __init__(self, flag_error: int, link_error: int = 0) -> None:
        super().__init__()
        self.flag_error, self.link_error = flag_error, link_error

    def rename_noreplace(
        self, source: bytes, source_at: int, target: bytes, target_at: int
    ) -> None:
        raise OSError(self.flag_error, os.strerror(self.flag_error))

    def rename_exchange(self, one: bytes, one_at: int, other: bytes, other_at: int) -> None:
        raise OSError(self.flag_error, os.strerror(self.flag_error))

    def link(self, source: bytes, source_at: int, target: bytes, target_at: int) -> None:
        if self.link_error:
            raise OSError(self.link_error, os.strerror(self.link_error))
        super().link(source, source_at, target, target_at)


DISKS = [
    pytest.param(Disk, id="flags"),
    pytest.param(lambda: PlainDisk(errno.EINVAL), id="links"),
    pytest.param(lambda: PlainDisk(errno.ENOSYS), id="links-old-kernel"),
    pytest.param(lambda: PlainDisk(errno.ENOTSUP, errno.EPERM), id="neither"),
]


@pytest.fixture(params=DISKS)
def hands(request: pytest.FixtureRequest, tmp_path: Path) -> LocalFileWriter:
    return LocalFileWriter(os.fsencode(tmp_path), request.param())


def test_files_symlinks_and_folders_move(tmp_path: Path, hands: LocalFileWriter) -> None:
    put(tmp_path, b"a/file", b"text")
    put(tmp_path, b"a/folder/inner\xff", b"inner")
    (tmp_path / "a" / "link").symlink_to("nowhere")
    (tmp_path / "b").mkdir()
    for name in (b"file", b"folder", b"link"):
        hands.rename_unless_taken(b"a/" + name, b"b/new\n" + name)
    assert tree(tmp_path) == {
        b"a": None,
        b"b": None,
        b"b/new\nfile": b"text",
        b"b/new\nfolder": None,
        b"b/new\nfolder/inner\xff": b"inner",
        b"b/new\nlink": b"-> nowhere",
    }


@pytest.mark.parametrize("source", [b"file", b"folder", b"link"])
@pytest.mark.parametrize("target", [b"taken", b"taken folder", b"taken link", SLOT])
def test_nothing_is_ever_replaced(
    tmp_path: Path, hands: LocalFileWriter, source: bytes, target: bytes
) -> None:
    put(tmp_path, b"file", b"text")
    put(tmp_path, b"taken", b"precious")
    put(tmp_path, SLOT, b"kept")
    (tmp_path / "folder").mkdir()
    (tmp_path / "taken folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "taken link").symlink_to("nowhere")
    before = tree(tmp_path)
    with pytest.raises(FileExistsError):
        hands.rename_unless_taken(source, target)
    assert tree(tmp_path) == before


def test_what_is_not_there_cannot_move(tmp_path: Path, hands: LocalFileWriter) -> None:
    put(tmp_path, b"file")
    for source, target in ((b"no", b"x"), (b"file", b"no/x"), (b"no/file", b"x"), (b"no", SLOT)):
        with pytest.raises(FileNotFoundError):
            hands.rename_unless_taken(source, target)


@pytest.mark.parametrize("link", ["from", "to"])
def test_no_symlink_is_followed(tmp_path: Path, hands: LocalFileWriter, link: str) -> None:
    put(tmp_path, b"real/file")
    (tmp_path / "other").mkdir()
    (tmp_path / "from").symlink_to("real")
    (tmp_path / "to").symlink_to("other")
    ends = (b"from/file", b"other/file") if link == "from" else (b"real/file", b"to/file")
    with pytest.raises(OSError, match="symlink") as refused:
        hands.rename_unless_taken(*ends)
    assert (refused.value.errno, refused.value.filename) == (errno.ELOOP, link.encode())


def test_a_folder_is_found_under_its_new_name(tmp_path: Path, hands: LocalFileWriter) -> None:
    put(tmp_path, b"a/b/file", b"text")
    hands.read_states([b"a/b/file"])
    hands.rename_unless_taken(b"a", b"c")
    put(tmp_path, b"a/b/file", b"other")
    hands.rename_unless_taken(b"a/b/file", b"moved")
    assert hands.read_states([b"a/b/file", b"c/b/file", b"moved"]) == {
        b"a/b/file": None,
        b"c/b/file": file_state(b"text"),
        b"moved": file_state(b"other"),
    }


def test_exchange_swaps_and_finds_folders_again(tmp_path: Path) -> None:
    put(tmp_path, b"a/file", b"text")
    put(tmp_path, b"b/x/inner", b"inner")
    hands = LocalFileWriter(os.fsencode(tmp_path))
    hands.read_states([b"b/x/inner"])
    hands.exchange(b"a/file", b"b/x")
    assert hands.read_states([b"b/x", b"a/file/inner"]) == {
        b"b/x": file_state(b"text"),
        b"a/file/inner": file_state(b"inner"),
    }
    with pytest.raises(FileNotFoundError):
        hands.exchange(b"a/file", b"no")


def test_exchange_has_no_substitute(tmp_path: Path) -> None:
    put(tmp_path, b"a", b"1")
    put(tmp_path, b"b", b"2")
    hands = LocalFileWriter(os.fsencode(tmp_path), PlainDisk(errno.EINVAL))
    with pytest.raises(OSError, match="Invalid argument"):
        hands.exchange(b"a", b"b")
    assert tree(tmp_path) == {b"a": b"1", b"b": b"2"}


def test_a_late_file_survives_where_links_serve(tmp_path: Path) -> None:
    """Between looking and renaming there is no moment in which somebody's new file is lost."""
    put(tmp_path, b"new", b"ours")

    class LateDisk(PlainDisk):
        def link(self, source: bytes, source_at: int, target: bytes, target_at: int) -> None:
            put(tmp_path, b"target", b"theirs")
            super().link(source, source_at, target, target_at)

    with pytest.raises(FileExistsError):
        LocalFileWriter(os.fsencode(tmp_path), LateDisk(errno.EINVAL)).rename_unless_taken(
            b"new", b"target"
        )
    assert tree(tmp_path) == {b"new": b"ours", b"target": b"theirs"}


def test_a_slot_is_taken_in_one_step(tmp_path: Path) -> None:
    """Nobody else makes a slot's name, so no crash can leave the file under two names."""
    put(tmp_path, b"file", b"text")
    put(tmp_path, SLOT + b".other")
    disk = PlainDisk(errno.EINVAL)
    hands = LocalFileWriter(os.fsencode(tmp_path), disk)
    hands.rename_unless_taken(b"file", SLOT)
    hands.rename_unless_taken(SLOT, b".assent-run-0.old")
    assert (disk.calls["rename"], disk.calls["link"]) == (2, 0)


@pytest.mark.parametrize("slot", [SLOT, b".assent-run-0.new"])
def test_a_rename_cut_between_link_and_unlink_is_finished_by_the_next_look(
    tmp_path: Path, hands: LocalFileWriter, slot: bytes
) -> None:
    full = put(tmp_path, slot, b"text")
    os.link(full, tmp_path / "target")
    assert hands.read_states([b"target", slot]) == {b"target": file_state(b"text"), slot: None}
    assert not os.path.exists(full)


def test_a_look_finishes_nothing_else(tmp_path: Path, hands: LocalFileWriter) -> None:
    put(tmp_path, SLOT, b"text")
    put(tmp_path, b"equal", b"text")
    os.link(tmp_path / "equal", tmp_path / "twin")
    before = tree(tmp_path)
    for path in (b"equal", b"twin", b"no", b"no/x", b"equal/x"):
        hands.read_states([path, SLOT])
        hands.read_states([path, b"equal"])
    assert tree(tmp_path) == before


def test_other_errors_are_not_mistaken_for_a_missing_flag(tmp_path: Path) -> None:
    put(tmp_path, b"a")
    hands = LocalFileWriter(os.fsencode(tmp_path), failing("rename_noreplace", errno.EIO))
    with pytest.raises(OSError, match="Input/output error"):
        hands.rename_unless_taken(b"a", b"b")
    assert tree(tmp_path) == {b"a": b""}


def test_a_rename_is_one_call(tmp_path: Path) -> None:
    put(tmp_path, b"a/file")
    (tmp_path / "b").mkdir()
    disk = WatchedDisk()
    hands = LocalFileWriter(os.fsencode(tmp_path), disk)
    hands.rename_unless_taken(b"a/file", b"b/file")
    disk.calls.clear()
    hands.rename_unless_taken(b"b/file", b"a/file")
    assert disk.calls == {"rename_noreplace": 1}
