"""Questions of children that nobody answers at once: the work waits, and goes on where it was."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.pending_questions import Absent, Dying, Killed
from tests.support.session import Person
from tests.support.subagents import Actor, Cast, Family, task

from assent.core.session.event import (
    AnswerTaken,
    CallEnded,
    ChildEnded,
    ChildStarted,
    QuestionAnswered,
    QuestionAsked,
    TurnStarted,
)
from assent.core.session.question import QuestionReply
from assent.core.session.record import SessionRecord

OLD = {"a.txt": b"old\n"}
NEW = {"a.txt": b"new\n"}
WRITE: list[tuple[str, dict[str, Any]]] = [("write", {"path": "a.txt", "content": "new\n"})]
YES, NO = (("Yes",),), (("No",),)


@pytest.fixture
def family(tmp_path: Path) -> Family:
    family = Family(tmp_path)
    family.world.put(dict(OLD))
    family.person = Absent()
    return family


def answer(family: Family, answers: tuple[tuple[str, ...], ...]) -> None:
    """Answers the one open question, as `assent questions answer` does."""
    questions = family.engine.pending_questions
    [pending] = questions.pending()
    digest = pending.inquiry.asked.digest
    questions.record_answer(pending.session, pending.id, digest, QuestionReply(answers, "somebody"))


def killed(
    family: Family, cast: Cast, after: type = QuestionAsked, times: int = 1
) -> SessionRecord:
    """A session whose process dies, with all children, right after something was recorded."""
    return killed_again(family, family.start("ask"), cast, Dying(family.world.store, after, times))


def killed_again(family: Family, root: SessionRecord, cast: Cast, store: Dying) -> SessionRecord:
    actor, engine = Actor(cast), family.world.engine(store)
    with pytest.raises(Killed):
        for _ in engine.sessions.work(root, actor, family.tooling(actor)):
            pass
    assert family.load(root).working
    return family.load(root)


def asked(family: Family, record: SessionRecord) -> int:
    """How many questions a session ever asked."""
    events = [one.event for one in family.engine.sessions.events(record)]
    return sum(isinstance(event, QuestionAsked) for event in events)


def texts(family: Family, record: SessionRecord) -> list[str]:
    return [result.text for result in family.results(record)]


def test_f95_f105_a_child_that_waits_lets_its_parent_wait_and_goes_on_with_the_answer(
    family: Family,
) -> None:
    cast = Cast({"main": [[task("Write", "general")], "Thanks."], "general": [WRITE, "Done."]})
    root = family.work(family.start("ask"), cast)
    [child] = family.children(root)
    assert (root.ended, child.ended, root.steps, family.results(root)) == (
        "waiting", "waiting", 1, [],
    )  # fmt: skip
    [pending] = family.engine.pending_questions.pending()
    assert (pending.session.session, pending.root.session) == (child.session, root.session)
    answer(family, YES)
    cast.answers["general"] = ["Done."]  # of the first step of its second turn
    root = family.work(root, cast)
    assert (root.ended, [each.session for each in family.children(root)]) == (
        "end", [child.session],
    )  # fmt: skip
    assert family.world.files() == NEW
    assert [text.partition("\n")[0] for text in texts(family, root)] == ["Done."]
    assert family.person.asked == []


def test_f95_as_long_as_nobody_answers_nothing_is_asked_of_a_model(family: Family) -> None:
    cast = Cast({"main": [[task("Write", "general")], "Thanks."], "general": [WRITE, "Done."]})
    root = family.work(family.start("ask"), cast)
    again = family.work(root, cast)
    [child] = family.children(root)
    assert (again.ended, again.steps, child.ended, child.steps) == ("waiting", 1, "waiting", 1)
    assert len(family.engine.pending_questions.pending()) == 1


def test_f105_a_grandchild_that_waits_lets_all_above_it_wait(family: Family) -> None:
    family.with_limits(depth=2)
    cast = Cast(
        {
            "main": [[task("Have it written", "general")], "Thanks."],
            "general": [[task("Write", "writer")], "It did."],
            "writer": [WRITE, "Done."],
        }
    )
    family.with_agent(type(family.agents["general"])("writer", kind="subagent"))
    root = family.work(family.start("ask"), cast)
    [child] = family.children(root)
    [grandchild] = family.children(child)
    assert [each.ended for each in (root, child, grandchild)] == ["waiting"] * 3
    answer(family, YES)
    cast.answers |= {"general": ["It did."], "writer": ["Done."]}
    root = family.work(root, cast)
    [child] = family.children(root)
    [grandchild] = family.children(child)
    assert [each.ended for each in (root, child, grandchild)] == ["end"] * 3
    assert family.world.files() == NEW


def test_f95_what_a_child_came_to_elsewhere_counts_and_nothing_is_done_twice(
    family: Family,
) -> None:
    cast = Cast({"main": [[task("Write", "general")], "Thanks."], "general": [WRITE, "Done."]})
    root = family.work(family.start("ask"), cast)
    [child] = family.children(root)
    answer(family, YES)
    cast.answers["general"] = ["Done elsewhere."]
    child = family.work(child, cast)
    assert (child.ended, child.turns) == ("end", 2)
    root = family.work(root, cast)
    [child] = family.children(root)
    assert (root.ended, child.turns) == ("end", 2)
    assert texts(family, root)[0].startswith("Done elsewhere.")


def test_f104_f95_a_child_in_the_background_waits_and_its_end_is_told_later(
    family: Family,
) -> None:
    begun = [task("Write", "general", background=True, description="The file")]
    cast = Cast({"main": [begun, "Meanwhile.", "So."], "general": [WRITE, "Done."]})
    root = family.work(family.start("ask"), cast)
    [child] = family.children(root)
    assert (root.ended, child.ended, root.steps) == ("waiting", "waiting", 2)
    assert family.told(root, "task") == []
    assert family.work(root, cast).steps == 2  # nobody has answered yet
    answer(family, YES)
    cast.answers["general"] = ["Done."]
    root = family.work(root, cast)
    [told] = family.told(root, "task")
    assert told.startswith("The background task ended: The file\n\nDone.")
    assert (root.ended, root.steps, family.world.files()) == ("end", 3, NEW)


def test_a_no_to_one_child_names_it_and_keeps_what_the_others_found(family: Family) -> None:
    family.person = Person(NO)
    tasks = [task("Look"), task("Change it", "general", description="The change"), task("Look")]
    root = family.play("ask", main=[tasks, "Never said."], explore=["Seen."], general=[WRITE])
    [(why, words)] = family.ends(root)
    assert (why, words) == (
        "declined",
        'You denied permission to sub-agent general (task "The change"); the action was not '
        "done. The results of the other sub-agents are kept.",
    )
    told = [(result.failed, result.text.partition("\n")[0]) for result in family.results(root)]
    assert told == [(False, "Seen."), (True, "It returned no message."), (False, "Seen.")]
    assert family.world.files() == OLD


def test_the_parent_hears_of_a_child_that_waits_and_of_its_end(family: Family) -> None:
    cast = Cast({"main": [[task("Write", "general")], "Thanks."], "general": [WRITE, "Done."]})
    root = family.work(family.start("ask"), cast)
    answer(family, YES)
    cast.answers["general"] = ["Done."]
    root = family.work(root, cast)
    events = [one.event for one in family.engine.sessions.events(root)]
    told = [
        event.why if isinstance(event, ChildEnded) else type(event).__name__
        for event in events
        if isinstance(event, ChildStarted | ChildEnded | CallEnded)
    ]
    assert told == ["ChildStarted", "waiting", "ChildStarted", "end", "CallEnded"]


@pytest.mark.parametrize("after", [QuestionAsked, QuestionAnswered])
def test_f95_f105_a_child_whose_process_died_at_its_question_goes_on_with_the_answer(
    family: Family, after: type
) -> None:
    family.person = Person(YES)
    cast = Cast({"main": [[task("Write", "general")], "Thanks."], "general": [WRITE, "Done."]})
    root = killed(family, cast, after)
    assert family.world.files() == OLD
    if after is QuestionAsked:
        answer(family, YES)
    family.person = Person()
    cast.answers["general"] = ["Done."]
    root = family.work(root, cast)
    [child] = family.children(root)
    assert [[why for why, _ in family.ends(each)] for each in (root, child)] == [
        ["waiting", "end"], ["waiting", "end"],
    ]  # fmt: skip
    assert [text.partition("\n")[0] for text in texts(family, root)] == ["Done."]
    assert (family.world.files(), family.told(root, "task")) == (NEW, [])
    assert (len(family.results(child)), asked(family, child), family.person.asked) == (1, 1, [])


def test_f95_as_long_as_nobody_answers_a_child_that_died_at_its_question_waits(
    family: Family,
) -> None:
    cast = Cast({"main": [[task("Write", "general")], "Thanks."], "general": [WRITE, "Done."]})
    root = family.work(killed(family, cast), cast)
    [child] = family.children(root)
    assert (root.ended, root.steps, child.ended, child.steps) == ("waiting", 1, "waiting", 1)
    assert len(family.engine.pending_questions.pending()) == 1
    assert (family.world.files(), family.results(root)) == (OLD, [])


def test_f104_a_child_that_had_its_answer_when_its_process_died_is_lost_and_does_nothing_twice(
    family: Family,
) -> None:
    family.person = Person(YES)
    cast = Cast({"main": [[task("Write", "general")], "I see."], "general": [WRITE, "Done."]})
    root = family.work(killed(family, cast, AnswerTaken), cast)
    [child] = family.children(root)
    assert (root.ended, child.ended, child.turns) == ("end", "interrupted", 1)
    assert [result.failed for result in family.results(root)] == [True]
    assert (len(family.told(root, "task")), family.world.files()) == (1, OLD)


def test_f105_a_grandchild_whose_process_died_at_its_question_goes_on_with_the_answer(
    family: Family,
) -> None:
    family.with_limits(depth=2)
    family.with_agent(type(family.agents["general"])("writer", kind="subagent"))
    below: list[Any] = [[task("Write", "writer")], "It did."]
    cast = Cast(
        {
            "main": [[task("Have it written", "general")], "Thanks."],
            "general": below,
            "writer": [WRITE, "Done."],
        }
    )
    root = killed(family, cast)
    answer(family, YES)
    cast.answers |= {"general": ["It did."], "writer": ["Done."]}
    root = family.work(root, cast)
    [child] = family.children(root)
    [grandchild] = family.children(child)
    for each in (root, child, grandchild):
        assert [why for why, _ in family.ends(each)] == ["waiting", "end"]
    assert (family.world.files(), asked(family, grandchild)) == (NEW, 1)


def test_f95_children_side_by_side_that_died_at_their_questions_all_go_on(family: Family) -> None:
    family.with_agent(type(family.agents["general"])("writer", kind="subagent"))
    other: list[Any] = [("write", {"path": "b.txt", "content": "b\n"})]
    both = [task("Write", "general"), task("Write", "writer")]
    cast = Cast({"main": [both, "Thanks."], "general": [WRITE, ""], "writer": [other, ""]})
    root = killed(family, cast, QuestionAsked, times=2)
    family.person = Person(YES, YES)
    cast.answers |= {"general": ["One."], "writer": ["Two."]}
    root = family.work(root, cast)
    assert [text.partition("\n")[0] for text in texts(family, root)] == ["One.", "Two."]
    assert [asked(family, each) for each in family.children(root)] == [1, 1]
    assert (root.ended, family.world.files()) == ("end", {**NEW, "b.txt": b"b\n"})


def test_f95_a_call_without_a_question_beside_a_child_that_died_at_its_own_is_lost(
    family: Family,
) -> None:
    write_b: Any = ("write", {"path": "b.txt", "content": "b\n"})
    calls = [task("Write", "general"), write_b]
    cast = Cast({"main": [calls, "Thanks."], "general": [WRITE, "Done."]})
    root = killed(family, cast)
    answer(family, YES)
    cast.answers["general"] = ["Done."]
    root = family.work(root, cast)
    told = {result.call: result.failed for result in family.results(root)}
    assert (root.ended, told) == ("end", {"1.1": False, "1.2": True})
    assert family.world.files() == NEW


@pytest.mark.parametrize("after", [TurnStarted, ChildEnded, ChildStarted])
def test_f95_a_child_left_at_its_question_outlives_another_death_of_the_process(
    family: Family, after: type
) -> None:
    cast = Cast({"main": [[task("Write", "general")], "Thanks."], "general": [WRITE, "Done."]})
    root = killed(family, cast)
    answer(family, YES)
    cast.answers["general"] = ["Done."]
    root = killed_again(family, root, cast, Dying(family.world.store, after))
    root = family.work(root, cast)
    [child] = family.children(root)
    assert [text.partition("\n")[0] for text in texts(family, root)] == ["Done."]
    assert (root.ended, child.ended, family.world.files()) == ("end", "end", NEW)
    assert (len(family.results(child)), asked(family, child)) == (1, 1)
