"""Pending syncs: changes that may not be on disk yet, and the cheapest way to make them durable."""

import errno
from contextlib import suppress
from threading import Thread

from assent.core.paths import is_inside
from assent.executor.disk import Disk, SymlinkInPath
from assent.executor.file_states import OPEN_READ
from assent.executor.folder_handles import OPEN_FOLDER, FolderHandles

# Up to here fsync flushes only what is ours; beyond, one flush of the file system is cheaper than
# many, although it also waits for what others wrote.
MAX_SINGLE_SYNCS = 16

FLUSH_AHEAD_FILES = (
    512  # files written after which the system begins to flush them, while more are written
)

# No longer there, now a symlink, not readable, or not a thing that this file system can flush by
# itself.
_NOT_BY_NAME = (
    errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.EINVAL
)  # fmt: skip


class PendingSync:
    """Files with new content and folders with new entries since the last sync."""

    def __init__(self, disk: Disk, folders: FolderHandles) -> None:
        self._disk = disk
        self._folders = folders
        self._files: set[bytes] = set()
        self._changed: set[bytes] = set()
        self._countless = False
        self._since = 0  # files written since a flush ahead began
        self._ahead = _BackgroundFlush(disk)

    def written(self, path: bytes, folder: bytes) -> None:
        """Records a file with new content."""
        self._changed.add(folder)
        if self._countless:
            self._since += 1
            if self._since >= FLUSH_AHEAD_FILES:
                self._begin()
            return
        self._files.add(path)
        self._countless = len(self._files) > MAX_SINGLE_SYNCS

    def arrived(self, path: bytes, folder: bytes) -> None:
        """Records a file that was moved in: it may not be on disk, although most such files are.

        So nothing is flushed ahead, which would only delay what follows.
        """
        self._changed.add(folder)
        if not self._countless:
            self._files.add(path)
            self._countless = len(self._files) > MAX_SINGLE_SYNCS

    def changed(self, folder: bytes) -> None:
        """Records a folder whose entries changed."""
        self._changed.add(folder)

    def renamed(self, path: bytes, folder: bytes, other: bytes) -> None:
        """Records that a name moved from one folder to another."""
        self._changed.add(folder)
        self._changed.add(other)
        if path in self._files:
            self._countless = True  # its content can no longer be flushed by name

    def exchanged(self, one: bytes, folder: bytes, other: bytes, other_folder: bytes) -> None:
        """Records that two names were exchanged."""
        self.renamed(one, folder, other_folder)
        if other in self._files:
            self._countless = True

    def removed(self, path: bytes, folder: bytes) -> None:
        """Records that a name is gone, so that it need not be flushed."""
        self._files.discard(path)
        self._changed.discard(path)
        self._changed.add(folder)

    def sync(self, *, foreign: bool = False) -> None:
        """Returns when everything recorded is on disk; with `foreign`, also others' changes."""
        few = len(self._files) + len(self._changed) < MAX_SINGLE_SYNCS and not self._countless
        if foreign or not (few and self._sync_each()):
            self._sync_all()
        self._ahead.end()
        self._files.clear()
        self._changed.clear()
        self._countless, self._since = False, 0

    def sync_besides(self, folder: bytes) -> None:
        """The same, but names in one folder, and below it, may still be lost; few changes only."""
        if self._countless or len(self._files) + len(self._changed) >= MAX_SINGLE_SYNCS:
            self.sync()
            return
        aside = {name for name in self._changed if is_inside(name, folder)}
        self._changed -= aside
        self.sync()
        self._changed |= aside

    def _begin(self) -> None:
        """Lets the system flush what is written so far; most of its work is then done in time."""
        self._since = 0
        with suppress(OSError):  # what cannot be done now is done in the end
            self._ahead.begin(self._folders.open(b""))

    def _sync_each(self) -> bool:
        """Flushes files before the folders that name them; False if one is not where it was."""
        try:
            for path in self._files:
                self._sync_file(path)
            for folder in self._changed:
                self._disk.fsync(self._folders.open(folder))
        except OSError as error:
            if error.errno in _NOT_BY_NAME:
                return False
            raise
        return True

    def _sync_file(self, path: bytes) -> None:
        folder, _, name = path.rpartition(b"/")
        fd = self._disk.open(name, OPEN_READ, 0, self._folders.open(folder))
        try:
            self._disk.fsync(fd)
        finally:
            self._disk.close(fd)

    def _sync_all(self) -> None:
        done = set()
        for folder in (b"", *self._changed):
            try:
                device = self._folders.device(folder)
                if device not in done:
                    self._disk.syncfs(self._folders.open(folder))
            except (FileNotFoundError, NotADirectoryError, SymlinkInPath):
                continue  # gone since, and its entry with it: the folder above is noted too
            done.add(device)


class _BackgroundFlush:
    """A flush of the file system in the background."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._thread: Thread | None = None
        self._error: OSError | None = None

    def begin(self, folder: int) -> None:
        """Flushes, unless that is going on already."""
        if self._thread is None or not self._thread.is_alive():
            # Its own descriptor: one of `folders` is good until the next call only.
            fd = self._disk.open(b".", OPEN_FOLDER, 0, folder)
            self._thread = Thread(target=self._flush, args=(fd,))
            self._thread.start()

    def end(self) -> None:
        """Returns when no flush is running; raises what went wrong in one.

        The system reports a failed write once, and that may have been here.
        """
        if self._thread is not None:
            self._thread.join()
        error, self._thread, self._error = self._error, None, None
        if error is not None:
            raise error

    def _flush(self, fd: int) -> None:
        try:
            self._disk.syncfs(fd)
        except OSError as error:
            self._error = error
        finally:
            self._disk.close(fd)
