"""The task tool: what it touches, what it wishes for, and what it refuses."""

import pytest

from assent.core.errors import UsageError
from assent.core.tool import Action, Outcome, Request, Task
from assent.tools.calling.schema import offer
from assent.tools.task import LONGEST, TASK, Args, run, touches

NOWHERE = None  # it looks at nothing around it


def test_f100_a_task_is_judged_by_the_kind_of_its_sub_agent() -> None:
    args = Args("Look around", "explore")
    assert touches(args, NOWHERE) == (Request(Action.TASK, "explore"),)  # type: ignore[arg-type]
    assert touches(args, NOWHERE)[0].permission == "task"  # type: ignore[arg-type]
    assert TASK.action is Action.TASK


def test_f100_it_only_wishes() -> None:
    args = Args("Look around\nthoroughly", "explore", "", "01k", background=True)
    assert run(args, NOWHERE) == Outcome(  # type: ignore[arg-type]
        "A sub-agent works on it.",
        "explore: Look around",
        effect=Task("Look around\nthoroughly", "Look around", "explore", "01k", background=True),
    )


def test_whoever_names_no_kind_gets_one_that_changes_nothing() -> None:
    assert Args("Look").agent == "explore"


@pytest.mark.parametrize("prompt", ["", " \n", "x" * (LONGEST + 1)], ids=["none", "blank", "long"])
def test_a_task_needs_words_and_not_too_many(prompt: str) -> None:
    with pytest.raises(UsageError, match="Nobody was started"):
        run(Args(prompt), NOWHERE)  # type: ignore[arg-type]


def test_a_title_is_short() -> None:
    outcome = run(Args("word " * 100), NOWHERE)  # type: ignore[arg-type]
    assert isinstance(outcome.effect, Task)
    assert len(outcome.effect.title) == 80


def test_its_description_costs_few_tokens() -> None:
    assert len(offer(TASK).description) < 240
