"""Finds the workspace root, resolves symlinks, and tells whether a path stays in the workspace."""

import errno
import os
from functools import partial
from stat import S_ISDIR

from assent.core.errors import Refused, UsageError
from assent.core.paths import display_path
from assent.executor.disk import Disk, readable_errors
from assent.ports import LinkTarget

# Resolves the symlinks of a path, and tells whether it stays in the workspace.


_HOPS = 40  # symlinks followed before it counts as a loop, as the kernel does


def real_path(disk: Disk, path: bytes, read: LinkTarget | None = None) -> bytes:
    """Returns an absolute path without symlinks and `..`; missing parts are taken as written.

    `read` returns the target of a symlink at an absolute path, if not the disk should.
    """
    read = read or partial(_target, disk)
    waiting = path.split(b"/")[::-1]
    done, hops = b"", 0
    while waiting:
        name = waiting.pop()
        if name == b"..":
            done = done.rpartition(b"/")[0]
            continue
        if name in (b"", b"."):
            continue
        target = read(done + b"/" + name)
        if target is None:
            done += b"/" + name
            continue
        hops += 1
        if hops > _HOPS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        done = b"" if target.startswith(b"/") else done
        waiting += target.split(b"/")[::-1]
    return done or b"/"


def locate(
    disk: Disk, root: bytes, cwd: bytes, argument: bytes, target: LinkTarget | None = None
) -> bytes:
    """Turns what a user typed into a workspace path; refuses a path outside."""
    if not argument:
        raise UsageError("The path is empty.")
    if b"\0" in argument:
        raise Refused(f"{display_path(argument)} contains a null byte, which file names cannot.")
    typed = argument if argument.startswith(b"/") else cwd + b"/" + argument
    read = _drafted(disk, root, target) if target else None
    with readable_errors(argument):
        above, _, name = typed.rstrip(b"/").rpartition(b"/")
        if name in (b"", b".", b".."):
            above, _, name = real_path(disk, typed, read).rpartition(b"/")
        folder = real_path(disk, above, read)
        if os.path.join(folder, name) == root:
            raise Refused(f"{display_path(argument)} is the workspace itself, not a file in it.")
        within = _within(disk, root, folder)
    if within is None:
        raise Refused(f"{display_path(argument)} is outside the workspace {display_path(root)}.")
    return within + b"/" + name if within else name


def _drafted(disk: Disk, root: bytes, target: LinkTarget) -> LinkTarget:
    """Returns a function that reads symlinks by `target` in the workspace, else from disk."""
    prefix = root.rstrip(b"/") + b"/"

    def read(path: bytes) -> bytes | None:
        inside = path.startswith(prefix)
        return target(path[len(prefix) :]) if inside else _target(disk, path)

    return read


def _within(disk: Disk, root: bytes, folder: bytes) -> bytes | None:
    """Returns the folder relative to the root, or None if it is not below."""
    if folder == root:
        return b""
    prefix = root.rstrip(b"/") + b"/"
    if folder.startswith(prefix):
        return folder[len(prefix) :]
    return _within_by_inode(disk, root, folder)


def _within_by_inode(disk: Disk, root: bytes, folder: bytes) -> bytes | None:
    """Climbs from the folder to the root: if case is ignored, one folder has many spellings."""
    home = disk.lstat(root)
    below = b""
    while folder not in (b"", b"/"):
        try:
            here = disk.lstat(folder)
        except (FileNotFoundError, NotADirectoryError):
            here = None
        if here and (here.st_dev, here.st_ino) == (home.st_dev, home.st_ino):
            return below
        folder, _, name = folder.rpartition(b"/")
        below = name + b"/" + below if below else name
    return None


def _target(disk: Disk, path: bytes) -> bytes | None:
    """Returns a symlink's target, or None if the path is not a symlink or does not exist."""
    try:
        return disk.readlink(path)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR):
            return None
        raise


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
    """Tells whether a folder may be the workspace of the folders below it.

    In `/` or the home folder that would include everything, by one mistake; and where everyone may
    write, as in /tmp, anyone can have put a marker there.
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
