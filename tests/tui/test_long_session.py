"""Events in, screen out: a very long session opens and pages, and only what is seen is rendered."""

from tests.tui.harness import Seat, Stage
from tests.tui.widget_app import Sight, shown
from textual.strip import Strip

from assent.app.composition import open_engine
from assent.core.llm import StopReason, TextPart, TokenUsage
from assent.core.session.event import PartSaid, StepEnded, StepStarted
from assent.tui.conversation.view import ConversationView, load_session, session_events
from assent.tui.host import StartOptions

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
        assert seat.app.conversation.rows > PARTS
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
