"""Paths with more folders than Python nests calls: no call here goes deeper with each level."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.executor.disk_doubles import file_state

from assent.core.paths import ancestors
from assent.core.plan.operation import DeleteFile, FileOperation, MoveFile, WriteFile
from assent.core.run.slot_move import SlotContent, SlotLayout
from assent.executor.disk import Disk
from assent.executor.file_writer import LocalFileWriter
from assent.executor.folder_handles import LIMIT, FolderHandles
from assent.workspace.files import LocalWorkspaceFiles

LEVELS = 1500
DEEP = b"/".join([b"d"] * LEVELS)
FILE = DEEP + b"/file"
SLOT = b".opencode/assent/stage/run/0.new"
IS = file_state(b"x")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[bytes]:
    """A workspace that is removed by a program that does not nest calls either."""
    work = tmp_path / "work"
    work.mkdir()
    yield os.fsencode(work)
    subprocess.run(["rm", "-rf", str(work)], check=True)


def put_deep(root: bytes) -> LocalFileWriter:
    """Writes the file as a run does."""
    hands = LocalFileWriter(root)
    hands.write_slot(SlotContent(0, SLOT, IS, None, None, DEEP), [b"x"])
    assert hands.create_folder(DEEP) is True
    hands.rename_unless_taken(SLOT, FILE)
    return hands


@pytest.mark.parametrize("there", [0, LEVELS // 2, LEVELS])
def test_a_run_is_laid_out(root: bytes, there: int) -> None:
    LocalFileWriter(root).create_folder(b"/".join([b"d"] * there))
    for operation in (WriteFile(FILE, None, IS), DeleteFile(FILE, IS, LEVELS)):
        operations: tuple[FileOperation, ...] = (operation, MoveFile(b"a", DEEP + b"/b", IS))
        assert LocalFileWriter(root).choose_layout("run", operations) == SlotLayout("run")


def test_missing_folders_are_counted(root: bytes) -> None:
    folders = (*reversed(ancestors(DEEP)), DEEP)
    assert LocalFileWriter(root).missing_folders(folders) == folders


def test_a_file_is_written_found_and_removed(root: bytes) -> None:
    hands = put_deep(root)
    files = LocalWorkspaceFiles(root, root)
    assert files.read_states([FILE]) == hands.read_states([FILE]) == {FILE: IS}
    assert files.below(b"") == files.below(b"d") == [FILE]
    assert hands.folder_holds_files(b"d") is True
    assert hands.delete_empty_folder(b"d") is False
    hands.delete_path(FILE)
    assert hands.delete_empty_folder(b"d") is True
    hands.sync_to_disk()
    assert files.names(b"") == [b".opencode"]


def test_what_is_typed_is_located(root: bytes) -> None:
    files = LocalWorkspaceFiles(root, root)
    for _ in range(2):
        assert [files.locate(typed) for typed in (FILE, b"./" + FILE, DEEP + b"/d/../file")] == (
            3 * [FILE]
        )
        LocalFileWriter(root).create_folder(DEEP)


def test_descriptors_stay_few(root: bytes) -> None:
    folders = FolderHandles(Disk(), root)
    made = folders.make(DEEP)
    assert (len(made), made[0], made[-1]) == (LEVELS, b"d", DEEP)
    before = len(os.listdir("/proc/self/fd"))
    assert os.fstat(folders.open(DEEP)).st_ino == os.stat(root + b"/" + DEEP).st_ino
    folders.forget()
    assert before - LIMIT - 1 <= len(os.listdir("/proc/self/fd")) < before
