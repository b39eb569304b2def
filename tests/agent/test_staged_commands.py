"""A planning model's command becomes an operation of the plan, whoever was asked; it never runs."""

from math import inf, nan

import msgspec
import pytest
from tests.support.engine import World
from tests.support.session import tooling

from assent.agent.effects import (
    STAGED_ALREADY,
    EffectDone,
    EffectRequest,
    EffectRunner,
    planned_command,
)
from assent.app.engine import Engine
from assent.core.llm import ToolCall
from assent.core.plan.operation import RunCommand
from assent.core.session.record import SessionRecord
from assent.core.tool import CommandEffect, Decision, Verdict

MAKE = CommandEffect("make  all # x")


def carried(
    engine: Engine, record: SessionRecord, verdict: Verdict, *, staging: bool = True
) -> EffectDone:
    kit = msgspec.structs.replace(tooling(), staging=staging)
    call = ToolCall("c1", "shell", {"command": MAKE.line})
    wish = EffectRequest(record, call, MAKE, Decision(verdict), "It writes.", planning=True)
    work = EffectRunner(engine._services, kit).run_effect(wish)
    while True:
        try:
            next(work)
        except StopIteration as end:
            done: EffectDone = end.value
            return done


def staged(engine: Engine) -> tuple[object, ...]:
    return engine.plans.operations(engine.plans.find())


@pytest.mark.parametrize("verdict", [Verdict.STAGE, Verdict.ASK])
def test_it_is_staged_where_the_gate_or_a_person_meant_that(world: World, verdict: Verdict) -> None:
    engine = world.engine()
    record = engine.sessions.start("Greet", "plan")
    done = carried(engine, record, verdict)
    assert (done.carried.failed, done.changed) == (False, True)
    assert done.carried.text.endswith("\nIt writes.")
    assert staged(engine) == (RunCommand(script=b"make  all # x"),)
    again = carried(engine, record, verdict)
    assert (again.carried.text, again.changed) == (STAGED_ALREADY, False)
    assert len(staged(engine)) == 1
    assert world.files() == {}


@pytest.mark.parametrize(
    ("verdict", "parent", "staging"),
    [(Verdict.RUN, "", True), (Verdict.STAGE, "p", True), (Verdict.STAGE, "", False)],
)
def test_else_nothing_is_staged_and_nothing_is_run(
    world: World, verdict: Verdict, parent: str, staging: bool
) -> None:
    engine = world.engine()
    record = msgspec.structs.replace(engine.sessions.start("Greet", "plan"), parent=parent)
    done = carried(engine, record, verdict, staging=staging)
    assert done.carried.failed
    assert "Nothing was run." in done.carried.text
    assert all(not engine.plans.operations(plan) for plan in engine.plans.all())
    assert world.files() == {}


@pytest.mark.parametrize(
    ("wanted", "most", "timeout"),
    [
        (0, 120, 120),
        (0.2, 120, 1),
        (60, 120, 60),
        (600, 120, 120),
        (600, 900.5, 600),
        (0, 0.5, 1),
        (1e12, 120, 120),
        (1e12, 1e9, 86_400),
        (nan, 120, 120),
        (inf, inf, 86_400),
    ],
)
def test_its_time_is_what_it_asks_for_and_never_more_than_the_settings_say(
    wanted: float, most: float, timeout: int
) -> None:
    command = CommandEffect("make", b"web", wanted, network=True)
    found = planned_command(command, most)
    assert found == RunCommand(script=b"make", cwd=b"web", timeout=timeout, network=True)
