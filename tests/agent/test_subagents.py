"""Children: sessions that work for another one, side by side, and never with more rights."""

from pathlib import Path
from threading import Barrier, Event, Lock
from typing import Any

import pytest
from tests.support.subagents import Actor, Answer, Cast, Family, task

from assent.agent.services import TaskLimits
from assent.core.session.agent import Agent
from assent.core.session.event import ChildEnded, ChildStarted
from assent.ports.session import Turn

WRITE: list[tuple[str, dict[str, Any]]] = [("write", {"path": "a.txt", "content": "new\n"})]
PATIENCE_S = 60
GRACE_S = 0.3


@pytest.fixture
def family(tmp_path: Path) -> Family:
    family = Family(tmp_path)
    family.world.put({"a.txt": b"old\n"})
    return family


def test_f100_a_child_works_in_a_session_of_its_own_and_returns_its_last_words(
    family: Family,
) -> None:
    root = family.play(
        main=[[task("Where is a?", description="Find a")], "Thanks."],
        explore=[[("read", {"path": "a.txt"})], "In a.txt:1."],
    )
    [child] = family.children(root)
    [result] = family.results(root)
    assert (child.parent, child.depth, child.agent, child.mode, child.goal) == (
        root.session,
        1,
        "explore",
        "plan",
        "Find a",
    )
    again = f"(To continue it, pass session={child.session} agent=explore.)"
    assert result.text == f"In a.txt:1.\n\n{again}"
    assert not result.failed
    assert (root.children, root.ended, child.ended) == (1, "end", "end")


def test_a_face_sees_everything_that_a_child_stores_after_it_was_stored(family: Family) -> None:
    root = family.play(main=[[task("Look")], "Thanks."], explore=["Seen."])
    [child] = family.children(root)
    seen = [one for one in family.shown if one.stream.endswith(child.session)]
    stored = family.engine.sessions.events(child)
    assert seen == stored[4:]  # the first four are said before it works
    kinds = [type(one.event) for one in family.shown if one.stream.endswith(root.session)]
    assert kinds.index(ChildStarted) < kinds.index(ChildEnded)


def test_f31_three_explorers_at_once_while_planning_change_nothing(family: Family) -> None:
    before = family.world.files()
    cast = Cast(
        {
            "main": [[task("One"), task("Two"), task("Three")], "Thanks."],
            "explore": [WRITE, "I tried."],
        }
    )
    together = Barrier(3, timeout=PATIENCE_S)

    def meet(turn: Turn, actor: Actor) -> None:
        if turn.record.parent and turn.record.steps == 1:
            together.wait()

    cast.before = meet
    root = family.work(family.start(), cast)
    children = family.children(root)
    refused = [family.results(child)[0] for child in children]
    assert [each.ended for each in children] == ["end", "end", "end"]
    assert all((each.failed and "Nothing was done" in each.text) or "nothing was done" in each.text
               for each in refused)  # fmt: skip
    assert family.world.files() == before
    assert (root.plan_id, family.engine.plans.all(everything=True)) == ("", [])


def test_f100_a_fourth_child_waits_for_a_place(family: Family) -> None:
    cast = Cast(
        {
            "main": [[task("1"), task("2"), task("3"), task("4")], "Thanks."],
            "explore": ["Seen."],
        }
    )
    crowd = Crowd(3)
    cast.before = lambda turn, actor: crowd.enter() if turn.record.parent else None
    root = family.work(family.start(), cast)
    assert [each.ended for each in family.children(root)] == ["end"] * 4
    assert (crowd.came, crowd.crowded.is_set()) == (4, False)


def test_f100_the_places_are_those_of_the_whole_tree(family: Family) -> None:
    family.with_limits(depth=2, max_parallel=2)
    deeper = [task("1"), task("2")]
    cast = Cast(
        {
            "main": [[task("A", "general"), task("B", "general")], "Thanks."],
            "general": [deeper, "Done."],
            "explore": ["Seen."],
        }
    )
    crowd = Crowd(2)
    cast.before = lambda turn, actor: crowd.enter() if turn.record.depth == 2 else None
    root = family.work(family.start(), cast)
    children = family.children(root)
    below = [each for child in children for each in family.children(child)]
    assert [each.ended for each in (*children, *below)] == ["end"] * 6
    assert (crowd.came, crowd.crowded.is_set()) == (4, False)


def test_f100_who_waits_for_its_own_children_holds_no_place(family: Family) -> None:
    family.with_limits(depth=2, max_parallel=1)
    root = family.play(
        main=[[task("A", "general"), task("B", "general")], "Thanks."],
        general=[[task("Deeper")], "Done."],
        explore=["Seen."],
    )
    assert [each.ended for each in (root, *family.children(root))] == ["end"] * 3


def test_f100_a_child_that_takes_too_long_is_stopped_with_honest_words(family: Family) -> None:
    family.with_limits(seconds=0.05)
    cast = Cast({"main": [[task("Wait")], "Pity."], "explore": []})
    cast.before = lambda turn, actor: _until_stopped(turn, actor)
    root = family.work(family.start(), cast)
    [child] = family.children(root)
    [result] = family.results(root)
    [(why, words)] = family.ends(child)
    assert why == "limit"
    assert words.startswith("Stopped after 0.05 seconds")
    assert words in result.text
    assert root.ended == "end"


def test_f100_steps_of_a_child_have_a_limit_and_a_projects_agent_cannot_raise_it(
    family: Family,
) -> None:
    family.with_limits(steps=2)
    family.with_agent(Agent("far", kind="subagent", steps=50, source="project"))
    read = [("read", {"path": "a.txt"})]
    root = family.play(main=[[task("Go", "far")], "Thanks."], far=[read, read, read])
    [child] = family.children(root)
    assert (child.steps, child.ended) == (2, "limit")
    assert "stopped before it finished" in family.results(root)[0].text


def test_f100_a_kind_that_nobody_knows_is_refused_with_those_that_there_are(
    family: Family,
) -> None:
    root = family.play(main=[[task("Go", "wizard")], [task("Go", "build")], "Pity."])
    told = "Available: explore, general."
    assert [(each.failed, told in each.text) for each in family.results(root)] == [(True, True)] * 2
    assert family.children(root) == []


def test_f43_a_child_presents_nothing_and_writes_no_plan(family: Family) -> None:
    wishes: list[tuple[str, dict[str, Any]]] = [
        ("present_plan", {}),
        ("write_plan", {"text": "# Mine\n"}),
        ("enter_plan", {}),
        ("remember", {"fact": "Children rule."}),
        ("todo", {"todos": [{"content": "Take over", "status": "pending"}]}),
    ]
    root = family.play(main=[[task("Go", "general")], "Pity."], general=[wishes, "I tried."])
    [child] = family.children(root)
    assert [result.failed for result in family.results(child)] == [True] * 5
    assert (root.plan_id, family.engine.plans.all(everything=True)) == ("", [])
    assert (child.mode, family.engine.memory.all()) == ("plan", ())


def test_f102_a_child_starts_no_children_unless_the_depth_allows_it(family: Family) -> None:
    nested: dict[str, list[Answer]] = {
        "main": [[task("Go", "general")], "Thanks."],
        "general": [[task("Deeper", "explore")], "Done."],
        "explore": ["Found."],
    }
    root = family.play("plan", **nested)
    [child] = family.children(root)
    [result] = family.results(child)
    assert (result.failed, "depth" in result.text, family.children(child)) == (True, True, [])
    family.with_limits(depth=2)
    second = family.play("plan", **nested)
    [child] = family.children(second)
    [grandchild] = family.children(child)
    assert (grandchild.depth, grandchild.ended) == (2, "end")


def test_budget_after_many_children_the_person_is_asked(family: Family) -> None:
    family.with_limits(children=1)
    root = family.play(main=[[task("One")], [task("Two")], "Thanks."], explore=["Seen."])
    first, second = family.results(root)
    assert (first.failed, second.failed, len(family.children(root))) == (False, True, 1)
    assert "does not want more sub-agents" in second.text


def test_limits_are_those_of_the_settings() -> None:
    assert TaskLimits() == TaskLimits(depth=1, max_parallel=3, seconds=600, steps=60, children=20)


class Crowd:
    """Children that stay until enough are there, and then a little longer in case one too many is.

    With too many the outcome depends on nothing; without, everybody stays for the whole grace.
    """

    def __init__(self, enough: int) -> None:
        self.came = 0
        self.crowded = Event()
        self._enough = enough
        self._inside = 0
        self._full = Event()
        self._alone = Lock()

    def enter(self) -> None:
        with self._alone:
            self.came += 1
            self._inside += 1
            if self._inside == self._enough:
                self._full.set()
            if self._inside > self._enough:
                self.crowded.set()
        assert self._full.wait(PATIENCE_S)
        self.crowded.wait(GRACE_S)
        with self._alone:
            self._inside -= 1


def _until_stopped(turn: Turn, actor: Actor) -> None:
    if turn.record.parent:
        assert actor.stopped.wait(PATIENCE_S)
