"""What a command outside plan mode costs in a large workspace, of which nothing has changed."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Figure, within
from bench.pace import Action, Scale, best

from assent.app.composition import open_engine
from assent.app.settings import user_paths
from assent.app.shell import open_process_at

FEW = 100  # files of the reference
FOLDER = 100  # files of one folder
SETTLED_S = 2.1  # a file that changed just now is read each time
ADDED = within(1.5)  # absolute: processor time that a person pays for each command


def command_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures the first command, which reads and keeps every file, and later ones."""
    few, many = _workspace(work / "few", FEW), _workspace(work / "many", scale.files)
    _command(_workspace(work / "none", 1))()  # what a process loads for it is not measured
    time.sleep(SETTLED_S)
    name = f"command in {scale.files:,} files"
    small, large = _command(few), _command(many)
    small_first, large_first = small(), large()
    yield Figure(f"first {name}, processor time", large_first, small_first)
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
    """Runs `true`, in an engine that was just opened, as each process does."""

    def measured() -> float:
        engine, _ = open_engine(os.fspath(root))
        process = open_process_at(os.fspath(root), user_paths())
        began = _processor_time()
        for _ in engine.session_commands.run_as_user(None, "true", process):
            pass
        taken = _processor_time() - began
        engine.close()
        return taken

    return measured


def _processor_time() -> float:
    return sum(os.times()[:4])
