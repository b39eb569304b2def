"""Finds the workspace root: the nearest folder above that Assent or git already works in."""

import os
from stat import S_ISDIR

from assent.core.errors import UsageError
from assent.core.paths import display_path
from assent.executor.disk import Disk, readable_errors
from assent.workspace.real_path import real_path

_OURS = (b".opencode/plans", b".opencode/assent")
_GIT = (b".git",)


def find_root(start: bytes, disk: Disk | None = None) -> bytes:
    """Returns the real path of the workspace that a folder belongs to."""
    disk = disk or Disk()
    with readable_errors(start):
        here = real_path(disk, os.path.join(os.getcwdb(), start))
    if not _is_folder(disk, here):
        raise UsageError(f"{display_path(start)} is not a folder.")
    ours, nearer = _nearest(disk, here, _OURS), _nearest(disk, here, _GIT) or here
    if ours is None or (len(ours) < len(nearer) and not _is_trusted(disk, ours)):
        return nearer
    return ours


def _nearest(disk: Disk, folder: bytes, marks: tuple[bytes, ...]) -> bytes | None:
    while True:
        base = folder.rstrip(b"/")
        if any(_exists(disk, base + b"/" + mark) for mark in marks):
            return folder
        if not base:
            return None
        folder = base.rpartition(b"/")[0] or b"/"


def _is_trusted(disk: Disk, folder: bytes) -> bool:
    """Tells whether a folder may be the workspace of what lies below it.

    In `/` or the home folder that would be everything, by one mistake; and where all may write, as
    in /tmp, anybody can have put a mark there.
    """
    if folder in (b"/", os.path.expanduser(b"~")):
        return False
    marks = [folder.rstrip(b"/") + b"/" + mark for mark in _OURS]
    owners = {disk.lstat(mark).st_uid for mark in marks if _exists(disk, mark)}
    return owners <= {0, os.geteuid()}


def _exists(disk: Disk, path: bytes) -> bool:
    try:
        disk.lstat(path)
    except OSError:
        return False
    return True


def _is_folder(disk: Disk, path: bytes) -> bool:
    return _exists(disk, path) and S_ISDIR(disk.lstat(path).st_mode)
