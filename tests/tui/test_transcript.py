"""The transcript: everything that was said and done, unfolded, searchable, live, and soon there."""

from collections.abc import Sequence

import pytest
from tests.cli.scripts import turn
from tests.tui.harness import Seat, Stage
from tests.tui.test_line_view import sheet
from tests.tui.widget_app import Sight, shown

from assent.app.composition import open_engine
from assent.core.llm import StopReason, TextPart, TokenUsage
from assent.core.session.event import PartSaid, StepEnded, StepStarted
from assent.tui.commands.session import NO_TRANSCRIPT
from assent.tui.conversation.blocks import AssistantMessageBlock, Block, UserMessageBlock
from assent.tui.conversation.earlier_blocks import PORTION, RenderedBlock
from assent.tui.conversation.timeline import Timeline
from assent.tui.conversation.view import session_events
from assent.tui.host import StartOptions
from assent.tui.line_view import LineView, Section
from assent.tui.panels.transcript import FIRST, READING, TranscriptPanel, TranscriptView
from assent.tui.sections import LinePosition

PARTS = 10_000


def view(seat: Seat) -> TranscriptView:
    return seat.app.screen.query_one(TranscriptView)


def test_results_are_unfolded_and_found_with_n_and_capital_n(stage: Stage) -> None:
    stage.put("long.txt", "".join(f"needle {at}\n" for at in range(200)).encode())
    stage.script(turn("I look.", ("read", {"path": "long.txt"})), turn("A needle at the end."))

    async def act(seat: Seat) -> None:
        await seat.say("Find the needle")
        assert "needle 150" not in seat.text()
        await seat.press("f3")
        panel = await seat.opened(TranscriptPanel)
        await seat.until(lambda: panel.is_complete)
        await seat.shows("needle 199")
        assert READING not in seat.text()
        await seat.press("slash")
        await seat.type("needle")
        await seat.press("enter")
        await seat.shows(" of 202   n N")  # the message, 200 lines, and the answer
        before = view(seat).searched
        await seat.press("N")
        assert view(seat).searched != before
        await seat.press("n")
        assert view(seat).searched == before
        await seat.press("escape", "g")
        await seat.shows("> Find the needle")
        await seat.press("escape")
        await seat.until(lambda: len(seat.app.screen_stack) == 1)

    stage.show(act)


def test_what_happens_meanwhile_is_shown_at_once_and_in_a_search(stage: Stage) -> None:
    stage.script(turn("First."), turn("I look.", ("glob", {"pattern": "*"})), turn("Found it."))

    async def act(seat: Seat) -> None:
        await seat.say("One")
        seat.app.run_slash("/transcript")
        await seat.opened(TranscriptPanel)
        await seat.press("slash")
        await seat.type("found")
        await seat.shows("not found")
        seat.app.say("Two")
        await seat.shows("Found it.")
        await seat.shows("1 of 1")
        await seat.rest()
        assert isinstance(seat.app.screen, TranscriptPanel)
        for words in ("> One", "First.", "> Two", "✓ glob"):
            assert words in seat.text()

    stage.show(act)


def test_without_a_session_there_is_none(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        await seat.shows("F9 or /demo")  # comes by itself, below what is there
        await seat.press("f3")
        await seat.shows(NO_TRANSCRIPT)

    stage.show(act)


class Portions(TranscriptPanel):
    """A transcript that writes down how much it added at a time."""

    def __init__(self, feed: Timeline) -> None:
        super().__init__(feed)
        self.portions: list[int] = []

    def _add_before(self, portion: Sequence[RenderedBlock]) -> None:
        self.portions.append(len(portion))
        super()._add_before(portion)


def test_f124_ten_thousand_parts_are_not_waited_for_and_all_come_in_order(stage: Stage) -> None:
    with stage.here():
        engine, _ = open_engine(str(stage.root))
        record = engine.sessions.start("Say very much", "plan")
        said = [PartSaid(TextPart(f"Words of part {n}. " * 6), 0.1) for n in range(PARTS)]
        ends = StepStarted(1, "plan", "m", "plan"), StepEnded(StopReason.END, TokenUsage())
        engine.sessions.repository().append(record, ends[0], *said, ends[1])
        feed = Timeline(record.session)
        feed.add_events(session_events(engine, record))
        engine.close()
    panel = Portions(feed)

    async def act(seat: Seat) -> None:
        seat.app.open_panel(panel)
        await seat.shows(f"Words of part {PARTS - 1}.")
        await seat.until(lambda: panel.is_complete)
        assert panel.portions[0] == FIRST
        assert max(panel.portions) <= PORTION
        assert [section.key for section in view(seat).sections] == list(feed.blocks)
        assert f"Words of part {PARTS - 1}." in seat.text()  # it stays where it was
        await seat.press("g")
        await seat.shows("> Say very much")

    stage.show(act, StartOptions(), (100, 30))


class Halting(TranscriptPanel):
    """A transcript that reads earlier blocks only when it is told to."""

    def _read_on(self, most: int) -> None:
        if not self.query_one(TranscriptView).sections:
            super()._read_on(2)

    def read_all(self) -> None:
        super()._read_on(PORTION)


def test_an_earlier_block_that_changes_before_it_is_read_has_its_place(stage: Stage) -> None:
    feed = Timeline("s")
    blocks: list[Block] = [UserMessageBlock(f"s:{n}", f"message {n}") for n in range(5)]
    feed.blocks = {block.key: block for block in blocks}
    panel = Halting(feed)

    async def act(seat: Seat) -> None:
        seat.app.open_panel(panel)
        await seat.shows("message 4")
        assert "message 2" not in seat.text()
        changed = AssistantMessageBlock("s:1", "changed 1")
        added = AssistantMessageBlock("s:5", "added 5")
        feed.blocks |= {"s:1": changed, "s:5": added}
        panel.conversation_changed(feed, [changed, added])
        panel.conversation_changed(Timeline("other"), [AssistantMessageBlock("o:1", "elsewhere")])
        await seat.shows("added 5")
        panel.read_all()
        await seat.shows("message 0")
        assert [section.key for section in view(seat).sections] == [f"s:{n}" for n in range(6)]
        assert "changed 1" in seat.text()
        assert "message 1" not in seat.text()
        assert "elsewhere" not in seat.text()

    stage.show(act)


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_search_stays_at_its_match_while_lines_are_added(before: bool) -> None:
    paper = LineView(following=True)

    async def act(sight: Sight) -> None:
        paper.show([sheet("b", "needle one", "hay", "needle two")])
        paper.focus()
        await sight.press("slash", *"needle", "enter", "N")
        here = paper.searched
        assert here is not None
        new = Section("a" if before else "c", sheet("x", "hay", "needle new").lines)
        if before:
            paper.renew([new, *paper.sections])
        else:
            paper.put(new)
        assert paper.searched == here
        seen = []
        for _ in range(3):
            seen.append(paper.searched)
            await sight.press("n")
        places = [LinePosition("b", 0), LinePosition("b", 2)]
        places.insert(0 if before else 2, LinePosition(new.key, 1))
        at = places.index(here)
        assert seen == [*places[at:], *places[:at]]
        assert paper.searched == here

    shown(paper, act)
