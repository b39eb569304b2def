"""Pausing, cancelling and trying again: from elsewhere, before the next step (F111)."""

from pathlib import Path
from threading import Barrier
from typing import Any, Literal

import pytest
from tests.support.pending_questions import Absent
from tests.support.subagents import Actor, Cast, Family, task

from assent.core.errors import IllegalState, ModelError
from assent.core.event import StoredEvent
from assent.core.llm import TextPart
from assent.core.session.event import CallEnded
from assent.ports.session import Turn

READ = [("read", {"path": "a.txt"})]
PATIENCE_S = 60


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
    told = [(result.failed, result.text) for result in family.results(resumed)]
    assert told == [(True, "The user paused the work; nothing was done.")]
    assert family.ends(resumed)[0] == ("paused", "Paused from another process.")


def test_f111_no_call_begins_after_a_halt_not_even_of_the_same_answer(family: Family) -> None:
    root = family.start("yolo")
    write: list[tuple[str, dict[str, Any]]] = [
        ("write", {"path": "a.txt", "content": "first\n"}),
        ("write", {"path": "a.txt", "content": "second\n"}),
    ]
    actor = Actor(Cast({"main": [write, "Never said."]}))
    for one in family.engine.sessions.work(root, actor, family.tooling(actor)):
        if isinstance(one, StoredEvent) and isinstance(one.event, CallEnded):
            family.engine.sessions.halt(root, "cancelled")
    first, second = family.results(root)
    assert (first.failed, second.text) == (
        False,
        "The user cancelled the work; nothing was done.",
    )
    assert family.world.files() == {"a.txt": b"first\n"}
    assert family.ends(root) == [("cancelled", "Cancelled from another process.")]


@pytest.mark.parametrize("how", ["paused", "cancelled"])
def test_f111_a_halt_breaks_off_the_wait_for_a_model(
    family: Family, how: Literal["paused", "cancelled"]
) -> None:
    root = family.start()
    cast = Cast({"main": ["Never said."]})

    def wait(turn: Turn, actor: Actor) -> None:
        family.engine.sessions.halt(root, how)
        assert actor.stopped.wait(PATIENCE_S)

    cast.before = wait
    root = family.work(root, cast)  # it raises nothing: the session says how it ended
    assert family.ends(root) == [(how, f"{how.capitalize()} from another process.")]
    assert (root.ended, cast.answers["main"]) == (how, ["Never said."])


def test_f111_a_halt_breaks_off_the_wait_of_children_too(family: Family) -> None:
    root = family.start()
    cast = Cast({"main": [[task("One"), task("Two")], "Never said."], "explore": []})
    both = Barrier(2, timeout=PATIENCE_S)

    def wait(turn: Turn, actor: Actor) -> None:
        if turn.record.parent:
            both.wait()
            family.engine.sessions.halt(root, "cancelled")
            assert actor.stopped.wait(PATIENCE_S)

    cast.before = wait
    root = family.work(root, cast)
    ends = [each.ended for each in (root, *family.children(root))]
    assert (ends, root.steps) == (["cancelled"] * 3, 1)


def test_f111_cancelling_answers_what_is_open_with_no_children_s_too(family: Family) -> None:
    write = [("write", {"path": "a.txt", "content": "new\n"})]
    family.person = Absent()
    cast = Cast({"main": [[task("Write", "general")], "I see."], "general": [write, "I see."]})
    root = family.work(family.start("ask"), cast)
    [child] = family.children(root)
    assert len(child.questions) == 1
    assert family.load(family.engine.sessions.halt(root, "paused")).halt == "paused"
    assert len(family.load(child).questions) == 1
    family.engine.sessions.halt(root, "cancelled")
    assert (family.load(child).questions, family.engine.pending_questions.pending()) == ((), [])
    cast.answers["general"] = ["I see."]
    root = family.work(root, cast)
    assert (root.ended, family.world.files()) == ("end", {"a.txt": b"old\n"})


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
    assert cast.prompts[root.session][-1][-1].parts == (TextPart(told),)


def test_f111_there_is_nothing_to_try_again_before_the_first_turn(family: Family) -> None:
    with pytest.raises(IllegalState):
        family.engine.sessions.retry(family.start())
