"""Writes a blob durably: temporary file, sync, rename, sync again.

The disk calls are separate, so that a test can make them fail.
"""

import ctypes
import errno
import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from itertools import count

from assent.core.errors import StoreError
from assent.store.errors import system_error

# The disk calls of the blob store, in one object that a test can make fail.


class BlobDisk:
    """The real disk. Every call raises OSError on failure."""

    open = staticmethod(os.open)
    read = staticmethod(os.read)
    pread = staticmethod(os.pread)
    write = staticmethod(os.write)
    close = staticmethod(os.close)
    fsync = staticmethod(os.fsync)
    rename = staticmethod(os.rename)
    mkdir = staticmethod(os.mkdir)
    stat = staticmethod(os.stat)
    utime = staticmethod(os.utime)
    unlink = staticmethod(os.unlink)
    listdir = staticmethod(os.listdir)

    def syncfs(self, fd: int) -> None:
        """Returns when everything on the file system of a descriptor is on disk."""
        libc = ctypes.CDLL(None, use_errno=True)
        call = getattr(libc, "syncfs", None)
        if call is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        if call(fd) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


# Names of temporary files, and when one counts as abandoned.


DAY = 24 * 60 * 60


class TempNames:
    """Fresh names in one folder; each tells which process made it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._token = os.urandom(4).hex()
        self._counted = count(1)

    def fresh(self) -> str:
        """Returns a path that nobody else uses."""
        number = next(self._counted)
        return f"{self._folder}/{_space()}-{os.getpid()}-{self._token}-{number}"


def is_abandoned(name: str, age: float) -> bool:
    """Tells whether a file's maker is gone; of one from elsewhere only its age can tell."""
    space, _, rest = name.partition("-")
    pid = rest.partition("-")[0]
    ours = space == _space() != "0" and pid.isdecimal()
    return age > DAY or (ours and not os.path.exists(f"/proc/{pid}"))


@cache
def _space() -> str:
    """Returns the name of our space of process ids: a container has another than its host."""
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return "0"


SYNCFS_THRESHOLD = 16  # with more files than this, one sync of the file system beats a sync of each

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_NO_SYNCFS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EPERM)


class BlobWriter:
    """Writes below one folder. Only `write` explains its errors; the rest raises OSError."""

    def __init__(self, root: str, disk: BlobDisk) -> None:
        self._root = root
        self._disk = disk
        self._temporary = f"{root}/tmp"
        self._names = TempNames(self._temporary)
        self._unsynced: set[str] = set()
        self._swept = False

    def write(self, chunks: Iterable[bytes]) -> str:
        """Writes a temporary file and returns its path; errors of the chunks pass unchanged."""
        path = self._names.fresh()
        try:
            fd = self._created(path)
            try:
                for chunk in chunks:
                    self._write(fd, chunk)
            finally:
                self._close(fd)
        except BaseException:
            self.discard(path)
            raise
        return path

    def sync(self, paths: Sequence[str]) -> None:
        """Returns when the bytes, or of folders the names, are on disk."""
        if len(paths) > SYNCFS_THRESHOLD and self._sync_everything():
            return
        for path in paths:
            fd = self._disk.open(path, _OPEN)
            try:
                self._disk.fsync(fd)
            finally:
                self._disk.close(fd)

    def publish(self, path: str, target: str) -> None:
        """Gives a temporary file its name; that is durable after `settle`."""
        try:
            self._disk.rename(path, target)
        except FileNotFoundError:
            self._make_folder(os.path.dirname(target))
            self._disk.rename(path, target)
        self.mark_unsynced(target)

    def mark_unsynced(self, target: str) -> None:
        """Notes that a name may not be durable yet."""
        self._unsynced.add(os.path.dirname(target))

    def sync_names(self) -> None:
        """Returns when all names are on disk, and removes what processes that died left behind."""
        folders, self._unsynced = self._unsynced, set()
        try:
            self.sync(tuple(folders))
        except OSError:
            self._unsynced |= folders
            raise
        if not self._swept:
            self._swept = True
            self._sweep()

    def discard(self, path: str) -> None:
        """Removes a temporary file, if that is possible."""
        with suppress(OSError):
            self._disk.unlink(path)

    def write_error(self, error: OSError) -> StoreError:
        return system_error("store contents in", self._root, error)

    def _created(self, path: str) -> int:
        try:
            try:
                return self._disk.open(path, _CREATE, 0o600)
            except FileNotFoundError:
                self._make_folder(self._temporary)
                return self._disk.open(path, _CREATE, 0o600)
        except OSError as error:
            raise self.write_error(error) from error

    def _write(self, fd: int, chunk: bytes) -> None:
        try:
            written = self._disk.write(fd, chunk)
            while written < len(chunk):
                written += self._disk.write(fd, memoryview(chunk)[written:])
        except OSError as error:
            raise self.write_error(error) from error

    def _close(self, fd: int) -> None:
        try:
            self._disk.close(fd)
        except OSError as error:
            raise self.write_error(error) from error

    def _make_folder(self, path: str) -> None:
        try:
            self._disk.mkdir(path, 0o700)
        except FileExistsError:
            pass
        except FileNotFoundError:
            self._make_folder(os.path.dirname(path))
            self._disk.mkdir(path, 0o700)
        self.mark_unsynced(path)

    def _sync_everything(self) -> bool:
        fd = self._disk.open(self._root, _OPEN)
        try:
            self._disk.syncfs(fd)
        except OSError as error:
            if error.errno in _NO_SYNCFS:
                return False
            raise
        finally:
            self._disk.close(fd)
        return True

    def _sweep(self) -> None:
        with suppress(OSError):
            for name in self._disk.listdir(self._temporary):
                path = f"{self._temporary}/{name}"
                if is_abandoned(name, time.time() - self._disk.stat(path).st_mtime):
                    self.discard(path)
