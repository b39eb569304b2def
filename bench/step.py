"""How fast the whole program works in a turn: every event durable, every call settled.

The reference for steps and edits is `bench/client_reference.py`, which runs the same calls on the
same files without storing or syncing anything.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.client_reference import ReferenceClient, file_editor, file_reader
from bench.figure import Figure, at_most, within
from bench.model_request import FOUND, page_text
from bench.model_server import LAST, LINES, last_gap, model_server, page_path, server_notes
from bench.pace import Action, Scale, best, timed
from bench.startup import ASSENT, BARE

# What a process had before it became another program counts as had by that: so a small one starts
# it, and says at the end how much it had at most, in KiB.
WEIGHED = (
    sys.executable,
    "-Sc",
    "import os, sys; "
    "pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ); "
    "_, status, usage = os.wait4(pid, 0); "
    "print(usage.ru_maxrss); "
    "sys.exit(os.waitstatus_to_exitcode(status))",
)
# Large enough that nothing of the long history is summarised: what is measured is a history of that
# size, and not the way out of it.
CONTEXT = '[models."openai/m"]\ncontext = 1000000\n'
EARLY, LATE = slice(4, 20), 20  # steps around the tenth, and at the end of a long turn
SEARCHES = 5


def step_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures `assent -p`: its start, its steps, its edits, and the memory of all that."""
    with model_server() as port:
        yield from _starts(make_workspace(work / "start"), port, scale)
        yield from _loops(work, port, scale)
        yield from _long_loop(work, port, scale)
        yield from _first_search(work, port, scale)
        yield from _edits(work, port, scale)
        yield from _memory(make_workspace(work / "memory"), port, scale)


def _starts(work: Path, port: int, scale: Scale) -> Iterator[Figure]:
    def first_byte() -> float:
        began = time.monotonic()
        run_turn(work, port, "loop/0")
        return float(server_notes(port)["first"]) - began

    bare, first = best(
        scale.starts, lambda: timed(lambda: subprocess.run(BARE, check=True)), first_byte
    )
    yield Figure("first byte of `assent -p` / bare Python", first, bare, at_most(12))


def _loops(work: Path, port: int, scale: Scale) -> Iterator[Figure]:
    """Measures small reads at the start of a session, and after large ones have filled it."""
    steps, history = scale.steps, scale.history
    short, long = make_workspace(work / "short"), make_workspace(work / "long")
    write_pages(long, steps, history)
    config = work / "config" / "assent" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(CONTEXT, encoding="utf-8")
    env = {"XDG_CONFIG_HOME": str(work / "config")}
    loop, pages = f"loop/{steps}", f"pages/{steps}"
    bare, ours, bare_long, ours_long = best(
        scale.rounds,
        lambda: _gap(port, lambda: _reference(port, loop, file_reader(short)), steps),
        lambda: _gap(port, lambda: run_turn(short, port, loop), steps),
        lambda: _gap(port, lambda: _reference(port, pages, file_reader(long)), LAST, history),
        lambda: _gap(port, lambda: run_turn(long, port, pages, env=env), LAST, history),
    )
    yield Figure(f"gap per step of `assent -p`, {steps} steps", ours, bare, at_most(10))
    tokens = f"{history // 4:,} tokens"
    yield Figure(f"the same at {tokens} / at the start", ours_long, ours, at_most(2))
    yield Figure(f"the same at {tokens} / http.client at {tokens}", ours_long, bare_long)


def _long_loop(work: Path, port: int, scale: Scale) -> Iterator[Figure]:
    """Measures a step at the start of a turn and one after very many others.

    The request is longer then, and any client has to send it: so what the bare client takes for
    the same step is subtracted from both.
    """
    root, kind = make_workspace(work / "long-loop"), f"loop/{scale.long}"
    env = {"XDG_CONFIG_HOME": str(work / "config")}
    gaps: list[float] = []

    def early(run: Callable[[], object]) -> Action:
        def measure() -> float:
            server_notes(port)
            run()
            gaps[:] = server_notes(port)["gaps"]
            return statistics.median(gaps[EARLY])

        return measure

    def late() -> float:
        return statistics.median(gaps[-LATE:])

    bare_early, bare_late, ours_early, ours_late = best(
        scale.long_rounds,
        early(lambda: _reference(port, kind, file_reader(root))),
        late,
        early(lambda: run_turn(root, port, kind, env=env)),
        late,
    )
    name = f"own time of step {scale.long:,} / of step 10"
    yield Figure(name, ours_late - bare_late, ours_early - bare_early, at_most(1.1))


def _first_search(work: Path, port: int, scale: Scale) -> Iterator[Figure]:
    """Measures the first search with a fresh state folder, and the ones after it."""
    root, states = make_workspace(work / "search"), iter(range(scale.rounds))
    gaps: list[float] = []

    def first() -> float:
        server_notes(port)
        env = {"XDG_STATE_HOME": str(work / f"state-{next(states)}")}
        run_turn(root, port, f"greps/{SEARCHES}", env=env)
        gaps[:] = server_notes(port)["gaps"]
        return gaps[0]

    def later() -> float:
        return statistics.median(gaps[1:])

    began, after = best(scale.rounds, first, later)
    yield Figure("first `grep` in a fresh state folder: added", began - after, after, within(0.5))


def _edits(work: Path, port: int, scale: Scale) -> Iterator[Figure]:
    """Measures edits that are staged, in plan mode, and edits that are written, in auto-edit."""
    kind = f"edits/{scale.steps}"

    def gap(name: str, edits: int, run: Callable[[Path], object]) -> Action:
        folder = make_workspace(work / name)

        def measure() -> float:
            file = write_big_file(folder)
            seconds = _gap(port, lambda: run(folder), scale.steps)
            if file.read_text(encoding="utf-8").count("-") != edits:
                raise AssertionError(f"{file} does not have {edits} edits.")
            return seconds

        return measure

    bare, staged, written = best(
        scale.rounds,
        gap("bare", scale.steps, lambda root: _reference(port, kind, file_editor(root))),
        gap("staged", 0, lambda root: run_turn(root, port, kind)),
        gap("written", scale.steps, lambda root: run_turn(root, port, kind, "--mode", "auto-edit")),
    )
    yield Figure(f"gap per edit of a {LINES:,}-line file", staged, bare, at_most(5))
    yield Figure("the same in auto-edit", written, bare, at_most(6))


def _memory(work: Path, port: int, scale: Scale) -> Iterator[Figure]:
    for kind, name, limit in (
        ("loop/0", "memory of one turn", 60),
        (f"loop/{scale.steps}", f"memory of {scale.steps} steps", 80),
    ):
        used = float(run_turn(work, port, kind, starter=WEIGHED).split()[-1]) / 1024
        yield Figure(name, used, None, within(limit), "memory")


def _gap(port: int, run: Callable[[], object], steps: int, history: int = 0) -> float:
    """Returns the median time between two of the last steps of a run."""
    server_notes(port)
    run()
    return last_gap(port, steps, history)


def make_workspace(root: Path) -> Path:
    """Makes a folder with the file that is read in small steps."""
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text(FOUND, encoding="utf-8")
    return root


def write_pages(root: Path, count: int, characters: int) -> None:
    """Writes the files that fill a session when they are read one after the other."""
    (root / page_path(1)).parent.mkdir()
    for number in range(1, count + 1):
        (root / page_path(number)).write_text(page_text(characters // count), encoding="utf-8")


def write_big_file(root: Path) -> Path:
    """Writes the file that is edited, as it is before the first edit."""
    file = root / "big.py"
    file.write_text("".join(f"value = {line}\n" for line in range(LINES)), encoding="utf-8")
    return file


def run_turn(
    work: Path,
    port: int,
    kind: str,
    *options: str,
    env: dict[str, str] | None = None,
    starter: tuple[str, ...] = (),
) -> bytes:
    """Runs one turn; returns its output, with what a starter prints after it."""
    base = f"http://127.0.0.1:{port}/{kind}/v1"
    ran = subprocess.run(
        [*starter, ASSENT, "-p", "Look around", "--model", "openai/m", *options],
        cwd=work,
        env={**os.environ, "OPENAI_BASE_URL": base, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if ran.returncode:
        raise AssertionError(ran.stderr.decode())
    return ran.stdout


def _reference(port: int, kind: str, run: Callable[[dict[str, Any]], str]) -> None:
    """Runs the same calls until the model makes no more."""
    client = ReferenceClient(port, f"/{kind}/v1")
    while client.step(run):
        pass
    client.close()
