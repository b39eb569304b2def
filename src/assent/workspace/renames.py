"""Renaming without ever replacing, also where the kernel or the file system has no flag for it."""

import errno
from stat import S_ISDIR
from typing import TypeAlias

from assent.workspace.disk import Disk

NO_FLAG = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)

_NO_LINK = (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EMLINK)

End: TypeAlias = tuple[bytes, int]  # a name and the descriptor of its folder


def rename_otherwise(
    disk: Disk, error: OSError, source: End, target: End, *, private: bool
) -> None:
    """Goes on where the one call failed; a `private` target is a name that only we use."""
    if error.errno == errno.EEXIST:
        _complete(disk, error, source, target)
    elif error.errno in NO_FLAG:
        _rename_without_flag(disk, source, target, private=private)
    else:
        raise error


def _rename_without_flag(disk: Disk, source: End, target: End, *, private: bool) -> None:
    found = disk.lstat(*source)
    if private or S_ISDIR(found.st_mode):
        _check_and_rename(disk, source, target)
        return
    try:
        disk.link(*source, *target)  # unlike a rename, it fails if the name was taken meanwhile
    except FileExistsError as error:
        _complete(disk, error, source, target)
        return
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        _check_and_rename(disk, source, target)
        return
    disk.unlink(*source)


def _check_and_rename(disk: Disk, source: End, target: End) -> None:
    try:
        disk.lstat(*target)
    except FileNotFoundError:
        disk.rename(*source, *target)
        return
    taken = FileExistsError(errno.EEXIST, "it is taken", target[0])
    _complete(disk, taken, source, target)


def _complete(disk: Disk, error: OSError, source: End, target: End) -> None:
    """Finishes a rename by link that a crash cut in the middle; otherwise the name is taken."""
    one, other = disk.lstat(*source), disk.lstat(*target)
    same = (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
    if not same or S_ISDIR(one.st_mode) or one.st_nlink == 1:
        raise error
    disk.unlink(*source)
