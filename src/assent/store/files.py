"""Files and folders of the state directory: created private and durably.

A file is replaced in one step, and refused where others could have written.
"""

import os
import shlex
import stat
from contextlib import suppress

from assent.core.errors import StoreError
from assent.store.errors import store_errors

# Creates folders of the state directory, readable by their owner only, durably.


def make_folder(path: str) -> None:
    """Makes a folder, and those above it, unless it is there."""
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
_SHARED = "Nothing was read from it, and nothing was changed."


def refuse_shared(what: str, path: str) -> None:
    """Refuses a symlink, another user's file, and one that others may write to; none is fine."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    refuse_shared_stat(what, path, found, OTHERS_WRITE)


def refuse_shared_stat(what: str, path: str, found: os.stat_result, rights: int) -> None:
    """Refuses what was found under a name, if others own it or have any of these rights."""
    quoted = shlex.quote(path)
    if stat.S_ISLNK(found.st_mode):
        raise StoreError(
            f"{what} {path} is a symlink, and Assent follows none there. {_SHARED} Put the real "
            "one in its place.",
            f"ls -l {quoted}",
        )
    if found.st_uid != os.geteuid():
        raise StoreError(
            f"{what} {path} belongs to another user (uid {found.st_uid}; yours is {os.geteuid()}). "
            f"{_SHARED} If it is yours after all, take it over.",
            f"sudo chown {os.geteuid()} {quoted}",
        )
    if stat.S_IMODE(found.st_mode) & rights & OTHERS_WRITE:
        raise StoreError(
            f"{what} {path} can be written by other users. {_SHARED} If somebody may have changed "
            "it, restore a copy first.",
            f"chmod go-w {quoted}",
        )


# Replaces a small file outside of workspaces in one step.


PRIVATE = 0o600


def write_atomically(path: str, content: bytes, mode: int = PRIVATE) -> None:
    """Puts a content in the place of a file's; whoever reads sees the old one or the new one."""
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
