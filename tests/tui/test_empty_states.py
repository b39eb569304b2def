"""What the screen says where there is nothing to show, and what its lists show besides."""

import pytest
from tests.cli.scripts import turn
from tests.tui.harness import Seat, Stage
from tests.tui.scenes import PERMITTING
from tests.tui.test_question import asked

from assent.tui.host import StartOptions
from assent.tui.panels.plan_list import PlanList
from assent.tui.panels.setting_list import MemoryList

RECOVER = "/recover shows your options"


@pytest.mark.parametrize("way", ["/review", "/approve", "ctrl+t"])
def test_without_a_plan_there_is_a_line_and_no_panel(stage: Stage, way: str) -> None:
    async def act(seat: Seat) -> None:
        await seat.rest()
        if way.startswith("/"):
            seat.app.run_slash(way)
        else:
            await seat.press(way)
        await seat.shows("No current plan.")
        assert len(seat.app.screen_stack) == 1

    stage.show(act)


@pytest.mark.parametrize("going_on", [False, True])
def test_a_run_that_halted_is_told_after_a_restart_with_the_way_on(
    stage: Stage, going_on: bool
) -> None:
    stage.script(turn("Hello."))

    async def before(seat: Seat) -> None:
        await seat.say("Say hello")

    async def act(seat: Seat) -> None:
        await seat.shows(RECOVER)
        await seat.rest()
        await seat.until(lambda: ("Hello." in seat.text()) is going_on)

    stage.show(before)
    stage.plan("greet", "Greet politely")
    stage.ok("stage", "run", "--script", "exit 3")
    stage.approve()
    stage.run("build")
    stage.show(act, StartOptions(going_on=going_on))


def test_a_plan_that_was_discarded_is_listed_as_such_and_not_chosen(stage: Stage) -> None:
    stage.plan("greet", "Greet politely")

    async def act(seat: Seat) -> None:
        engine = seat.app.engine
        engine.plans.discard(engine.plans.find())
        seat.app.run_slash("/plans")
        await seat.opened(PlanList)
        await seat.shows("greet  Discarded")
        await seat.press("enter")
        await seat.shows("This plan was discarded.")

    stage.show(act)


def test_plan_in_plan_mode_says_so(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await seat.rest()
        seat.app.run_slash("/plan")
        await seat.shows("Plan mode is on; /plan off ends it.")

    stage.show(act)


def test_mode_alone_opens_a_list_and_enter_chooses(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await seat.rest()
        seat.app.run_slash("/mode")
        await seat.shows("* plan")
        await seat.rest()
        await seat.press("down")
        await seat.shows("▸   ask")
        await seat.press("enter")
        await seat.until(lambda: seat.text().splitlines()[-1].startswith(" ask "))

    stage.show(act)


def test_a_model_that_nothing_lists_is_listed_while_it_is_asked(stage: Stage) -> None:
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        await seat.rest()
        seat.app.run_slash("/model")
        await seat.shows("* script.json")

    stage.show(act)


def test_memory_forget_alone_opens_a_list_and_enter_forgets(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        facts = seat.app.engine.memory
        facts.remember("Tests run with make test")
        facts.remember("Tabs are four wide")
        seat.app.run_slash("/memory forget")
        await seat.opened(MemoryList)
        await seat.press("down", "enter")
        await seat.until(lambda: len(facts.all()) == 1)
        assert [fact.text for fact in facts.all()] == ["Tabs are four wide"]

    stage.show(act)


def test_f150_a_permission_that_waits_says_what_it_is_about_with_a_preview_however_narrow(
    stage: Stage,
) -> None:
    stage.script(*PERMITTING)

    async def act(seat: Seat) -> None:
        await asked(seat, "Make it")
        await seat.press("escape")
        await seat.shows("Waiting for your answer")
        seat.app.run_slash("/waiting")
        await seat.shows("Permission: touch made · rm -rf build")
        await seat.shows("│ Allow running `touch made && rm -rf build`?")

    stage.show(act, StartOptions(mode="ask"), (80, 24))
