"""A mode or an agent that nobody knows is refused before the screen opens."""

import pytest
from msgspec.structs import replace
from tests.tui.harness import Stage

from assent.cli.goal.options import Goal
from assent.cli.tui import check_tui_options
from assent.core.errors import UsageError


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        (
            Goal(mode="foo"),
            "Mode 'foo' not found. Available modes: plan, ask, auto-edit, yolo, docs.",
        ),
        (Goal(agent="nope"), "Agent 'nope' not found. Available: build, explore, plan."),
    ],
    ids=["a mode", "an agent"],
)
def test_what_nobody_knows_is_refused_with_what_there_is(
    stage: Stage, goal: Goal, said: str
) -> None:
    stage.config.write_text('[modes.docs]\nbase = "plan"\n', encoding="utf-8")
    with stage.here(), pytest.raises(UsageError) as refused:
        check_tui_options(replace(goal, folder=str(stage.root)))
    assert refused.value.message == said


def test_what_there_is_is_taken(stage: Stage) -> None:
    with stage.here():
        check_tui_options(Goal(folder=str(stage.root), mode="auto-edit", agent="build"))
