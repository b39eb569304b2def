"""After a build the model is asked to verify it, unless the user turned that off."""

from pathlib import Path

import pytest
from tests.cli.scripts import PLANS, Turn, turn
from tests.tui.harness import UNVERIFIED, Seat, Stage
from tests.tui.panel_actions import Reader

from assent.core.session.event import MessageAdded
from assent.tui.host import StartOptions
from assent.tui.line_view import LineView
from assent.tui.panels.help import HelpPanel
from assent.tui.panels.run import VERIFY_OFF, VERIFY_ON, VERIFY_STOP, RunPanel
from assent.tui.verification import VERIFY_HINT, VERIFYING

FOUND = "I checked: hello.txt is there and greets."
CHECK: Turn = turn("", ("shell", {"command": "cat hello.txt", "description": "Look"}))
GOING_ON = StartOptions(going_on=True)


@pytest.fixture
def verified(tmp_path: Path) -> Stage:
    """A stage whose user left the setting as it is."""
    stage = Stage(tmp_path)
    text = stage.config.read_text("utf-8")
    assert UNVERIFIED in text
    stage.config.write_text(text.replace(UNVERIFIED, ""), encoding="utf-8")
    return stage


def asked(seat: Seat) -> int:
    """Returns how often the model was asked to verify something."""
    record = seat.app.session_controller.record
    events = seat.app.engine.sessions.events(record) if record else []
    told = [one.event for one in events if isinstance(one.event, MessageAdded)]
    return sum(one.synthetic == "verify" for one in told)


async def built(seat: Seat) -> None:
    """Approves the plan of the session on the screen, and builds it."""
    reader = Reader(seat)
    await reader.open()
    await reader.to_the_end()
    await reader.press("1", "y")
    await seat.until(lambda: seat.app.run_controller.report is not None)


def presented(stage: Stage, *turns: Turn) -> None:
    stage.script(*PLANS, *turns)
    assert stage.run("-p", "--model", stage.model, "Greet").code == 3


def test_the_model_verifies_what_was_built_and_says_what_it_found(verified: Stage) -> None:
    presented(verified, CHECK, turn(FOUND))

    async def act(seat: Seat) -> None:
        await built(seat)
        await seat.rest()
        await seat.shows(FOUND)
        await seat.shows(VERIFYING)
        assert VERIFY_HINT not in seat.text()  # it is over
        assert not isinstance(seat.app.screen, RunPanel)  # what was found is in sight
        assert asked(seat) == 1
        record = seat.app.session_controller.record
        assert record is not None
        assert record.mode == "plan"

    verified.show(act, GOING_ON)
    assert verified.files()[b"hello.txt"][2] == b"hello\n"


def test_the_setting_turns_it_off(stage: Stage) -> None:
    presented(stage, turn("Never."))

    async def act(seat: Seat) -> None:
        await built(seat)
        await seat.rest()
        assert asked(seat) == 0
        assert VERIFYING not in seat.text()

    stage.show(act, GOING_ON)


def test_a_project_cannot_turn_it_off(verified: Stage) -> None:
    folder = verified.root / ".opencode"
    folder.mkdir(exist_ok=True)
    (folder / "assent.toml").write_text("[verify]\nafter_build = false\n", encoding="utf-8")
    with verified.here():
        assert verified.host().verifies


def test_one_key_turns_it_off_while_it_is_built(verified: Stage) -> None:
    verified.script(turn("Never."))
    verified.plan("greet", "Greet politely")
    verified.ok("stage", "run", "--script", "until test -e go; do sleep 0.02; done")
    verified.approve()

    async def act(seat: Seat) -> None:
        seat.app.build_plan(seat.app.engine.plans.find().plan_id)
        await seat.opened(RunPanel)
        await seat.shows(VERIFY_OFF)
        await seat.press("V")
        await seat.shows(VERIFY_ON)
        assert not seat.app.verification.wanted
        await seat.press("V")
        assert seat.app.verification.wanted
        await seat.press("escape")
        verified.put("go", b"")
        await seat.rest()

    verified.show(act)


@pytest.mark.parametrize(("way", "asks"), [("1", 1), ("3", 0)], ids=["resumed", "kept"])
def test_a_build_that_was_resumed_after_a_halt_is_verified_too(
    verified: Stage, way: str, asks: int
) -> None:
    write_plan, present = PLANS
    check = ("shell", {"command": "test -e go", "stage": True})
    verified.script(write_plan, turn("", check), present, turn(FOUND))
    assert verified.run("-p", "--model", verified.model, "Greet").code == 3

    async def act(seat: Seat) -> None:
        await built(seat)
        await seat.shows("needs your decision")
        await seat.rest()  # its end forgets what was asked before
        assert asked(seat) == 0
        (verified.root / "go").touch()
        panel, halted = seat.app.screen, seat.app.run_controller.report
        assert isinstance(panel, RunPanel)
        for key in (way, "ctrl+y"):
            await seat.until(lambda: panel.listening)
            await seat.press(key)
        # a yes is held for a moment before it is one, so that nothing is at work yet
        await seat.until(lambda: seat.app.run_controller.report not in (None, halted))
        await seat.rest()
        assert asked(seat) == asks

    verified.show(act, GOING_ON)


def test_the_panel_stays_for_who_reads_in_it_what_was_printed(verified: Stage) -> None:
    write_plan, present = PLANS
    prints = ("shell", {"command": "seq 200; until test -e go; do sleep 0.02; done", "stage": True})
    verified.script(write_plan, turn("", prints), present, turn(FOUND))
    assert verified.run("-p", "--model", verified.model, "Greet").code == 3

    async def act(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        await reader.to_the_end()
        await reader.press("1", "y")
        panel = await seat.opened(RunPanel)
        await seat.shows("│ 200")
        await seat.press("pageup")
        assert not panel.query_one(LineView).is_at_end
        (verified.root / "go").touch()
        await seat.until(lambda: asked(seat) == 1)
        await seat.rest()
        assert seat.app.screen is panel

    verified.show(act, GOING_ON)


def test_one_key_stops_it_while_the_model_verifies(verified: Stage) -> None:
    waits = turn("", ("shell", {"command": "sleep 300", "description": "Wait"}))
    presented(verified, waits, turn("Never."))

    async def act(seat: Seat) -> None:
        await built(seat)
        await seat.until(lambda: len(seat.app.screen_stack) == 1)
        assert seat.app.verification.at_work
        seat.app.run_slash("/run")
        await seat.opened(RunPanel)
        await seat.shows(VERIFY_STOP)
        await seat.press("V")
        await seat.rest()
        assert not seat.app.verification.at_work
        assert not seat.app.verification.wanted
        assert VERIFY_STOP not in seat.text()
        await seat.press("question_mark")
        await seat.opened(HelpPanel)
        await seat.press("escape", "escape")
        assert "Never." not in seat.text()

    verified.show(act, GOING_ON)


def test_a_small_build_leaves_the_conversation_in_sight(stage: Stage) -> None:
    presented(stage, turn("Never."))

    async def act(seat: Seat) -> None:
        await built(seat)
        await seat.rest()
        panel = await seat.opened(RunPanel)
        await seat.until(lambda: panel.query_one("#frame").region.height < 10)
        assert panel.query_one("#frame").region.bottom == 23
        await seat.shows("Plan ready for review.")

    stage.show(act, GOING_ON, size=(80, 24))


def test_a_build_of_the_command_line_asks_no_model(verified: Stage) -> None:
    presented(verified, turn("Never."))
    verified.ok("approve", "--digest", str(verified.ok("plan", "show")["digest"]))
    verified.ok("build")

    async def act(seat: Seat) -> None:
        await seat.rest()
        assert asked(seat) == 0

    verified.show(act, GOING_ON)
