"""The task tool: what it touches, what it wishes for, and what it refuses."""

from pathlib import Path

import msgspec
import pytest
from tests.tools.call_harness import Desk

from assent.core.errors import UsageError
from assent.core.llm import ToolCall
from assent.core.tool import Action, ResourceAccess, TaskEffect, ToolOutcome
from assent.tools.session_tools import MAX_PROMPT_CHARS, TASK, TaskArgs, run_task, task_touches
from assent.tools.tool import tool_definition

NOWHERE = None  # it looks at nothing around it


def test_f100_a_task_is_judged_by_the_kind_of_its_sub_agent(tmp_path: Path) -> None:
    args, around = TaskArgs("Look around", "explore"), Desk(tmp_path).around
    assert task_touches(args, around) == (ResourceAccess(Action.TASK, "explore"),)
    assert task_touches(args, around)[0].permission == "task"
    assert TASK.action is Action.TASK


def test_a_kind_that_nobody_knows_gets_to_no_judge(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    around = msgspec.structs.replace(desk.around, kinds=("explore", "general"))
    box = desk.toolbox
    calls = [ToolCall(kind, "task", {"prompt": "Look", "agent": kind}) for kind in ("explore", "x")]
    known, unknown = [box.planned(box.prepare(call, around, desk.agent)) for call in calls]
    assert (known.verdict, known.touches) == ("run", ("task explore: Look",))
    assert unknown.verdict not in ("run", "ask", "stage")
    assert "Available: explore, general." in " ".join(unknown.reasons)


def test_f100_it_only_wishes() -> None:
    args = TaskArgs("Look around\nthoroughly", "explore", "", "01k", background=True)
    assert run_task(args, NOWHERE) == ToolOutcome(  # type: ignore[arg-type]
        "A sub-agent is working on it.",
        "explore: Look around",
        effect=TaskEffect(
            "Look around\nthoroughly", "Look around", "explore", "01k", background=True
        ),
    )


def test_whoever_names_no_kind_gets_one_that_changes_nothing() -> None:
    assert TaskArgs("Look").agent == "explore"


@pytest.mark.parametrize(
    "prompt", ["", " \n", "x" * (MAX_PROMPT_CHARS + 1)], ids=["none", "blank", "long"]
)
def test_a_task_needs_words_and_not_too_many(prompt: str) -> None:
    with pytest.raises(UsageError, match="No sub-agent was started"):
        run_task(TaskArgs(prompt), NOWHERE)  # type: ignore[arg-type]


def test_a_title_is_short() -> None:
    outcome = run_task(TaskArgs("word " * 100), NOWHERE)  # type: ignore[arg-type]
    assert isinstance(outcome.effect, TaskEffect)
    assert len(outcome.effect.title) == 80


def test_its_description_costs_few_tokens() -> None:
    assert len(tool_definition(TASK).description) < 240
