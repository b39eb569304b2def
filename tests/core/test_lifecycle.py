"""F55: the life of a plan is one table, and everything outside it is refused."""

import itertools

import pytest

from assent.core.errors import IllegalStep
from assent.core.lifecycle import LIFE, Moment, State, advance

# Part 4 of the design, line by line.
TABLE = """
    DRAFTING          > draft     > DRAFTING
    DRAFTING          > propose   > AWAITING_APPROVAL
    AWAITING_APPROVAL > revise    > DRAFTING
    AWAITING_APPROVAL > reject    > DRAFTING
    AWAITING_APPROVAL > approve   > AWAITING_APPROVAL
    AWAITING_APPROVAL > build     > EXECUTING
    EXECUTING         > finish    > COMPLETED
    EXECUTING         > roll back > AWAITING_APPROVAL
    EXECUTING         > halt      > HALTED
    HALTED            > resume    > EXECUTING
    HALTED            > accept    > COMPLETED
    DRAFTING          > discard   > DISCARDED
    AWAITING_APPROVAL > discard   > DISCARDED
    COMPLETED         > discard   > DISCARDED
    HALTED            > discard   > DISCARDED
"""
STEPS = [[word.strip() for word in line.split(">")] for line in TABLE.strip().splitlines()]
KNOWN = {(state, moment): after for state, moment, after in STEPS}
STANDS = {
    "DRAFTING": "is still a draft",
    "AWAITING_APPROVAL": "is proposed",
    "EXECUTING": "is being built",
    "HALTED": "stopped in the middle and waits for you",
    "COMPLETED": "is done",
    "DISCARDED": "was discarded",
}
DEEDS = {
    "draft": "changed", "propose": "proposed", "revise": "revised", "reject": "rejected",
    "approve": "approved", "build": "built", "finish": "finished", "roll back": "rolled back",
    "halt": "halted", "resume": "resumed", "accept": "accepted", "discard": "discarded",
}  # fmt: skip
PAIRS = list(itertools.product(State, Moment))


def test_f55_the_table_is_the_one_of_the_design() -> None:
    assert {(str(state), str(moment)): str(after) for (state, moment), after in LIFE.items()} == (
        KNOWN
    )


@pytest.mark.parametrize(("state", "moment"), [pair for pair in PAIRS if pair in KNOWN])
def test_f55_every_step_of_the_table_is_taken(state: State, moment: Moment) -> None:
    assert advance(state, moment) is State(KNOWN[state, moment])


@pytest.mark.parametrize(("state", "moment"), [pair for pair in PAIRS if pair not in KNOWN])
def test_f55_every_step_outside_the_table_is_refused(state: State, moment: Moment) -> None:
    with pytest.raises(IllegalStep) as caught:
        advance(state, moment)
    assert caught.value.message.startswith(f"This plan {STANDS[state]}")
    assert caught.value.message.endswith(f", so it cannot be {DEEDS[moment]}.")
    assert caught.value.next.startswith("assent ")


def test_f55_the_two_tests_above_try_every_pair() -> None:
    assert len(PAIRS) == len(State) * len(Moment) == 72
    assert KNOWN.keys() <= set(PAIRS)


def test_every_state_can_be_reached_and_a_discarded_plan_stays_discarded() -> None:
    reached = {State.DRAFTING}
    for _ in State:
        reached |= {after for (before, _), after in LIFE.items() if before in reached}
    assert reached == set(State)
    assert {state for state, _ in LIFE} == set(State) - {State.DISCARDED}
