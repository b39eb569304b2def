"""The tools of planning: todos, questions, the plan's text, presenting, facts (F127, F129)."""

from pathlib import Path

import pytest
from tests.tools.call_harness import Desk

from assent.core.permission.rule import parse_rules
from assent.core.session.agent import Agent
from assent.core.session.event import Question, QuestionOption, Todo
from assent.core.tool import (
    EnterPlanEffect,
    MemoryEffect,
    PermissionContext,
    PlanTextEffect,
    PresentPlanEffect,
    QuestionsEffect,
    RehearseEffect,
    TodosEffect,
)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_f127_the_whole_list_is_replaced(desk: Desk) -> None:
    todos = [
        {"content": "a\n b", "status": "completed"},
        {"content": "c", "status": "in_progress"},
        {"content": "d"},
        {"content": "e", "status": "cancelled"},
    ]
    outcome = desk.call("todo", todos=todos)
    assert outcome.effect == TodosEffect(
        (Todo("a b", "completed"), Todo("c", "in_progress"), Todo("d"), Todo("e", "cancelled"))
    )
    assert outcome.text == "[x] a b\n[>] c\n[ ] d\n[-] e"
    assert desk.call("todo", todos=[]).effect == TodosEffect(())


ENUM = (
    "todo: `todos[0].status`: Invalid enum value 'done'; use one of pending, in_progress, "
    "completed, cancelled. Nothing was done; call it again."
)


@pytest.mark.parametrize(
    ("todos", "words"),
    [
        ([{"content": " "}], "todos[0].content"),
        ([{"content": "a", "status": "done"}], ENUM),
        ([{"status": "pending"}], "content"),
        ([{"content": "a", "status": "in_progress"}] * 2, "todos[0], todos[1]: only one"),
        ([{"content": "a"}] * 101, "the limit is 100"),
        ("three things", "`todos`: Expected `array`, got `str`"),
    ],
)
def test_f127_an_invalid_list_is_refused_with_the_field(
    desk: Desk, todos: object, words: str
) -> None:
    assert words in desk.failing("todo", todos=todos)


def test_f129_questions_with_options_and_free_words(desk: Desk) -> None:
    options = [{"label": "SQLite", "description": "one file"}, {"label": "Postgres"}]
    wanted = [
        {"header": "Store", "question": "Which one?", "options": options, "custom": False},
        {"header": "Name", "question": "Which name?", "multiple": True},
    ]
    both = (QuestionOption("SQLite", "one file"), QuestionOption("Postgres"))
    assert desk.call("question", questions=wanted).effect == QuestionsEffect(
        (
            Question("Store", "Which one?", both, custom=False),
            Question("Name", "Which name?", multiple=True),
        )
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"header": "x" * 41}, "questions[0].header: 40"),
        ({"question": ""}, "questions[0].question: must not be blank"),
        ({"options": [{"label": ""}]}, "a label is blank"),
        ({"options": [{"label": "a"}, {"label": "a "}]}, "two labels are the same"),
        ({"options": [{"label": str(n)} for n in range(21)]}, "20 at most"),
        ({"custom": False}, "free text is off"),
        ({"options": [{"name": "a"}]}, "options[0]"),
    ],
)
def test_f129_a_question_that_nobody_could_answer_is_refused(
    desk: Desk, changes: dict[str, object], words: str
) -> None:
    told = desk.failing("question", questions=[{"header": "H", "question": "Q?"} | changes])
    assert words in told


def test_f129_there_is_at_least_one_question(desk: Desk) -> None:
    assert "1 to 10" in desk.failing("question", questions=[])


def test_the_plans_text_is_written_by_name(desk: Desk) -> None:
    assert desk.call("write_plan", text="# A\n").effect == PlanTextEffect("# A\n")
    assert desk.call("write_plan", text="# A\n", name="b").effect == PlanTextEffect("# A\n", "b")


def test_f35_a_plan_is_presented_in_plan_mode_only(desk: Desk) -> None:
    assert desk.call("present_plan").effect == PresentPlanEffect()
    for posture in (
        PermissionContext("ask"),
        PermissionContext("yolo", building=True),
        PermissionContext("plan", child=True),
    ):
        desk.posture = posture
        for name in ("present_plan", "exit_plan", "ExitPlanMode"):
            assert "nothing was done" in desk.failing(name)
    assert desk.asked == []


def test_going_back_to_planning_is_the_persons_choice(desk: Desk) -> None:
    assert "already in plan mode" in desk.failing("enter_plan")
    desk.posture = PermissionContext("yolo")
    assert desk.call("enter_plan", reason="It is large.").effect == EnterPlanEffect("It is large.")
    desk.posture = PermissionContext("yolo", child=True)
    desk.failing("enter_plan")


def test_a_fact_is_one_short_line(desk: Desk) -> None:
    assert desk.call("remember", fact="tests run\nwith make").effect == MemoryEffect(
        "tests run with make"
    )
    assert "1 to 500" in desk.failing("remember", fact="x" * 501)
    assert "1 to 500" in desk.failing("remember", fact=" ")


def test_g12_a_rehearsal_names_its_commands_and_they_are_judged(desk: Desk) -> None:
    outcome = desk.call("rehearse", commands=[" make test ", "", "true"])
    assert outcome.effect == RehearseEffect(("make test", "true"))
    assert desk.call("rehearse").effect == RehearseEffect()
    assert "16 at most" in desk.failing("rehearse", commands=["true"] * 17)
    agent = Agent("plan", rules=parse_rules({"bash": {"make *": "deny"}}))
    desk.posture = PermissionContext("plan", agents=(agent,))
    denied = "A rule from the agent layer denies it."
    assert denied in desk.failing("rehearse", commands=["true", "make test"])
    desk.plan_text = b"---\nverify: [make test]\n---\n# Plan\n"
    assert denied in desk.failing("rehearse")
    assert desk.call("rehearse", commands=["true"]).effect == RehearseEffect(("true",))


def test_g12_where_commands_may_only_read_there_is_no_rehearsal(desk: Desk) -> None:
    desk.posture = PermissionContext("plan", shell="read-only")
    assert "`plan.shell`" in desk.failing("rehearse")
    assert "rehearse" in desk.toolbox.absent(desk.posture, desk.agent)
    [before, now] = [
        next(each for each in desk.toolbox.available_tools(posture, desk.agent, ())
             if each.name == "present_plan")
        for posture in (PermissionContext("plan"), desk.posture)
    ]  # fmt: skip
    assert ("rehearse" in before.schema["properties"], now.schema["properties"]) == (True, {})


def test_g12_only_the_main_session_rehearses_while_it_plans(desk: Desk) -> None:
    desk.posture = PermissionContext("plan", child=True)
    assert "Only the main session" in desk.failing("rehearse", commands=["true"])
    desk.posture = PermissionContext("ask")
    assert "works only in plan mode" in desk.failing("rehearse", commands=["true"])
