"""Where slots lie: with the state, or beside what no rename can reach from there."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.executor.cross_filesystem import NO_MOUNT
from tests.executor.disk_doubles import content_of, failing, file_state, put, tree
from tests.house.source import ROOT

from assent.core.plan.operation import DeleteFile, FileOperation, MoveFile, WriteFile
from assent.core.run.slot_move import SlotLayout
from assent.executor.disk import Disk
from assent.executor.file_writer import LocalFileWriter
from assent.executor.slots import mounts_below

WAS, IS = file_state(b"old"), file_state(b"new")
OPERATIONS = (
    WriteFile(b"a", WAS, IS),
    WriteFile(b"new/folder/b", None, IS),
    DeleteFile(b"c", WAS),
    MoveFile(b"d", b"e/f", WAS),
)


def test_on_one_file_system_the_state_folder_serves_all(tmp_path: Path) -> None:
    assert LocalFileWriter(os.fsencode(tmp_path)).choose_layout("run", OPERATIONS) == SlotLayout(
        "run"
    )


def test_asking_for_exchange_leaves_nothing_behind(tmp_path: Path) -> None:
    LocalFileWriter(os.fsencode(tmp_path)).choose_layout("run", OPERATIONS)
    folders = (b".opencode", b".opencode/assent", b".opencode/assent/stage")
    assert tree(tmp_path) == dict.fromkeys(folders)


def test_what_a_crash_left_of_asking_does_not_matter(tmp_path: Path) -> None:
    put(tmp_path, b".opencode/assent/stage/probe.one", b"left")
    assert LocalFileWriter(os.fsencode(tmp_path)).choose_layout("run", OPERATIONS).exchanges is True


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS, errno.ENOTSUP])
def test_without_exchange_there_is_take_and_put(tmp_path: Path, code: int) -> None:
    hands = LocalFileWriter(os.fsencode(tmp_path), failing("rename_exchange", code))
    assert hands.choose_layout("run", OPERATIONS) == SlotLayout("run", exchanges=False)
    assert tree(tmp_path / ".opencode/assent/stage") == {}


def test_another_error_of_exchange_is_an_error(tmp_path: Path) -> None:
    hands = LocalFileWriter(os.fsencode(tmp_path), failing("rename_exchange", errno.EIO))
    with pytest.raises(OSError, match="Input/output error"):
        hands.choose_layout("run", OPERATIONS)


def test_nothing_is_tried_where_nothing_is_replaced(tmp_path: Path) -> None:
    disk = failing("rename_exchange", errno.EINVAL)
    hands = LocalFileWriter(os.fsencode(tmp_path), disk)
    assert hands.choose_layout("run", OPERATIONS[1:]) == SlotLayout("run")
    assert tree(tmp_path / ".opencode/assent") == {b"stage": None}
    assert disk.calls["rename_exchange"] == 0


@pytest.mark.parametrize("operations", [OPERATIONS, OPERATIONS[1:], ()])
@pytest.mark.parametrize("link", [".opencode", ".opencode/assent", ".opencode/assent/stage"])
def test_the_state_folder_is_no_symlink(
    tmp_path: Path, link: str, operations: tuple[FileOperation, ...]
) -> None:
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path)
    with pytest.raises(OSError, match="symlink") as refused:
        LocalFileWriter(os.fsencode(tmp_path)).choose_layout("run", operations)
    assert refused.value.errno == errno.ELOOP


@pytest.mark.parametrize("file", [b".opencode", b".opencode/assent", b".opencode/assent/stage"])
def test_the_state_folder_is_no_file(tmp_path: Path, file: bytes) -> None:
    put(tmp_path, file, b"mine")
    with pytest.raises(NotADirectoryError):
        LocalFileWriter(os.fsencode(tmp_path)).choose_layout("run", OPERATIONS[1:])
    assert content_of(tmp_path, file) == b"mine"


def test_a_workspace_that_is_gone_is_an_error(tmp_path: Path) -> None:
    hands = LocalFileWriter(os.fsencode(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError):
        hands.choose_layout("run", OPERATIONS)
    with pytest.raises(FileNotFoundError):
        hands.create_folder(b"a/b")


class MountedDisk(Disk):
    """A disk whose table of mounts is what the test says."""

    def __init__(self, table: bytes) -> None:
        self.table = [table, b""]

    def read(self, fd: int, size: int) -> bytes:
        return self.table.pop(0)


def test_mount_points_are_read_with_their_odd_names() -> None:
    table = (
        b"22 1 8:1 / / rw - ext4 /dev/sda rw\n"
        b"23 22 0:5 / /home rw shared:1 - tmpfs none rw\n"
        b"24 22 0:6 / /home/a\\040b\\012\\134c rw - tmpfs none rw\n"
        b"25 22 0:7 / /homestead/x rw - tmpfs none rw\n"
    )
    assert mounts_below(MountedDisk(table), b"/home") == [b"a b\n\\c"]


def test_without_a_table_of_mounts_devices_decide() -> None:
    assert mounts_below(failing("open", errno.ENOENT), b"/home") == []


def across(root: Path) -> dict[str, Any]:
    """Runs the cases of across.py with file systems of their own."""
    attempts = []
    for namespace in (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"]):
        command = [*namespace, sys.executable, "-m", "tests.executor.cross_filesystem", str(root)]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)
        if ran.returncode == 0:
            found: dict[str, Any] = json.loads(ran.stdout)
            return found
        attempts.append(ran.stderr)
        if ran.returncode != NO_MOUNT and "unshare" not in ran.stderr:
            pytest.fail(ran.stderr)
    pytest.fail("A mount namespace is needed (root, or unshare -rm):\n" + "\n".join(attempts))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return across(tmp_path_factory.mktemp("across"))


MOUNTS: dict[str, str | None] = {"disk": None, "bound": None, "elsewhere": None}
CASES: dict[str, tuple[list[list[str]], list[int], dict[str, str | None]]] = {
    "home": ([], [], {"a": "new", "c": None, "c/d": "old"}),
    "write": (
        [["disk/a", "disk"], ["disk/new/b", "disk"]],
        [],
        {"disk/a": "new", "disk/new": None, "disk/new/b": "new"},
    ),
    "bound": (
        [["bound/a", "bound"]],
        [],
        {"bound/a": "new", "elsewhere/a": "new", "b": "new"},
    ),
    "move": (
        [["disk/b", "disk"], ["disk/c", "disk"], ["disk/sub/d", "disk"]],
        [0],
        {"disk/b": "old", "disk/sub": None, "disk/sub/d": "old"},
    ),
    "prune": ([["disk/x/y/a", "disk"]], [], {}),
    "prune_mount": ([["disk/a", "disk"]], [], {}),
    "clear": ([["disk/x/y/a", "disk"], ["disk/x", "disk"]], [], {"disk/x": "new"}),
}


@pytest.mark.parametrize("name", CASES)
def test_another_file_system_gets_slots_of_its_own(outcomes: dict[str, Any], name: str) -> None:
    beside, copied, left = CASES[name]
    assert outcomes[name] == {
        "exchange": True,
        "beside": beside,
        "copied": copied,
        "left": {**MOUNTS, **left},
    }
