"""Resolves the symlinks of a path, and tells whether it stays in the workspace."""

import errno
import os
from functools import partial

from assent.core.errors import Refused, UsageError
from assent.core.paths import display_path
from assent.executor.disk import Disk, readable_errors
from assent.ports import LinkTarget

_HOPS = 40  # symlinks followed before it counts as a loop, as the kernel does


def real_path(disk: Disk, path: bytes, read: LinkTarget | None = None) -> bytes:
    """Returns an absolute path without symlinks and `..`; what is missing is taken as written.

    `read` tells where the symlink of an absolute path points to, if it is not the disk that does.
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
    """Turns what a person typed into a workspace path; refuses what lies outside."""
    if not argument:
        raise UsageError("A path is empty.")
    if b"\0" in argument:
        raise Refused(f"{display_path(argument)} holds a zero byte; no file has such a name.")
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
        raise Refused(f"{display_path(argument)} lies outside the workspace {display_path(root)}.")
    return within + b"/" + name if within else name


def _drafted(disk: Disk, root: bytes, target: LinkTarget) -> LinkTarget:
    """Returns what reads symlinks as `target` tells in the workspace, and from disk elsewhere."""
    prefix = root.rstrip(b"/") + b"/"

    def read(path: bytes) -> bytes | None:
        inside = path.startswith(prefix)
        return target(path[len(prefix) :]) if inside else _target(disk, path)

    return read


def _within(disk: Disk, root: bytes, folder: bytes) -> bytes | None:
    """Returns the folder as seen from the root, or None if it is not below."""
    if folder == root:
        return b""
    prefix = root.rstrip(b"/") + b"/"
    if folder.startswith(prefix):
        return folder[len(prefix) :]
    return _within_by_inode(disk, root, folder)


def _within_by_inode(disk: Disk, root: bytes, folder: bytes) -> bytes | None:
    """Climbs from the folder to the root: without case, one folder has many spellings."""
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
    """Returns a symlink's target, or None if the path is no symlink or not there."""
    try:
        return disk.readlink(path)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR):
            return None
        raise
