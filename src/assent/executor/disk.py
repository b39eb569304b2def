"""The kernel's file calls, one method each, and their errors as readable text.

Tests replace this class to count calls, to fail one, or to crash in the middle.
"""

import errno
import fcntl
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Literal, TypeAlias

from assent.core.errors import AssentError, Refused, WorkspaceError
from assent.core.paths import display_path

EntryKind: TypeAlias = Literal["file", "link", "folder", "other"]

_NOREPLACE = 1
_EXCHANGE = 2
_HAS_XATTRS = hasattr(os, "listxattr")


class Disk:
    """A thin layer over the system; `at` is the descriptor of the folder that a name is in."""

    # Asked for each file of a large plan, so without a step between; a double still replaces them.
    close = staticmethod(os.close)
    read = staticmethod(os.read)
    write = staticmethod(os.write)
    stat = staticmethod(os.fstat)

    def open(self, name: bytes, flags: int, mode: int = 0o666, at: int | None = None) -> int:
        return os.open(name, flags, mode, dir_fd=at)

    def lstat(self, name: bytes, at: int | None = None) -> os.stat_result:
        return os.stat(name, dir_fd=at, follow_symlinks=False)

    def readlink(self, name: bytes, at: int | None = None) -> bytes:
        return os.readlink(name, dir_fd=at)

    def scan(self, folder: int) -> list[tuple[bytes, EntryKind]]:
        """Lists a folder's entries and what they are."""
        with os.scandir(folder) as entries:
            return [
                (os.fsencode(e.name), "file" if e.is_file(follow_symlinks=False) else _kind(e))
                for e in entries
            ]

    def rename(self, source: bytes, source_at: int, target: bytes, target_at: int) -> None:
        os.rename(source, target, src_dir_fd=source_at, dst_dir_fd=target_at)

    def rename_noreplace(
        self, source: bytes, source_at: int, target: bytes, target_at: int
    ) -> None:
        _renameat2(source, source_at, target, target_at, _NOREPLACE)

    def rename_exchange(self, one: bytes, one_at: int, other: bytes, other_at: int) -> None:
        _renameat2(one, one_at, other, other_at, _EXCHANGE)

    def link(self, source: bytes, source_at: int, target: bytes, target_at: int) -> None:
        os.link(source, target, src_dir_fd=source_at, dst_dir_fd=target_at, follow_symlinks=False)

    def unlink(self, name: bytes, at: int) -> None:
        os.unlink(name, dir_fd=at)

    def mkdir(self, name: bytes, mode: int, at: int | None = None) -> None:
        os.mkdir(name, mode, dir_fd=at)

    def rmdir(self, name: bytes, at: int) -> None:
        os.rmdir(name, dir_fd=at)

    def symlink(self, target: bytes, name: bytes, at: int) -> None:
        os.symlink(target, name, dir_fd=at)

    def chmod(self, fd: int, mode: int) -> None:
        os.fchmod(fd, mode)

    def chown(self, fd: int, user: int, group: int) -> None:
        os.fchown(fd, user, group)

    def chown_link(self, name: bytes, at: int, user: int, group: int) -> None:
        os.chown(name, user, group, dir_fd=at, follow_symlinks=False)

    def touch(self, fd: int) -> None:
        """Sets a file's times to now."""
        os.utime(fd)

    def has_no_writer(self, fd: int) -> bool:
        """Tells whether no one can write to a file that was opened to be read.

        The system refuses a lease on a file that is open to be written, or mapped so. Where it
        knows no leases, or gives none to this user, any file may have a writer. Of a shared disk it
        knows only the writers on this machine.
        """
        try:
            fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)  # by default, SIGIO ends the process
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except (OSError, AttributeError):
            return False
        return True

    def list_xattrs(self, fd: int) -> list[str]:
        return os.listxattr(fd) if _HAS_XATTRS else []

    def list_xattrs_of(self, name: bytes, at: int) -> list[str]:
        """Lists the attributes of a name in a folder, without opening it; OSError if that fails."""
        path = b"/proc/self/fd/%d/%b" % (at, name)
        return os.listxattr(path, follow_symlinks=False) if _HAS_XATTRS else []

    def get_xattr(self, fd: int, name: str) -> bytes:
        return os.getxattr(fd, name)

    def set_xattr(self, fd: int, name: str, value: bytes) -> None:
        os.setxattr(fd, name, value)

    def fsync(self, fd: int) -> None:
        os.fsync(fd)

    def syncfs(self, fd: int) -> None:
        """Flushes the file system that the descriptor is on."""
        syncfs, errno_now = _system_call("syncfs")
        if syncfs is None:
            os.sync()
        elif syncfs(fd):
            raise _error(errno_now())


def _kind(entry: os.DirEntry[str]) -> EntryKind:
    """Returns what an entry is that is not a file; most are files and are not checked twice."""
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "link" if entry.is_symlink() else "other"


@cache
def _system_call(name: str) -> tuple[Callable[..., int] | None, Callable[[], int]]:
    """Returns a call that Python does not offer, None where the system has none, and its errno.

    What only reads needs none of them, and so does not wait for ctypes to load.
    """
    import ctypes

    arguments = {
        "renameat2": (
            ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint,
        ),
        "syncfs": (ctypes.c_int,),
    }  # fmt: skip
    call = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if call is not None:
        call.argtypes = arguments[name]
        call.restype = ctypes.c_int
    return call, ctypes.get_errno


def _renameat2(source: bytes, source_at: int, target: bytes, target_at: int, flags: int) -> None:
    renameat2, errno_now = _system_call("renameat2")
    if renameat2 is None:
        raise _error(errno.ENOSYS)
    if renameat2(source_at, source, target_at, target, flags):
        raise _error(errno_now(), source)


def _error(code: int, *names: bytes) -> OSError:
    return OSError(code, os.strerror(code), *names)


# Turns errors of the operating system into readable messages.


class UnsupportedFileType(OSError):
    """A path is neither a file nor a symlink nor a folder."""


class SymlinkInPath(OSError):
    """A folder in a path is a symlink, so the path is not in the workspace."""


def symlink_in_path(link: bytes) -> SymlinkInPath:
    """Returns the error for such a folder."""
    return SymlinkInPath(errno.ELOOP, "it is reached through a symlink", link)


def readable_error(error: OSError, path: bytes) -> AssentError:
    """Returns the error to show: a refusal of symlinks and special files, or the cause."""
    if isinstance(error, UnsupportedFileType):
        return Refused(
            f"{display_path(path)} is {error.strerror}; plans can change only files and symlinks."
        )
    if error.errno == errno.ELOOP:
        link = os.fsencode(error.filename or path)
        return Refused(
            f"{display_path(link)} is a symlink; Assent does not follow it to {display_path(path)}."
        )
    return WorkspaceError(f"{display_path(path)}: {error.strerror or error}. Nothing was changed.")


@contextmanager
def readable_errors(path: bytes) -> Iterator[None]:
    """Turns errors of the system into errors that a user can read."""
    try:
        yield
    except OSError as error:
        raise readable_error(error, path) from error
