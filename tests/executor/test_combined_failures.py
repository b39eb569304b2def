"""Troubles that come together: a fault, somebody else's change, and a crash, one after another."""

import itertools
from collections.abc import Callable, Iterator
from errno import EIO

import pytest
from tests.executor.concurrent_changes import DEEDS, THEIRS, Meddler
from tests.executor.file_writers import Call, failing
from tests.executor.harness import World

from assent.core.run.journal import RecoveryChoice
from assent.testing.memory_workspace import SimulatedCrash
from assent.testing.plan_cases import PlanCase, combined_case, single_cases

ONE = {case.name: case for case in single_cases(b"w/one")}
TWO = {case.name: case for case in single_cases(b"w/two")}
PAIRS = [
    ("create", "replace"),
    ("replace", "create"),
    ("delete", "move"),
    ("move_deep", "create_deep"),
    ("file_to_folder", "link"),
    ("folder_to_file", "chmod"),
]
CASES = [combined_case((ONE[one], TWO[two])) for one, two in PAIRS]
NEVER = -1
OUTCOMES = ("done", "rolled_back", "needs_you")
WAYS: tuple[RecoveryChoice, ...] = ("resume", "roll_back", "accept")


def broken() -> OSError:
    return OSError(EIO, "broken")


class Story:
    """A fault at one call may make the run turn back; then a deed, and soon after it an end."""

    def __init__(self, case: PlanCase, fault: int, rename: int, deed: str) -> None:
        self.world = World(case)
        self.meddler = Meddler(self.world.hands, rename, DEEDS[deed])
        self.deed_at = -1
        self.fault = fault
        self.world.hands.before += [self.meddler, self._note]
        self.world.hands.after.append(failing(EIO, lambda call: call.number == fault))

    def _note(self, call: Call) -> None:
        if self.meddler.path and self.deed_at < 0:
            self.deed_at = call.number

    def end_after(self, steps: int, error: BaseException) -> None:
        """Raises an error: with no steps in between after the rename itself, else before a call."""

        def end(call: Call) -> None:
            if self.deed_at >= 0 and call.number == self.deed_at + steps:
                raise error

        (self.world.hands.before if steps else self.world.hands.after).append(end)

    def play(self) -> bool:
        """Tells whether the deed was done, and after the fault if there was one."""
        try:
            self.world.apply()
        except SimulatedCrash:
            self.world.hands.before.clear()
            self.world.hands.after.clear()
            self.world.recover()
        return self.deed_at > self.fault


def stories(
    case: PlanCase, deed: str, steps: int, error: Callable[[], BaseException]
) -> Iterator[Callable[[], Story | None]]:
    """Yields every story of a disturbed run, going on or turning back, to be told again."""
    calm = World(case)
    calm.apply()
    faults = [call.number for call in calm.hands.calls if call.verb in ("rename", "exchange")]
    for fault, rename in itertools.product((NEVER, *faults), range(2 * len(faults))):

        def tell(fault: int = fault, rename: int = rename) -> Story | None:
            story = Story(case, fault, rename, deed)
            story.end_after(steps, error())
            return story if story.play() else None

        yield tell


def check(tell: Callable[[], Story | None]) -> int:
    """Nothing is lost, neither at once nor by any way out."""
    story = tell()
    if story is None:
        return 0
    assert story.world.lost(story.meddler) == []
    assert story.world.outcome in OUTCOMES
    for way in WAYS if story.world.outcome == "needs_you" else ():
        again = tell()
        assert again is not None
        again.world.hands.before.clear()
        again.world.hands.after.clear()
        again.world.recover(way)
        assert again.world.lost(again.meddler) == [], way
        assert again.world.outcome in OUTCOMES
        assert again.world.spent == 1
        again.world.recover("accept")
        assert again.world.outcome in ("done", "rolled_back")
        assert again.world.lost(again.meddler) == [], way
    return 1


@pytest.mark.parametrize("deed", ["changed", "folder"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_law_6_a_change_and_a_crash_lose_nothing(case: PlanCase, deed: str) -> None:
    for steps in range(4):
        assert sum(check(tell) for tell in stories(case, deed, steps, SimulatedCrash)) > 2


@pytest.mark.parametrize("deed", ["changed", "folder"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_law_6_a_change_and_another_fault_lose_nothing(case: PlanCase, deed: str) -> None:
    for steps in range(4):
        assert sum(check(tell) for tell in stories(case, deed, steps, broken)) > 2


@pytest.mark.parametrize("deed", ["changed", "symlink", "folder"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_law_6_a_change_while_turning_back_goes_back_under_its_name(
    case: PlanCase, deed: str
) -> None:
    told = [tell() for tell in stories(case, deed, 99, broken)]
    turned = [story for story in told if story and story.fault != NEVER]
    assert len(turned) > 2
    for story in turned:
        theirs = [node for node in story.world.files.values() if node in story.meddler.brought]
        assert theirs == story.meddler.brought
        assert story.world.lost(story.meddler) == []


def test_law_6_a_new_file_changed_a_moment_before_it_is_taken_back_is_kept() -> None:
    """Putting the new file back into its slot caught somebody's change, and the look failed."""
    story = Story(CASES[0], fault=0, rename=2, deed="changed")
    story.world.hands.after.clear()
    second = next(iter(TWO["replace"].start))
    story.world.hands.before.append(
        failing(EIO, lambda call: call.verb == "exchange" and second in call.names)
    )
    story.end_after(1, broken())
    story.play()
    assert story.meddler.path == b"w/one_a"
    assert story.world.outcome == "needs_you"
    story.world.hands.before.clear()
    story.world.recover("roll_back")
    assert story.world.outcome == "needs_you"
    story.world.recover("accept")
    assert [story.world.slots[slot] for slot in story.world.named] == [THEIRS]
