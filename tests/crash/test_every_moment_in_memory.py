"""Laws 5 and 6: apply, undo and recovery are cut at every moment; all or nothing remains."""

import itertools
from collections.abc import Callable, Collection, Iterable
from copy import copy
from functools import partial
from typing import NamedTuple, Self, TypeAlias

import pytest
from tests.crash.crash_states import after_power_cut, crash_states, crashed

from assent.core.paths import STAGE, is_inside
from assent.core.plan.approval import ApprovedPlan
from assent.core.run.journal import FinishedEntry
from assent.core.run.results import DisplacedLookup, displaced_slots, no_displaced
from assent.executor.executor import Executor
from assent.store.memory import MemoryBlobStore
from assent.testing.memory_workspace import (
    CrashInjector,
    MemoryFileWriter,
    MemoryJournal,
    MemoryNode,
    SimulatedCrash,
)
from assent.testing.plan_cases import (
    PlanCase,
    approved_plan,
    combined_case,
    single_cases,
    undo_case,
)

ONE, TWO, THREE = (single_cases(b"w/" + stem) for stem in (b"one", b"two", b"three"))
KINDS = range(len(ONE))
SINGLES = [pytest.param(case, id=case.name) for case in ONE]
PAIRS = [combined_case((a, b)) for a, b in itertools.product(ONE, TWO)]


def covering_triples() -> list[PlanCase]:
    """Returns triples such that every pair of kinds meets in every two of the three places."""
    size = len(ONE)
    return [combined_case((ONE[a], TWO[b], THREE[(a + b) % size])) for a in KINDS for b in KINDS]


class World:
    """A disk, a journal and a blob store that outlive the executor."""

    run = "run"
    spares: DisplacedLookup = staticmethod(no_displaced)

    def __init__(self, case: PlanCase, *, keeps: bool = True) -> None:
        self.fuse = CrashInjector()
        self.hands = MemoryFileWriter(
            {**case.start, b"w/mine": MemoryNode(b"not touched")}, self.fuse
        )
        self.hands.keeps_spares = keeps
        self.journal = MemoryJournal(self.fuse)
        self.blobs = MemoryBlobStore()
        for node in case.nodes:
            self.blobs.keep([node.content])
        self.blobs.flush()
        self.hands.sync_to_disk()
        self.approved = approved_plan(case.operations)
        self.fuse.count = 0

    def twin(self, fuse: CrashInjector | None = None) -> Self:
        """Returns a world of its own that is as this one is now."""
        twin, fuse = copy(self), fuse or CrashInjector()
        twin.fuse, twin.hands, twin.journal = fuse, self.hands.twin(fuse), self.journal.twin(fuse)
        return twin

    def executor(self) -> Executor:
        return Executor(self.hands, self.blobs, self.journal)

    def apply(self) -> None:
        for _ in self.executor().apply(self.approved, self.run, self.spares):
            pass

    def recover(self) -> None:
        if self.journal.read(self.run):
            for _ in self.executor().recover(self.approved.plan, self.run, "auto"):
                pass

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

    def lose_power(self) -> None:
        self.hands.lose_power()

    def left(self) -> "Left":
        """Returns all that whatever comes next can find."""
        hands = self.hands
        now = (hands.files, hands.folders, hands.spares)
        disk = [frozenset(_items(part)) for part in (*now, *hands.synced, hands.foreign)]
        runs = [(run, tuple(entries)) for run, entries in self.journal.runs.items()]
        return Left(tuple(disk), tuple(runs))

    @property
    def outcome(self) -> str:
        entries = self.journal.read(self.run)
        if not entries:
            return "rolled_back"
        last = entries[-1]
        assert isinstance(last, FinishedEntry)
        return last.outcome

    def check(self, case: PlanCase, *, power: bool = False) -> None:
        """All or nothing: the disk is exactly as the outcome says.

        A power cut may bring back an emptied slot in Assent's own folder; nothing else may remain.
        """
        wanted = case.finish if self.outcome == "done" else case.start
        files = {p: node for p, node in self.hands.files.items() if not is_inside(p, STAGE)}
        assert self.outcome in ("done", "rolled_back")
        assert files == {**wanted, b"w/mine": MemoryNode(b"not touched")}
        assert power or files == self.hands.files
        slots = STAGE + b"/" + self.run.encode()
        assert power or not any(is_inside(folder, slots) for folder in self.hands.folders)


class Left(NamedTuple):
    """A disk and a journal at one moment. Who finds the same does the same."""

    disk: tuple[frozenset[object], ...]
    runs: tuple[tuple[str, tuple[object, ...]], ...]


def _items(part: Collection[bytes] | dict[bytes, MemoryNode]) -> Iterable[object]:
    return part.items() if isinstance(part, dict) else part


class Undoing(World):
    """The same where a run has done its work, and what it displaced is at hand for an undo."""

    run = "back"

    def __init__(self, case: PlanCase, first: PlanCase) -> None:
        super().__init__(first)
        for _ in self.executor().apply(self.approved, World.run):
            pass
        entries = self.journal.read(World.run)
        slots = displaced_slots(first.operations, entries)
        self.spares = lambda path, state: slots.get((path, state))
        self.approved = approved_plan(case.operations)
        self.hands.sync_to_disk()
        self.fuse.count = 0


Make: TypeAlias = Callable[[PlanCase], World]


def applied(case: PlanCase, fresh: World) -> list[World]:
    """Applies undisturbed; returns what a crash at each moment leaves."""
    states, end = crash_states(fresh, World.apply)
    end.check(case)
    assert end.outcome == "done"
    return states


def sweep(case: PlanCase, make: Make = World, *, twice: bool) -> int:
    """Cuts a run at every moment, by a crash and by a power cut; counts what was tried.

    Many moments leave the same: from there, everything is tried once.
    """
    tried = 0
    known: dict[tuple[Left, bool], int] = {}
    ended: set[tuple[Left, bool, bool]] = set()
    for state, power in itertools.product(applied(case, make(case)), (False, True)):
        world = after_power_cut(state) if power else state.twin()
        left = (world.left(), power)
        if left not in known:
            known[left] = _sweep_recovery(case, world, ended, power=power) if twice else 0
            world.recover()
            world.check(case, power=power)
        tried += known[left] + 1
    return tried


def _sweep_recovery(
    case: PlanCase, left: World, ended: set[tuple[Left, bool, bool]], *, power: bool
) -> int:
    """Cuts the recovery from a state at every moment, too, and recovers once more; counts them."""
    states, end = crash_states(left, World.recover)
    cut = [after_power_cut(state) if power else state for state in states]
    for world, fired in [*[(state, True) for state in cut], (end, False)]:
        found = (world.left(), power, fired)
        if found not in ended:
            ended.add(found)
            if fired:
                world.recover()
            world.check(case, power=power)
    return len(states)


def made_folders(case: PlanCase) -> tuple[bytes, ...]:
    world = World(case)
    world.apply()
    last = world.journal.read("run")[-1]
    assert isinstance(last, FinishedEntry)
    return last.made


@pytest.mark.parametrize("case", SINGLES)
def test_a_single_operation_survives_any_two_crashes(case: PlanCase) -> None:
    assert sweep(case, twice=True) > 20
    assert sweep(case, partial(World, keeps=False), twice=True) > 20
    assert sweep(undo_case(case, made_folders(case)), twice=True) > 20


@pytest.mark.parametrize("case", SINGLES)
def test_an_undo_with_spares_survives_any_two_crashes(case: PlanCase) -> None:
    back = undo_case(case, made_folders(case))
    assert sweep(back, partial(Undoing, first=case), twice=True) > 20


@pytest.mark.parametrize("first", KINDS)
def test_an_undo_of_two_operations_with_spares_survives_any_crash(first: int) -> None:
    for case in PAIRS[first * len(KINDS) : (first + 1) * len(KINDS)]:
        back = undo_case(case, made_folders(case))
        assert sweep(back, partial(Undoing, first=case), twice=False) > 20


RESTORED = ("replace", "chmod", "file_by_link", "delete", "prune", "file_to_folder")


@pytest.mark.parametrize("case", SINGLES)
def test_what_a_run_displaced_is_what_its_undo_brings_back(case: PlanCase) -> None:
    world = Undoing(undo_case(case, made_folders(case)), first=case)
    left = dict(world.hands.spares)
    world.apply()
    assert bool(left) == (case.name in (*RESTORED, "folder_to_file"))
    assert not left.keys() & world.hands.spares.keys(), "a spare was not used"


def test_a_spare_that_is_another_by_now_is_not_brought_back() -> None:
    case = next(one for one in ONE if one.name == "replace")
    back = undo_case(case, made_folders(case))
    world = Undoing(back, first=case)
    (slot,) = world.hands.spares
    world.hands.spares[slot] = MemoryNode(b"somebody else's")
    world.apply()
    world.check(back)
    assert world.hands.spares[slot] == MemoryNode(b"somebody else's")


@pytest.mark.parametrize("first", KINDS)
def test_a_pair_of_operations_survives_any_two_crashes(first: int) -> None:
    for case in PAIRS[first * len(KINDS) : (first + 1) * len(KINDS)]:
        assert sweep(case, twice=True) > 20
        assert sweep(undo_case(case, made_folders(case)), twice=False) > 20


@pytest.mark.parametrize("case", covering_triples(), ids=lambda case: case.name)
def test_a_triple_of_operations_survives_any_crash(case: PlanCase) -> None:
    assert sweep(case, partial(World, keeps=False), twice=False) > 20


@pytest.mark.parametrize("case", SINGLES)
def test_apply_then_undo_restores_the_start(case: PlanCase) -> None:
    back = undo_case(case, made_folders(case))
    world = World(back)
    world.hands = MemoryFileWriter(case.start, world.fuse)
    world.approved = approved_plan(case.operations)
    world.apply()
    folders = set(MemoryFileWriter(case.start).folders)
    world.approved = approved_plan(back.operations)
    for _ in world.executor().apply(world.approved, "back"):
        pass
    assert world.hands.files == case.start
    assert (
        world.hands.folders - {b".opencode", b".opencode/assent", b".opencode/assent/stage"}
        >= folders
    )


@pytest.mark.parametrize("case", SINGLES)
def test_without_exchange_the_same_holds(case: PlanCase) -> None:
    fresh = World(case)
    fresh.hands.exchanges = False
    for world in applied(case, fresh):
        world.recover()
        world.check(case)


@pytest.mark.parametrize("power", [False, True], ids=["crash", "power cut"])
@pytest.mark.parametrize("case", SINGLES)
def test_what_is_seen_before_a_step_is_what_a_crash_leaves_there(
    case: PlanCase, power: bool
) -> None:
    built = crashed(World(case), World.apply, power=power)
    recovered = crashed(built[len(built) // 2], World.recover, power=power)
    assert len(built) > 10
    assert len(recovered) > 2


def test_only_an_approved_plan_can_be_made_by_the_check() -> None:
    with pytest.raises(TypeError):
        ApprovedPlan(approved_plan(()).plan, approved_plan(()).approval, object())
