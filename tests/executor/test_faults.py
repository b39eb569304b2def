"""G5: any use of the hands may fail; the run ends in one of three outcomes and nothing is lost."""

import itertools
from collections.abc import Callable, Iterator
from errno import EACCES, EIO, EMFILE, ENOSPC, EROFS

import pytest
from tests.executor.file_writers import Call, failing
from tests.executor.harness import World

from assent.core.errors import Drift, WorkspaceError
from assent.core.run.journal import RecoveryChoice
from assent.core.run.slot_move import SlotLayout
from assent.testing.plan_cases import PlanCase, combined_case, single_cases

ONE, TWO = single_cases(b"w/one"), single_cases(b"w/two")
ERRORS = (ENOSPC, EACCES, EROFS, EIO, EMFILE)
COPIED = SlotLayout("", beside=((b"w/one_a", b"w"), (b"w/one_x/y/z", b"w")), copied=(0,))
LAYOUTS = [SlotLayout(""), SlotLayout("", exchanges=False), COPIED]
WAYS: tuple[RecoveryChoice, ...] = ("resume", "roll_back", "accept")


class Fault:
    """Which calls fail, with what, and whether their effect happens all the same."""

    def __init__(self, at: int, error: int, *, lasting: bool, late: bool) -> None:
        self.at, self.error, self.lasting, self.late = at, error, lasting, late

    def strikes(self, call: Call) -> bool:
        return call.number == self.at or (self.lasting and call.number > self.at)

    def put_into(self, world: World) -> None:
        watchers = world.hands.after if self.late else world.hands.before
        watchers.append(failing(self.error, self.strikes))


def calls(case: PlanCase, layout: SlotLayout) -> int:
    world = World(case, layout)
    world.apply()
    assert (world.outcome, world.files, world.slots) == ("done", world.finish, {})
    return len(world.hands.calls)


def faults(case: PlanCase, layout: SlotLayout) -> Iterator[Fault]:
    kinds = itertools.product((False, True), repeat=2)
    for at, (lasting, late) in itertools.product(range(calls(case, layout)), list(kinds)):
        yield Fault(at, ERRORS[at % len(ERRORS)], lasting=lasting, late=late)


def struck(case: PlanCase, layout: SlotLayout, fault: Fault) -> World:
    """Applies a case with a fault; a refusal before the run starts is an outcome too."""
    world = World(case, layout)
    fault.put_into(world)
    try:
        world.apply()
    except (WorkspaceError, Drift):
        assert world.journal.read("run") == []
    return world


def check(world: World) -> None:
    """The disk is as the outcome says; every slot that still holds something is named."""
    assert world.lost() == []
    assert world.spent == (world.outcome != "refused")
    if world.outcome == "needs_you":
        return
    assert world.outcome in ("done", "rolled_back", "refused")
    assert world.files == (world.finish if world.outcome == "done" else world.start)
    assert world.outcome == "refused" or set(world.slots) <= world.named


def check_ways_out(again: Callable[[], World]) -> None:
    """Once the fault is gone, each way out of `needs you` ends well."""
    for way in WAYS:
        world = again()
        left = world.files
        world.hands.before.clear()
        world.hands.after.clear()
        world.recover(way)
        wanted = {"resume": world.finish, "roll_back": world.start, "accept": left}[way]
        assert (world.outcome, way) == ("rolled_back" if way == "roll_back" else "done", way)
        assert (world.files, world.spent) == (wanted, 1)
        assert world.lost() == []
        assert set(world.slots) == world.named


@pytest.mark.parametrize("layout", LAYOUTS, ids=["exchange", "stepwise", "copied"])
@pytest.mark.parametrize("case", ONE, ids=lambda case: case.name)
def test_g5_a_fault_at_any_call_ends_in_one_of_three_outcomes(
    case: PlanCase, layout: SlotLayout
) -> None:
    seen = set()
    for fault in faults(case, layout):
        world = struck(case, layout, fault)
        check(world)
        seen.add(world.outcome)
        if world.outcome == "needs_you":
            check_ways_out(lambda fault=fault: struck(case, layout, fault))  # type: ignore[misc]
    assert seen == {"done", "rolled_back", "needs_you", "refused"}


@pytest.mark.parametrize("second", TWO, ids=lambda case: case.name)
@pytest.mark.parametrize("first", ONE, ids=lambda case: case.name)
def test_g5_two_operations_end_together(first: PlanCase, second: PlanCase) -> None:
    case = combined_case((first, second))
    for at in range(calls(case, SlotLayout(""))):
        fault = Fault(at, EIO, lasting=True, late=False)
        world = struck(case, SlotLayout(""), fault)
        check(world)
        if world.outcome == "needs_you":
            check_ways_out(lambda fault=fault: struck(case, SlotLayout(""), fault))  # type: ignore[misc]
