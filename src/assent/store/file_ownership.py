"""Refuses files and folders of the state directory that other users could have written."""

import os
import shlex
import stat

from assent.core.errors import StoreError

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
