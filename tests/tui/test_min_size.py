"""A screen that is too small: it says so, and nothing that is typed there decides anything."""

from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader, proposed

from assent.tui.panels.approval.state import READ_ON
from assent.tui.panels.help import HelpPanel

ROOMY, LOW, TIGHT = (80, 24), (60, 11), (39, 30)


def test_keys_mean_nothing_there_but_leaving(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        for size in (LOW, TIGHT):
            await seat.resize(*size)
            await seat.shows(f"{size[0]}x{size[1]} is too small")
            await seat.type("lost")
            await seat.press("ctrl+d", "shift+tab")
        await seat.resize(*ROOMY)
        await seat.shows("Describe a task. @ file")
        assert (seat.app.prompt.text, seat.app.return_value) == ("", None)
        await seat.resize(*LOW)
        await seat.shows("too small")
        await seat.press("ctrl+c")
        await seat.press("ctrl+c")
        await seat.until(lambda: seat.app.return_value == 0)

    assert stage.show(act, size=ROOMY) == 0


def test_panels_are_covered_too_and_stay_as_they_were(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        seat.app.run_slash("/help")
        await seat.until(lambda: isinstance(seat.app.screen, HelpPanel))
        await seat.shows("Esc close")
        await seat.resize(*LOW)
        await seat.shows("too small")
        assert "Esc close" not in seat.text()
        await seat.press("escape")
        await seat.resize(*ROOMY)
        await seat.shows("Esc close")
        assert isinstance(seat.app.screen, HelpPanel)

    stage.show(act, size=ROOMY)


def test_f41_the_end_does_not_count_as_read_while_something_lies_over_it(stage: Stage) -> None:
    proposed(stage)

    async def act(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        await seat.resize(30, 300)
        await seat.shows("too small")
        await seat.resize(*ROOMY)
        await seat.shows("1 approve (rest first)")
        panel = reader.panel
        seat.app.run_slash("/help")
        await seat.opened(HelpPanel)
        await seat.resize(80, 300)
        await seat.resize(*ROOMY)
        seat.app.pop_screen()
        await seat.until(lambda: seat.app.screen is panel)
        await seat.pilot.pause()
        await reader.press("1")
        await seat.shows(READ_ON)
        assert not panel.standing.read

    stage.show(act, size=ROOMY)


def test_what_was_covered_counts_as_read_once_it_is_seen(stage: Stage) -> None:
    proposed(stage, one=b"one\n")

    async def act(seat: Seat) -> None:
        await seat.resize(39, 100)
        reader = Reader(seat)
        await reader.open()
        await seat.shows("too small")
        assert not reader.panel.standing.read
        await seat.resize(80, 100)
        await seat.until(lambda: reader.panel.standing.read)

    stage.show(act, size=ROOMY)
