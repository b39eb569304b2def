"""F140 on the screen: after a message is chosen, the files can go back with the conversation."""

from tests.cli.scripts import PLANS, turn
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader

from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.approval.state import ApprovalStage as At
from assent.tui.panels.panel import ConfirmPanel
from assent.tui.panels.session_list import RewindFilesPanel, RewindPanel


async def greeted(seat: Seat) -> Reader:
    """Has a plan built that writes hello.txt, and chooses the message that led to it."""
    await seat.say("Greet somebody")
    reader = Reader(seat)
    await seat.opened(ApprovalPanel)
    await reader.reads()
    await reader.to_the_end()
    await reader.press("1", "y")
    await seat.until(lambda: seat.app.run_controller.report is not None)
    await seat.rest()
    seat.app.pop_screen()
    await seat.press("escape")
    await seat.press("escape")
    await seat.opened(RewindPanel)
    await seat.press("enter")
    await seat.opened(ConfirmPanel)
    await seat.shows("Ctrl+Y rewind, keep files · Ctrl+W rewind files too")
    await seat.press("ctrl+w")
    await seat.opened(RewindFilesPanel)
    await reader.reads()
    return reader


def test_f140_a_rewind_with_files_is_shown_with_its_digest_and_takes_two_keys(
    stage: Stage,
) -> None:
    stage.script(*PLANS, turn("Done."), turn("Something else."))
    file = stage.root / "hello.txt"

    async def act(seat: Seat) -> None:
        reader = await greeted(seat)
        await seat.shows("Rewind with files to before: Greet somebody")
        [message] = stage.ok("sessions", "rewind", "--list")["messages"]
        shown = stage.ok("sessions", "rewind", "--to", message["id"], "--dry-run")
        await seat.shows(shown["undo"]["digest"][:12])
        await reader.to_the_end()
        await reader.press("y", "h", "space", "enter")
        assert (reader.at(), file.exists()) == (At.READING, True)
        await reader.press("1", "enter")
        assert (reader.at(), file.exists()) == (At.READING, True)
        await reader.press("1", "y")
        await seat.until(lambda: not file.exists())
        await seat.until(lambda: seat.app.prompt.text == "Greet somebody")
        await seat.rest()
        record = seat.app.session_controller.record
        assert record is not None
        assert record.messages == 0

    stage.show(act)
    assert stage.ok("runs", "list")["runs"][0]["kind"] == "undo"


def test_f140_leaving_the_preview_rewinds_nothing(stage: Stage) -> None:
    stage.script(*PLANS, turn("Done."))
    file = stage.root / "hello.txt"

    async def act(seat: Seat) -> None:
        await greeted(seat)
        await seat.press("escape")
        await seat.opened(RewindPanel)
        assert file.exists()

    stage.show(act)
    assert stage.ok("sessions", "show")["messages"] == 1
    assert [row["kind"] for row in stage.ok("runs", "list")["runs"]] == ["run"]


def test_f140_a_file_that_changes_while_it_is_read_is_shown_again(stage: Stage) -> None:
    stage.script(*PLANS, turn("Done."))
    file = stage.root / "hello.txt"

    async def act(seat: Seat) -> None:
        reader = await greeted(seat)
        await reader.to_the_end()
        file.write_bytes(b"mine\n")
        await reader.press("1", "y")
        await seat.shows("Files changed during review; nothing was applied.")

    stage.show(act)
    assert file.read_bytes() == b"mine\n"
    assert stage.ok("sessions", "show")["messages"] == 1
