"""Filling slots: exact content and mode, and what a replacement takes over."""

import errno
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.executor.disk_doubles import (
    WatchedDisk,
    content_of,
    failing,
    file_state,
    link_state,
    put,
    tree,
)

from assent.core.plan.operation import FileState
from assent.core.run.slot_move import SlotContent
from assent.executor.disk import Disk
from assent.executor.file_states import OwnershipRights
from assent.executor.file_writer import LocalFileWriter

SLOT = b".opencode/assent/stage/run/0.new"
ROOT = OwnershipRights(0, frozenset([0]))


@pytest.fixture
def hands(tmp_path: Path) -> LocalFileWriter:
    return LocalFileWriter(os.fsencode(tmp_path))


@pytest.fixture
def _open_umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def fill(
    after: FileState, like: bytes | None = None, source: bytes | None = None, slot: bytes = SLOT
) -> SlotContent:
    return SlotContent(0, slot, after, like, source)


@pytest.mark.usefixtures("_open_umask")
@pytest.mark.parametrize("mode", [0o644, 0o666, 0o755, 0o600, 0o444, 0o000, 0o4755, 0o2751, 0o1777])
def test_content_and_mode_are_exact(tmp_path: Path, hands: LocalFileWriter, mode: int) -> None:
    hands.write_slot(fill(file_state(b"onetwo", mode)), [b"one", b"", b"two"])
    made = os.fsencode(tmp_path) + b"/" + SLOT
    assert stat.S_IMODE(os.lstat(made).st_mode) == mode
    os.chmod(made, 0o600)
    assert content_of(tmp_path, SLOT) == b"onetwo"


def test_an_empty_file(tmp_path: Path, hands: LocalFileWriter) -> None:
    hands.write_slot(fill(file_state(b"")), [])
    assert hands.read_states([SLOT]) == {SLOT: file_state(b"")}


def test_a_symlink_is_made_of_its_target(tmp_path: Path, hands: LocalFileWriter) -> None:
    hands.write_slot(fill(link_state(b"a/\xff b")), [b"a/", b"\xff b"])
    assert hands.read_states([SLOT]) == {SLOT: link_state(b"a/\xff b")}


def test_a_slot_beside_needs_its_folder(tmp_path: Path, hands: LocalFileWriter) -> None:
    hands.write_slot(fill(file_state(b"x"), slot=b".assent-run-0.new"), [b"x"])
    assert tree(tmp_path) == {b".assent-run-0.new": b"x"}
    with pytest.raises(FileNotFoundError):
        hands.write_slot(fill(file_state(b"x"), slot=b"gone/.assent-run-0.new"), [b"x"])


@pytest.mark.parametrize("after", [file_state(b"x"), link_state(b"x")])
def test_a_slot_is_never_written_twice(hands: LocalFileWriter, after: FileState) -> None:
    hands.write_slot(fill(after), [b"x"])
    with pytest.raises(FileExistsError):
        hands.write_slot(fill(after), [b"x"])


def test_a_planted_symlink_is_not_followed(tmp_path: Path, hands: LocalFileWriter) -> None:
    put(tmp_path, b"victim", b"precious")
    hands.create_folder(b".opencode/assent/stage/run")
    os.symlink(tmp_path / "victim", os.fsencode(tmp_path) + b"/" + SLOT)
    with pytest.raises(FileExistsError):
        hands.write_slot(fill(file_state(b"x")), [b"x"])
    assert content_of(tmp_path, b"victim") == b"precious"


@pytest.mark.parametrize("link", [".opencode", ".opencode/assent", ".opencode/assent/stage"])
def test_no_slot_behind_a_symlink(tmp_path: Path, hands: LocalFileWriter, link: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symlink") as refused:
        hands.write_slot(fill(file_state(b"x")), [b"x"])
    assert (refused.value.errno, refused.value.filename) == (errno.ELOOP, link.encode())
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("content", [b"short", b"too long for it"])
def test_content_of_another_size_is_an_error(hands: LocalFileWriter, content: bytes) -> None:
    with pytest.raises(OSError, match="does not match the plan") as wrong:
        hands.write_slot(fill(file_state(b"expected")), [content])
    assert wrong.value.errno == errno.ESTALE


def test_another_target_is_an_error(hands: LocalFileWriter) -> None:
    with pytest.raises(OSError, match="does not match the plan"):
        hands.write_slot(fill(link_state(b"here")), [b"away"])


class ShortDisk(Disk):
    """A disk that takes few bytes at a time, as a signal or a full device may cause."""

    def write(self, fd: int, content: bytes | memoryview) -> int:
        return super().write(fd, content[:3])


def test_short_writes_are_continued(tmp_path: Path) -> None:
    hands = LocalFileWriter(os.fsencode(tmp_path), ShortDisk())
    hands.write_slot(fill(file_state(b"0123456789")), [b"01234567", b"89"])
    assert content_of(tmp_path, SLOT) == b"0123456789"


@pytest.mark.parametrize("call", ["open", "write", "stat", "chmod", "close"])
def test_every_failure_comes_out(tmp_path: Path, call: str) -> None:
    LocalFileWriter(os.fsencode(tmp_path)).create_folder(b".opencode/assent/stage/run")
    disk = failing(call, errno.ENOSPC)
    with pytest.raises(OSError, match="No space left"):
        LocalFileWriter(os.fsencode(tmp_path), disk).write_slot(
            fill(file_state(b"x", 0o4711)), [b"x"]
        )
    disk.before = lambda name: None


def test_a_replacement_takes_over_attributes(tmp_path: Path, hands: LocalFileWriter) -> None:
    old = put(tmp_path, b"old", b"old", 0o640)
    os.setxattr(old, "user.note", b"\x00value")
    os.setxattr(old, "user.empty", b"")
    hands.write_slot(fill(file_state(b"new", 0o751), like=b"old"), [b"new"])
    made = os.fsencode(tmp_path) + b"/" + SLOT
    assert {name: os.getxattr(made, name) for name in os.listxattr(made)} == {
        "user.empty": b"",
        "user.note": b"\x00value",
    }
    assert hands.read_states([SLOT]) == {SLOT: file_state(b"new", 0o751)}


def test_attributes_that_cannot_be_listed_by_name_are_looked_for_in_the_file(
    tmp_path: Path,
) -> None:
    os.setxattr(put(tmp_path, b"old", b"old"), "user.note", b"value")
    hands = LocalFileWriter(os.fsencode(tmp_path), failing("list_xattrs_of", errno.EACCES))
    hands.write_slot(fill(file_state(b"new"), like=b"old"), [b"new"])
    assert os.getxattr(os.fsencode(tmp_path) + b"/" + SLOT, "user.note") == b"value"


def test_a_replacement_takes_over_an_access_list(tmp_path: Path, hands: LocalFileWriter) -> None:
    """Its mask stands where the group's permissions are, and the plan's mode decides about it."""
    old = put(tmp_path, b"old", b"old")
    anyone = 0xFFFFFFFF
    entries = [(1, 6, anyone), (2, 7, 12345), (4, 4, anyone), (16, 6, anyone), (32, 0, anyone)]
    access = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    os.setxattr(old, "system.posix_acl_access", access)
    assert hands.read_states([b"old"]) == {b"old": file_state(b"old", 0o660)}
    hands.write_slot(fill(file_state(b"new", 0o660), like=b"old"), [b"new"])
    made = os.fsencode(tmp_path) + b"/" + SLOT
    assert os.getxattr(made, "system.posix_acl_access") == access
    hands.delete_path(SLOT)
    hands.write_slot(fill(file_state(b"new", 0o640), like=b"old"), [b"new"])
    assert hands.read_states([SLOT]) == {SLOT: file_state(b"new", 0o640)}


class OwnedDisk(Disk):
    """A disk that reports other owners than there are, and notes who is given what."""

    def __init__(self, user: int, group: int) -> None:
        self.owner = (user, group)
        self.given: list[tuple[int, int]] = []
        self.modes: list[int] = []

    def lstat(self, name: bytes, at: int | None = None) -> os.stat_result:
        found = list(super().lstat(name, at))
        if name == b"old":
            found[stat.ST_UID], found[stat.ST_GID] = self.owner
        return os.stat_result(found)

    def chown(self, fd: int, user: int, group: int) -> None:
        self.given.append((user, group))

    def chown_link(self, name: bytes, at: int, user: int, group: int) -> None:
        self.given.append((user, group))

    def chmod(self, fd: int, mode: int) -> None:
        self.modes.append(mode)


@pytest.mark.parametrize("after", [file_state(b"new"), link_state(b"new")])
def test_owner_and_group_go_along_as_far_as_rights_do(tmp_path: Path, after: FileState) -> None:
    put(tmp_path, b"old", b"old")
    mine = (tmp_path / "old").stat()
    cases = [
        (ROOT, (77, 78), [(77, 78)]),
        (ROOT, (mine.st_uid, 78), [(-1, 78)]),
        (ROOT, (mine.st_uid, mine.st_gid), []),
        (OwnershipRights(5, frozenset([78])), (77, 78), [(-1, 78)]),
        (OwnershipRights(5, frozenset([6])), (77, 78), []),
    ]
    for rights, owner, given in cases:
        disk = OwnedDisk(*owner)
        hands = LocalFileWriter(os.fsencode(tmp_path), disk, rights)
        hands.write_slot(fill(after, like=b"old"), [b"new"])
        assert disk.given == given
        # Changing the owner takes special permissions away, so the mode is set again after it.
        assert disk.modes == ([0o644] if given and after.kind == "file" else [])
        hands.delete_path(SLOT)


def test_a_lost_owner_is_never_silent(tmp_path: Path) -> None:
    class Stubborn(OwnedDisk):
        def chown(self, fd: int, user: int, group: int) -> None:
            raise PermissionError(errno.EPERM, "no")

    put(tmp_path, b"old")
    hands = LocalFileWriter(os.fsencode(tmp_path), Stubborn(77, 78), ROOT)
    with pytest.raises(PermissionError):
        hands.write_slot(fill(file_state(b"x"), like=b"old"), [b"x"])


def test_a_copy_carries_content_mode_and_attributes(tmp_path: Path, hands: LocalFileWriter) -> None:
    content = os.urandom((1 << 20) + 7)
    os.setxattr(put(tmp_path, b"a/old", content, 0o750), "user.note", b"value")
    hands.write_slot(fill(file_state(content, 0o750), b"a/old", b"a/old"), [])
    assert hands.read_states([SLOT]) == {SLOT: file_state(content, 0o750)}
    assert os.getxattr(os.fsencode(tmp_path) + b"/" + SLOT, "user.note") == b"value"


def test_a_symlink_is_copied_as_one(tmp_path: Path, hands: LocalFileWriter) -> None:
    (tmp_path / "old").symlink_to("target")
    hands.write_slot(fill(link_state(b"target"), b"old", b"old"), [])
    assert hands.read_states([SLOT]) == {SLOT: link_state(b"target")}
    hands.delete_path(SLOT)
    with pytest.raises(OSError, match="does not match the plan"):
        hands.write_slot(fill(link_state(b"other!"), b"old", b"old"), [])


def test_a_copy_of_something_else_is_an_error(tmp_path: Path, hands: LocalFileWriter) -> None:
    put(tmp_path, b"old", b"same size")
    with pytest.raises(OSError, match="does not match the plan") as wrong:
        hands.write_slot(fill(file_state(b"SAME SIZE"), b"old", b"old"), [])
    assert (wrong.value.errno, wrong.value.filename) == (errno.ESTALE, b"old")


def test_a_new_file_costs_four_calls_once_its_folder_is_known(tmp_path: Path) -> None:
    disk = WatchedDisk()
    hands = LocalFileWriter(os.fsencode(tmp_path), disk)
    hands.create_folder(b".opencode/assent/stage/run")
    hands.write_slot(
        SlotContent(1, b".opencode/assent/stage/run/1.new", file_state(b"y"), None), [b"y"]
    )
    disk.calls.clear()
    hands.write_slot(fill(file_state(b"x", 0o600)), [b"x"])
    assert disk.calls == {"open": 1, "write": 1, "stat": 1, "close": 1}


@pytest.mark.parametrize("folder", [b"team", b"team/to/be/made"])
def test_a_new_file_gets_the_group_that_its_folder_hands_down(
    tmp_path: Path, folder: bytes
) -> None:
    group = next(iter({4321} if os.geteuid() == 0 else set(os.getgroups()) - {os.getegid()}), None)
    assert group is not None, "this test needs root, or a user with a second group"
    (tmp_path / "team").mkdir()
    os.chown(tmp_path / "team", -1, group)
    (tmp_path / "team").chmod(0o2775)
    hands = LocalFileWriter(os.fsencode(tmp_path))
    slot = b".opencode/assent/stage/run/0.new"
    hands.write_slot(SlotContent(0, slot, file_state(b"x"), None, None, folder), [b"x"])
    assert (tmp_path / os.fsdecode(slot)).stat().st_gid == group
