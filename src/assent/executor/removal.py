"""Removes large numbers of files in parallel, because most of that time is spent in the kernel."""

from collections.abc import Sequence
from threading import Thread
from typing import TypeAlias

from assent.executor.disk import Disk
from assent.executor.folder_handles import OPEN_FOLDER, FolderHandles

PARALLEL_THRESHOLD = 512  # with fewer files than this, starting threads gains nothing

_THREADS = 8  # they mostly wait, so more than there are processors
_BATCH = 64  # folders that are open at once

RemovalJob: TypeAlias = tuple[
    int, bytes, bytes
]  # the descriptor of a folder, a name in it, the path


def remove_in_parallel(disk: Disk, folders: FolderHandles, paths: Sequence[bytes]) -> list[bytes]:
    """Removes files, in any order; returns those that could not be."""
    by_folder: dict[bytes, list[bytes]] = {}
    for path in paths:
        by_folder.setdefault(path.rpartition(b"/")[0], []).append(path)
    left: list[bytes] = []
    every = list(by_folder.items())
    for at in range(0, len(every), _BATCH):
        left += _remove_batch(disk, folders, dict(every[at : at + _BATCH]))
    return left


def _remove_batch(
    disk: Disk, folders: FolderHandles, by_folder: dict[bytes, list[bytes]]
) -> list[bytes]:
    jobs: list[RemovalJob] = []
    left: list[bytes] = []
    threads: list[Thread] = []
    own: list[int] = []  # a descriptor of `folders` is good until the next call only
    try:
        for folder, paths in by_folder.items():
            try:
                own.append(disk.open(b".", OPEN_FOLDER, 0, folders.open(folder)))
            except OSError:
                left += paths
                continue
            jobs += [(own[-1], path.rpartition(b"/")[2], path) for path in paths]
        shares = [jobs[at::_THREADS] for at in range(_THREADS)]
        threads = [Thread(target=_remove, args=(disk, share, left)) for share in shares]
        _finish(threads)
    finally:
        # While one still works, after an interrupt, its descriptors must not come to mean others.
        for fd in own if not any(thread.is_alive() for thread in threads) else ():
            disk.close(fd)
    return left


def _finish(threads: Sequence[Thread]) -> None:
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    finally:
        for thread in threads:
            thread.join()


def _remove(disk: Disk, jobs: Sequence[RemovalJob], left: list[bytes]) -> None:
    for at, name, path in jobs:
        try:
            disk.unlink(name, at)
        except OSError:
            left.append(path)
