"""What a person reads on the screen: titles on one line, what waits said once, no cost of $0.00."""

import pytest
from tests.cli.scripts import turn
from tests.tui.harness import Seat, Stage
from tests.tui.test_question import asked, edit

from assent.core.plan.steps import PlanStep, StepStatus
from assent.core.session.record import SessionRecord
from assent.render.rows import session_title
from assent.render.steps import step_text
from assent.tui.conversation.block_sections import WAITS, cost_text
from assent.tui.host import StartOptions
from assent.tui.panels.session_list import SessionList
from assent.tui.panels.setting_list import ConfigList

EDIT = edit("a.py", "a = 1", "a = 2")


def record(goal: str) -> SessionRecord:
    return SessionRecord("s", "w", "slug", "plan", "then", "then", 1, goal=goal)


@pytest.mark.parametrize(
    ("goal", "title"),
    [
        ("Fix it\nand test it\n", "Fix it and test it"),
        ("One\r\n\ttwo", "One two"),
        ("Hidden\u202e text", "Hidden<U+202E> text"),
        ("", "slug"),
    ],
)
def test_a_title_is_one_line_and_hides_nothing(goal: str, title: str) -> None:
    assert session_title(record(goal)) == title


@pytest.mark.parametrize(
    ("cost", "told"), [(None, "cost unknown"), (0.0, "free"), (0.006, "$0.0060"), (1.5, "$1.50")]
)
def test_a_cost_is_never_shown_as_nothing(cost: float | None, told: str) -> None:
    assert cost_text(cost) == told


def test_a_step_is_listed_with_what_is_not_usual() -> None:
    step = PlanStep("s1", "Write it", "", 0, 1, "Write it")
    usual = StepStatus(step, "pending", score=7, risk="low")
    assert step_text(usual, brief=True) == "  ○ s1 Write it"
    hard = StepStatus(step, "failed", score=90, risk="high")
    assert step_text(hard, brief=True) == "  ! s1 Write it (failed, complex, high risk)"
    assert "complexity 7" in step_text(usual)


def test_a_call_that_waits_says_so_and_its_question_is_shown_once(stage: Stage) -> None:
    stage.put("a.py", b"a = 1\n")
    stage.script(turn("", EDIT), turn("Done."))

    async def act(seat: Seat) -> None:
        await asked(seat, "Change it")
        await seat.shows(WAITS)
        told = seat.text()
        assert "running" not in told.split(WAITS)[0]
        assert told.count("Ask mode asks") == 1
        await seat.press("y")
        await seat.rest()
        assert WAITS not in seat.text()

    stage.show(act, StartOptions(mode="ask"))


def test_sessions_are_listed_by_title_and_those_alike_are_told_apart(stage: Stage) -> None:
    stage.script(turn("Yes."))
    for goal in ("Say hello\nto all", "Say hello\nto all", "Another"):
        stage.ok("-p", goal, "--model", stage.model)

    async def act(seat: Seat) -> None:
        seat.app.run_slash("/sessions")
        panel = await seat.opened(SessionList)
        await seat.shows("Another")
        cells = [row.cells for row in panel._shown]
        assert sorted(row[-1] for row in cells) == [
            "Another",
            "Say hello to all (say-hello-to-all)",
            "Say hello to all (say-hello-to-all-2)",
        ]
        assert all("ago" in row[0] or "just now" in row[0] for row in cells)
        await seat.type("all-2")
        await seat.until(lambda: len(panel._shown) == 1)
        await seat.press("escape")

    stage.show(act)


def test_the_whole_meaning_of_a_setting_is_shown_at_80_columns(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        seat.app.run_slash("/config")
        panel = await seat.opened(ConfigList)
        await seat.until(lambda: panel._shown)
        meaning = panel._shown[0].cells[-1]
        await seat.until(lambda: meaning in " ".join(seat.text().replace("│", "").split()))
        await seat.press("escape")

    stage.show(act, size=(80, 24))
