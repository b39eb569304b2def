"""How often the files of a copy are counted, where free space says nothing about it."""

import os
from pathlib import Path
from time import thread_time

from assent.core.scratch import ScratchLimits
from assent.sandbox.scratch.quota import COPY_FULL, CopyQuota, DiskUsage

MIB = 1 << 20


class Copy:
    """A copy whose size is told, on a disk where others free what it takes."""

    def __init__(self, folder: Path, costs: float) -> None:
        self.size, self.now, self.counts = 0, 100.0, 0
        self._costs = costs  # seconds of processor time
        limits = ScratchLimits(max_bytes=4 * MIB, reserve_bytes=0)
        self.quota = CopyQuota([os.fsencode(folder)], limits, self._count, clock=lambda: self.now)

    def _count(self) -> DiskUsage:
        self.counts += 1
        began = thread_time()
        while thread_time() - began < self._costs:
            pass
        return DiskUsage(self.size)


def test_a_small_copy_is_counted_again_at_once(tmp_path: Path) -> None:
    copy = Copy(tmp_path, costs=0)
    assert copy.quota.exceeded() == ""
    copy.size = 20 * MIB
    copy.now += 0.05  # as long as a short command
    assert copy.quota.exceeded() == COPY_FULL


def test_a_large_copy_is_counted_a_twentieth_of_the_time(tmp_path: Path) -> None:
    copy = Copy(tmp_path, costs=0.02)
    assert copy.quota.exceeded() == ""
    for _ in range(7):
        copy.now += 0.05
        assert copy.quota.exceeded() == ""
    assert copy.counts == 1
    copy.size = 20 * MIB
    copy.now += 100
    assert copy.quota.exceeded() == COPY_FULL
