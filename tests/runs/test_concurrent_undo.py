"""Undos of the same run at the same time: one is done, the others say what leads on."""

import pytest
from tests.support.engine import World

from assent.core.errors import Drift
from assent.core.run.journal import drive_to_end


@pytest.mark.parametrize("operation", ["", "1"])
def test_law_6_who_comes_second_is_led_to_the_undo_and_not_to_the_current_plan(
    world: World, operation: str
) -> None:
    world.put({"a": b"1"})
    world.build(world.approve({"a": b"2"}))
    undoing = world.engine().undo
    first, second = (undoing.preview(operation=operation) for _ in range(2))
    assert drive_to_end(undoing.apply(first, "test")).outcome == "done"
    with pytest.raises(Drift) as refused:
        drive_to_end(undoing.apply(second, "test"))
    only = f" --operation {first.ids[0][:12]}" if operation else ""
    assert refused.value.next == f"assent undo {first.run}{only} --dry-run"
    again, other = undoing.redo(), undoing.redo()
    assert drive_to_end(undoing.apply(again, "test")).outcome == "done"
    with pytest.raises(Drift) as refused:
        drive_to_end(undoing.apply(other, "test"))
    assert refused.value.next == f"assent redo {again.run} --dry-run"
