"""Folder handles: opens each folder on the way to a file by itself, and never through a symlink."""

import errno
import os
import time
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from stat import S_ISLNK

from assent.core.paths import STAGE, ancestors, is_inside, parent
from assent.executor.disk import Disk, EntryKind, SymlinkInPath, symlink_in_path

LIMIT = 256  # descriptors kept open
CLOSED_AT_ONCE = 32  # how many make room at once
RECHECK_SECONDS = 1.0  # seconds: a folder that another process renamed is noticed after this

_DEEPEST = STAGE.count(b"/") + 1  # the folder of a run's slots
OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FolderHandles:
    """The workspace's folders as descriptors; the least used are closed.

    A descriptor is valid until the next call; `open_two` returns two that are valid together.
    """

    def __init__(
        self, disk: Disk, root: bytes, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._disk = disk
        self._root = root
        self._clock = clock
        self._fds: dict[bytes, int] = {}  # the least used first
        self._seen: set[bytes] = set()  # every folder opened since the last `forget`
        self._ids: dict[bytes, tuple[int, int]] = {}  # their devices and inodes
        self._until = 0.0
        self._newest = b""

    def open(self, folder: bytes) -> int:
        """Returns a descriptor of the folder; OSError(ELOOP) if a symlink is on the way."""
        if self._clock() > self._until:
            self.forget()
        elif folder == self._newest and folder in self._fds:  # most often, file after file
            return self._fds[folder]
        return self._open(folder)

    def open_now(self, folder: bytes) -> int:
        """Returns a descriptor of what certainly has this name now, for one more call."""
        try:
            fd = self.open(folder)
        except OSError:
            if self._is_current(self._nearest(folder)):
                raise
        else:
            if self._is_current(folder):
                return fd
        self.forget()
        return self.open(folder)

    def open_two(self, one: bytes, other: bytes) -> tuple[int, int]:
        """Returns descriptors of two folders that are both valid."""
        first = self.open(one)
        return first, first if one == other else self._open(other)

    def exists(self, folder: bytes) -> bool:
        """Tells whether a folder has this name; a file or symlink in its place does not count."""
        try:
            self.open(folder)
        except (FileNotFoundError, NotADirectoryError, SymlinkInPath):
            return False
        return True

    def device(self, folder: bytes) -> int:
        """Returns the file system that a folder is on."""
        known = self._ids.get(folder)
        return known[0] if known else self._disk.stat(self.open(folder)).st_dev

    def make(self, folder: bytes) -> list[bytes]:
        """Creates a folder and those above it; returns those that were missing, outermost first."""
        if self._exists(folder):
            return []
        missing: list[bytes] = []
        for path in (*reversed(ancestors(folder)), folder):
            if not missing and self._exists(path):
                continue
            missing.append(path)
            above, _, name = path.rpartition(b"/")
            # Only the user may look into slots: they hold contents before modes are set. What is
            # deeper will be in the workspace as it is.
            mode = 0o700 if is_inside(path, STAGE) and path.count(b"/") <= _DEEPEST else 0o777
            with suppress(FileExistsError):  # another process was first; what it is shows next
                self._disk.mkdir(name, mode, self.open(above))
            self.open(path)
        return missing

    def below(self, folder: bytes) -> Iterator[tuple[bytes, EntryKind]]:
        """Yields everything below a folder, outer folders first; nothing if it is not a folder."""
        waiting = [folder]
        while waiting:
            here = waiting.pop()
            prefix = here + b"/" if here else b""
            for name, kind in self.entries(here):
                yield prefix + name, kind
                if kind == "folder":
                    waiting.append(prefix + name)

    def holds_files(self, folder: bytes, besides: Container[bytes]) -> bool:
        """Tells whether anything is below a folder except folders and these files."""
        waiting = [folder]
        while waiting:
            here = waiting.pop()
            prefix = here + b"/" if here else b""
            for name, kind in self.entries(here):
                path = prefix + name
                if kind == "folder":
                    waiting.append(path)
                elif path not in besides:
                    return True
        return False

    def moved(self, path: bytes) -> None:
        """Records that a name means something else now; matters only if it was a folder."""
        if path in self._seen:
            self.forget()

    def forget(self) -> None:
        """Closes all descriptors, so that the next call sees the current folders."""
        self._seen.clear()
        self._ids.clear()
        while self._fds:
            self._close(self._fds.popitem()[1])
        self._until = self._clock() + RECHECK_SECONDS

    def __del__(self) -> None:
        for fd in self._fds.values():
            with suppress(BaseException):  # it could not be caught here
                self._disk.close(fd)

    def entries(self, folder: bytes) -> list[tuple[bytes, EntryKind]]:
        """Lists a folder; nothing if it is not a folder."""
        try:
            return self._disk.scan(self.open_now(folder))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            if error.errno == errno.ELOOP and error.filename == folder:
                return []  # the name itself is a symlink, not a folder
            raise

    def _exists(self, folder: bytes) -> bool:
        try:
            self.open_now(folder)
        except FileNotFoundError:
            return False
        return True

    def _open(self, folder: bytes) -> int:
        if folder not in self._fds:
            self._walk(folder)
        elif folder == self._newest:
            return self._fds[folder]
        fd = self._fds[folder] = self._fds.pop(folder)  # the newest comes last
        self._newest = folder
        return fd

    def _walk(self, folder: bytes) -> None:
        """Opens a folder from the nearest one above it that is open."""
        # Never the newest one: it is the first of the two that `open_two` promised.
        while len(self._fds) > LIMIT - CLOSED_AT_ONCE:
            self._close(self._fds.pop(next(iter(self._fds))))
        base = self._nearest(folder)
        if base not in self._fds:
            self._keep(b"", self._disk.open(self._root, OPEN_FOLDER & ~os.O_NOFOLLOW))
        if folder:
            self._descend(self._fds[base], folder, len(base) + 1 if base else 0)

    def _nearest(self, folder: bytes) -> bytes:
        """Returns the innermost folder on the way that is open."""
        while folder and folder not in self._fds:
            folder = parent(folder)
        return folder

    def _is_current(self, folder: bytes) -> bool:
        """Tells whether a folder that is open still has its name."""
        try:
            found = self._disk.lstat(self._root + b"/" + folder)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._ids.get(folder)

    def _descend(self, fd: int, folder: bytes, start: int) -> None:
        """Enters the rest of the path, name by name; of a very deep path not every step is kept."""
        kept = True
        while True:
            end = folder.find(b"/", start)
            path = folder if end < 0 else folder[:end]
            try:
                below = self._enter(path[start:], fd, path)
            finally:
                if not kept:
                    self._close(fd)
            self._seen.add(path)
            kept = end < 0 or len(self._fds) < LIMIT
            if kept:
                self._keep(path, below)
            if end < 0:
                return
            fd, start = below, end + 1

    def _enter(self, name: bytes, at: int, path: bytes) -> int:
        if name in (b"..", b"."):  # whatever wrote such a path, it must not leave the workspace
            raise OSError(errno.EINVAL, "it is not a plain path inside the workspace", path)
        try:
            return self._disk.open(name, OPEN_FOLDER, 0, at)
        except NotADirectoryError as error:
            if S_ISLNK(self._disk.lstat(name, at).st_mode):
                raise symlink_in_path(path) from error
            raise
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise symlink_in_path(path) from error
            error.filename = path
            raise

    def _close(self, fd: int) -> None:
        with suppress(OSError):  # a folder was only read: there is nothing to lose
            self._disk.close(fd)

    def _keep(self, path: bytes, fd: int) -> None:
        self._fds[path] = fd
        found = self._disk.stat(fd)
        self._ids[path] = (found.st_dev, found.st_ino)
