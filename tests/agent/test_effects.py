"""Effects: what calls wish for is staged, asked, presented or permitted, and never more."""

import json
from collections.abc import Callable, Sequence

import msgspec
import pytest
from tests.support.engine import World
from tests.support.session import PRESENTS, Answers, Person, Script, results, told, turn, work

from assent.agent.effects import UNANSWERED
from assent.core.errors import NotFound, Refused
from assent.core.permission.mode import Mode
from assent.core.session.event import (
    CallEnded,
    Question,
    QuestionAnswered,
    QuestionAsked,
    SessionStarted,
    Todo,
)
from assent.planning.plans import MAX_TEXT
from assent.ports import EventBatch
from assent.tools.dispatcher import NOT_ALLOWED

GOAL = "Greet"
PLAN = ".opencode/plans/greet/PLAN_greet.md"
BARE = "The plan is empty"


def write(path: str, text: str = "x") -> tuple[str, dict[str, str]]:
    return ("write", {"path": path, "text": text})


def plan_text(text: str, name: str = "") -> tuple[str, dict[str, str]]:
    return ("write_plan", {"text": text, "name": name})


def test_an_edit_while_planning_is_staged_and_named(world: World) -> None:
    record = turn(world, GOAL, [write("a")], "Done.")
    plan = world.engine().plans.find()
    [operation] = world.engine().approvals.freeze(b"", plan).ids
    [result] = results(world, record)
    assert f"{operation[:7]}" in result.text
    [ended] = [
        e.event for e in world.engine().sessions.events(record) if isinstance(e.event, CallEnded)
    ]
    edits = [msgspec.to_builtins(op) for op in world.engine().plans.operations(plan)]
    assert ended.metadata == {
        "operations": [operation],
        "edits": edits,
        "plan": plan.plan_id,
    }
    assert ended.verdict == "stage"
    assert world.files() == {}


def test_a_plan_whose_front_matter_never_ends_is_saved_and_said_to_be_so(world: World) -> None:
    record = turn(world, GOAL, [plan_text("---\nscope: {files: [a]}\n# Greet\n")], "Done.")
    [result] = results(world, record)
    assert not result.failed
    assert result.text.endswith(
        "The front matter starts with --- but is not closed. It cannot be presented before that "
        "is fixed."
    )


def test_an_edit_after_the_plan_was_presented_revises_it(world: World) -> None:
    record = turn(world, GOAL, [write("a")], PRESENTS)
    plan = world.engine().plans.find()
    work(world, world.engine().sessions.say(record, "More."), Script([write("b")], "Done."))
    again = world.engine().plans.find()
    assert (again.plan_id, again.state, again.digest) == (plan.plan_id, "DRAFTING", "")


def test_after_a_plan_is_done_the_next_edit_begins_another(world: World) -> None:
    record = turn(world, GOAL, [write("a")], PRESENTS)
    plan = world.engine().plans.find()
    world.build(world.engine().approvals.approve(plan, plan.digest, "", "test"))
    record = work(
        world, world.engine().sessions.say(record, "More."), Script([write("b")], "Done.")
    )
    second = world.engine().plans.find()
    assert (second.name, second.session, record.plan_id) == ("greet_2", "greet", second.plan_id)


def test_a_session_without_a_plan_gets_one_with_the_first_edit(world: World) -> None:
    record = world.engine().sessions.start("", "plan")
    record = world.engine().sessions.say(record, "Do it.")
    record = work(world, record, Script([write("a"), write("b")], "Done."))
    [plan] = world.engine().plans.all()
    assert (plan.plan_id, plan.session) == (record.plan_id, record.slug)
    assert len(world.engine().plans.operations(plan)) == 2


def test_a_presented_plan_whose_file_is_gone_gives_way_to_another(world: World) -> None:
    record = turn(world, GOAL, [write("a")], PRESENTS)
    first = world.engine().plans.find()
    (world.root / PLAN).unlink()
    record = world.engine().sessions.say(record, "More.")
    record = work(world, record, Script([write("b")], "Done."))
    second = world.engine().plans.find()
    assert (record.plan_id, second.name) == (second.plan_id, "greet")
    assert first.plan_id != second.plan_id


def test_f20_the_plan_is_written_in_place_and_its_history_kept(world: World) -> None:
    turn(world, GOAL, [plan_text("# One\n")], [plan_text("# Two\n")], "Done.")
    assert [p.name for p in (world.root / PLAN).parent.iterdir()] == ["PLAN_greet.md"]
    assert (world.root / PLAN).read_bytes() == b"# Two\n"
    plan = world.engine().plans.find()
    texts = [world.engine().plans.text(r.content_hash) for r in plan.revisions]
    assert texts[1:] == [b"# One\n", b"# Two\n"]


def test_a_plan_of_another_name_is_made_and_taken_up(world: World) -> None:
    record = turn(world, GOAL, [plan_text("# Other\n", "other")], [plan_text("# More\n")], "Done.")
    assert (world.root / PLAN).with_name("PLAN_other.md").read_bytes() == b"# More\n"
    assert world.engine().plans.find("other").plan_id == record.plan_id


@pytest.mark.parametrize(
    ("text", "name"), [("x" * (MAX_TEXT + 1), ""), ("# One\n", "../evil"), ("# One\n", "a/b")]
)
def test_a_text_that_is_too_long_or_badly_named_is_refused(
    world: World, text: str, name: str
) -> None:
    record = turn(world, GOAL, [plan_text(text, name)], "Done.")
    assert results(world, record)[0].failed
    assert list(world.root.rglob("*.md")) == []


@pytest.mark.parametrize(
    "before",
    [[], [plan_text("")], [plan_text(" \n\t\n")], [write("a"), ("delete", {"path": "a"})]],
    ids=["template", "empty", "whitespace", "all taken back"],
)
def test_f36_an_empty_plan_cannot_be_presented(
    world: World, before: list[tuple[str, dict[str, str]]]
) -> None:
    record = turn(world, GOAL, [*before, ("present_plan", {})], "Oh.")
    last = results(world, record)[-1]
    assert (last.failed, last.text[: len(BARE)]) == (True, BARE)
    assert "PlanProposed" not in world.kinds()


def test_f36_without_any_plan_there_is_nothing_to_present(world: World) -> None:
    record = world.engine().sessions.say(world.engine().sessions.start("", "plan"), "Go.")
    work(world, record, Script([("present_plan", {})], "Oh."))
    assert results(world, record)[0].text.startswith(BARE)


@pytest.mark.parametrize("mode", ["ask", "auto-edit", "yolo"])
def test_a_plan_is_presented_in_plan_mode_only(world: World, mode: Mode) -> None:
    record = turn(world, GOAL, [write("a")], "Done.")
    record = world.engine().sessions.set_mode(record, mode)
    work(world, record, Script([("present_plan", {})], "Oh."))
    assert results(world, record)[-1].failed
    assert "PlanProposed" not in world.kinds()


def test_a_child_cannot_present(world: World) -> None:
    record = turn(world, GOAL, [write("a")], "Done.")
    started = SessionStarted("child", record.workspace, "child", "plan", parent=record.session)
    stream = f"session/{record.workspace}/child"
    world.store.append(EventBatch(stream, 0, "now", (started,)))
    child = world.engine().sessions.say(world.engine().sessions.load("child"), "Go.")
    work(world, child, Script([write("b"), ("present_plan", {})], "Oh."))
    assert results(world, child)[-1].failed
    assert "PlanProposed" not in world.kinds()
    assert world.engine().sessions.last().session == record.session


def test_presenting_freezes_the_plan_ends_the_turn_and_leaves_the_yes_to_a_person(
    world: World,
) -> None:
    record = turn(world, GOAL, [plan_text("# Plan\n"), ("present_plan", {})])
    plan = world.engine().plans.find()
    assert plan.state == "AWAITING_APPROVAL"
    text = results(world, record)[-1].text
    assert plan.digest in text
    assert "You cannot approve your own plan" in text
    assert "PlanApproved" not in world.kinds()


def test_f32_answers_reach_the_model(world: World) -> None:
    person = Person((("Blue", "green, too"), ("",)))
    record = turn(
        world, GOAL, [("question", {"items": ["Colour?", "Size?"]})], "Done.", person=person
    )
    assert json.loads(results(world, record)[0].text) == [
        {"question": "Colour?", "answers": ["Blue", "green, too"]},
        {"question": "Size?", "answers": [""]},
    ]
    events = [one.event for one in world.engine().sessions.events(record)]
    [asked] = [e for e in events if isinstance(e, QuestionAsked)]
    [answered] = [e for e in events if isinstance(e, QuestionAnswered)]
    assert (asked.call, asked.id) == ("1.1", answered.id)
    assert (
        person.asked
        == [asked.questions]
        == [(Question("Choice", "Colour?"), Question("Choice", "Size?"))]
    )


@pytest.mark.parametrize("answers", [None, (("one",), ("too many",))])
def test_f32_without_an_answer_the_model_decides_and_says_so(
    world: World, answers: Answers
) -> None:
    record = turn(
        world, GOAL, [("question", {"items": ["Colour?"]})], "Done.", person=Person(answers)
    )
    assert results(world, record)[0].text == UNANSWERED


def test_f41_a_yes_lets_an_edit_happen_and_is_on_record(world: World) -> None:
    person = Person((("Yes",),))
    record = world.engine().sessions.start(GOAL, "ask")
    work(world, record, Script([write("a")], "Done."), person)
    assert world.files() == {"a": b"x"}
    assert person.asked[0][0].question.startswith("Allow edit to a?")
    events = [one.event for one in world.engine().sessions.events(record)]
    [answered] = [e for e in events if isinstance(e, QuestionAnswered)]
    [ended] = [e for e in events if isinstance(e, CallEnded)]
    assert (answered.answers, ended.verdict) == ((("Yes",),), "ask")
    permits = [p.permit for p in world.engine().plans.repository().permit_runs()]
    assert [permit.source for permit in permits] == ["answer"]


@pytest.mark.parametrize(("mode", "agent"), [("plan", "plan"), ("yolo", "nobody")])
def test_a_yes_while_planning_stages(world: World, mode: Mode, agent: str) -> None:
    """Whoever may only plan has nothing applied, an agent that nobody knows least of all."""
    person = Person((("Yes",),))
    record = world.engine().sessions.start(GOAL, mode, agent)
    record = work(world, record, Script([write("secret")], "Done."), person)
    assert len(person.asked) == 1
    assert world.files() == {}
    plan = world.engine().plans.find(record.plan_id)
    assert [op.path for op in world.engine().plans.operations(plan)] == [b"secret"]


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (None, "no one was available to answer."),
        ((("No",),), "they denied it. Nothing was done."),
        ((("yes",),), "yes. Nothing was done."),
        ((("YES",),), "YES"),
        (((),), "they did not answer."),
        ((("",),), "they did not answer."),
        ((("Yes", "No"),), "Yes, No"),
        ((("Yes, but only on Mondays",),), "Yes, but only on Mondays"),
        ((("Yes",), ("Yes",)), "no one was available to answer."),
    ],
)
def test_f41_everything_else_is_a_no(world: World, answers: Answers, words: str) -> None:
    record = world.engine().sessions.start(GOAL, "ask")
    work(world, record, Script([write("a")], "Done."), Person(answers))
    [result] = results(world, record)
    assert result.failed
    assert f"{NOT_ALLOWED}{words}" in result.text
    assert world.files() == {}


class Broken(Person):
    """Somebody whose terminal breaks while they are asked."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def ask(self, questions: Sequence[Question], answered: Callable[[], str]) -> Answers:
        raise self.error


def test_f41_an_error_while_asking_is_a_no(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "ask")
    work(world, record, Script([write("a")], "Done."), Broken(EOFError()))
    assert "no one was available" in results(world, record)[0].text
    assert world.files() == {}


def test_f113_an_interrupt_at_a_question_answers_it_and_the_call(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "plan")
    script = Script([("question", {"items": ["Why?"]})])
    with pytest.raises(KeyboardInterrupt):
        work(world, record, script, Broken(KeyboardInterrupt()))
    events = [one.event for one in world.engine().sessions.events(record)]
    assert [e.answers for e in events if isinstance(e, QuestionAnswered)] == [None]
    assert [e.result.failed for e in events if isinstance(e, CallEnded)] == [True]


@pytest.mark.parametrize("mode", ["auto-edit", "yolo"])
def test_a_mode_that_a_person_chose_is_the_source_of_a_permit(world: World, mode: Mode) -> None:
    record = world.engine().sessions.start(GOAL, mode)
    record = work(world, record, Script([write("a")], "Done."))
    [permit] = [p.permit for p in world.engine().plans.repository().permit_runs()]
    assert (permit.source, permit.session, permit.call) == ("mode", record.session, "1.1")
    [ended] = [
        e.event for e in world.engine().sessions.events(record) if isinstance(e.event, CallEnded)
    ]
    [run] = world.engine().plans.repository().permit_runs()
    edits = [msgspec.to_builtins(op) for op in run.operations]
    assert ended.metadata == {"run": run.run, "edits": edits}


def test_an_edit_that_fails_is_told_and_what_it_would_have_seen_forgotten(world: World) -> None:
    world.put({"folder/file": b"x"})
    record = world.engine().sessions.start(GOAL, "yolo")
    work(world, record, Script([write("folder/file/below")], "Done."))
    assert results(world, record)[0].failed
    assert world.files() == {"folder/file": b"x"}


@pytest.mark.parametrize(
    ("answers", "mode"), [((("Yes",),), "plan"), (None, "ask"), ((("No",),), "ask")]
)
def test_f34_only_a_person_plans_again(world: World, answers: Answers, mode: Mode) -> None:
    record = world.engine().sessions.start(GOAL, "ask")
    script = Script([("enter_plan", {"text": "It is large."})], "Done.")
    record = work(world, record, script, Person(answers))
    assert record.mode == mode
    assert len(told(world, record, "mode")) == (mode == "plan")
    assert results(world, record)[0].failed == (mode != "plan")


def test_todos_are_kept_beside_the_tasks_of_the_plan(world: World) -> None:
    record = turn(
        world,
        GOAL,
        [("todo", {"items": ["one", "two"]})],
        [plan_text("# Plan\n\n- [x] first\n")],
        "Done.",
    )
    assert record.todos == (Todo("one"), Todo("two"))
    copy = world.root / f".opencode/assent/plans/{record.plan_id}/taskmap.json"
    assert json.loads(copy.read_bytes()) == {
        "plan_id": record.plan_id,
        "tasks": [{"text": "first", "done": True}],
        "todos": [
            {"content": "one", "status": "pending"},
            {"content": "two", "status": "pending"},
        ],
    }


def test_facts_are_remembered_for_later_sessions_and_can_be_taken_away(world: World) -> None:
    turn(world, GOAL, [("remember", {"text": "Tests  run\nwith make."})] * 2, "Done.")
    [fact] = world.engine().memory.all()
    assert fact.text == "Tests run with make."
    world.engine().memory.forget(fact.fact[:12])
    assert world.engine().memory.all() == ()
    with pytest.raises(NotFound):
        world.engine().memory.forget(fact.fact)


def test_facts_are_few_and_short(world: World) -> None:
    facts = world.engine().memory
    for text in ("", " ", "x" * 501):
        with pytest.raises(Refused):
            facts.remember(text)
    for n in range(50):
        facts.remember(f"Fact {n}.")
    with pytest.raises(Refused):
        facts.remember("One more.")
    assert len(facts.all()) == 50
