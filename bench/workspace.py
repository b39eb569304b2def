"""A workspace to measure in: plans are made through the engine, as the program makes them."""

import os
import subprocess
import time
from collections.abc import Generator, Iterator
from pathlib import Path

from bench.apply_reference import git_is_here
from bench.corpus import Sample, lay_down, require
from bench.pace import Stopwatch, flush, timed

from assent.app.composition import open_engine
from assent.app.engine import Engine
from assent.app.scratch import open_scratch
from assent.config.paths import app_paths
from assent.core.digest import sha256
from assent.core.plan.operation import FileState, WriteFile
from assent.core.plan.record import PlanRecord
from assent.core.plan.rehearsal import Rehearsal
from assent.core.shell.process import CommandSpec, ProcessLimits, ProcessResult
from assent.runs.rehearsal import RehearsalRequest
from assent.runs.run_status import RunReport
from assent.store.blobs import FileBlobStore

MODE = 0o644
VERIFIED = RehearsalRequest(("true",))
SOON = 0.5  # seconds between the end of a run and a person's wish to take it back


class Ours:
    """The change as Assent makes it and takes it back, each time in a workspace of its own."""

    def __init__(self, place: Path, files: list[Sample]) -> None:
        self._place = place
        self._files = files
        self._operations = [_operation(sample) for sample in files]
        self._made = 0
        _keep(files)

    @property
    def root(self) -> Path:
        """The workspace that was made last."""
        return self._place.with_name(f"{self._place.name}-{self._made}")

    def propose(self) -> PlanRecord:
        """Makes a workspace, and a plan of the whole change in it."""
        self._made += 1
        (self.root / ".git").mkdir(parents=True)  # it marks the folder as a workspace
        lay_down(self.root, self._files, "old")
        engine = self._open()
        record = engine.plans.new("change", goal="Measure")
        record = engine.approvals.propose(engine.drafts.stage(record, self._operations).record)
        engine.close()
        return record

    def apply(self, watch: Stopwatch = timed) -> float:
        """Returns how long a build takes from the call to its end, in an engine just opened."""
        record = self.propose()
        engine = self._open()
        engine.approvals.approve(record, record.digest, "", "bench")
        engine.close()
        engine = self._open()
        seconds = watch(lambda: _done(engine.runs.build(record.plan_id)))
        engine.close()
        require(self.root, self._files, "new")
        return seconds

    def rehearse(self, watch: Stopwatch = timed) -> float:
        """Returns how long it takes to try a plan with `true`, in an engine just opened.

        A command ran in a copy before, as it nearly always did when a plan is to be tried: then it
        is known how copies are made here, and what is secret in the folders of other tools.
        """
        record = self.propose()
        _commit(self.root)
        self._try_a_command()
        engine = self._open()
        seconds = watch(lambda: _passed(engine.rehearser.rehearse(record, VERIFIED)))
        engine.close()
        require(self.root, self._files, "old")
        return seconds

    def undo(self) -> float:
        """Returns how long it takes to take the last run back, once a person agreed to it.

        What they agree to is a digest that the same process has shown them. Nobody is back sooner
        than this: files that were written a moment ago are not trusted by their times.
        """
        time.sleep(SOON)
        engine = self._open()
        preview = engine.undo.preview()
        if not preview.plan.digest:
            raise AssertionError("A plan has a digest.")
        flush(self.root)
        seconds = timed(lambda: _done(engine.undo.apply(preview, "bench")))
        engine.close()
        require(self.root, self._files, "old")
        return seconds

    def _try_a_command(self) -> None:
        copy = open_scratch(str(self.root)).open("bench")
        *_, last = copy.run(CommandSpec("true"), os.fsencode(self.root), ProcessLimits())
        copy.clear()
        if not isinstance(last, ProcessResult) or last.code:
            raise AssertionError(f"A command in a copy ended as {last}.")

    def _open(self) -> Engine:
        engine, _ = open_engine(str(self.root))
        flush(self.root)
        return engine


def _done(work: Generator[object, None, RunReport]) -> None:
    """Lets a run go on to its end."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            if end.value.outcome != "done":
                raise AssertionError(f"A run ended as {end.value.outcome}.") from None
            return


def _passed(work: Iterator[object]) -> None:
    *_, last = work
    if not isinstance(last, Rehearsal) or not last.passed:
        raise AssertionError(f"A rehearsal ended as {last}.")


def _commit(root: Path) -> None:
    """Makes a workspace a repository with a commit, so that a rehearsal finds one to name."""
    if not git_is_here():
        return
    git = ["git", "-C", str(root), "-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*git, *words], check=True, stdout=subprocess.DEVNULL)


def _operation(sample: Sample) -> WriteFile:
    before = None if sample.old is None else _state(sample.old)
    return WriteFile(sample.path.encode(), before, _state(sample.new))


def _state(content: bytes) -> FileState:
    return FileState(sha256(content), len(content), MODE)


def _keep(files: list[Sample]) -> None:
    """Puts the new contents where staging would have put them."""
    blobs = FileBlobStore(app_paths(os.environ, Path.home()).state / "blobs")
    for sample in files:
        blobs.keep([sample.new])
    blobs.flush()
