"""What a command outside plan mode costs in a large workspace, of which nothing has changed."""

import gc
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Figure, within
from bench.pace import Action, Scale, best

from assent.app.composition import open_engine
from assent.app.settings import user_paths
from assent.app.shell import open_process_at
from assent.cli import GC_THRESHOLD

HERE = Path(__file__).parents[1]
FEW = 100  # files of the reference
FOLDER = 100  # files of one folder
SETTLED_S = 2.1  # a file that changed just now is read each time
ADDED = within(1.5)  # absolute: processor time that a person pays for each command


def command_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures the first command, which reads and keeps every file, and later ones."""
    few, many = _workspace(work / "few", FEW), _workspace(work / "many", scale.files)
    time.sleep(SETTLED_S)
    name = f"command in {scale.files:,} files"
    small, large = _command(few), _command(many)
    reference, first = small(), large()
    yield Figure(f"first {name}, processor time", first, reference)
    short, long = best(scale.rounds, small, large)
    yield Figure(f"later {name}: added processor time", long - short, short, ADDED)


def _workspace(root: Path, files: int) -> Path:
    (root / ".git").mkdir(parents=True)
    for number in range(files):
        folder = root / f"{number // FOLDER % 100}" / f"{number // FOLDER}"
        if not number % FOLDER:
            folder.mkdir(parents=True)
        (folder / f"{number}.txt").write_bytes(b"%d\n" % number * 20)
    return root


def _command(root: Path) -> Action:
    """Runs it in a process of its own, which knows only what is on disk."""
    command = [sys.executable, "-m", "bench.command", os.fspath(root)]

    def measured() -> float:
        done = subprocess.run(command, cwd=HERE, check=True, capture_output=True, text=True)
        return float(done.stdout)

    return measured


def main(root: str) -> None:
    """Runs `true` in a workspace, and prints the processor time that it took."""
    gc.set_threshold(GC_THRESHOLD)  # as the program itself does
    engine, _ = open_engine(root)
    process = open_process_at(root, user_paths())
    began = _processor_time()
    for _ in engine.session_commands.run_as_user(None, "true", process):
        pass
    print(_processor_time() - began)
    engine.close()


def _processor_time() -> float:
    return sum(os.times()[:4])


if __name__ == "__main__":
    main(sys.argv[1])
