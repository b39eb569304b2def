"""Builds against real limits of the system: a full disk, a read-only one, too few descriptors.

    python -m tests.crash.limits LIMIT FOLDER

It mounts small file systems, so it has to run in a mount namespace of its own. The report is one
JSON object on stdout.
"""

import gc
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
from tests.crash.rig import Rig
from tests.crash.stories import Story, delete, move, point, write
from tests.crash.sweep import Ended, Report, Sweep, in_child
from tests.crash.trees import file, link, tree

from assent.core.errors import AssentError
from assent.core.run.journal import drive_to_end

PAGE = os.sysconf("SC_PAGE_SIZE")
ROOMY = 8 << 20

_OLD, _NEW, _MORE = b"old line\n" * 1500, b"new line\n" * 2500, b"one more line\n" * 900
WEIGHTY = Story(
    "weighty",
    tree(
        {
            b"sub/a.txt": file(_OLD),
            b"b.txt": file(b"b\n"),
            b"c.txt": file(b"c\n"),
            b"d": link(b"b.txt"),
        }
    ),
    (
        write(b"sub/a.txt", _NEW),
        write(b"x/y/new.txt", _MORE),
        move(b"b.txt", b"x/b.txt"),
        delete(b"c.txt"),
        point(b"d", b"x/b.txt"),
    ),
    tree(
        {
            b"sub/a.txt": file(_NEW),
            b"x/y/new.txt": file(_MORE),
            b"x/b.txt": file(b"b\n"),
            b"d": link(b"x/b.txt"),
        }
    ),
)


class Limits(Sweep):
    """Tries to build under a limit, lifts it, and recovers."""

    def __init__(self, folder: Path) -> None:
        super().__init__(Rig(folder, WEIGHTY), "build")
        gc.collect()  # what engines that are gone have open would count as opened by the tries
        self.tries = Report()
        self.most_files = 0

    def attempt(
        self, name: str, limit: Callable[[], object], lift: Callable[[], object] = int
    ) -> str:
        """Builds once; returns how that ended by its own account."""
        self.rig.restore(self.ready)
        limit()
        told = in_child(self._told, str)
        lift()
        wanted = {"done": self.after, "rolled_back": self.before}.get(told)
        if wanted is not None and wanted != self.rig.tree():
            self.tries.complaints.append(f"{name}: said {told}, which it is not")
        end = in_child(self.recover, Ended)
        self.tries.complaints += [f"{name}: {told}: {c}" for c in self.complaints(end)]
        self.tries.ends[told] = self.tries.ends.get(told, 0) + 1
        self.tries.moments.append(f"{name}: {told}, {end.run}")
        return told

    def _told(self) -> str:
        if self.most_files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.most_files, self.most_files))
        try:
            return drive_to_end(self.rig.open().runs.build(self.rig.plan_id)).outcome
        except (AssentError, OSError) as error:
            return type(error).__name__


def full(folder: Path, what: str, unit: str) -> Report:
    """Leaves from nothing to just enough room on the file system of the workspace or the state."""
    place = folder / what
    place.mkdir()
    mount("-t", "tmpfs", "-o", f"size={ROOMY},nr_inodes=4096", "assent", place)
    limits = Limits(folder)
    enough = 0

    def shrink(room: int) -> None:
        mount("-o", f"remount,{_limit(place, unit, room)}", place)

    def lift() -> None:
        mount("-o", f"remount,size={ROOMY},nr_inodes=4096", place)

    for room in range(200):
        ended = limits.attempt(f"{room} {unit} left", partial(shrink, room), lift)
        enough = enough + 1 if ended == "done" else 0
        if enough == 3:
            break
    return limits.tries


def _limit(place: Path, unit: str, room: int) -> str:
    status = os.statvfs(place)
    if unit == "inodes":
        return f"nr_inodes={status.f_files - status.f_ffree + room}"
    used = (status.f_blocks - status.f_bfree) * status.f_frsize
    return f"size={used + room * PAGE}"


def read_only(folder: Path) -> Report:
    """Makes the workspace, then one folder of it, read-only by a mount."""
    limits = Limits(folder)
    for name in ("work", "work/sub"):
        place = folder / name
        limits.attempt(name, partial(_freeze, place), partial(run, "umount", place))
    return limits.tries


def _freeze(place: Path) -> None:
    mount("--bind", place, place)
    mount("-o", "remount,ro,bind", place)


def few_descriptors(folder: Path) -> Report:
    """Lets the process open fewer and fewer files."""
    limits = Limits(folder)
    for most in range(4, 48):
        limits.most_files = most
        limits.attempt(f"{most} descriptors", int)
    return limits.tries


def no_rights(folder: Path) -> Report:
    """Builds where one folder may not be changed; even root must have given up its privilege."""
    limits = Limits(folder)
    for name in (".", "sub", ".opencode/assent"):
        place = limits.rig.site.root / name
        mode = place.stat().st_mode
        limits.attempt(name, partial(place.chmod, 0o555), partial(place.chmod, mode))
    return limits.tries


def mount(*arguments: object) -> None:
    run("mount", *arguments)


def run(*command: object) -> None:
    subprocess.run([*map(str, command)], check=True)


LIMITS: dict[str, Callable[[Path], Report]] = {
    "full_workspace": lambda folder: full(folder, "work", "pages"),
    "full_state": lambda folder: full(folder, "state", "pages"),
    "no_inodes_in_workspace": lambda folder: full(folder, "work", "inodes"),
    "no_inodes_in_state": lambda folder: full(folder, "state", "inodes"),
    "read_only": read_only,
    "few_descriptors": few_descriptors,
    "no_rights": no_rights,
}

if __name__ == "__main__":
    limit, folder = sys.argv[1:]
    sys.stdout.buffer.write(msgspec.json.encode(LIMITS[limit](Path(folder))))
