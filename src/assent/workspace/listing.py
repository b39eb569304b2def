"""A quick listing of a workspace: enough to tell which files a command changed."""

import os
from collections.abc import Iterator
from contextlib import suppress

from assent.core.paths import folded

GIT = b".git"


def listing(root: bytes, limit: int) -> dict[bytes, tuple[int, ...]] | None:
    """Returns times, size, inode and mode of each file but git's; None if there are too many.

    No symlink is followed, and what cannot be looked at is left out. Of a repository below the
    workspace only its `.git` itself counts: a new one obeys whatever was written into it.
    """
    found: dict[bytes, tuple[int, ...]] = {}
    waiting = [b""]
    while waiting:
        folder = waiting.pop()
        for entry in _entries(os.path.join(root, folder)):
            path = os.path.join(folder, entry.name)
            if folded(entry.name) == GIT:
                found |= {path: (entry.inode(),)} if folder else {}
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            else:
                found[path] = _state(entry)
        if len(found) > limit:
            return None
    return found


def _entries(folder: bytes) -> Iterator[os.DirEntry[bytes]]:
    with suppress(OSError), os.scandir(folder) as entries:
        yield from entries


def _state(entry: os.DirEntry[bytes]) -> tuple[int, ...]:
    """Returns what a change shows in; nothing if the file has just gone."""
    with suppress(OSError):
        state = entry.stat(follow_symlinks=False)
        # The mtime is anybody's to set; ctime is the system's.
        times = (state.st_mtime_ns, state.st_ctime_ns)
        return (*times, state.st_size, state.st_ino, state.st_mode)
    return ()
