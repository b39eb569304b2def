"""A world for plans with commands: what outlives an executor, cut at any moment."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import NamedTuple, Self

import msgspec

from assent.core.errors import StoreError
from assent.core.paths import STAGE, is_inside
from assent.core.plan.operation import Operation, RunCommand, WriteFile
from assent.core.run.journal import (
    CommandEndedEntry,
    FinishedEntry,
    HaltedEntry,
    JournalEntry,
    LiveCommandOutput,
    OperationResult,
    RecoveryChoice,
    RunStep,
    RunUpdate,
)
from assent.core.run.results import run_results
from assent.core.run.state import fold_run
from assent.executor.executor import Executor
from assent.executor.rollback import read_rollbacks
from assent.store.memory import MemoryBlobStore
from assent.testing.memory_plan_command_runner import CommandScript, MemoryPlanCommandRunner
from assent.testing.memory_workspace import (
    CrashInjector,
    MemoryFileWriter,
    MemoryJournal,
    MemoryNode,
    SimulatedCrash,
)
from assent.testing.plan_cases import approved_plan

Files = dict[bytes, MemoryNode]

MINE = MemoryNode(b"not touched")
OLD, NEW, LATER = MemoryNode(b"old"), MemoryNode(b"new", 0o755), MemoryNode(b"later")
BUILT, LOGGED, UNDONE = MemoryNode(b"built"), MemoryNode(b"logged"), MemoryNode(b"taken back")
START: Files = {b"w/mine": MINE, b"w/a": OLD, b"w/b": OLD, b"w/log": OLD, b"w/gone": OLD}
SCRIPTS: Mapping[bytes, CommandScript] = {
    b"build": CommandScript(
        ((b"w/out/x", BUILT), (b"w/log", LOGGED), (b"w/gone", None), (b"w/a", LATER)),
        b"building\n",
    ),
    b"note": CommandScript(((b"w/log", LATER),), b"noted\n"),
    b"quiet": CommandScript(),
    b"unbuild": CommandScript(
        ((b"w/out/x", None), (b"w/log", OLD), (b"w/gone", OLD), (b"w/a", NEW))
    ),
    b"break": CommandScript(((b"w/out/y", BUILT), (b"w/log", LATER)), b"no such target\n", 3),
    b"slow": CommandScript(((b"w/log", LATER),), b"", 137, "time"),
}


def run(name: bytes, undo: bytes = b"") -> RunCommand:
    return RunCommand((name,), undo=(undo,) if undo else ())


WRITE_A = WriteFile(b"w/a", OLD.state, NEW.state)
WRITE_B = WriteFile(b"w/b", OLD.state, NEW.state)
MAKE = WriteFile(b"w/deep/er/c", None, NEW.state)


class CommandCase(msgspec.Struct, frozen=True):
    """A plan, and the files that it leads to if nothing goes wrong."""

    name: str
    operations: tuple[Operation, ...]
    finish: Files


def _built(**changes: MemoryNode) -> Files:
    files = {**START, b"w/out/x": BUILT, b"w/log": LOGGED, b"w/a": LATER}
    del files[b"w/gone"]
    return {**files, **{b"w/" + name.encode(): node for name, node in changes.items()}}


BETWEEN = CommandCase(
    "write, run, write",
    (WRITE_A, MAKE, run(b"build"), WRITE_B),
    {**_built(b=NEW), b"w/deep/er/c": NEW},
)
ALONE = CommandCase("run", (run(b"build"),), _built())
TWO_RUNS = CommandCase(
    "write, run, run", (WRITE_B, run(b"build"), run(b"note")), _built(b=NEW, log=LATER)
)
AGAIN = CommandCase(
    "write, run, write the same again",
    (WRITE_A, run(b"build"), WriteFile(b"w/a", LATER.state, NEW.state), run(b"note"), WRITE_B),
    _built(a=NEW, b=NEW, log=LATER),
)
FIRST = CommandCase("run, write", (run(b"build"), WRITE_B), _built(b=NEW))
COMPENSATED = CommandCase(
    "write, run with undo, write",
    (WRITE_A, run(b"build", b"unbuild"), WRITE_B, run(b"quiet")),
    _built(b=NEW),
)
GOOD = (BETWEEN, ALONE, TWO_RUNS, AGAIN, FIRST, COMPENSATED)
FAILING = (
    CommandCase("write, fail, write", (WRITE_A, run(b"break"), WRITE_B), {}),
    CommandCase("run, fail", (run(b"build"), run(b"break")), {}),
    CommandCase("write, run, fail", (WRITE_A, run(b"build", b"unbuild"), run(b"slow")), {}),
)


class FillingBlobs(MemoryBlobStore):
    """Contents on a disk that can be full."""

    full = False

    def keep(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        if self.full:
            raise StoreError("No space is left.")
        return super().keep(chunks)


class CommandWorld:
    """A disk, a journal, blobs and commands that outlive the executor."""

    def __init__(self, case: CommandCase) -> None:
        self.case = case
        self.fuse = CrashInjector()
        self.hands = MemoryFileWriter(START, self.fuse)
        self.journal = MemoryJournal(self.fuse)
        self.blobs = FillingBlobs()
        for node in (MINE, OLD, NEW, LATER):
            self.blobs.keep([node.content])
        self.commander = MemoryPlanCommandRunner(self.hands, self.blobs, SCRIPTS)
        self.approved = approved_plan(case.operations)
        self.said: list[LiveCommandOutput] = []

    def twin(self, fuse: CrashInjector | None = None) -> Self:
        """Returns a world of its own that is as this one is now."""
        twin, fuse = copy(self), fuse or CrashInjector()
        twin.fuse, twin.hands, twin.journal = fuse, self.hands.twin(fuse), self.journal.twin(fuse)
        twin.blobs, twin.said = copy(self.blobs), list(self.said)
        twin.blobs.contents = dict(self.blobs.contents)
        twin.commander = self.commander.twin(twin.hands, twin.blobs)
        return twin

    def lose_power(self) -> None:
        self.hands.lose_power()

    def left(self) -> "Left":
        """Returns all that whatever comes next can find, and all that a test asks for."""
        hands, commander = self.hands, self.commander
        files = (hands.files, hands.spares, hands.synced[0], hands.synced[2])
        folders = (hands.folders, hands.synced[1], hands.foreign, self.blobs.contents)
        return Left(
            tuple(frozenset(part.items()) for part in files),
            tuple(frozenset(part) for part in folders),
            tuple((run, tuple(entries)) for run, entries in self.journal.runs.items()),
            (tuple(commander.began), tuple(commander.asked), tuple(self.said)),
        )

    def apply(self) -> None:
        self._watch(self.executor().apply(self.approved, "run"))

    def recover(self, way: RecoveryChoice = "auto") -> None:
        if self.entries:
            self._watch(self.executor().recover(self.approved.plan, "run", way))

    def cut(self, work: Callable[[], object], moment: int, *, power: bool) -> bool:
        """Runs until the moment comes; tells whether it came before the end."""
        self.fuse.at, self.fuse.count = moment, 0
        try:
            work()
        except SimulatedCrash:
            if power:
                self.lose_power()
            return True
        finally:
            self.fuse.at, self.fuse.count = None, 0
        return False

    @property
    def entries(self) -> list[JournalEntry]:
        return self.journal.read("run")

    @property
    def kinds(self) -> list[str]:
        return [type(entry).__name__ for entry in self.entries]

    @property
    def outcome(self) -> str:
        """How the run stands, as a person would be told."""
        entries = self.entries
        if not entries:
            return "not started"
        last = entries[-1]
        if isinstance(last, FinishedEntry):
            return last.outcome
        backs = read_rollbacks(entries, self.blobs)
        step = fold_run(self.case.operations, entries, backs).step
        return "needs_you" if step is RunStep.WAIT else f"unfinished: {step}"

    @property
    def results(self) -> tuple[OperationResult, ...]:
        entries = self.entries
        last = entries[-1] if entries else None
        if isinstance(last, FinishedEntry):
            return last.results
        return run_results(self.case.operations, entries, read_rollbacks(entries, self.blobs))

    @property
    def files(self) -> Files:
        """The person's files, without slots."""
        return {p: node for p, node in self.hands.files.items() if not is_inside(p, STAGE)}

    @property
    def slots(self) -> list[bytes]:
        return [path for path in self.hands.files if is_inside(path, STAGE)]

    @property
    def reasons(self) -> list[tuple[int, bytes, str]]:
        """What the last halt says: which operation, where, and why."""
        halts = [entry for entry in self.entries if isinstance(entry, HaltedEntry)]
        return [(c.index, c.path, c.reason) for c in halts[-1].conflicts] if halts else []

    def ran(self) -> list[tuple[int, int, str]]:
        """How commands ended, in order: index, exit code, what cut them short."""
        return [(e.index, e.code, e.cut) for e in self.entries if isinstance(e, CommandEndedEntry)]

    def times(self, names: Sequence[bytes]) -> list[int]:
        return [self.commander.began.count(name) for name in names]

    def executor(self) -> Executor:
        return Executor(self.hands, self.blobs, self.journal, self.commander)

    def _watch(self, work: Iterator[RunUpdate]) -> None:
        for step in work:
            if isinstance(step, LiveCommandOutput):
                self.said.append(step)


class Left(NamedTuple):
    """A world at one moment. Who finds the same does the same."""

    files: tuple[frozenset[object], ...]
    names: tuple[frozenset[object], ...]
    runs: tuple[tuple[str, tuple[object, ...]], ...]
    commands: tuple[tuple[object, ...], ...]


def first_words(work: Iterator[RunUpdate]) -> LiveCommandOutput:
    """Goes on until a command says something."""
    return next(step for step in work if isinstance(step, LiveCommandOutput))
