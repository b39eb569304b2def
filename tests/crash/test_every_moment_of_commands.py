"""Laws 5 and 6 with commands: cut at every moment, none runs twice without a person's word."""

from collections.abc import Callable, Iterator
from typing import get_args

import msgspec
import pytest
from tests.crash.crash_states import after_power_cut, crash_states, crashed
from tests.executor.command_harness import (
    FAILING,
    GOOD,
    MINE,
    START,
    CommandCase,
    CommandWorld,
)

from assent.core.plan.operation import RunCommand
from assent.core.run.journal import (
    CommandEndedEntry,
    CommandStartedEntry,
    OperationResult,
    RecoveringEntry,
    RecoveryChoice,
)

UNDO = b"unbuild"
ENDS = ("done", "rolled_back", "needs_you", "not started")
CASES = [pytest.param(case, id=case.name) for case in (*GOOD, *FAILING)]


def cut_off(case: CommandCase, *powers: bool) -> Iterator[CommandWorld]:
    """Yields what a crash or, with power, a power cut leaves at any moment of a run."""
    return cut_states(CommandWorld(case), CommandWorld.apply, *powers)


def cut_states(
    world: CommandWorld, work: Callable[[CommandWorld], object], *powers: bool
) -> Iterator[CommandWorld]:
    """Yields what is left where some work is cut off; where moments leave the same, once."""
    states, _ = crash_states(world, work)
    assert len(states) > 1, "the fault did not fire"
    for power in powers:
        known = set()
        for state in states:
            left = after_power_cut(state) if power else state.twin()
            if (found := left.left()) not in known:
                known.add(found)
                yield left


def names(case: CommandCase) -> list[bytes]:
    return [op.argv[0] for op in case.operations if isinstance(op, RunCommand)]


def check(world: CommandWorld) -> None:
    """Whatever happened: one of the ends, and what it says about every operation is true."""
    assert world.outcome in ENDS
    if world.outcome == "not started":
        assert world.files == START
        return
    found = world.results
    assert len(found) == len(world.case.operations)
    assert set(found) <= set(get_args(OperationResult))
    assert world.files[b"w/mine"] == START[b"w/mine"]
    if world.outcome == "done":
        assert (found, world.files) == (("done",) * len(found), world.case.finish)
    elif world.outcome == "rolled_back":
        assert "done" not in found
        assert world.files == START
    else:
        assert world.reasons
        assert all(reason for *_, reason in world.reasons)


@pytest.mark.parametrize("case", CASES)
def test_law_6_after_any_crash_a_command_has_run_once_or_the_run_asks(case: CommandCase) -> None:
    ends = set()
    for world in cut_off(case, False, True):
        began = list(world.commander.began)
        world.recover()
        check(world)
        ends.add(world.outcome)
        assert max(world.times(names(case)), default=0) <= 1
        if began != world.commander.began:  # what never began may begin: it is the same run
            assert "unknown" not in world.results
        world.recover()
        assert max(world.times(names(case)), default=0) <= 1, "nor does a second look run it"
    assert "needs_you" in ends


@pytest.mark.parametrize("case", CASES)
def test_law_6_a_recovery_that_is_cut_off_runs_nothing_twice_either(case: CommandCase) -> None:
    for power in (False, True):
        known = set()
        for left in cut_off(case, power):
            states, end = crash_states(left, CommandWorld.recover)
            cut = [after_power_cut(state) if power else state for state in states]
            for world in (*cut, end):
                if (found := world.left()) in known:
                    continue
                known.add(found)
                world.recover()
                check(world)
                assert max(world.times(names(case)), default=0) <= 1


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("power", [False, True], ids=["crash", "power cut"])
def test_from_any_crash_everything_that_is_recorded_can_be_taken_back(
    case: CommandCase, power: bool
) -> None:
    for world in cut_off(case, power):
        world.recover()
        if world.outcome == "needs_you":
            world.recover("roll_back")
            assert (world.outcome, world.reasons[1:]) == ("rolled_back", [])
        check(world)


@pytest.mark.parametrize("case", CASES)
def test_a_roll_back_asked_for_at_once_needs_a_second_word_only_where_an_end_was_not_seen(
    case: CommandCase,
) -> None:
    ends = set()
    for world in cut_off(case, False, True):
        began, open_one = list(world.commander.began), unseen(world)
        own = {**world.files, b"w/theirs": MINE} if open_one else world.files
        world.hands.files.update(own)
        world.recover("roll_back")
        ends.add(world.outcome)
        assert [name for name in world.commander.began[len(began) :] if name != UNDO] == []
        if open_one:  # whose own a file is nobody can tell, so nothing goes unnamed
            assert (world.outcome, world.files) == ("needs_you", own)
            world.recover("roll_back")
        check(world)
        assert world.outcome in ("rolled_back", "not started", "done")
    assert {"needs_you", "rolled_back"} <= ends


def unseen(world: CommandWorld) -> bool:
    """Tells whether a command began last whose end is not on record, or is that nobody saw it."""
    commands = [
        entry
        for entry in world.entries
        if isinstance(entry, CommandStartedEntry | CommandEndedEntry)
    ]
    return bool(commands) and not isinstance(commands[-1], CommandEndedEntry)


def halted(case: CommandCase) -> CommandWorld:
    """Returns a world whose run stopped, at its last command, or at one whose end nobody saw."""
    world = CommandWorld(case)
    if case in FAILING:
        world.apply()
    else:
        script = world.commander.scripts
        last = names(case)[-1]
        broken = msgspec.structs.replace(script[last], code=1)
        world.commander.scripts = {**script, last: broken}
        world.apply()
        world.commander.scripts = script
    assert world.outcome == "needs_you"
    return world


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("power", [False, True], ids=["crash", "power cut"])
@pytest.mark.parametrize("way", ["roll_back", "resume", "accept"])
def test_a_way_out_that_is_cut_off_at_any_moment_is_still_a_way_out(
    case: CommandCase, way: RecoveryChoice, power: bool
) -> None:
    left = halted(case)
    began = list(left.commander.began)
    for world in cut_states(left, lambda world: world.recover(way), power):
        world.recover()
        check_way(world, way, began)
        if world.outcome == "needs_you":
            world.recover("roll_back")
        if world.outcome == "needs_you":
            world.recover("roll_back")
        assert world.outcome in ("done", "rolled_back")


def check_way(world: CommandWorld, way: RecoveryChoice, began: list[bytes]) -> None:
    """A way out that was cut off leads where it should, or asks again."""
    more = world.commander.began[len(began) :]
    if way == "accept":
        heard = RecoveringEntry("accept") in world.entries
        assert (world.outcome, more) == ("done" if heard else "needs_you", [])
        assert set(world.results) <= {"done", "failed", "unknown", "not_started"}
    else:
        check(world)
    if way == "roll_back":
        assert set(more) <= {UNDO}
        assert more.count(UNDO) <= 1, "an undo runs once by itself, too"


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("power", [False, True], ids=["crash", "power cut"])
def test_what_is_seen_before_a_step_is_what_a_crash_leaves_there(
    case: CommandCase, power: bool
) -> None:
    built = crashed(CommandWorld(case), CommandWorld.apply, power=power)
    recovered = crashed(built[len(built) // 2], CommandWorld.recover, power=power)
    assert len(built) > 10
    assert len(recovered) > 2
