"""Makes and uses scratch copies on a disk that is really full, or has no room for another file.

    python -m tests.scratch.full_disk BACKEND FOLDER

It mounts small file systems, so it has to run in a mount namespace of its own. The report is one
JSON object on stdout.
"""

import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec
from tests.scratch.copies import Contents, Place, draft, kinds, line, settle

from assent.core.errors import AssentError
from assent.core.scratch import ScratchBackendName, ScratchLimits

PAGE = os.sysconf("SC_PAGE_SIZE")
ROOMY = 32 << 20
FEW = (*range(14), 20, 30, 45, 70, 110, 200)
WEEKS = 80 * 86_400
COMMAND = (
    "dd if=/dev/zero of=big bs=64k count=4 2>/dev/null || echo full; echo x > a.txt; cat d.txt"
)


class Report(msgspec.Struct):
    """How the tries ended, by what was short and when, and what was wrong."""

    ends: dict[str, dict[str, int]] = {}
    complaints: list[str] = []


class Disk:
    """The state directory on a file system in memory, of any size."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def mount(self, options: str) -> None:
        words = ["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "full", str(self._folder)]
        subprocess.run(words, check=True)
        (self._folder / "scratch").mkdir(0o700)

    def grow(self) -> None:
        more = f"remount,size={ROOMY},nr_inodes=10000"
        subprocess.run(["mount", "-o", more, str(self._folder)], check=True)
        (self._folder / "filler").unlink(missing_ok=True)

    def fill(self, pages: int) -> None:
        """Leaves so many pages free."""
        free = os.statvfs(self._folder).f_bavail * PAGE
        with open(self._folder / "filler", "wb") as out:
            os.posix_fallocate(out.fileno(), 0, max(PAGE, free - pages * PAGE))

    def close(self) -> None:
        subprocess.run(["umount", "-l", str(self._folder)], check=True)


class Tries:
    """One workspace; each try has a disk of its own."""

    def __init__(self, base: Path, only: ScratchBackendName) -> None:
        limits = ScratchLimits(reserve_bytes=0)
        self.place = Place(base, only=only, limits=limits)
        for folder in ("work/docs", "home", "state"):
            (base / folder).mkdir(parents=True)
            (base / folder).chmod(0o700)
        for name in ("a.txt", "docs/one.md", "docs/two.md", ".gitignore"):
            (base / "work" / name).write_text(f"{name}\n" * 50, encoding="utf-8")
        settle()
        self.disk = Disk(base / "state")
        self.made = Contents()
        files = {b"d.txt": self.made.file(b"drafted\n" * 5000), b"docs/one.md": None}
        self.draft = draft(files)
        self.before = self.place.seen()
        self.report = Report()

    def run(self) -> Report:
        for few in FEW:
            self._try("bytes before", f"size={(few + 1) * PAGE}")
            self._try("files before", f"size={ROOMY},nr_inodes={few + 3}")
            self._try("bytes later", f"size={ROOMY}", few)
        self._many_files()
        return self.report

    def _many_files(self) -> None:
        """Lets a command use up the files of the disk, whose bytes are hardly used."""
        reserve = ScratchLimits(reserve_bytes=1 << 20)
        place = msgspec.structs.replace(self.place, limits=reserve)
        self.disk.mount(f"size={ROOMY},nr_inodes=3000")
        copy = place.open("k")
        ended = line(copy, place, "for i in `seq 4000`; do : > $i; done 2>/dev/null; sleep 20")
        self.report.ends["many files"] = {ended.cut: 1}
        copy.clear()
        self.disk.close()

    def _try(self, name: str, options: str, later: int | None = None) -> None:
        where = f"{name}, {options}, {later}"
        self.disk.mount(options)
        try:
            end = self._told(lambda: self._attempt(later))
            ends = self.report.ends.setdefault(name, {})
            ends[end] = ends.get(end, 0) + 1
            self.disk.grow()
            again = self._told(lambda: self._attempt(None))
            if again != "whole":
                self.report.complaints.append(f"{where}: {end}, then with room {again}")
            old = time.time() - WEEKS
            for one in self.place.folder.iterdir():
                os.utime(one, (old, old))
            self.place.copies().sweep()
            if left := {one.name for one in self.place.folder.iterdir()} - {"backend.json"}:
                self.report.complaints.append(f"{where}: {end}, left {sorted(left)}")
        except Exception:
            self.report.complaints.append(f"{where}: {traceback.format_exc()}")
        finally:
            self.disk.close()
        if self.place.seen() != self.before:
            self.report.complaints.append(f"{where}: the workspace or the home changed")

    def _told(self, act: Callable[[], str]) -> str:
        try:
            return act()
        except AssentError as error:
            return type(error).__name__

    def _attempt(self, later: int | None) -> str:
        """Makes a copy, runs a command, reads and clears it; full before it, or in its midst."""
        with ExitStack() as stack:
            copy = self.place.open("k")
            stack.callback(copy.clear)
            if later is not None:
                copy.reset()
                self.disk.fill(later)
            copy.apply(self.draft, self.made.read)
            ended = line(copy, self.place, COMMAND)
            found = kinds(copy.changes())
            if b"full" in ended.output or ended.code or ended.cut:
                return "full"
            assert found == {"big": "created", "a.txt": "replaced"}, found
            assert ended.output == b"drafted\n" * 5000
            return "whole"


if __name__ == "__main__":
    backend, where = sys.argv[1:]
    kind: ScratchBackendName = "copy" if backend == "copy" else "overlay"
    sys.stdout.buffer.write(msgspec.json.encode(Tries(Path(where), kind).run()))
