"""`make bench`: measures Assent next to bare references in the same run, and names missed bars."""

import argparse
import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.apply import apply_figures, review_figures
from bench.apply_reference import git_is_here
from bench.command import command_figures
from bench.figure import Figure, figure_line, head_line, missed_line
from bench.large_state import large_state_figures
from bench.model_request import model_request_figures
from bench.pace import FULL, QUICK, Scale, spread
from bench.pages import page_figures
from bench.run_history import run_history_figures
from bench.sandbox import sandbox_figures
from bench.scratch import scratch_figures
from bench.server import server_figures
from bench.staging import staging_figures
from bench.startup import startup_figures
from bench.step import step_figures
from bench.store import digest_figures, store_figures
from bench.stories import story_figures
from bench.terminal import terminal_figures

from assent.cli import GC_THRESHOLD

# Kept over a restart, so on a real disk, where the folder for temporary files may be in memory.
USUAL = Path("/var/tmp")

BUSY = 0.9  # load for each processor; the bench itself is one, and not all the time

GROUPS: dict[str, Callable[[Path, Scale], Iterator[Figure]]] = {
    "startup": startup_figures,
    "apply": apply_figures,
    "review": review_figures,
    "store": store_figures,
    "digest": digest_figures,
    "history": run_history_figures,
    "staging": staging_figures,
    "command": command_figures,
    "past": large_state_figures,
    "sandbox": sandbox_figures,
    "scratch": scratch_figures,
    "request": model_request_figures,
    "step": step_figures,
    "stories": story_figures,
    "terminal": terminal_figures,
    "server": server_figures,
    "pages": page_figures,
}


def main() -> int:
    """Prints the table as it grows, then what missed its bar."""
    options = _options()
    began = time.monotonic()
    gc.set_threshold(GC_THRESHOLD)  # as the program itself does
    with tempfile.TemporaryDirectory(dir=options.dir, prefix="assent-bench-") as name:
        work = Path(name)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # a person's program has its caches
        os.environ.update(XDG_STATE_HOME=f"{work}/state", XDG_CONFIG_HOME=f"{work}/config")
        print(f"Python {sys.version.split()[0]}, {os.cpu_count()} processors, files in {work}.")
        print("Each figure is the best of several rounds, taken in turn with its reference.")
        print(
            "A bar in x is for the ratio to that reference; one marked absolute is for our value.\n"
        )
        if options.quick:
            print("Quick: everything is tiny, and so the ratios mean nothing.\n")
        print(head_line(), flush=True)
        missed = []
        for figure in _figures(options.only, work, QUICK if options.quick else FULL):
            print(figure_line(figure), flush=True)
            missed += [figure] if figure.missed else []
    print(f"\n{time.monotonic() - began:.0f} s in all.")
    _print_doubts()
    _print_missed(missed)
    return 1 if missed and options.strict else 0


def _figures(only: list[str], work: Path, scale: Scale) -> Iterator[Figure]:
    for group in only or GROUPS:
        folder = work / group
        folder.mkdir()
        spread(folder)
        yield from GROUPS[group](folder, scale)


def _print_doubts() -> None:
    """Says what makes the figures less than they should be."""
    if not git_is_here():
        print("git is not installed, so nothing was compared with it.")
    load, processors = os.getloadavg()[0], os.cpu_count() or 1
    if load > BUSY * processors:
        busy = f"load {load:.1f} on {processors} processors"
        print(f"Others kept this machine busy ({busy}): measure again when it is quiet.")


def _print_missed(missed: list[Figure]) -> None:
    if not missed:
        print("Every bar is met.")
        return
    print(f"Missed bars: {len(missed)}.")
    for figure in missed:
        print(f"  {missed_line(figure)}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes; only shows that it works")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bar is missed")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=[], help="some of the groups")
    parser.add_argument(
        "--dir",
        type=Path,
        default=USUAL if USUAL.is_dir() else None,
        help="where to make the files; it should be on the disk that matters (%(default)s)",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
