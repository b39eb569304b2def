"""What stands behind a slash command: taken, or refused in words of the screen's own."""

from pathlib import Path

from tests.cli.scripts import turn
from tests.tui.harness import Seat, Stage

from assent.tui.commands.registry import COMMANDS
from assent.tui.home import KEY as HOME
from assent.tui.host import StartOptions
from assent.tui.panels.run import RunPanel

RAW = ("Invalid value", "No such command", "Missing argument", "No such option")


def told(seat: Seat) -> list[str]:
    """Returns what stands in the conversation below the home of a screen that just opened."""
    said = [sheet for sheet in seat.app.conversation.sections if sheet.key != HOME]
    lines = [line.text.strip() for sheet in said for line in sheet.lines]
    return [line for line in lines if line]


async def answered(seat: Seat, line: str) -> list[str]:
    """Runs a command on an empty screen, and returns what it says."""
    seat.app.run_slash("/clear")
    seat.app.run_slash(line)
    await seat.rest()
    await seat.until(lambda: seat.app.quiet)
    await seat.until(lambda: told(seat))
    return told(seat)


def test_a_command_that_takes_no_words_says_so_and_does_nothing(stage: Stage) -> None:
    wordless = [one.name for one in COMMANDS if not one.arguments]
    assert {"/status", "/init", "/exit", "/demo"} <= set(wordless)
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        for name in wordless:
            app.conversation.show(())
            app.run_slash(f"{name} now")
            assert told(seat)[:1] == [f"{name} takes no arguments; nothing was done."]
            assert (app.quiet, len(app.screen_stack), app.wants_demo) == (True, 1, False)
            assert app.return_value is None

    stage.show(act)


TAKES = {
    "/diff x": "/diff takes no argument, or turns or TURN.",
    "/rules nope": "/rules takes no argument, or explain or test or revoke ….",
    "/rules list --nope": "/rules takes no argument, or explain or test or revoke ….",
    "/memory nope": "/memory takes no argument, or forget [ID].",
    "/undo nope": "No finished run here matches 'nope'.",
}


def test_words_that_cannot_be_read_say_what_the_command_takes(stage: Stage) -> None:
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        await seat.say("Say hello")
        for line, words in TAKES.items():
            lines = await answered(seat, line)
            assert lines[0] == words, line
            assert not [text for text in lines if any(raw in text for raw in RAW)]
        assert (await answered(seat, "/undo"))[1] == "next: /status"
        assert (await answered(seat, "/cost"))[-1] == "cost unknown in 1 turn, 1 request"

    stage.show(act)


def test_a_session_is_exported_to_the_home_folder_and_never_over_a_file(stage: Stage) -> None:
    stage.script(turn("Hello."))
    out = Path(stage.env["HOME"]) / "o.md"

    async def act(seat: Seat) -> None:
        await seat.say("Say hello")
        await answered(seat, "/export ~/o.md")
        assert out.read_text(encoding="utf-8").startswith("# Say hello")
        lines = await answered(seat, "/export ~/o.md")
        assert lines[0].endswith("o.md already exists. Nothing was written.")
        assert lines[1].startswith("next: in a shell: ls -l ")

    stage.show(act)


def test_the_last_run_of_this_screen_is_opened_and_else_it_says_so(stage: Stage) -> None:
    stage.script(turn("Hello."))
    stage.plan()
    stage.write("a.txt", b"a\n")
    stage.approve()

    async def act(seat: Seat) -> None:
        assert (await answered(seat, "/run"))[0].startswith("No runs from this screen yet")
        seat.app.run_slash("/build")
        await seat.opened(RunPanel)
        await seat.rest()
        await seat.press("escape")
        seat.app.run_slash("/run")
        await seat.opened(RunPanel)
        await seat.shows("Build: done")

    stage.show(act)


def test_a_script_that_is_not_there_names_a_next_step(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        seat.app.say("Say hello")
        await seat.until(lambda: "next: /model" in told(seat))
        assert any("scripted:nofile.json cannot be read" in text for text in told(seat))

    stage.show(act, StartOptions(model="scripted:nofile.json"))
