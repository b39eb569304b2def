"""How long the program takes to start, against the bare interpreter."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.figure import Bar, Figure, at_most
from bench.pace import Action, Scale, best, timed

ASSENT = str(Path(sys.executable).parent / "assent")
# The reference for starts: the same interpreter starts, runs nothing, and ends.
BARE = (sys.executable, "-c", "pass")

_BARS: dict[str, Bar] = {"--version": at_most(2.5), "--help": at_most(6)}


def startup_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures the two commands that load nothing, and one that reads the state of a folder."""
    calls = [[ASSENT, option] for option in _BARS] + [[ASSENT, "status"]]
    for call in calls:
        _start_action(call, work)()  # writes the bytecode caches
    starts = [_start_action(call, work) for call in (BARE, *calls)]
    bare, *times = best(scale.starts, *starts)
    for call, seconds in zip(calls, times, strict=True):
        yield Figure(f"assent {call[1]}", seconds, bare, _BARS.get(call[1]))


def _start_action(command: Sequence[str], folder: Path) -> Action:
    """Returns what starts a program in an empty folder, and waits for its end."""
    return lambda: timed(
        lambda: subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    )
