"""How a workspace with a long past feels: the more runs, the more there is to read."""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.apply import LINEAR
from bench.figure import Figure
from bench.pace import Action, Scale, best, timed

from assent.app.composition import open_engine
from assent.app.engine import Engine
from assent.core.run.journal import drive_to_end


def run_history_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures builds, undo and status after many runs; the reference is a tenth of the runs."""
    few, many = scale.steps, scale.steps * 10
    young, old = _Past(work / "young", few), _Past(work / "old", many)
    for name in ("build", "undo", "status"):
        short, long = best(scale.rounds, _verb(young, name), _verb(old, name))
        told = f"{name} after {many:,} runs / after {few:,}"
        yield Figure(told, long, short, LINEAR)


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
