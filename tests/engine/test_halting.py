"""Pausing, cancelling and trying again: from elsewhere, before the next step (F111)."""

from pathlib import Path

import pytest
from tests.engine.family import Actor, Cast, Family, task

from assent.core.errors import IllegalStep, ModelError
from assent.core.message import Text
from assent.ports import Turn

READ = [("read", {"path": "a.txt"})]


@pytest.fixture
def family(tmp_path: Path) -> Family:
    family = Family(tmp_path)
    family.world.put({"a.txt": b"old\n"})
    return family


def test_f111_a_paused_session_stops_before_its_next_step_and_goes_on_later(
    family: Family,
) -> None:
    root = family.start()
    cast = Cast({"main": [READ, "Done."]})

    def pause(turn: Turn, actor: Actor) -> None:
        if turn.record.steps == 1:
            family.engine.sessions.halt(root, "paused", "Lunch.")

    cast.before = pause
    paused = family.work(root, cast)
    assert (paused.ended, paused.steps, paused.halt) == ("paused", 1, "paused")
    resumed = family.work(paused, cast)
    assert (resumed.ended, resumed.steps, resumed.halt) == ("end", 2, "")
    assert [result.failed for result in family.results(resumed)] == [False]


def test_f111_cancelling_a_session_stops_its_children_too(family: Family) -> None:
    root = family.start()
    cast = Cast({"main": [[task("Look")], "Never said."], "explore": [READ, "Never said."]})

    def cancel(turn: Turn, actor: Actor) -> None:
        if turn.record.parent:
            family.engine.sessions.halt(root, "cancelled")

    cast.before = cancel
    root = family.work(root, cast)
    [child] = family.children(root)
    assert (root.ended, root.steps, child.ended, child.steps) == ("cancelled", 1, "cancelled", 1)


def test_f111_a_session_that_nobody_works_on_is_only_marked(family: Family) -> None:
    root = family.start()
    sessions = family.engine.sessions
    marked = sessions.halt(root, "paused")
    assert (marked.halt, marked.working) == ("paused", False)
    assert sessions.halt(marked, "paused") == marked
    assert sessions.halt(marked, "cancelled").halt == "cancelled"
    assert family.work(marked, Cast({"main": ["Hello."]})).ended == "end"


def test_f111_trying_again_carries_what_went_wrong_forward(family: Family) -> None:
    cast = Cast({"main": [[("read", {"path": "gone.txt"})], "Fine."]})

    def fail(turn: Turn, actor: Actor) -> None:
        if turn.record.steps == 2 and turn.record.turns == 1:
            raise ModelError("The model is down.")

    cast.before = fail
    root = family.start()
    with pytest.raises(ModelError):
        family.work(root, cast)
    failed = family.load(root)
    sessions = family.engine.sessions
    assert (failed.ended, sessions.failure(failed)) == ("failed", "The model is down.")
    again = sessions.retry(failed)
    [told] = family.told(again, "retry")
    assert "ended (failed). The model is down." in told
    assert "- read: " in told
    done = family.work(again, cast)
    assert (done.ended, sessions.failure(done)) == ("end", "")
    assert cast.prompts[root.session][-1][-1].parts == (Text(told),)


def test_f111_there_is_nothing_to_try_again_before_the_first_turn(family: Family) -> None:
    with pytest.raises(IllegalStep):
        family.engine.sessions.retry(family.start())
