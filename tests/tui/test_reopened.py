"""Whoever opens a session again reads where its plan stands by now, and what was cut off."""

import asyncio
from contextlib import closing

import pytest
from tests.cli.scripts import PLANS
from tests.tui.stage import Seat, Stage

from assent.cli.host import LocalHost
from assent.core.session_event import TurnStarted
from assent.tui.acts import APPROVED, STANDS
from assent.tui.app import TerminalApp
from assent.tui.host import Start
from assent.tui.postman import CUT_OFF

GOING_ON = Start(going_on=True)
WORDS = {words.strip() for words in (*STANDS.values(), APPROVED, CUT_OFF)}


def told(seat: Seat) -> list[str]:
    """Returns what was said about the plan and the last turn since the session was opened."""
    lines = [line.text.strip() for sheet in seat.app.conversation.sheets for line in sheet.lines]
    return [line for line in lines if line in WORDS]


def greeted(stage: Stage) -> str:
    """Has a model present a plan without a screen, and returns its digest."""
    stage.script(*PLANS)
    assert stage.run("-p", "--model", stage.model, "Greet somebody").code == 3
    return str(stage.ok("plan", "show")["digest"])


def test_a_session_that_is_opened_again_says_where_its_plan_stands(stage: Stage) -> None:
    digest = greeted(stage)
    steps = {
        ("approve", "--digest", digest): APPROVED,
        ("build",): STANDS[""],
        ("undo",): STANDS["all"],
    }

    async def act(seat: Seat) -> None:
        await seat.rest()
        assert told(seat) == []  # it awaits review, as the conversation says
        for line, words in steps.items():
            if line == ("undo",):
                assert stage.undo().code == 0
            else:
                stage.ok(*line)
            seat.app.open_session(seat.app.sitting.record)
            await seat.until(lambda: seat.app.ready)
            await seat.until(lambda: told(seat))
            await seat.rest()
            assert told(seat) == [words]

    stage.show(act, GOING_ON)


def test_a_turn_that_was_cut_off_says_so_unless_somebody_is_at_work(stage: Stage) -> None:
    stage.script({"text": "Hello."})
    with stage.here(), closing(LocalHost(str(stage.root))) as host:
        sessions = host.engine().sessions
        record = sessions.start("Say hello", "ask")
        sessions.diary().append(record, TurnStarted(1))

    async def act(seat: Seat) -> None:
        await seat.until(lambda: told(seat))
        await seat.rest()
        assert told(seat) == [CUT_OFF]
        sessions = seat.app.engine.sessions
        with sessions.held(sessions.last(), "somebody else"):
            seat.app.open_session(sessions.last())
            await seat.until(lambda: seat.app.ready)
            await seat.rest()
            assert told(seat) == []
        await seat.say("go on")
        assert not seat.app.standing.cut_off

    stage.show(act, GOING_ON)


@pytest.mark.parametrize("below", ["", "src/deep"])
def test_a_workspace_that_is_not_the_folder_is_named_once(stage: Stage, below: str) -> None:
    (stage.root / ".git").mkdir()
    folder = stage.root / below
    folder.mkdir(parents=True, exist_ok=True)

    async def shown() -> list[str]:
        app = TerminalApp(LocalHost(str(folder)))
        async with app.run_test() as pilot:
            seat = Seat(app, pilot)
            await seat.until(lambda: app.ready)
            await seat.rest()
            lines = [line.text.strip() for sheet in app.conversation.sheets for line in sheet.lines]
        app.leave()
        return [line for line in lines if line.startswith("The workspace is ")]

    with stage.here():
        named = asyncio.run(shown())
    assert named == ([f"The workspace is {stage.root.resolve()}."] if below else [])
