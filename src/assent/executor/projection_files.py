"""Reads and replaces Assent's own files in the workspace, always whole and never through a link."""

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from shlex import quote
from stat import S_ISLNK, S_ISREG
from threading import RLock
from typing import Concatenate, ParamSpec, TypeVar

from assent.core.errors import Refused, WorkspaceError
from assent.core.paths import display_path
from assent.executor.disk import Disk, EntryKind
from assent.executor.file_states import OPEN_READ
from assent.executor.folder_handles import FolderHandles
from assent.executor.os_errors import readable_error, readable_errors, symlink_in_path

P = ParamSpec("P")
R = TypeVar("R")

LIMIT = 1 << 20  # bytes of one file

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def check_size(path: bytes, size: int) -> None:
    """Refuses a file that is larger than any of Assent's own."""
    if size > LIMIT:
        raise WorkspaceError(
            f"{display_path(path)} has {size} bytes, and Assent reads at most {LIMIT} of such a "
            "file. Make it smaller; nothing was changed."
        )


def _alone(
    method: Callable[Concatenate["ProjectionFiles", P], R],
) -> Callable[Concatenate["ProjectionFiles", P], R]:
    """Lets one thread at a time in: a descriptor of a folder is good until the next call only."""

    @wraps(method)
    def alone(tree: "ProjectionFiles", /, *args: P.args, **more: P.kwargs) -> R:
        with tree.turn:
            return method(tree, *args, **more)

    return alone


class ProjectionFiles:
    """Small files below a root. Every call sees the folders as they are by then.

    It may be used from several threads: children of a session work at the same time.
    """

    def __init__(self, root: bytes, disk: Disk) -> None:
        self._disk = disk
        self._folders = FolderHandles(disk, root)
        self.turn = RLock()

    @_alone
    def make_folder(self, folder: bytes) -> None:
        """Makes a folder and those above it, if they are missing."""
        with readable_errors(folder):
            self._folders.forget()
            self._folders.make(folder)

    @_alone
    def entries(self, folder: bytes) -> list[tuple[bytes, EntryKind]]:
        """Lists a folder; nothing if it is missing."""
        with readable_errors(folder):
            self._folders.forget()
            try:
                return self._disk.scan(self._folders.open(folder))
            except FileNotFoundError:
                return []

    @_alone
    def find(self, path: bytes) -> os.stat_result | None:
        """Returns what stands under a name, or None; refuses all but a file with one name."""
        folder, _, name = path.rpartition(b"/")
        with readable_errors(path):
            self._folders.forget()
            try:
                found = self._disk.lstat(name, self._folders.open(folder))
            except FileNotFoundError:
                return None
        _refuse_links(path, found)
        return found

    @_alone
    def probe(self, path: bytes) -> os.stat_result | None:
        """Returns what stands under a name, or None; refuses what could not be read."""
        if self.find(path) is None:
            return None
        with self._opened(path) as (_, found):
            return found

    @_alone
    def read(self, path: bytes, check: Callable[[bytes, int], None] = check_size) -> bytes | None:
        """Returns a file's content, or None if there is none; `check` refuses its size."""
        if self.find(path) is None:
            return None
        with self._opened(path) as (fd, found):
            check(path, found.st_size)
            content = b"".join(iter(lambda: self._disk.read(fd, LIMIT), b""))
        check(path, len(content))
        return content

    @_alone
    def replace(self, path: bytes, content: bytes, *, durable: bool = True) -> None:
        """Gives a file new content in one step; whoever reads it sees the old or the new."""
        found = self.find(path)
        folder, _, name = path.rpartition(b"/")
        draft = b".%s.%d.%d" % (name, os.getpid(), time.monotonic_ns())
        with readable_errors(path):
            self._folders.make(folder)
            at = self._folders.open(folder)
            try:
                self._write(draft, at, content, found, durable=durable)
                self._disk.rename(draft, at, name, at)
            except OSError:
                with suppress(OSError):
                    self._disk.unlink(draft, at)
                raise
            if durable:
                self._disk.fsync(at)

    @_alone
    def remove(self, path: bytes) -> None:
        """Removes a file if it is there."""
        if self.find(path) is None:
            return
        folder, _, name = path.rpartition(b"/")
        with readable_errors(path):
            self._disk.unlink(name, self._folders.open(folder))

    @_alone
    def remove_folder(self, folder: bytes) -> None:
        """Removes a folder if it is there and empty."""
        above, _, name = folder.rpartition(b"/")
        with readable_errors(folder):
            self._folders.forget()
            try:
                self._disk.rmdir(name, self._folders.open(above))
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                    raise

    @contextmanager
    def _opened(self, path: bytes) -> Iterator[tuple[int, os.stat_result]]:
        folder, _, name = path.rpartition(b"/")
        with readable_errors(path):
            fd = self._disk.open(name, OPEN_READ, 0, self._folders.open(folder))
            try:
                found = self._disk.stat(fd)
                _refuse_links(path, found)
                yield fd, found
            finally:
                self._disk.close(fd)

    def _write(
        self, name: bytes, at: int, content: bytes, like: os.stat_result | None, *, durable: bool
    ) -> None:
        fd = self._disk.open(name, _CREATE, 0o666, at)
        try:
            if like is not None:
                self._disk.chmod(fd, like.st_mode & 0o777)
            rest = memoryview(content)
            while rest:
                rest = rest[self._disk.write(fd, rest) :]
            if durable:
                self._disk.fsync(fd)
        finally:
            self._disk.close(fd)


def _refuse_links(path: bytes, found: os.stat_result) -> None:
    if S_ISLNK(found.st_mode):
        refused = readable_error(symlink_in_path(path), path)
        raise Refused(refused.message, _aside(path))
    if not S_ISREG(found.st_mode):
        raise Refused(
            f"{display_path(path)} is no plain file; Assent keeps its own files there.",
            _aside(path),
        )
    if found.st_nlink != 1:
        raise Refused(
            f"{display_path(path)} has {found.st_nlink} names; Assent's own files have one.",
            _aside(path),
        )


def _aside(path: bytes) -> str:
    """Returns what to type to have the name free."""
    return f"mv {quote(display_path(path))} {quote(display_path(path))}.aside"
