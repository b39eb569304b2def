"""`/compact` on the screen: the conversation is summarized, and the person is told how often."""

import pytest
from tests.cli.scripts import turn
from tests.tui.harness import Seat, Stage
from tests.tui.test_timeline import stored

from assent.core.event import Event
from assent.core.session.event import Compacted, CompactionRejected, ResultsPruned
from assent.render.log import COMPACTED, compaction_notice
from assent.tui.conversation.blocks import NoteBlock
from assent.tui.conversation.timeline import timeline_blocks

LONG = "word " * 800
NOTICE = compaction_notice(3).partition(",")[0]  # before the line is wrapped


def notes(*events: Event) -> list[str]:
    """What a session tells on the screen besides what was said in it."""
    found = timeline_blocks("s", stored(*events))
    return [one.words for one in found if isinstance(one, NoteBlock)]


def test_f116_the_session_on_the_screen_is_compacted(stage: Stage) -> None:
    stage.script(turn(f"{LONG}end."), turn("Going on."))

    async def act(seat: Seat) -> None:
        await seat.say("Write much")
        seat.app.run_slash("/compact")
        await seat.shows(COMPACTED)
        await seat.rest()
        record = seat.app.session_controller.record
        assert record is not None
        assert (record.compactions, record.turns) == (1, 1)
        await seat.say("Go on")
        await seat.shows("Going on.")
        assert seat.app.messages.mishaps == []

    stage.show(act)


def test_f116_what_is_too_short_is_left_alone_and_said(stage: Stage) -> None:
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        seat.app.run_slash("/compact")
        await seat.shows("No session is open.")
        await seat.say("Greet")
        seat.app.run_slash("/compact")
        await seat.shows("there is nothing to compact")
        await seat.rest()
        assert not seat.app.session_controller.at_work
        assert seat.app.messages.mishaps == []

    stage.show(act)


def test_f123_the_third_compaction_is_noticed_on_the_screen(stage: Stage) -> None:
    stage.script(*[turn(f"{LONG}end.") for _ in range(3)])

    async def act(seat: Seat) -> None:
        for count in range(1, 4):
            await seat.say("Write much")
            assert NOTICE not in seat.text()
            seat.app.run_slash("/compact")
            await seat.until(lambda: not seat.app.session_controller.at_work)
            await seat.rest()
            record = seat.app.session_controller.record
            assert record is not None
            assert record.compactions == count
        await seat.shows(NOTICE)

    stage.show(act)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_f123_a_session_that_is_opened_again_tells_it_too(count: int) -> None:
    told = notes(*[Compacted("All of it.", 0)] * count)
    assert told.count(COMPACTED) == count
    assert sum("was compacted" in words for words in told) == max(0, count - 2)


def test_f120_f121_what_was_pruned_or_rejected_is_a_note() -> None:
    assert notes(ResultsPruned(4, 2, 30_000), CompactionRejected(1_000, 1_200)) == [
        "Removed 2 old tool results (about 30,000 tokens) to free up context.",
        "A summary was not used: about 1,200 tokens instead of 1,000.",
    ]
