"""What turns changed, and what a turn that failed says, on the screen."""

from tests.cli.scripts import turn, write
from tests.tui.harness import Seat, Stage

from assent.tui.host import StartOptions


def test_f149_files_and_lines_of_each_turn_and_the_diff_of_one(stage: Stage) -> None:
    stage.put("a.txt", b"one\n")
    edit = ("edit", {"path": "a.txt", "old": "one", "new": "two"})
    stage.script(turn("", edit, write("b.txt", "b\n")), turn("Done."), turn("Nothing to do."))

    async def act(seat: Seat) -> None:
        await seat.say("Change it")
        await seat.say("Again")
        seat.app.run_slash("/diff turns")
        await seat.shows("1     2      +2 -1  Change it")
        seat.app.run_slash("/diff 1")
        await seat.shows("+two")
        await seat.shows("-one")

    stage.show(act, StartOptions(mode="auto-edit"), (100, 50))


def test_a_turn_that_fails_says_so_once_with_the_next_step(stage: Stage) -> None:
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        await seat.say("Say hello")
        await seat.say("And more")
        await seat.shows("next: add a turn to the")
        text = " ".join(seat.text().split())
        assert text.count("Turn failed.") == 1, text
        assert text.count("has 1 turn, but turn 2 was requested.") == 1, text
        assert "next: add a turn to the script" in text

    stage.show(act)
