"""What a command costs in a large workspace, of which nothing has changed."""

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.figure import Figure, within
from bench.pace import Action, Scale, best, processor_time

from assent.app.composition import open_engine
from assent.app.settings import user_paths
from assent.app.shell import open_process_at, open_shell
from assent.cli import GC_THRESHOLD
from assent.core.shell.process import CommandSpec, ProcessLimits

HERE = Path(__file__).parents[1]
FEW = 100  # files of the reference
FOLDER = 100  # files of one folder
SETTLED_S = 2.1  # a file that changed just now is read each time
# Absolute: processor time that a person pays for each command; where it may change files, these are
# recorded before and after it. The other is the search for what to hide alone.
ADDED, SEARCHED = within(1.5), within(0.150)


def command_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures the first command, which reads and keeps every file, and later ones.

    Then those that the sandbox confines and nothing records, each by a process of its own: in plan
    mode, and with a writable workspace.
    """
    few, many = make_files(work / "few", FEW), make_files(work / "many", scale.files)
    time.sleep(SETTLED_S)
    name = f"command in {scale.files:,} files"
    small, large = _command("recorded", few), _command("recorded", many)
    reference, first = small(), large()
    yield Figure(f"first {name}, processor time", first, reference)
    short, long = best(scale.rounds, small, large)
    yield Figure(f"later {name}: added processor time", long - short, short, ADDED)
    for kind in ("read-only", "writable"):
        small, large = _command(kind, few), _command(kind, many)
        small(), large()
        short, long = best(scale.rounds, small, large)
        yield Figure(f"later {kind} {name}: added", long - short, short, SEARCHED)


def make_files(root: Path, files: int) -> Path:
    """Makes a workspace with many small files, a hundred to a folder."""
    (root / ".git").mkdir(parents=True)
    for number in range(files):
        folder = root / f"{number // FOLDER % 100}" / f"{number // FOLDER}"
        if not number % FOLDER:
            folder.mkdir(parents=True)
        (folder / f"{number}.txt").write_bytes(b"%d\n" % number * 20)
    return root


def _command(kind: str, root: Path) -> Action:
    """Runs it in a process of its own, which knows only what is on disk."""
    command = [sys.executable, "-m", "bench.command", kind, os.fspath(root)]

    def measured() -> float:
        done = subprocess.run(command, cwd=HERE, check=True, capture_output=True, text=True)
        return float(done.stdout)

    return measured


def main(kind: str, root: str) -> None:
    """Runs `true` in a workspace, and prints the processor time that it took."""
    gc.set_threshold(GC_THRESHOLD)  # as the program itself does
    parts = _KINDS[kind](root)
    began = processor_time()
    for _ in parts:
        pass
    print(processor_time() - began)


def _recorded(root: str) -> Iterator[object]:
    engine, _ = open_engine(root)
    process = open_process_at(root, user_paths())
    yield from engine.session_commands.run_as_user(None, "true", process)
    engine.close()


def _read_only(root: str) -> Iterator[object]:
    yield from open_shell(root).run("true", os.fsencode(root))


def _writable(root: str) -> Iterator[object]:
    # A line of which nobody knows what it does.
    process, command = open_process_at(root, user_paths()), CommandSpec("sh -c true")
    yield from process.run_command(command, os.fsencode(root), ProcessLimits())


_KINDS: dict[str, Callable[[str], Iterator[object]]] = {
    "recorded": _recorded,
    "read-only": _read_only,
    "writable": _writable,
}


if __name__ == "__main__":
    main(*sys.argv[1:])
