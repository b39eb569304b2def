"""Turns errors of the system and of SQLite into messages with a next command."""

import errno
import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from assent.core.errors import STORED, StoreError

SAFE = STORED
MOVE_ASIDE_COMMAND = "mkdir {folder}/aside && mv {path}* {folder}/aside/"

_SPACE = ("no space is left", "df -h {folder}")
_RIGHTS = ("its folder or file does not permit it", "ls -ld {folder} {path}")
_OPEN_FILES = ("too many files are open", "ulimit -n 4096")
_DAMAGED = (
    "it is damaged or is no log of Assent; restore a copy, or set it aside to begin anew",
    MOVE_ASIDE_COMMAND,
)
_LOCKED = ("another program keeps it locked", "fuser -v {path}")
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
    errno.ENXIO: ("something else than a file is in its place; move it away", _AWAY),
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
    """Says which file could not be used, why, what is safe and what to type next."""
    reason, next = _BY_ERRNO.get(error.errno or 0, ("", _RIGHTS[1]))
    details = os.strerror(error.errno) if error.errno else str(error)
    return _fault(doing, path, (reason, details), next)


def damaged_log(doing: str, path: str, details: str, reason: str = _DAMAGED[0]) -> StoreError:
    """Says that a log cannot be trusted and how to set it aside without losing a byte of it."""
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
