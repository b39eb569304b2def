"""Files and folders of the state directory: created private and durably; errors name what to do.

A file is replaced in one step, and refused where others could have written.
"""

import errno
import os
import shlex
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from assent.core.errors import STORED, StoreError

# Turns errors of the system and of SQLite into messages with a next command.


SAFE = STORED
MOVE_ASIDE_COMMAND = "mkdir {folder}/aside && mv {path}* {folder}/aside/"

NO_SPACE = "no space left on the disk"
_SPACE = (NO_SPACE, "df -h {folder}")
_RIGHTS = ("permission denied for its folder or file", "ls -ld {folder} {path}")
_OPEN_FILES = ("too many files are open", "ulimit -n 4096")
_DAMAGED = (
    "it is damaged or not an Assent log; restore a copy, or move it away to start over",
    MOVE_ASIDE_COMMAND,
)
_LOCKED = ("another program has locked it", "fuser -v {path}")
_DEVICE = ("the disk reports an error", "dmesg | tail")
_AWAY = "mv {path} {path}.aside"

_BY_ERRNO = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EROFS: _RIGHTS,
    errno.EMFILE: _OPEN_FILES,
    errno.ENFILE: _OPEN_FILES,
    errno.EIO: _DEVICE,
    errno.EISDIR: ("a folder is in its place; move it away", _AWAY),
    errno.ELOOP: ("a symlink is in its place; move it away", _AWAY),
    errno.ENXIO: ("something other than a file is in its place; move it away", _AWAY),
}
# Something else stands where a file of ours is expected.
REPLACED_FILE_ERRORS = frozenset({errno.EISDIR, errno.ELOOP, errno.ENXIO})
_BY_SQLITE_CODE = {
    sqlite3.SQLITE_ERROR: _DAMAGED,  # our statements are right, so the tables are not
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_FULL: _SPACE,
    sqlite3.SQLITE_PERM: _RIGHTS,
    sqlite3.SQLITE_READONLY: _RIGHTS,
    sqlite3.SQLITE_CANTOPEN: _RIGHTS,
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_IOERR: ("the disk is full or reports an error", _SPACE[1]),
}


@contextmanager
def store_errors(doing: str, path: str) -> Iterator[None]:
    """Turns errors of the system and of SQLite into a StoreError about one file."""
    try:
        yield
    except OSError as error:
        raise system_error(doing, path, error) from error
    except sqlite3.ProgrammingError:
        raise  # a fault of ours, not of the file
    except UnicodeDecodeError as error:
        raise damaged_log(doing, path, str(error)) from error  # what was written was UTF-8
    except sqlite3.DatabaseError as error:
        raise _sqlite_fault(doing, path, error) from error


def system_error(doing: str, path: str, error: OSError) -> StoreError:
    """Returns an error that says which file failed, why, what is safe and the next command."""
    reason, next = _BY_ERRNO.get(error.errno or 0, ("", _RIGHTS[1]))
    details = os.strerror(error.errno) if error.errno else str(error)
    return _fault(doing, path, (reason, details), next)


def damaged_log(doing: str, path: str, details: str, reason: str = _DAMAGED[0]) -> StoreError:
    """Returns an error that a log cannot be trusted, and how to set it aside without loss."""
    return _fault(doing, path, (reason, details), MOVE_ASIDE_COMMAND)


def _sqlite_fault(doing: str, path: str, error: sqlite3.DatabaseError) -> StoreError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    reason, next = _BY_SQLITE_CODE.get(code, _DAMAGED)
    return _fault(doing, path, (reason, str(error)), next)


def _fault(doing: str, path: str, why: tuple[str, str], next: str) -> StoreError:
    reason, details = why
    because = f"{reason} ({details})" if reason else details
    names = {"path": shlex.quote(path), "folder": shlex.quote(os.path.dirname(path) or ".")}
    return StoreError(f"Could not {doing} {path}: {because}. {SAFE}", next.format(**names))


# Creates folders of the state directory, readable by their owner only, durably.


def make_folder(path: str) -> None:
    """Creates a folder and its parents, unless it exists."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(os.path.abspath(path))
    make_folder(above)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
    sync_folder(above)


def sync_folder(path: str) -> None:
    """Returns when the names in a folder are on disk."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


# Refuses files and folders of the state directory that other users could have written.


OTHERS_WRITE = 0o022
_SHARED = "Nothing was read from it or changed."


def refuse_shared(what: str, path: str) -> None:
    """Refuses a symlink, another user's file, and one that others may write; accepts none."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    refuse_shared_stat(what, path, found, OTHERS_WRITE)


def refuse_shared_stat(what: str, path: str, found: os.stat_result, rights: int) -> None:
    """Refuses a file if others own it or have any of these rights."""
    quoted = shlex.quote(path)
    if stat.S_ISLNK(found.st_mode):
        raise StoreError(
            f"{what} {path} is a symlink, which Assent does not follow there. {_SHARED} Replace "
            "it with the real file or folder.",
            f"ls -l {quoted}",
        )
    if found.st_uid != os.geteuid():
        raise StoreError(
            f"{what} {path} belongs to another user (uid {found.st_uid}; yours is "
            f"{os.geteuid()}). {_SHARED} If it is yours, change its owner.",
            f"sudo chown {os.geteuid()} {quoted}",
        )
    if stat.S_IMODE(found.st_mode) & rights & OTHERS_WRITE:
        raise StoreError(
            f"{what} {path} is writable by other users. {_SHARED} If someone may have changed it, "
            "restore a copy first.",
            f"chmod go-w {quoted}",
        )


# Replaces a small file outside of workspaces in one step.


PRIVATE = 0o600


def write_atomically(path: str, content: bytes, mode: int = PRIVATE) -> None:
    """Replaces a file's content; readers see the old one or the new one."""
    folder = os.path.dirname(path)
    young = f"{path}.{os.urandom(8).hex()}"
    with store_errors("write", path):
        make_folder(folder)
        try:
            _write(young, content, mode)
            os.replace(young, path)
            sync_folder(folder)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(young)


def _write(path: str, content: bytes, mode: int) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
    try:
        os.fchmod(file, mode)
        while content:
            content = content[os.write(file, content) :]
        os.fsync(file)
    finally:
        os.close(file)
