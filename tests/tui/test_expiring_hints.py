"""Hints go once what they hint at is gone; what happened stays, also after resuming."""

from tests.cli.scripts import PLANS, turn
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader

from assent.tui.conversation.view import REVIEW_HINT
from assent.tui.expiring_hints import AFTER_A_RUN
from assent.tui.host import StartOptions
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.run import RunPanel
from assent.tui.panels.transcript import TranscriptPanel, TranscriptView
from assent.tui.panels.undo import UndoPanel
from assent.tui.result_messages import PLAN_STATES, UNDO_HINTS
from assent.tui.session_opening import CUT_OFF

GOING_ON = StartOptions(going_on=True)
STORY = ("Plan ready", "You approved", "Build: done", "Undo: done", "Redo: done", "> And now?")


def told(seat: Seat) -> list[str]:
    """Returns every line of the conversation that is not blank."""
    lines = [line.text for sheet in seat.app.conversation.sections for line in sheet.lines]
    return [line.strip() for line in lines if line.strip()]


def hints(seat: Seat) -> list[str]:
    known = {REVIEW_HINT.strip(), *AFTER_A_RUN, *PLAN_STATES.values()}
    return [line for line in told(seat) if line in known]


async def decides(seat: Seat) -> None:
    """Says yes to the plan or the undo that is on the screen, and closes the view of its run."""
    reader = Reader(seat)
    await reader.reads()
    await reader.to_the_end()
    await reader.press("1", "y")
    await seat.opened(RunPanel)
    await seat.rest()
    await seat.press("escape")
    await seat.until(lambda: len(seat.app.screen_stack) == 1)


async def does(seat: Seat, command: str) -> None:
    seat.app.run_slash(command)
    await seat.opened(UndoPanel)
    await decides(seat)


def test_only_the_newest_hint_is_left_of_a_review_a_build_an_undo_and_a_redo(stage: Stage) -> None:
    stage.script(*PLANS)

    async def act(seat: Seat) -> None:
        await seat.say("Greet me")
        await seat.opened(ApprovalPanel)
        await seat.press("escape")
        await seat.until(lambda: hints(seat) == [REVIEW_HINT.strip()])
        seat.app.review_plan()
        await seat.opened(ApprovalPanel)
        await decides(seat)
        await seat.until(lambda: hints(seat) == [UNDO_HINTS["build"]])
        await does(seat, "/undo")
        await seat.until(lambda: hints(seat) == [UNDO_HINTS["undo"]])
        assert "Undone: create hello.txt." in told(seat)
        await does(seat, "/redo")
        await seat.until(lambda: hints(seat) == [UNDO_HINTS["redo"]])
        assert "Redone: create hello.txt." in told(seat)

    stage.show(act)


def test_a_hint_goes_when_another_terminal_undoes_the_run(stage: Stage) -> None:
    stage.script(*PLANS)

    async def act(seat: Seat) -> None:
        await seat.say("Greet me")
        await seat.opened(ApprovalPanel)
        await decides(seat)
        await seat.until(lambda: hints(seat) == [UNDO_HINTS["build"]])
        await seat.until(lambda: "completed" in seat.text())
        assert stage.undo().code == 0
        seat.app.refresh_status()
        await seat.until(lambda: hints(seat) == [])

    stage.show(act)


def test_g35_after_resuming_builds_undos_and_redos_stand_where_they_happened(stage: Stage) -> None:
    stage.script(*PLANS, turn("Later."))

    async def first(seat: Seat) -> None:
        await seat.say("Greet me")
        await seat.opened(ApprovalPanel)
        await decides(seat)
        await does(seat, "/undo")
        await does(seat, "/redo")
        await seat.say("And now?")

    stage.show(first)

    async def second(seat: Seat) -> None:
        await seat.until(lambda: any("Plan built" in line for line in told(seat)))
        lines = told(seat)
        places = [
            next(at for at, line in enumerate(lines) if line.startswith(words)) for words in STORY
        ]
        assert places == sorted(places)
        assert "create hello.txt." in lines
        assert lines[-1] == PLAN_STATES[""]
        await does(seat, "/undo")
        assert PLAN_STATES[""] not in told(seat)

    stage.show(second, GOING_ON)


def test_what_a_turn_that_goes_on_makes_needless_is_taken_away(stage: Stage) -> None:
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        seat.app.add_note(f"  {CUT_OFF}")
        await seat.until(lambda: CUT_OFF in told(seat))
        await seat.say("go on")
        assert CUT_OFF not in told(seat)
        assert "Hello." in told(seat)

    stage.show(act)


def test_the_transcript_has_the_notes_of_the_screen_too(stage: Stage) -> None:
    stage.script(turn("Hello."), turn("Again."))

    async def act(seat: Seat) -> None:
        seat.app.add_note("A note before.")
        await seat.say("One")
        seat.app.add_note("A note between.")
        seat.app.run_shell("echo printed")
        await seat.shows("│ printed")
        await seat.rest()
        await seat.say("Two")
        seat.app.run_slash("/transcript")
        panel = await seat.opened(TranscriptPanel)
        await seat.until(lambda: panel.is_complete)
        seat.app.add_note("A note meanwhile.")
        shown = panel.query_one(TranscriptView)

        def lines() -> list[str]:
            found = [line.text for section in shown.sections for line in section.lines]
            return [line.strip() for line in found]

        await seat.until(lambda: "A note meanwhile." in lines())
        words = (
            "A note before.", "> One", "Hello.", "A note between.", "│ printed", "> Two", "Again.",
            "A note meanwhile.",
        )  # fmt: skip
        places = [lines().index(each) for each in words]
        assert places == sorted(places)

    stage.show(act)
