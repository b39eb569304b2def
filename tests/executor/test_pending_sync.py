"""What is flushed before the end of a large run, and that its errors are told."""

import errno
import os
from pathlib import Path
from threading import current_thread, main_thread

import pytest
from tests.executor.disk_doubles import WatchedDisk, failing

from assent.executor.disk import Disk
from assent.executor.folder_handles import FolderHandles
from assent.executor.pending_sync import FLUSH_AHEAD_FILES, MAX_SINGLE_SYNCS, PendingSync

ENOUGH = FLUSH_AHEAD_FILES + MAX_SINGLE_SYNCS + 1  # the first few might be flushed by name


class BadEarly(Disk):
    """Fails to flush beside other work: the system does not tell of a lost write again."""

    def syncfs(self, fd: int) -> None:
        if current_thread() is not main_thread():
            raise OSError(errno.EIO, os.strerror(errno.EIO))


def written(root: Path, disk: Disk, count: int) -> PendingSync:
    unsynced = PendingSync(disk, FolderHandles(disk, os.fsencode(root)))
    for number in range(count):
        unsynced.written(b"%d" % number, b"")
    return unsynced


@pytest.mark.parametrize(("count", "flushes"), [(ENOUGH - 1, 1), (ENOUGH, 2)])
def test_many_files_begin_to_be_flushed_while_more_are_written(
    tmp_path: Path, count: int, flushes: int
) -> None:
    disk = WatchedDisk()
    written(tmp_path, disk, count).sync()
    assert disk.calls["syncfs"] == flushes


def test_what_was_lost_in_an_early_flush_is_told_in_the_end_and_once(tmp_path: Path) -> None:
    unsynced = written(tmp_path, BadEarly(), ENOUGH)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        unsynced.sync()
    unsynced.sync()


def test_an_early_flush_that_cannot_begin_stops_nobody(tmp_path: Path) -> None:
    disk = failing("open", errno.EMFILE)
    unsynced = written(tmp_path, disk, ENOUGH)
    disk.before = lambda call: None
    unsynced.sync()
    assert disk.calls["syncfs"] == 1
