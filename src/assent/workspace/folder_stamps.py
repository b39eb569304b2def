"""Folder stamps: times, size and inode of each entry, to tell which files a command changed."""

import os
from stat import S_IFDIR

_ABSENT = (FileNotFoundError, NotADirectoryError)


def folder_stamps(folder: bytes) -> dict[bytes, tuple[int, ...]] | None:
    """Returns times, size, inode and mode of each name in a folder; None if nobody can tell.

    No symlink in it is followed; a folder that is not there any more holds nothing.
    """
    found: dict[bytes, tuple[int, ...]] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                found[entry.name] = _stamp(entry)
    except _ABSENT:
        return {}
    except OSError:  # no right to look, or a path that is too long for the system
        return None
    return {name: stamp for name, stamp in found.items() if stamp}


def _stamp(entry: os.DirEntry[bytes]) -> tuple[int, ...]:
    """Returns what a change shows in; of what cannot be looked at only that it is there."""
    try:
        state = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return ()  # it has just gone
    except OSError:
        kind = S_IFDIR if entry.is_dir(follow_symlinks=False) else 0
        return (0, 0, 0, entry.inode(), kind)
    # The mtime is anybody's to set; ctime is the system's.
    times = (state.st_mtime_ns, state.st_ctime_ns)
    return (*times, state.st_size, state.st_ino, state.st_mode)
