"""What the scratch copy costs: a command in it, reading changes back, a rehearsal, and memory."""

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from bench.command import make_files
from bench.corpus import samples
from bench.figure import Figure, at_most, within
from bench.pace import Action, Scale, Stopwatch, best, flush, timed, used
from bench.workspace import Ours

from assent.app.scratch import open_scratch_at
from assent.app.settings import user_paths
from assent.app.shell import open_shell
from assent.cli import GC_THRESHOLD
from assent.core.errors import Refused
from assent.core.scratch import ScratchBackendName
from assent.core.shell.process import CommandSpec, OutputChunk, ProcessLimits, ProcessResult
from assent.sandbox.scratch.scratch import LocalScratchCopy

HERE = Path(__file__).parents[1]
FEW = 100  # files of the reference
CHANGED = 10
SETTLED_S = 2.1  # a folder that changed just now is searched each time
EARLY = 20  # commands after which the memory is first looked at
KIBIBYTES = 1024  # of a MiB
IGNORED = b"cache"
CHANGES = "for n in 0 1 2 3 4 5 6 7 8 9; do echo changed > 0/0/$n.txt; done"

# Absolute: a person waits for these, however fast the sandbox is.
ADDED, READ_BACK = within(0.030), within(0.010)
ALIKE, REHEARSED = at_most(1.5), at_most(2)
FLAT = within(2.0)  # MiB


def scratch_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures an overlay; of a real copy, which other machines need, only the seconds."""
    few, many = make_files(work / "few", FEW), make_files(work / "many", scale.files)
    (few / ".gitignore").write_bytes(IGNORED + b"/\n")
    time.sleep(SETTLED_S)
    flush(work)  # the end of an overlay mount would
    try:
        yield from _overlay_figures(few, many, scale)
    except Refused as refused:
        print(f"No overlay is measured: {refused}", flush=True)
    yield from _rehearsal_figures(work / "rehearsed", scale)
    yield from _copy_figures(few, many, scale)


def _overlay_figures(few: Path, many: Path, scale: Scale) -> Iterator[Figure]:
    with closing(_opened(few, "overlay")) as small, closing(_opened(many, "overlay")) as large:
        runs = [_read_only(few), _in_copy(small, few), _in_copy(large, many)]
        for run in runs:
            run()  # each figure is for a later command of the process
        bare, copied, grown = best(scale.starts, *[_measured(timed, run) for run in runs])
        yield Figure("true in a scratch copy: added", copied - bare, bare, ADDED)
        name = f"true in a scratch copy of {scale.files:,} files / of {FEW}"
        yield Figure(name, grown, copied, ALIKE)
        bare, copied, grown = best(scale.starts, *[_measured(used, run) for run in runs])
        yield Figure("the same in 100 files: added processor time", copied - bare, bare)
        yield Figure(f"the same in {scale.files:,} / in {FEW}, processor time", grown, copied)
        yield from _changes_figures(small, few, scale)
    at_first, later = _memory(few, scale.commands)
    name = f"memory: command {scale.commands} over command {EARLY}"
    yield Figure(name, later - at_first, at_first, FLAT, "memory")


def _changes_figures(copy: LocalScratchCopy, root: Path, scale: Scale) -> Iterator[Figure]:
    _line(copy, root, CHANGES)
    read = _measured(timed, lambda: _read_back(copy))
    [alone] = best(scale.starts, read)
    yield Figure(f"{CHANGED} changes read back", alone, None, READ_BACK)
    many = scale.files // 2
    folder = os.fsdecode(IGNORED)
    # The command after that finds the files still there, as they are ignored.
    _line(copy, root, f"mkdir {folder} && cd {folder} && seq {many} | xargs touch")
    _line(copy, root, CHANGES)
    if copy.changes().ignored != (IGNORED,):
        raise AssertionError(f"{copy.changes().ignored} is ignored.")
    [beside] = best(scale.starts, read)
    yield Figure(f"the same beside {many:,} ignored files", beside, alone, READ_BACK)
    [seconds] = best(scale.rounds, _measured(timed, _in_copy(copy, root)))
    yield Figure(f"true beside {many:,} ignored files", seconds)


def _rehearsal_figures(place: Path, scale: Scale) -> Iterator[Figure]:
    """Compares what a person waits for: a plan tried in a copy, with a command, and a build."""
    ours = Ours(place, samples(scale.few, "new"))
    name = f"rehearsal of {scale.few:,} new files / apply"
    tried, applied = best(scale.rounds, ours.rehearse, ours.apply)
    yield Figure(name, tried, applied, REHEARSED)
    tried, applied = best(scale.long_rounds, lambda: ours.rehearse(used), lambda: ours.apply(used))
    yield Figure(f"{name}, processor time", tried, applied)


def _copy_figures(few: Path, many: Path, scale: Scale) -> Iterator[Figure]:
    for root, files in ((few, FEW), (many, scale.files)):
        with closing(_opened(root, "copy")) as copy:
            run = _in_copy(copy, root)
            yield Figure(f"first true in a real copy of {files:,} files", timed(run))
            [later] = best(scale.long_rounds, _measured(timed, run))
            yield Figure(f"later true in a real copy of {files:,} files", later)


def _measured(watch: Stopwatch, work: Callable[[], object]) -> Action:
    return lambda: watch(work)


def _opened(root: Path, backend: ScratchBackendName) -> LocalScratchCopy:
    here = user_paths()
    return open_scratch_at(os.fspath(root), here, here.state, backend).open(f"bench-{backend}")


def _in_copy(copy: LocalScratchCopy, root: Path) -> Callable[[], None]:
    return lambda: _line(copy, root, "true")


def _line(copy: LocalScratchCopy, root: Path, line: str) -> None:
    _require(copy.run(CommandSpec(line), os.fsencode(root), ProcessLimits()))


def _read_only(root: Path) -> Callable[[], None]:
    """The reference: the same line in the read-only sandbox, by a process that did so before."""
    shell = open_shell(os.fspath(root))
    return lambda: _require(shell.run("true", os.fsencode(root)))


def _require(parts: Iterator[OutputChunk | ProcessResult]) -> None:
    *said, ended = parts
    if not isinstance(ended, ProcessResult) or ended.code:
        raise RuntimeError(f"A line did not run: {said}, {ended}.")


def _read_back(copy: LocalScratchCopy) -> None:
    if len(found := copy.changes().changes) != CHANGED:
        raise AssertionError(f"{len(found)} changes were read back.")


def _memory(root: Path, commands: int) -> list[float]:
    """Returns the peak resident size after some commands and after all, of a process of its own."""
    command = [sys.executable, "-m", "bench.scratch", os.fspath(root), str(commands)]
    done = subprocess.run(command, cwd=HERE, check=True, capture_output=True, text=True)
    return [int(number) / KIBIBYTES for number in done.stdout.split()]


def main(root: str, commands: str) -> None:
    """Runs commands in one copy, each with changes to read back, and prints the memory."""
    gc.set_threshold(GC_THRESHOLD)  # as the program itself does
    here = Path(root)
    with closing(_opened(here, "overlay")) as copy:
        for number in range(1, int(commands) + 1):
            _line(copy, here, CHANGES)
            _read_back(copy)
            if number in (EARLY, int(commands)):
                print(_peak())


def _peak() -> int:
    """Returns the peak in KiB; that of `getrusage` may be from before this program was started."""
    rows = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("VmHWM:"))


if __name__ == "__main__":
    main(*sys.argv[1:])
