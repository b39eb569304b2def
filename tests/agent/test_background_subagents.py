"""Children that outlast a step: in the background, interrupted, or lost with their process."""

from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.support.subagents import Actor, Cast, Family, task

from assent.agent.services import TaskLimits
from assent.agent.subagents.children import PARENT_STOPPED
from assent.core.errors import Interrupted
from assent.core.event import StoredEvent
from assent.core.llm import StreamDelta
from assent.core.session.event import (
    ChildEnded,
    ChildStarted,
    Question,
    SessionStarted,
    StepStarted,
    TurnStarted,
)
from assent.core.session.transcript import Transcript
from assent.ports.session import Turn

PATIENCE_S = 60


@pytest.fixture
def family(tmp_path: Path) -> Family:
    family = Family(tmp_path)
    family.world.put({"a.txt": b"old\n"})
    return family


def until_stopped(turn: Turn, actor: Actor) -> None:
    """Lets children wait until somebody stops them."""
    if turn.record.parent:
        assert actor.stopped.wait(PATIENCE_S)


def hear_until_a_child_works(
    work: Iterator[StoredEvent | StreamDelta], kind: str = "explore"
) -> None:
    """Listens until a child begins a step."""
    for one in work:
        event = one.event if isinstance(one, StoredEvent) else None
        if isinstance(event, StepStarted) and event.agent == kind:
            return
    raise AssertionError("no child began to work")


def test_f104_a_child_in_the_background_reports_by_a_message(family: Family) -> None:
    meanwhile = Event()
    cast = Cast(
        {
            "main": [[task("Look", background=True, description="All of it")], "Meanwhile.", "So."],
            "explore": ["In a.txt:1."],
        }
    )

    def wait(turn: Turn, actor: Actor) -> None:
        if turn.record.parent:
            assert meanwhile.wait(PATIENCE_S)  # the parent is at its second step by now
        elif turn.record.steps == 2:
            meanwhile.set()

    cast.before = wait
    root = family.work(family.start(), cast)
    [child] = family.children(root)
    [result] = family.results(root)
    assert result.text == (
        f"Running in the background as session={child.session}. You get a message when it ends."
    )
    [told] = family.told(root, "task")
    assert told == (
        "The background task ended: All of it\n\nIn a.txt:1.\n\n"
        f"(To continue it, pass session={child.session} agent=explore.)"
    )
    assert (root.steps, root.ended, root.waiting) == (3, "end", False)
    assert "In a.txt:1." in str(cast.prompts[root.session][2])


def test_f104_a_turn_that_ends_otherwise_leaves_no_child_behind(family: Family) -> None:
    cast = Cast({"main": [[task("Look", background=True)], "Never said."], "explore": []})

    def fail(turn: Turn, actor: Actor) -> None:
        until_stopped(turn, actor)
        if not turn.record.parent and turn.record.steps == 2:
            raise Interrupted("The person had enough.")

    cast.before = fail
    with pytest.raises(Interrupted):
        family.work(family.start(), cast)
    [root] = [each for each in family.engine.sessions.all() if not each.parent]
    [child] = family.children(root)
    assert family.ends(child) == [("interrupted", PARENT_STOPPED)]
    [told] = family.told(root, "task")
    assert PARENT_STOPPED in told
    assert root.waiting  # the next turn reads it


def test_an_interrupted_parent_stops_all_children_and_every_history_stays_valid(
    family: Family,
) -> None:
    cast = Cast({"main": [[task("One"), task("Two")]], "explore": []})
    cast.before = until_stopped
    root, actor = family.start(), Actor(cast)
    work: Any = family.engine.sessions.work(root, actor, family.tooling(actor))
    hear_until_a_child_works(work)
    with pytest.raises(Interrupted):
        _throw(work)
    root = family.load(root)
    children = family.children(root)
    assert [family.ends(child) for child in children] == [[("interrupted", PARENT_STOPPED)]] * 2
    assert [result.failed for result in family.results(root)] == [True, True]
    events = [one.event for one in family.engine.sessions.events(root)]
    ended = [event.why for event in events if isinstance(event, ChildEnded)]
    assert (ended, root.ended) == (["interrupted", "interrupted"], "interrupted")
    for record in (root, *children):
        transcript = Transcript()
        for one in family.engine.sessions.events(record):
            transcript.add(one.event)
        assert transcript.pending_calls == ()


def test_f104_children_whose_process_died_are_told_of_in_the_next_turn(family: Family) -> None:
    root = family.start()
    diary, clock = family.engine.sessions.repository(), family.world.clock
    lost = SessionStarted(
        clock.new_id(), root.workspace, "lost", "plan", "Look", parent=root.session, depth=1
    )
    diary.start(lost, TurnStarted(1))
    began = ChildStarted("1.1", lost.session, "explore", "Look", background=True)
    diary.append(root, TurnStarted(1), began)
    root = family.work(root, Cast({"main": ["I see."]}))
    [child] = family.children(root)
    [told] = family.told(root, "task")
    assert f"- explore: Look (session={lost.session})" in told
    assert (child.working, child.ended, root.ended) == (False, "interrupted", "end")
    family.work(family.engine.sessions.say(root, "Go on"), Cast({"main": ["Yes."]}))
    assert len(family.told(root, "task")) == 1


def test_a_child_that_fails_fails_alone(family: Family) -> None:
    root = family.play(main=[[task("One", "general"), task("Two")], "Ok."], explore=["Fine."])
    first, second = family.children(root)
    failed, fine = family.results(root)
    assert (failed.failed, fine.failed) == (True, False)
    assert "It failed: KeyError: 'general'." in failed.text
    assert (first.ended, second.ended, root.ended) == ("failed", "end", "end")
    assert family.ends(first) == [("failed", "KeyError: 'general'.")]


def test_an_interruption_reaches_the_children_of_a_child(tmp_path: Path) -> None:
    family = Family(tmp_path, TaskLimits(depth=2))
    cast = Cast({"main": [[task("Go", "general")]], "general": [[task("Deeper")]], "explore": []})

    def wait(turn: Turn, actor: Actor) -> None:
        if turn.record.depth == 2:
            assert actor.stopped.wait(PATIENCE_S)

    cast.before = wait
    root, actor = family.start(), Actor(cast)
    work: Any = family.engine.sessions.work(root, actor, family.tooling(actor))
    hear_until_a_child_works(work)
    with pytest.raises(Interrupted):
        _throw(work)
    [child] = family.children(root)
    [grandchild] = family.children(child)
    assert [each.ended for each in (family.load(root), child, grandchild)] == ["interrupted"] * 3


def test_a_question_that_is_open_is_taken_back_with_an_interruption(family: Family) -> None:
    write = [("write", {"path": "a.txt", "content": "new\n"})]
    family.person = person = Thinking()
    cast = Cast({"main": [[task("Write", "general")]], "general": [write]})
    root, actor = family.start("ask"), Actor(cast)
    work: Any = family.engine.sessions.work(root, actor, family.tooling(actor))
    hear_until_a_child_works(work, "general")
    assert person.asked.wait(PATIENCE_S)
    with pytest.raises(Interrupted):
        _throw(work)
    [child] = family.children(root)
    assert (child.ended, child.questions) == ("interrupted", ())
    assert family.world.files() == {"a.txt": b"old\n"}


def test_whoever_goes_on_in_a_child_leaves_its_parents_plan_alone(family: Family) -> None:
    wishes = [("write_plan", {"text": "# Look around\n"}), task("Look")]
    root = family.play(main=[wishes, "Thanks."], explore=["Seen."])
    [child] = family.children(root)
    said = family.engine.sessions.say(child, "And then?")
    child = family.work(said, Cast({"explore": ["Nothing."]}))
    assert (child.turns, child.agent, child.plan_id) == (2, "explore", root.plan_id)
    assert family.engine.plans.find(root.plan_id).state == "DRAFTING"


def test_children_go_with_their_parents(family: Family) -> None:
    root = family.play(main=[[task("Look")], "Thanks."], explore=["Seen."])
    family.engine.sessions.delete(root)
    assert family.engine.sessions.all() == []


class Thinking:
    """Implements ports.Asker: a person who thinks until somebody else has answered."""

    defers = False
    present = True

    def __init__(self) -> None:
        self.asked = Event()

    def ask(
        self, questions: Sequence[Question], answered: Callable[[], str]
    ) -> tuple[tuple[str, ...], ...] | None:
        self.asked.set()
        pause = Event()
        while not answered():
            pause.wait(0.001)
        return None


def _throw(work: Generator[StoredEvent | StreamDelta, None, None]) -> None:
    work.throw(KeyboardInterrupt())
    for _ in work:
        pass
