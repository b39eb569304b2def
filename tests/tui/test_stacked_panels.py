"""Panels that end while another one lies over them: nothing else is closed, no word is lost."""

from typing import Any

from tests.cli.scripts import turn
from tests.tui.harness import Seat, Stage
from tests.tui.test_question import ASK, TOUCH, asked, press

from assent.core.session.question import QuestionReply
from assent.tui.app import ANSWER_KEPT, TerminalApp
from assent.tui.panels.panel import Panel
from assent.tui.panels.question.block import GONE, InlineQuestion

NOTE = "Rather the other one"


def answer_elsewhere(app: TerminalApp) -> None:
    """Answers the question that waits, as another terminal would."""
    (pending,) = app.engine.pending_questions.pending()
    reply = QuestionReply((("Yes",),), "somebody (elsewhere)")
    app.engine.pending_questions.answer(pending.id, pending.inquiry.asked.digest, reply)
    app.session_controller.asker.wake()


def test_what_is_written_for_a_question_that_goes_away_returns_to_the_prompt(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("Done."))

    async def act(seat: Seat) -> None:
        app = seat.app
        block = await asked(seat, "Make it")
        await press(seat, "e")
        await seat.type(NOTE[:8])
        answer_elsewhere(app)
        await seat.until(lambda: block.told == GONE)
        await seat.type(NOTE[8:])
        assert app.prompt.text == "", "keys still go to what is written"
        await seat.press("enter")
        await seat.until(lambda: app.prompt.text)
        assert app.prompt.text == NOTE
        await seat.rest()
        await seat.shows(ANSWER_KEPT)
        await seat.shows("Done.")
        assert not block.is_open

    stage.show(act, ASK)


def test_words_for_a_question_that_goes_away_answer_no_other_one(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("", ("shell", {"command": "touch more"})), turn("Never."))

    async def act(seat: Seat) -> None:
        app = seat.app
        block = await asked(seat, "Make it")
        await press(seat, "e")
        await seat.type(NOTE)
        (first,) = app.status_snapshot.waiting
        answer_elsewhere(app)
        await seat.until(
            lambda: first not in app.status_snapshot.waiting and app.status_snapshot.waiting
        )
        await seat.until(lambda: block.told == GONE)
        await seat.press("enter")
        await seat.until(lambda: app.prompt.text == NOTE)
        (second,) = app.engine.pending_questions.pending()
        assert "touch more" in str(second.inquiry.asked.questions)
        await seat.until(lambda: _ids(block) == [second.id])
        app.session_controller.interrupt()
        await seat.rest()

    stage.show(act, ASK)


def test_a_question_that_was_answered_elsewhere_goes_and_its_keys_go_nowhere(stage: Stage) -> None:
    stage.script(turn("", TOUCH), turn("Done."))

    async def act(seat: Seat) -> None:
        app = seat.app
        block = await asked(seat, "Make it")
        await seat.press("a")
        answer_elsewhere(app)
        await seat.until(lambda: not block.is_open)
        assert app.prompt.text == ""
        await seat.rest()
        await seat.shows("Done.")

    stage.show(act, ASK)


def _ids(block: InlineQuestion) -> list[str]:
    return [one.id for one in block.waiting]


def test_a_panel_ends_itself_alone_and_only_once(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        app, ends = seat.app, list[tuple[str, Any]]()
        below, over = Panel[str](), Panel[str]()
        app.open_panel(below, lambda result: ends.append(("below", result)))
        app.open_panel(over, lambda result: ends.append(("over", result)))
        await seat.pilot.pause()
        below.dismiss("first")
        below.dismiss("second")
        await seat.pilot.pause()
        assert (app.screen, below.is_over, over.is_over, ends) == (over, True, False, [])
        over.dismiss("done")
        over.dismiss("done again")
        below.dismiss("third")
        await seat.until(lambda: len(app.screen_stack) == 1)
        await seat.until(lambda: len(ends) == 2)
        below.dismiss("late")
        await seat.pilot.pause()
        assert ends == [("over", "done"), ("below", "first")]
        assert len(app.screen_stack) == 1

    stage.show(act)
