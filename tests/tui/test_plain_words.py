"""What a person reads on the screen: titles on one line, what waits said once, no cost of $0.00."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.cli.scripts import PLANS, turn
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader
from tests.tui.test_question import asked, edit

from assent.core.plan.steps import PlanStep, StepStatus
from assent.core.session.record import SessionRecord
from assent.render.rows import session_title
from assent.render.status import SHORT
from assent.render.steps import step_text
from assent.tui.conversation.block_sections import WAITS, cost_text
from assent.tui.host import StartOptions
from assent.tui.line_view import LineView
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.panel import Panel
from assent.tui.panels.picker import Picker
from assent.tui.panels.plan_list import HistoryPanel, PlanList
from assent.tui.panels.session_list import RewindPanel, SessionList
from assent.tui.panels.setting_list import ConfigList
from assent.tui.panels.undo import RunsPanel
from assent.tui.panels.waiting_list import WaitingList

EDIT = edit("a.py", "a = 1", "a = 2")
LISTS: dict[str, type[Panel[Any]]] = {
    "/waiting": WaitingList,
    "/plans": PlanList,
    "/history": HistoryPanel,
    "/rewind": RewindPanel,
}


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


def test_the_status_names_neither_ids_nor_digests(stage: Stage) -> None:
    stage.plan("greet", "Greet politely")
    stage.write("a.txt", b"a\n")
    digest = stage.approve()
    run = str(stage.ok("build")["run"])
    plan = str(stage.ok("plan", "show")["plan_id"])

    async def act(seat: Seat) -> None:
        seat.app.run_slash("/status")
        await seat.shows("The last run is done.")
        await seat.shows("greet")
        shown = seat.text()
        assert [one for one in (digest, run, plan) if one[:SHORT] in shown] == []
        seat.app.run_slash("/plans")
        await seat.opened(PlanList)
        await seat.until(lambda: "Next: /undo" in seat.text())
        assert "digest" not in seat.text()
        await seat.press("escape")
        await seat.until(lambda: len(seat.app.screen_stack) == 1)
        seat.app.run_slash("/runs")
        panel = await seat.opened(RunsPanel)
        await seat.until(lambda: "operation" in rows_of(panel)[0])
        assert rows_of(panel)[0].lstrip().startswith(("just now", "1 min ago"))

    stage.show(act, size=(140, 40))


def test_lists_name_sessions_by_title_and_say_how_long_ago(stage: Stage) -> None:
    stage.script(*PLANS)
    year = str(datetime.now(UTC).year)

    async def act(seat: Seat) -> None:
        await seat.say("Greet somebody by name")
        record = seat.app.session_controller.record
        assert record is not None
        await seat.opened(ApprovalPanel)
        await Reader(seat).press("escape")
        for command, kind in LISTS.items():
            await seat.until(lambda: len(seat.app.screen_stack) == 1)
            seat.app.run_slash(command)
            panel = await seat.opened(kind)
            await seat.until(lambda: "just now" in seat.text() or "min ago" in seat.text())
            listed = "\n".join(map(str.rstrip, rows_of(panel)))
            assert year not in listed, command
            if issubclass(kind, Picker) and kind is not RewindPanel:
                assert "Greet somebody by name" in listed, command
                assert command != "/waiting" or record.slug not in listed
            await seat.press("escape")

    stage.show(act, size=(140, 40))


def rows_of(panel: Panel[Any]) -> list[str]:
    """Returns the rows of the list in a panel."""
    return [line.text for one in panel.query(LineView).first().sections for line in one.lines]


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
