"""Symlinks: those on the way to a path, and the real file or folder at the end."""

import errno
import os
from collections.abc import Container, Iterable

from assent.core.paths import is_inside

_HOPS = 40  # symlinks followed before it counts as a loop, as the kernel does


def symlink_chain(path: bytes) -> tuple[bytes, ...]:
    """Returns each symlink on the way under its real parent, then the real path; () if none."""
    waiting = path.split(b"/")[::-1]
    done, links = b"", list[bytes]()
    while waiting:
        name = waiting.pop()
        if name in (b"", b"."):
            continue
        if name == b"..":
            done = done.rpartition(b"/")[0]
            continue
        here = done + b"/" + name
        try:
            target = os.readlink(here)
        except OSError as error:
            if error.errno != errno.EINVAL:
                return ()
            done = here
            continue
        links.append(here)
        if len(links) > _HOPS:
            return ()
        done = b"" if target.startswith(b"/") else done
        waiting += target.split(b"/")[::-1]
    return (*dict.fromkeys(links), done or b"/")


def outermost_paths(paths: Iterable[bytes]) -> tuple[bytes, ...]:
    """Returns the paths in order, without those that lie inside another one."""
    kept: list[bytes] = []
    for path in sorted(set(paths), key=lambda path: path + b"/"):
        if not kept or not is_inside(path, kept[-1]):
            kept.append(path)
    return tuple(kept)


def is_covered(path: bytes, folders: Container[bytes]) -> bool:
    """Tells whether a path is one of these folders or lies below one; fast with a set."""
    while path:
        if path in folders:
            return True
        path = path.rpartition(b"/")[0]
    return False
