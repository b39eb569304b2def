"""Whoever opens a session again reads where its plan stands by now, and what was cut off."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.harness import World
from tests.cli.scripts import PLANS, turn
from tests.tui.harness import Seat, Stage
from tests.tui.test_question import edit
from tests.tui.tmux import OPEN, Tmux, needs_tmux, scripted

from assent.cli.tui import LocalScreenHost
from assent.core.errors import AssentError
from assent.core.plan.record import PlanState
from assent.core.session.event import TurnStarted
from assent.tui.app import TerminalApp
from assent.tui.host import StartOptions
from assent.tui.prompt.input import PromptInput
from assent.tui.result_messages import APPROVED, PLAN_STATES
from assent.tui.session_opening import CUT_OFF

GOING_ON = StartOptions(going_on=True)
WORDS = {words.strip() for words in (*PLAN_STATES.values(), APPROVED, CUT_OFF)}


def told(seat: Seat) -> list[str]:
    """Returns what was said about the plan and the last turn since the session was opened."""
    lines = [line.text.strip() for sheet in seat.app.conversation.sections for line in sheet.lines]
    return [line for line in lines if line in WORDS]


def greeted(stage: Stage) -> str:
    """Has a model present a plan without a screen, and returns its digest."""
    stage.script(*PLANS)
    assert stage.run("-p", "--model", stage.model, "Greet somebody").code == 3
    return str(stage.ok("plan", "show")["digest"])


def test_a_session_that_is_opened_again_says_where_its_plan_stands(stage: Stage) -> None:
    digest = greeted(stage)
    steps = {
        ("approve", "--digest", digest): APPROVED,
        ("build",): PLAN_STATES[""],
        ("undo",): PLAN_STATES["all"],
    }

    async def act(seat: Seat) -> None:
        await seat.rest()
        assert told(seat) == []  # it awaits review, as the conversation says
        for line, words in steps.items():
            if line == ("undo",):
                assert stage.undo().code == 0
            else:
                stage.ok(*line)
            seat.app.open_session(seat.app.session_controller.record)
            await seat.until(lambda: seat.app.ready)
            await seat.until(lambda: told(seat))
            await seat.rest()
            assert told(seat) == [words]

    stage.show(act, GOING_ON)


def test_a_build_that_stopped_is_told_once(stage: Stage) -> None:
    calls = (
        ("write_plan", {"text": "# Goal\n"}),
        ("shell", {"command": "exit 3", "stage": True}),
        ("present_plan", {}),
    )
    stage.script(turn("Planned.", *calls))
    assert stage.run("-p", "--model", stage.model, "Do it").code == 3
    stage.ok("approve", "--digest", str(stage.ok("plan", "show")["digest"]))
    assert stage.run("build").code == 6

    async def act(seat: Seat) -> None:
        await seat.shows("/recover shows your options")
        await seat.rest()
        assert seat.text().count("/recover") == 1
        assert told(seat) == []
        seat.app.open_session(seat.app.session_controller.record)  # and nothing else says it
        await seat.until(lambda: seat.app.ready)
        await seat.until(lambda: told(seat) == [PLAN_STATES[PlanState.HALTED]])

    stage.show(act, GOING_ON)


@needs_tmux
def test_a_permission_that_one_left_and_came_back_to_is_one_call(
    server: Tmux, tmp_path: Path
) -> None:
    world = World(tmp_path)
    world.put("a.py", b"a = 1\n")
    scripted(world, turn("", edit("a.py", "a = 1", "a = 2")), turn("Done."))
    screen = server.open(world, "assent --mode ask; echo le''ft; read _; clear; assent -c")
    screen.shows(OPEN)
    screen.enter("Change it")
    screen.shows("Allow edit to a.py?", "y once")
    screen.answer("Escape", "Tab answer")
    screen.answer("C-d", "left")
    screen.press("Enter")
    screen.shows("Allow edit to a.py?", "y once")
    shown = screen.send("y once", "y", "Done.")
    assert "edit a.py · running" not in shown
    assert shown.count("edit a.py") == 1
    assert "process ended" not in shown
    assert "Waiting for an answer" not in shown
    screen.leave()


def test_a_turn_that_was_cut_off_says_so_unless_somebody_is_at_work(stage: Stage) -> None:
    stage.script({"text": "Hello."})
    with stage.here(), closing(LocalScreenHost(str(stage.root))) as host:
        sessions = host.engine().sessions
        record = sessions.start("Say hello", "ask")
        sessions.repository().append(record, TurnStarted(1))

    async def act(seat: Seat) -> None:
        await seat.until(lambda: told(seat))
        await seat.rest()
        assert told(seat) == [CUT_OFF]
        sessions = seat.app.engine.sessions
        with sessions.locked(sessions.last(), "somebody else"):
            seat.app.open_session(sessions.last())
            await seat.until(lambda: seat.app.ready)
            await seat.rest()
            assert told(seat) == []
        await seat.say("go on")
        assert not seat.app.status_snapshot.cut_off

    stage.show(act, GOING_ON)


def test_a_turn_that_ended_with_its_screen_says_so_and_how_to_continue(stage: Stage) -> None:
    stage.script(turn("Never.", delay_ms=600_000))

    async def leaves(seat: Seat) -> None:
        seat.app.say("First")
        await seat.shows("The model is working")

    stage.show(leaves)
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        await seat.shows("The screen was closed during the turn.")
        await seat.until(lambda: told(seat))
        assert told(seat) == [CUT_OFF]
        assert "You interrupted" not in seat.text()
        await seat.say("continue")
        assert told(seat) == []

    stage.show(act, GOING_ON)


@pytest.mark.parametrize("below", ["", "src/deep"])
def test_a_workspace_that_is_not_the_folder_is_named_once(stage: Stage, below: str) -> None:
    (stage.root / ".git").mkdir()
    folder = stage.root / below
    folder.mkdir(parents=True, exist_ok=True)

    async def shown() -> list[str]:
        app = TerminalApp(LocalScreenHost(str(folder)))
        async with app.run_test() as pilot:
            seat = Seat(app, pilot)
            await seat.until(lambda: app.ready)
            await seat.rest()
            lines = [
                line.text.strip() for sheet in app.conversation.sections for line in sheet.lines
            ]
        app.leave()
        return [line for line in lines if line.startswith("Workspace: ")]

    with stage.here():
        named = asyncio.run(shown())
    assert named == ([f"Workspace: {stage.root.resolve()}"] if below else [])


class Hasty(TerminalApp):
    """A screen that is typed at before anybody has looked which session it goes on with."""

    def _begin(self) -> None:
        begin = self.session_controller.begin

        def late(start: StartOptions) -> None:
            self.session_controller.join(5.0)  # as long as any turn that did not wait for this
            begin(start)

        self.session_controller.begin = late  # type: ignore[method-assign]
        self.on_prompt_input_slash(PromptInput.Slash("/mode ask"))
        self.on_prompt_input_submitted(PromptInput.Submitted("Say it again"))
        super()._begin()


def test_what_is_typed_before_the_session_is_found_goes_to_that_session(stage: Stage) -> None:
    stage.script({"text": "Hello."}, {"text": "Again."})
    assert stage.run("-p", "--model", stage.model, "Say hello").code == 0

    async def act(seat: Seat) -> None:
        await seat.shows("Again.")
        await seat.rest()
        assert seat.text().index("> Say hello") < seat.text().index("> Say it again")
        assert seat.app.status_snapshot.mode == "ask"

    stage.show(act, GOING_ON, app=Hasty)
    (session,) = stage.ok("sessions", "list")["sessions"]
    assert session["turns"] == 2


def test_a_session_that_cannot_be_read_keeps_nothing_of_what_is_typed_waiting(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.script({"text": "Hello."}, {"text": "Again."})
    assert stage.run("-p", "--model", stage.model, "Say hello").code == 0

    def damaged(*_: object) -> None:
        raise AssentError("The log is damaged.")

    async def act(seat: Seat) -> None:
        await seat.shows("The log is damaged.")
        await seat.shows("Again.")
        await seat.rest()

    monkeypatch.setattr("assent.tui.session_opening.session_events", damaged)
    stage.show(act, GOING_ON, app=Hasty)
