"""Keys that mean more if repeated: how long they do, what disarms them, what the hint covers."""

import pytest
from tests.tui.harness import Seat, Stage
from textual.widgets import Static

from assent.tui.app import TerminalApp
from assent.tui.key_actions import DOUBLE_PRESS_S
from assent.tui.panels.help import HelpPanel

HINT = "Ctrl+C again to exit"
KEYS = "PgUp PgDn scroll"  # in the last line of the help


async def in_help(seat: Seat) -> None:
    seat.app.run_slash("/help")
    await seat.until(lambda: isinstance(seat.app.screen, HelpPanel))
    await seat.shows(KEYS)


def test_the_hint_of_a_second_ctrl_c_goes_when_it_means_nothing_any_more(stage: Stage) -> None:
    hints: list[str] = []

    class Noting(TerminalApp):
        def hint(self, words: str) -> None:
            super().hint(words)
            hints.append(str(self.query_one("#activity", Static).content))

    async def act(seat: Seat) -> None:
        seat.app.again_s = DOUBLE_PRESS_S
        await seat.press("ctrl+c")
        assert [words[: len(HINT)] for words in hints] == [HINT]
        await seat.until(lambda: HINT not in seat.text())
        await seat.press("ctrl+c")
        assert seat.app.return_value is None

    stage.show(act, app=Noting)


def test_over_a_panel_the_hint_gives_its_keys_back(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await in_help(seat)
        await seat.press("ctrl+c")
        await seat.shows(HINT)
        assert KEYS not in seat.text()
        seat.app.unhint()
        await seat.shows(KEYS)
        assert HINT not in seat.text()

    stage.show(act)


@pytest.mark.parametrize("between", ["a", "left", "pageup", "shift+tab"])
def test_any_other_key_disarms_a_second_ctrl_c(stage: Stage, between: str) -> None:
    async def act(seat: Seat) -> None:
        await seat.press("ctrl+c")
        await seat.shows(HINT)
        await seat.press(between)
        assert HINT not in seat.text()
        await seat.press("ctrl+c")
        assert seat.app.return_value is None

    stage.show(act)


def test_two_ctrl_c_leave_from_a_panel_too(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await in_help(seat)
        await seat.press("ctrl+c")
        await seat.press("ctrl+c")
        await seat.until(lambda: seat.app.return_value == 0)

    assert stage.show(act) == 0
