"""Kills a process before every step by which it makes, uses, renews or removes a scratch copy.

    python -m tests.scratch.crash_sweep BACKEND FOLDER

A step is a call of the system that changes something, or starts a program; the interpreter reports
each before it is made. Each process that dies is a fork of this one, which then does what the next
start does, and says what is not as it must be. The report is one JSON object on stdout.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import BuiltinFunctionType, FrameType
from typing import Any

import msgspec
from tests.scratch.copies import Contents, Place, Seen, draft, kinds, line, settle, tree_seen

from assent.core.errors import AssentError
from assent.sandbox.scratch.backend import ScratchCopies
from assent.sandbox.scratch.scratch import LocalScratchCopy

STEPS = {
    "posix": {
        "mkdir", "mknod", "rename", "replace", "unlink", "remove", "rmdir", "symlink", "link",
        "chmod", "fchmod", "utime", "truncate", "ftruncate", "write", "pwrite", "copy_file_range",
        "setxattr", "removexattr", "kill", "killpg",
    },
    "fcntl": {"flock", "ioctl"},
    "_io": {"write", "writelines", "flush", "close"},
    "_posixsubprocess": {"fork_exec"},
}  # fmt: skip
WEEKS = 80 * 86_400
OFTEN = 12  # every so many times, a command looks at the next copy, too
LEAVES = (
    "echo more >> a.txt; rm -r docs; mkdir -p docs/new out/deep/er; echo 1 > docs/new/f; rm link; "
    "echo warm > out/w; echo 2 > out/deep/er/f; rm nm/y; mkdir shut; echo 3 > shut/f; chmod 0 shut"
)


class Steps:
    """Counts steps, and kills this process before the one with a number."""

    def __init__(self, at: int, told: int) -> None:
        """`told` is where the name of the step goes."""
        self._at, self._told = at, told
        self._count = 0
        self._programs = False

    def __enter__(self) -> None:
        threading.setprofile(self._hear)
        sys.setprofile(self._hear)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _hear(self, frame: FrameType, event: str, called: Any) -> None:
        if event != "c_call":
            return
        name = called.__name__
        owner = getattr(called, "__self__", None)
        module = called.__module__ if isinstance(called, BuiltinFunctionType) else ""
        module = module or type(owner).__module__
        if name not in STEPS.get(module, ()):
            return
        self._programs |= name == "fork_exec"
        if name == "close" and not self._programs:  # the end of a mount, and else of no concern
            return
        if self._count == self._at:
            os.write(self._told, name.encode())
            os.kill(os.getpid(), signal.SIGKILL)
        self._count += 1


class Report(msgspec.Struct):
    """By what was done: how often it was killed, by the kind of step; and what was wrong after."""

    killed: dict[str, dict[str, int]] = {}
    complaints: list[str] = []


class Sweep:
    """A small workspace, and what is done with its copies."""

    def __init__(self, base: Path, only: str) -> None:
        # An overlay is chosen as for a user, by a trial whose result is kept.
        self.place = Place(base, only="copy" if only == "copy" else None)
        self._name = only
        self._base, self._kept = base, base / "kept"
        self._furnish()
        self.made = Contents()
        self.files = {
            b"a.txt": self.made.file(b"drafted\n"), b"docs/one.md": None, b"nm/x": None,
            b"new/f": self.made.file(b"new\n", 0o755), b"out/d": self.made.file(b"ignored\n"),
            b"lnk": self.made.link(b"a.txt"),
        }  # fmt: skip
        self.before: Seen = self.place.seen()
        self.report = Report()
        self._tried = 0

    def _furnish(self) -> None:
        for folder in ("work/docs", "work/sub/deep", "work/nm", "home", "state/scratch"):
            (self._base / folder).mkdir(parents=True)
        for folder in ("home", "state", "state/scratch"):
            (self._base / folder).chmod(0o700)
        files = {
            "a.txt": "a\n", "docs/one.md": "one\n", "docs/two.md": "two\n", "nm/x": "x\n",
            "nm/y": "y\n", "sub/deep/b.txt": "b\n", ".gitignore": "out/\nnm/\n",
            ".env": "TOKEN=1\n",
        }  # fmt: skip
        for name, text in files.items():
            (self._base / "work" / name).write_text(text, encoding="utf-8")
        (self._base / "work/link").symlink_to("a.txt")
        settle()

    # What is done.

    def make(self) -> None:
        self._drafted().reset()

    def use(self) -> None:
        copy = self._drafted()
        line(copy, self.place, "echo go > out/w; cat a.txt; echo 1 > z")
        copy.changes()
        copy.close()

    def renew(self) -> None:
        copy = self.place.open("k")
        copy.apply(
            draft({b"docs/new/f": self.made.file(b"2\n"), b"sub/deep/b.txt": None}), self._read
        )
        copy.reset()

    def clear(self) -> None:
        self.place.open("k").clear()

    def sweep_old(self) -> None:
        self.place.copies().sweep()

    def _drafted(self) -> LocalScratchCopy:
        copy = self.place.open("k")
        copy.apply(draft(self.files), self._read)
        return copy

    def _read(self, digest: str) -> Any:
        return self.made.read(digest)

    # How it is cut off, and what is found then.

    def run(self) -> Report:
        shutil.rmtree(self.place.folder, ignore_errors=True)
        self._every("make", self.make)
        self._every("use", self.use, after=sum(self.report.killed["make"].values()))
        self._leave()
        self._every("renew", self.renew)
        self._every("clear", self.clear)
        old = time.time() - WEEKS
        os.utime(self._kept / "k/about.json", (old, old))
        self._every("sweep", self.sweep_old)
        return self.report

    def _leave(self) -> None:
        """Keeps a copy in which a command did much; each of the next attempts begins with it."""
        copy = self._drafted()
        assert line(copy, self.place, LEAVES).code == 0
        copy.close()
        shutil.rmtree(self._kept, ignore_errors=True)
        subprocess.run(["cp", "-a", self.place.folder, self._kept], check=True)

    def _every(self, name: str, act: Callable[[], None], after: int = 0) -> None:
        """Kills before each step, one after the other; `after` are those that are known already."""
        done = self.report.killed[name] = {}
        at = after
        while (step := self._killed(act, at)) is not None:
            done[step] = done.get(step, 0) + 1
            where = f"{name}, killed before {step} ({at})"
            try:
                wrong = self._wrong()
            except (OSError, AssentError, AssertionError):
                wrong = [traceback.format_exc()]
            self.report.complaints += [f"{where}: {one}" for one in wrong]
            at += 1

    def _killed(self, act: Callable[[], None], at: int) -> str | None:
        """Returns the step before which a fork died; None if there are not so many."""
        self._restore()
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            _end(act, Steps(at, writing))
        os.close(writing)
        with open(reading, "rb") as pipe:
            told = pipe.read()
        _, status = os.waitpid(child, 0)
        if status and status != signal.SIGKILL:
            sys.exit(f"A process ended with status {status} instead of being killed.")
        return told.decode() if status else None

    def _restore(self) -> None:
        subprocess.run(["rm", "-rf", self.place.folder], check=True)
        if self._kept.exists():
            subprocess.run(["cp", "-a", self._kept, self.place.folder], check=True)

    def _wrong(self) -> list[str]:
        """Does what the next start does, and says what is not as it must be."""
        self._tried += 1
        wrong: list[str] = []
        if self.place.seen() != self.before:
            wrong.append("the workspace or the home changed")
        copies = self.place.copies()
        _wait_until_free(copies)
        copy = copies.open("k")
        if copy.describe().name != self._name:
            wrong.append(f"{copy.describe()}")
        copy.reset()
        if kinds(found := copy.changes()):
            wrong.append(f"changes remain: {kinds(found)}")
        wrong += self._left()
        if self._tried % OFTEN == 0:
            ended = line(
                copy, self.place, "cat a.txt docs/*.md sub/deep/b.txt; ls -d new lnk shut z"
            )
            if ended.output != b"a\none\ntwo\nb\n":
                wrong.append(f"a command found {ended.output!r} {ended.errors!r}")
        copy.clear()
        old = time.time() - WEEKS
        for name in os.listdir(self.place.folder):
            os.utime(self.place.folder / name, (old, old))
        self.place.copies().sweep()
        if left := set(os.listdir(self.place.folder)) - {"backend.json"}:
            wrong.append(f"left behind: {sorted(left)}")
        if self.place.seen() != self.before:
            wrong.append("the workspace or the home changed afterwards")
        return wrong

    def _left(self) -> list[str]:
        """Says what of a draft or a command is in a copy that was reset."""
        folder = self.place.folder / "k"
        top = folder / ("tree" if self._name == "copy" else "upper")
        found = {name for name in tree_seen(top) if name.split("/")[0] != "out"}
        wanted = {"."} if self._name == "overlay" else set(tree_seen(self.place.root))
        # A command removed nm/y, which is ignored; so it may be gone, until there is another copy.
        left = (found ^ wanted) - ({"nm", "nm/y"} if self._name == "overlay" else {"nm/y"})
        left |= {"out/d"} if os.path.lexists(top / "out/d") else set()
        return [f"the copy differs: {sorted(left)}"] if left else []


def _end(act: Callable[[], None], steps: Steps) -> None:
    code = 1
    try:
        with steps:
            act()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _wait_until_free(copies: ScratchCopies) -> None:
    """Waits for the programs of a killed process to end; each holds the copy until then."""
    until = time.monotonic() + 20
    while any(info.busy for info in copies.infos(sizes=False)) and time.monotonic() < until:
        time.sleep(0.005)


if __name__ == "__main__":
    backend, where = sys.argv[1:]
    sys.stdout.buffer.write(msgspec.json.encode(Sweep(Path(where), backend).run()))
