"""Taken back: a change that undoes what is staged is told as that, not as done before."""

from tests.support.engine import World
from tests.support.session import results, turn

from assent.core.plan.operation import Operation


def staged(world: World) -> tuple[Operation, ...]:
    return world.engine().plans.operations(world.engine().plans.find())


def test_deleting_a_file_that_is_only_staged_leaves_no_operation(world: World) -> None:
    calls = [("write", {"path": "a", "text": "x"})], [("delete", {"path": "a"})]
    record = turn(world, "Greet", *calls, "Done.")
    assert staged(world) == ()
    last = results(world, record)[-1].text
    assert "cancels out" in last
