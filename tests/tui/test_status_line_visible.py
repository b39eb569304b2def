"""The status line is seen whatever is open over the screen, and says what holds now (F4, F126)."""

import pytest
from tests.cli.scripts import turn
from tests.tui.harness import Seat, Stage

from assent.tui.host import StartOptions


def status(seat: Seat) -> str:
    return seat.text().splitlines()[-1]


@pytest.mark.parametrize("size", [(80, 24), (200, 50)], ids=str)
def test_f4_the_status_line_is_below_every_panel(stage: Stage, size: tuple[int, int]) -> None:
    async def act(seat: Seat) -> None:
        await seat.rest()
        before = status(seat)
        assert before.startswith(" ask │ agent build")
        for typed in ("/help", "/plans", "/theme", "/mode yolo", "/waiting", "/palette"):
            seat.app.run_slash(typed)
            await seat.until(lambda: len(seat.app.screen_stack) > 1)
            await seat.rest()
            assert status(seat) == before, typed
            await seat.press("escape")
            await seat.until(lambda: len(seat.app.screen_stack) == 1)

    stage.show(act, StartOptions(mode="ask"), size)


def test_f4_below_a_panel_it_follows_what_happens(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await seat.rest()
        seat.app.run_slash("/help")
        await seat.until(lambda: len(seat.app.screen_stack) > 1)
        await seat.shows("PgUp PgDn scroll")
        seat.app.set_mode("auto-edit")
        await seat.until(lambda: status(seat).startswith(" auto-edit "))

    stage.show(act, size=(80, 24))


def test_f4_who_goes_back_to_the_first_message_still_sees_the_agent(stage: Stage) -> None:
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        await seat.say("Say hello")
        sessions, record = seat.app.engine.sessions, seat.app.session_controller.record
        assert record is not None
        sessions.rewind(record, sessions.messages(record)[0].id)
        seat.app.refresh_status()
        await seat.rest()
        assert "│ agent plan │" in status(seat)

    stage.show(act, size=(120, 24))
