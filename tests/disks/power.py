"""Cuts the power of a real file system at every change of a build, and lets another recover.

    python -m tests.disks.power TYPE VERB STORY FOLDER

It mounts images, and nobody else sees them. A file system that is shut down without its log being
flushed keeps what a disk would keep. The report is one JSON object on stdout.
"""

import ctypes
import fcntl
import gc
import os
import re
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, Final, TypeAlias

import msgspec
from tests.crash.command_sweep import CommandSweep
from tests.crash.command_sweep import Report as CommandReport
from tests.crash.rig import Rig
from tests.crash.stories import BY_NAME
from tests.crash.sweep import Ended, Report, Sweep, decides, killed, whole_state
from tests.support.in_memory import in_memory

from assent.executor.disk import Disk
from assent.testing.call_trace import CallTrigger, kill_process

# How each is made, how it is mounted, and how large it has to be.
TYPES: Final = {
    "ext4": (("mkfs.ext4", "-q", "-F"), "loop,noauto_da_alloc", 48 << 20),
    "xfs": (("mkfs.xfs", "-q", "-f"), "loop", 320 << 20),
}
_SHUTDOWN: Final = 0x8004587D  # FS_IOC_SHUTDOWN of <linux/fs.h>
_LOG_IS_LOST: Final = struct.pack("I", 2)
_OWN_MOUNTS: Final = 0x20000  # CLONE_NEWNS of <linux/sched.h>
PATIENCE_S: Final = 60
ROOM: Final = 2 << 30  # bytes that are free where an image is in memory: several tests run at once
NAME: Final = re.compile(rb"01[0-9a-hjkmnp-tv-z]{24}")  # of a run, a plan, an approval

Done: TypeAlias = subprocess.CompletedProcess[bytes]


def unshare_mounts() -> None:
    """Lets nobody else see what this process mounts from now on, as `unshare --mount` does."""
    if ctypes.CDLL(None, use_errno=True).unshare(_OWN_MOUNTS):
        raise OSError(ctypes.get_errno(), "cannot have mounts of its own")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


class Machine:
    """A folder on a file system of its own whose power can be cut."""

    def __init__(self, kind: str, folder: Path, images: Path) -> None:
        make, self._options, size = TYPES[kind]
        self.disk, self._image = folder / "disk", images / "disk.img"
        self.disk.mkdir()
        with self._image.open("wb") as image:
            image.truncate(size)
        subprocess.run([*make, str(self._image)], check=True, stdout=subprocess.DEVNULL)
        self.start()

    def start(self) -> None:
        """Mounts the disk; its log is read as after any cut."""
        line = ["mount", "-o", self._options, str(self._image), str(self.disk)]
        subprocess.run(line, check=True)

    def sync(self) -> None:
        """Has everything on this disk written; others are none of our business."""
        fd = os.open(self.disk, os.O_RDONLY | os.O_DIRECTORY)
        try:
            Disk().syncfs(fd)
        finally:
            os.close(fd)

    def restart(self) -> None:
        """Takes the disk away and brings it back, once nobody is left who was at work there.

        A command that was cut off with its starter is ended by others, who may need a moment.
        """
        self._again(["umount", str(self.disk)], lambda done: done.returncode == 0)
        self._again(["losetup", "-j", str(self._image)], lambda done: not done.stdout)
        self.start()

    def _again(self, line: list[str], enough: Callable[[Done], bool]) -> None:
        until = monotonic() + PATIENCE_S
        while not enough(done := subprocess.run(line, check=False, capture_output=True)):
            assert monotonic() < until, done
            sleep(0.02)

    def cut(self, moment: str, arguments: tuple[Any, ...]) -> None:
        """Cuts the power, and with it this process."""
        fd = os.open(self.disk, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.ioctl(fd, _SHUTDOWN, _LOG_IS_LOST)
        kill_process(moment, arguments)


@contextmanager
def started(kind: str, folder: Path) -> Iterator[Machine]:
    """Starts a machine, and takes its disk away in the end.

    Its image is in memory if there is room: what a cut keeps is what the file system had handed to
    the device below it, whatever that is, and nobody has to wait for another disk.
    """
    with in_memory(folder, ROOM) as images:
        machine = Machine(kind, folder, images)
        try:
            yield machine
        finally:
            with suppress(subprocess.CalledProcessError):
                subprocess.run(["umount", "--lazy", str(machine.disk)], check=True)


class Cuts(Sweep):
    """Cuts the power at a moment, starts the machine again and recovers."""

    def __init__(self, machine: Machine, rig: Rig, verb: str) -> None:
        super().__init__(rig, verb)
        gc.collect()  # an engine that is gone keeps no file of the disk open
        self._machine = machine

    def cuts(self) -> Report:
        """Cuts right before every change, and so right after every sync."""
        report, judged = Report(), set[bytes]()
        gc.freeze()  # so that what one recovery leaves is soon found
        while self._was_cut(report.killed):
            self._machine.restart()
            # A disk that was cut keeps what was synced, so what it keeps is often the same.
            if (kept := state_kept(self.rig)) not in judged:
                judged.add(kept)
                self._judge(report, self._tidied(self.recover()), f"cut at {report.killed}")
                gc.collect()
            report.killed += 1
        report.ends, report.states = dict(self.ends), len(judged)
        return report

    def _was_cut(self, at: int) -> bool:
        self.rig.restore(self.ready)
        self._machine.sync()
        return killed(self.verb_watched, CallTrigger(decides, at=at, act=self._machine.cut))

    def _tidied(self, end: Ended) -> Ended:
        """An emptied slot may come back after the run is over; it lies among our own files."""
        return msgspec.structs.replace(end, leftovers=[])


class CommandCuts(CommandSweep):
    """Cuts the power at the moments of a build that runs a command between two writes."""

    def __init__(self, machine: Machine, way: str) -> None:
        super().__init__(machine.disk, way)
        gc.collect()
        self._machine = machine

    def cuts(self) -> CommandReport:
        """Cuts right before every change, and again right after every record.

        How many changes there are differs with how the command runs, so that counting them may
        miss the last one; the records are always as many.
        """
        self.warm()
        report, ends, judged = CommandReport(), Counter[str](), set[tuple[bytes, int]]()
        for counts in (decides, _is_recorded):
            for at in count():
                if not self._was_cut(counts, at):
                    break
                self._machine.restart()
                report.killed += 1
                if (kept := (state_kept(self.rig), self._times())) in judged:
                    continue
                judged.add(kept)
                end = msgspec.structs.replace(self.recovered(), leftovers=[])
                ends[f"{end.first}, {end.last}"] += 1
                report.complaints += [f"cut at {at}: {law}" for law in self._broken(end)]
        report.ends = dict(ends)
        return report

    def _was_cut(self, counts: Callable[[str], bool], at: int) -> bool:
        self._restore()
        self._machine.sync()
        return killed(self._verb, CallTrigger(counts, at=at, act=self._machine.cut))


def _is_recorded(moment: str) -> bool:
    return moment == "store.appended"


def state_kept(rig: Rig) -> bytes:
    """Returns all that is on the disk, but for times and the names of this very run.

    The log is read in a copy: reading it in place would be its recovery already.
    """
    left = rig.save()
    with TemporaryDirectory() as folder:
        for name, content in left.log.items():
            (Path(folder) / name).write_bytes(content)
        whole = whole_state(left, Path(folder) / "log.db")
    sizes = sorted((name, len(content)) for name, content in left.log.items())
    return b"%r %b" % (sizes, without_names(whole))


def without_names(state: bytes) -> bytes:
    """Numbers the names that are made up at random, in the order in which they come."""
    numbers: dict[bytes, bytes] = {}
    return NAME.sub(lambda name: numbers.setdefault(name[0], b"%026d" % len(numbers)), state)


def cuts(machine: Machine, verb: str, story: str) -> Report | CommandReport:
    if story == "command":
        return CommandCuts(machine, verb).cuts()
    return Cuts(machine, Rig(machine.disk, BY_NAME[story]), verb).cuts()


if __name__ == "__main__":
    kind, verb, story, folder = sys.argv[1:]
    unshare_mounts()
    with started(kind, Path(folder)) as machine:
        found = cuts(machine, verb, story)
    sys.stdout.buffer.write(msgspec.json.encode(found))
