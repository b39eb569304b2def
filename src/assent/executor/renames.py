"""Renames that never replace a file, also where kernel or file system have no flag for it."""

import errno
import os
from stat import S_ISDIR
from typing import TypeAlias

from assent.executor.disk import Disk

FLAG_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)

_NO_LINK = (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EMLINK)

RenameEnd: TypeAlias = tuple[bytes, int]  # a name and the descriptor of its folder


def rename_without_flag(disk: Disk, source: RenameEnd, target: RenameEnd, *, private: bool) -> None:
    """Renames with other calls; a `private` target is a name that only we use."""
    found = disk.lstat(*source)
    if private or S_ISDIR(found.st_mode):
        _check_and_rename(disk, source, target)
        return
    try:
        disk.link(*source, *target)  # unlike a rename, it fails if the name was taken meanwhile
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        _check_and_rename(disk, source, target)
        return
    disk.unlink(*source)


def finish_link(disk: Disk, source: RenameEnd, target: RenameEnd) -> None:
    """Finishes a rename that a crash cut between link and unlink, if that is what happened."""
    try:
        one, other = disk.lstat(*source), disk.lstat(*target)
    except FileNotFoundError:
        return
    same = (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
    if same and one.st_nlink > 1 and not S_ISDIR(one.st_mode):
        disk.unlink(*source)


def _check_and_rename(disk: Disk, source: RenameEnd, target: RenameEnd) -> None:
    try:
        disk.lstat(*target)
    except FileNotFoundError:
        disk.rename(*source, *target)
        return
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target[0])
