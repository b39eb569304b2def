"""Creates folders of the state directory, readable by their owner only, durably."""

import os


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
