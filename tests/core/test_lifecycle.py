"""F55: the life of a plan is one table, and everything outside it is refused."""

import itertools

import pytest

from assent.core.errors import IllegalState
from assent.core.plan.record import TRANSITIONS, PlanAction, PlanState, next_state

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
    "AWAITING_APPROVAL": "is waiting for a decision",
    "EXECUTING": "is being built",
    "HALTED": "stopped and is waiting for your decision",
    "COMPLETED": "is done",
    "DISCARDED": "was discarded",
}
DEEDS = {
    "draft": "changed", "propose": "proposed", "revise": "revised", "reject": "rejected",
    "approve": "approved", "build": "built", "finish": "finished", "roll back": "rolled back",
    "halt": "halted", "resume": "resumed", "accept": "accepted", "discard": "discarded",
}  # fmt: skip
PAIRS = list(itertools.product(PlanState, PlanAction))


def test_f55_the_table_is_the_one_of_the_design() -> None:
    assert {
        (str(state), str(moment)): str(after) for (state, moment), after in TRANSITIONS.items()
    } == (KNOWN)


@pytest.mark.parametrize(("state", "moment"), [pair for pair in PAIRS if pair in KNOWN])
def test_f55_every_step_of_the_table_is_taken(state: PlanState, moment: PlanAction) -> None:
    assert next_state(state, moment) is PlanState(KNOWN[state, moment])


@pytest.mark.parametrize(("state", "moment"), [pair for pair in PAIRS if pair not in KNOWN])
def test_f55_every_step_outside_the_table_is_refused(state: PlanState, moment: PlanAction) -> None:
    with pytest.raises(IllegalState) as caught:
        next_state(state, moment)
    assert caught.value.message.startswith(f"This plan {STANDS[state]}")
    assert caught.value.message.endswith(f", so it cannot be {DEEDS[moment]}.")
    assert caught.value.next.startswith("assent ")


def test_f55_the_two_tests_above_try_every_pair() -> None:
    assert len(PAIRS) == len(PlanState) * len(PlanAction) == 72
    assert KNOWN.keys() <= set(PAIRS)


def test_every_state_can_be_reached_and_a_discarded_plan_stays_discarded() -> None:
    reached = {PlanState.DRAFTING}
    for _ in PlanState:
        reached |= {after for (before, _), after in TRANSITIONS.items() if before in reached}
    assert reached == set(PlanState)
    assert {state for state, _ in TRANSITIONS} == set(PlanState) - {PlanState.DISCARDED}
