"""The quota of a copy: ends a command when the copy or its disk is too full."""

import os
from collections.abc import Callable, Sequence
from stat import S_ISDIR
from time import monotonic, thread_time
from typing import Final

import msgspec

from assent.core.scratch import ScratchLimits
from assent.core.shell.process import ProcessLimits
from assent.sandbox.runner.resource_limits import (
    UsageCheck,
    confined_limit_exceeded,
    unlinked_bytes,
)

COPY_FULL: Final = "copy"  # how a command ends whose copy has become larger than allowed
DISK_FULL: Final = "disk"  # or that leaves too little free on the disk
_BLOCK: Final = 512
_SHARE: Final = 20  # counting all files takes at most one of so many parts of the time
_FILES: Final = 100  # one of so many files that a disk can have stays free


class DiskUsage(msgspec.Struct, frozen=True):
    """The bytes that a folder takes on its disk; not `whole` if some of it could not be read."""

    size: int
    whole: bool = True


def disk_usage(folder: bytes) -> DiskUsage:
    """Counts the files of a folder; what vanishes meanwhile is skipped."""
    total, whole, waiting = 0, True, [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                each = [(entry.path, _stat(entry)) for entry in entries]
        except FileNotFoundError:
            continue
        except OSError:  # a program may close a folder to hide what it wrote there
            whole = False
            continue
        total += sum(found.st_blocks * _BLOCK for _, found in each if found)
        waiting += [path for path, found in each if found and S_ISDIR(found.st_mode)]
    return DiskUsage(total, whole)


def _stat(entry: "os.DirEntry[bytes]") -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def free_bytes(folder: bytes) -> int:
    """Returns what this user may still write to the disk of a folder.

    That is nothing, too, where nearly all files are in use that the disk can have.
    """
    found = os.statvfs(folder)
    few = found.f_favail * _FILES < found.f_files  # some disks have no such number
    return 0 if few else found.f_bavail * found.f_frsize


class CopyQuota:
    """Watches one copy while commands run.

    Counting all files is slow, so the free space of the disk is watched: only if it shrank by more
    than the copy may still grow, the files are counted. Others may free space at the same time, so
    they are also counted the more often, the less processor time that takes.
    """

    def __init__(
        self,
        places: Sequence[bytes],
        limits: ScratchLimits,
        size: Callable[[], DiskUsage],
        root: bytes = b"",
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`root` is where commands see the copy."""
        self._root = root
        self._places, self._limits, self._size, self._clock = places, limits, size, clock
        self._known = 0  # bytes when the files were last counted
        self._free = 0  # bytes free at that time
        self._due: float | None = None

    def exceeded(self, leaders: Sequence[int] = ()) -> str:
        """Returns the limit that the copy exceeds now, or an empty string.

        Files that commands of `leaders` have open count, too, if they have no name any more.
        """
        free = min(map(free_bytes, self._places))
        if free < self._limits.reserve_bytes:
            return DISK_FULL
        if self._is_due() or self._grown(free) > self._most:
            self._count(free, leaders)
        return COPY_FULL if self._known > self._most else ""

    def check(self, usual: UsageCheck = confined_limit_exceeded) -> UsageCheck:
        """Returns what a runner calls again and again, for these limits and the usual ones."""

        def checked(leaders: Sequence[int], limits: ProcessLimits) -> str:
            return usual(leaders, limits) or self.exceeded(leaders)

        return checked

    @property
    def _most(self) -> int:
        return self._limits.max_bytes

    def _is_due(self) -> bool:
        return self._due is None or self._clock() >= self._due

    def _grown(self, free: int) -> int:
        return self._known + (0 if self._due is None else max(0, self._free - free))

    def _count(self, free: int, leaders: Sequence[int]) -> None:
        began = thread_time()
        counted = self._size()
        size = counted.size + (unlinked_bytes(leaders, self._root) if self._root else 0)
        self._known = size if counted.whole else max(size, self._grown(free))
        self._free = free
        self._due = self._clock() + (thread_time() - began) * _SHARE
