"""The person's own editor: what is said where it fails, and that nothing else happens."""

import pytest
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader, proposed

FAILED = "'false' failed with exit code 1; your edits were not imported."


@pytest.mark.parametrize(
    ("editor", "words"),
    [
        ("false", FAILED),
        ("/nonexistent/ed", "'/nonexistent/ed' could not be started: No such file or directory."),
        ("'", "is not an editor command."),
    ],
)
def test_an_editor_that_fails_says_so_below_the_conversation(
    stage: Stage, editor: str, words: str
) -> None:
    stage.plan("work", "Do the work")
    stage.env["EDITOR"] = editor

    async def act(seat: Seat) -> None:
        await seat.press("ctrl+g")
        await seat.shows(words)
        assert len(seat.app.screen_stack) == 1

    stage.show(act)


def test_an_editor_that_fails_says_so_in_the_plan_that_is_read(stage: Stage) -> None:
    before = proposed(stage)["digest"]
    stage.env["EDITOR"] = "false"

    async def act(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        await reader.press("ctrl+g")
        await seat.shows(FAILED)
        await reader.reads()
        assert reader.record.digest == before

    stage.show(act)
