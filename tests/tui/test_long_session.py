"""Events in, screen out: a very long session opens and pages, and only what is seen is rendered."""

from collections.abc import Sequence
from threading import Event, Thread, current_thread

import msgspec
from tests.tui.harness import Seat, Stage
from tests.tui.widget_app import Sight, shown
from textual.strip import Strip

from assent.app.composition import open_engine
from assent.core.event import EventBody, StoredEvent
from assent.core.llm import ReasoningPart, StopReason, TextPart, TokenUsage, ToolResult
from assent.core.plan.operation import FileOperation, FileState, WriteFile
from assent.core.session.event import CallEnded, PartSaid, StepEnded, StepStarted
from assent.core.session.transcript import CALL_EDITS
from assent.render.lines import Line
from assent.tui.conversation.blocks import UserMessageBlock
from assent.tui.conversation.earlier_blocks import EarlierBlocks, RenderedBlock
from assent.tui.conversation.view import (
    ConversationView,
    SessionLoaded,
    load_session,
    session_events,
)
from assent.tui.host import StartOptions
from assent.tui.line_view import Section

PARTS = 10_000
SIZE = (100, 30)


def long_session(stage: Stage) -> str:
    """Makes a session in which a model said very much, and returns its name."""
    with stage.here():
        engine, _ = open_engine(str(stage.root))
        record = engine.sessions.start("Say very much", "plan")
        said = [PartSaid(TextPart(f"Words of part {n}. " * 6), 0.1) for n in range(PARTS)]
        ends = StepStarted(1, "plan", "m", "plan"), StepEnded(StopReason.END, TokenUsage())
        engine.sessions.repository().append(record, ends[0], *said, ends[1])
        engine.close()
    return record.slug


class Halting(ConversationView):
    """A conversation that shows earlier blocks only when it is told to."""

    def __init__(self) -> None:
        super().__init__(id="conversation")
        self.halted = True
        self.portions = 0

    def _read_on(self, earlier: EarlierBlocks) -> None:
        if not self.halted:
            super()._read_on(earlier)

    def _add_before(self, earlier: EarlierBlocks, portion: Sequence[RenderedBlock]) -> None:
        super()._add_before(earlier, portion)
        self.portions += 1

    def read_on(self, letter: SessionLoaded) -> None:
        self.halted = False
        self._read_on(letter.earlier)


def thoughts(first: int, last: int) -> list[StoredEvent]:
    """Returns events of a session that thought much; every thought can be unfolded."""
    said = [
        PartSaid(ReasoningPart(f"Thought {n}.\nIn detail {n}."), 0.1) for n in range(first, last)
    ]
    return [stored(n, event) for n, event in enumerate(said, first + 1)]


def stored(seq: int, event: EventBody) -> StoredEvent:
    return StoredEvent(seq, "session/s", seq, "2026-01-01T00:00:00.000Z", event)


def test_what_is_turned_or_changed_before_it_is_shown_is_shown_so() -> None:
    paper, letter = Halting(), load_session("s", thoughts(0, 1000))

    async def act(sight: Sight) -> None:
        paper.open(letter)
        await sight.until(lambda: "Thought 999." in sight.text())
        assert not paper.is_complete
        shown = len(paper.sections)
        letter.feed.blocks["s:1"] = changed = UserMessageBlock("s:1", "changed meanwhile")
        paper._again([changed])
        assert len(paper.sections) == shown  # it has its place, and is not there yet
        paper.turn_all()
        paper.add_events(thoughts(1000, 1001))
        paper.to_start()
        paper.read_on(letter)
        await sight.until(lambda: paper.is_complete)
        await sight.until(lambda: "In detail 1." in sight.text())  # at the beginning, unfolded
        assert "changed meanwhile" in sight.text()
        assert "Thought 0." not in sight.text()
        assert [each.key for each in paper.sections] == list(letter.feed.blocks)
        assert "In detail 1000." in paper.sections[-1].lines[-1].text

    shown(paper, act, SIZE)


def test_the_beginning_is_only_gone_to_while_it_is_wanted() -> None:
    paper, letter = Halting(), load_session("s", thoughts(0, 1000))

    async def act(sight: Sight) -> None:
        paper.open(letter)
        await sight.until(lambda: "Thought 999." in sight.text())
        paper.to_start()
        await sight.until(lambda: "Thought 999." not in sight.text())
        paper.action_scroll_end()
        paper.read_on(letter)
        await sight.until(lambda: paper.is_complete)
        await sight.until(lambda: "Thought 999." in sight.text())

    shown(paper, act, SIZE)


def test_of_a_session_that_was_left_nothing_comes_later() -> None:
    paper, letter = Halting(), load_session("s", thoughts(0, 1000))

    async def act(sight: Sight) -> None:
        paper.open(letter)
        await sight.until(lambda: "Thought 999." in sight.text())
        portion = letter.earlier.render()
        assert portion
        paper.begin("other")
        paper.empty()
        paper._add_before(letter.earlier, portion)
        assert paper.portions == 1
        assert not paper.sections
        assert paper.is_complete

    shown(paper, act, SIZE)


LINES = 600


def edits(number: int) -> list[StoredEvent]:
    """Returns events of a session that made a few large files; each can be unfolded."""
    ops = [
        WriteFile(b"%d.py" % n, None, FileState("0" * 64, LINES * 40, 0o644))
        for n in range(1, number + 1)
    ]
    return [
        stored(
            n,
            CallEnded(
                f"c{n}",
                "write",
                ToolResult(f"c{n}", "Written."),
                title=f"write {n}.py",
                metadata={CALL_EDITS: [msgspec.to_builtins(op)]},
            ),
        )
        for n, op in enumerate(ops, 1)
    ]


def large_patch(edits: Sequence[FileOperation]) -> str:
    (op,) = edits
    name = op.path.decode()
    added = "".join(f"+line {n} of {name}\n" for n in range(1, LINES + 1))
    head = f"diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n"
    return f"{head}@@ -0,0 +1,{LINES} @@\n{added}"


def test_large_edits_are_unfolded_in_portions_beside_the_screen() -> None:
    gate, readers, puts = Event(), list[Thread](), list[int]()

    def patch(edits: Sequence[FileOperation]) -> str:
        readers.append(current_thread())
        assert gate.wait(60)
        return large_patch(edits)

    class Putting(Halting):
        def put(self, *sheets: Section) -> None:
            puts.append(len(sheets))
            super().put(*sheets)

    gate.set()
    paper, letter = Putting(), load_session("s", edits(40), (), patch)

    async def act(sight: Sight) -> None:
        paper.open(letter)
        await sight.until(lambda: "40.py" in sight.text())
        gate.clear()
        readers.clear()
        puts.clear()
        assert paper.turn_all()
        await sight.until(lambda: bool(readers))
        paper.add_note([Line("plain", "a note meanwhile")])
        await sight.until(lambda: "a note meanwhile" in sight.text())
        assert "line 600 of 40.py" not in sight.text()
        gate.set()
        await sight.until(lambda: len(readers) == 40 and puts[-1] and len(puts) > 6)
        await sight.until(lambda: all(len(each.lines) > LINES for each in paper.sections[:-1]))
        assert current_thread() not in readers
        assert max(puts) <= 7  # of 600 lines each

    shown(paper, act, SIZE)


def test_edits_that_are_turned_twice_stay_as_they_were_wanted_last() -> None:
    paper, letter = Halting(), load_session("s", edits(40), (), large_patch)

    async def act(sight: Sight) -> None:
        paper.open(letter)
        await sight.until(lambda: "40.py" in sight.text())
        paper.turn_all()
        assert not paper.turn_all()
        assert paper.turn_all()
        paper.turn("s:40")  # which is folded by itself
        await sight.until(lambda: all(len(each.lines) > LINES for each in paper.sections[:-1]))
        assert len(paper.sections[-1].lines) < 12

    shown(paper, act, SIZE)


class Counting(ConversationView):
    """A conversation that counts which lines are rendered."""

    def __init__(self) -> None:
        super().__init__(id="conversation")
        self.rendered: list[int] = []

    def render_line(self, y: int) -> Strip:
        self.rendered.append(y)
        return super().render_line(y)


def test_f124_a_session_of_ten_thousand_parts_opens_and_pages_on_the_screen(stage: Stage) -> None:
    slug = long_session(stage)

    async def act(seat: Seat) -> None:
        await seat.shows(f"Words of part {PARTS - 1}.")
        await seat.press("ctrl+home")  # most of it may not be there yet
        await seat.shows("Words of part 0.")
        await seat.until(lambda: seat.app.conversation.is_complete)
        assert seat.app.conversation.rows > PARTS
        await seat.press("ctrl+end")
        await seat.shows(f"Words of part {PARTS - 1}.")
        await seat.press("pageup")
        await seat.until(lambda: f"Words of part {PARTS - 1}." not in seat.text())
        await seat.press("ctrl+home")
        await seat.shows("Words of part 0.")
        await seat.press("ctrl+end")
        await seat.shows(f"Words of part {PARTS - 1}.")

    stage.show(act, StartOptions(resume=slug), SIZE)


def test_f124_only_lines_that_are_seen_are_rendered(stage: Stage) -> None:
    slug = long_session(stage)
    with stage.here():
        engine, _ = open_engine(str(stage.root))
        record = engine.sessions.find(slug)
        letter = load_session(record.session, session_events(engine, record))
        engine.close()
    paper = Counting()

    async def act(sight: Sight) -> None:
        paper.open(letter)
        await sight.until(lambda: f"Words of part {PARTS - 1}." in sight.text())
        opening = len(paper.rendered)
        for _ in range(10):
            paper.scroll_relative(y=-20, animate=False)
            await sight.pilot.pause()
        turning = len(paper.rendered) - opening
        assert f"Words of part {PARTS - 1}." not in sight.text()
        assert 0 < opening <= 10 * SIZE[1]
        assert 0 < turning <= 10 * 4 * SIZE[1]
        assert max(paper.rendered) < SIZE[1]  # counted from the top of what is in sight

    shown(paper, act, SIZE)
