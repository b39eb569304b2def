"""How a workspace with a long past feels, and what each run of it leaves on disk."""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from bench.apply import LINEAR
from bench.figure import Figure, within
from bench.pace import Action, Scale, best, timed

from assent.app.composition import open_engine
from assent.app.engine import Engine
from assent.config.paths import app_paths
from assent.core.run.journal import drive_to_end


def run_history_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures builds, undo and status after many runs; the reference is a tenth of the runs."""
    few, many = scale.steps, scale.steps * 10
    young, old = _Past(work / "young", few), _Past(work / "old", many)
    for name in ("build", "undo", "status"):
        short, long = best(scale.rounds, _verb(young, name), _verb(old, name))
        told = f"{name} after {many:,} runs / after {few:,}"
        yield Figure(told, long, short, LINEAR)
    yield from _small_run_figures(SmallRuns(work / "small").leave(scale.steps))


def _small_run_figures(run: "Left") -> Iterator[Figure]:
    yield Figure("state per small run", run.state, None, MOST_STATE, "size")
    yield Figure("files of it", run.state_files, None, MOST_FILES, "count")
    yield Figure("the same with plan and readable copies", run.all, None, None, "size")
    yield Figure("files of that", run.all_files, None, None, "count")


MOST_STATE = within(12)
MOST_FILES = within(3)
WARM_UP = 2  # runs after which nothing is made that is made once


class Left(msgspec.Struct, frozen=True):
    """What a run leaves on disk, in KiB of whole blocks, with folders; and in files."""

    state: float  # in the state directory: all of it is counted
    state_files: float
    all: float  # and in the workspace's .opencode folder
    all_files: float


class SmallRuns:
    """Small plans, each made, approved and built: one file is edited, and another one is new."""

    def __init__(self, root: Path) -> None:
        (root / ".git").mkdir(parents=True)
        self._root = root
        self._made = 0

    def leave(self, runs: int) -> Left:
        """Returns what one of so many runs leaves, on average."""
        for _ in range(WARM_UP):
            self.run()
        folders = app_paths(os.environ, Path.home()).state, self._root / ".opencode"
        before = [_usage(folder) for folder in folders]
        for _ in range(runs):
            self.run()
        state, copies = (
            _per_run(_usage(folder), was, runs) for folder, was in zip(folders, before, strict=True)
        )
        return Left(*state, state[0] + copies[0], state[1] + copies[1])

    def run(self) -> str:
        """Makes, approves and builds the next plan, each by a process of its own; returns it."""
        self._made += 1
        engine = self._open()
        record = engine.plans.new(f"plan-{self._made}", goal="Measure")
        contents = {b"edited": b"version %d\n" % self._made * 20, b"new%d" % self._made: b"new\n"}
        for path, content in contents.items():
            record = engine.drafts.write(record, path, [content], None).record
        record = engine.approvals.propose(record)
        engine.close()
        engine = self._open()
        engine.approvals.approve(record, record.digest, "", "bench")
        engine.close()
        engine = self._open()
        report = drive_to_end(engine.runs.build(record.plan_id))
        engine.close()
        if report.outcome != "done":
            raise AssertionError(f"A run ended as {report.outcome}.")
        return report.run

    def _open(self) -> Engine:
        return open_engine(os.fspath(self._root))[0]


def _usage(folder: Path) -> tuple[int, int]:
    """Returns the bytes on disk below a folder, and the number of files."""
    found = [(path.lstat(), path.is_dir()) for path in folder.rglob("*")]
    return sum(512 * one.st_blocks for one, _ in found), sum(not is_dir for _, is_dir in found)


def _per_run(now: tuple[int, int], before: tuple[int, int], runs: int) -> tuple[float, float]:
    return (now[0] - before[0]) / runs / 1024, (now[1] - before[1]) / runs


class _Past:
    """A workspace in which plans of one file were built, one after the other."""

    def __init__(self, root: Path, runs: int) -> None:
        (root / ".git").mkdir(parents=True)
        self._root = root
        self._made = 0
        for _ in range(runs):
            self.build()
        gc.collect()  # each of them had an engine

    def build(self) -> float:
        """Makes and approves a plan of a new file; returns how long its build takes."""
        self._made += 1
        engine = self._open()
        record = engine.plans.new(f"plan-{self._made}", goal="Measure")
        path, content = b"f%d" % self._made, b"%d\n" % self._made
        record = engine.drafts.write(record, path, [content], None).record
        record = engine.approvals.propose(record)
        engine.approvals.approve(record, record.digest, "", "bench")
        engine.close()
        return self._timed(lambda engine: drive_to_end(engine.runs.build(record.plan_id)))

    def undo(self) -> float:
        """Takes the last run back."""
        return self._timed(
            lambda engine: drive_to_end(engine.undo.apply(engine.undo.preview(), "bench"))
        )

    def status(self) -> float:
        return self._timed(lambda engine: engine.status())

    def _timed(self, work: Callable[[Engine], object]) -> float:
        engine = self._open()
        try:
            return timed(lambda: work(engine))
        finally:
            engine.close()

    def _open(self) -> Engine:
        return open_engine(os.fspath(self._root))[0]


def _verb(past: _Past, name: str) -> Action:
    verbs: dict[str, Action] = {"build": past.build, "undo": past.undo, "status": past.status}
    return verbs[name]
