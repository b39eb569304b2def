"""What has been changed and is not surely on disk yet, and the cheapest way to get it there."""

import errno

from assent.workspace.disk import Disk
from assent.workspace.failure import Symlinked
from assent.workspace.folders import Folders
from assent.workspace.states import READ

# Up to here fsync flushes only what is ours; beyond, one flush of the file system is cheaper than
# many, although it also waits for what others wrote.
FEW = 16

# Not there any more, a symlink by now, not readable, or not a thing that this file system can
# flush by itself.
_NOT_BY_NAME = (
    errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.EINVAL
)  # fmt: skip


class Unsynced:
    """Files with new content and folders with new entries since the last sync."""

    def __init__(self, disk: Disk, folders: Folders) -> None:
        self._disk = disk
        self._folders = folders
        self._files: set[bytes] = set()
        self._changed: set[bytes] = set()
        self._countless = False

    def written(self, path: bytes, folder: bytes) -> None:
        """Notes a file with new content."""
        self._changed.add(folder)
        if len(self._files) < FEW:
            self._files.add(path)
        else:
            self._countless = True

    def changed(self, folder: bytes) -> None:
        """Notes a folder whose entries changed."""
        self._changed.add(folder)

    def renamed(self, path: bytes, folder: bytes, other: bytes) -> None:
        """Notes that a name went from one folder to another."""
        self._changed.add(folder)
        self._changed.add(other)
        if path in self._files:
            self._countless = True  # its content can no longer be flushed by name

    def removed(self, path: bytes, folder: bytes) -> None:
        """Notes that a name is gone, and with it all need to flush it."""
        self._files.discard(path)
        self._changed.discard(path)
        self._changed.add(folder)

    def sync(self, *, foreign: bool = False) -> None:
        """Returns when everything noted is on disk; with `foreign`, what nobody noted is, too."""
        few = len(self._files) + len(self._changed) < FEW and not self._countless
        if foreign or not (few and self._sync_each()):
            self._sync_all()
        self._files.clear()
        self._changed.clear()
        self._countless = False

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
        fd = self._disk.open(name, READ, 0, self._folders.open(folder))
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
            except (FileNotFoundError, NotADirectoryError, Symlinked):
                continue  # gone since, and its entry with it: the folder above is noted too
            done.add(device)
