"""What is typed behind a command that takes its time is meant for what the command leads to."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from tests.cli.scripts import PLANS
from tests.tui.harness import Seat, Stage
from tests.tui.thread_gates import PRESENTED, Gate, here, hold_reading, session, talked

from assent.cli.tui import LocalScreenHost
from assent.core.session.event import MessageAdded
from assent.tui.app import TerminalApp
from assent.tui.commands.plan import NO_PLAN
from assent.tui.deferred import SESSION_CHANGED
from assent.tui.host import StartOptions
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.panel import ConfirmPanel
from assent.tui.panels.run import RunPanel
from assent.tui.prompt.input import PromptInput

GOING_ON = StartOptions(going_on=True)
Typed = Callable[[TerminalApp], None]


def slash(text: str) -> Typed:
    return lambda app: app.on_prompt_input_slash(PromptInput.Slash(text))


def said(words: str) -> Typed:
    return lambda app: app.on_prompt_input_submitted(PromptInput.Submitted(words))


def key(habit: str) -> Typed:
    return lambda app: app.action_do(habit)


def hasty(*typed: Typed) -> type[TerminalApp]:
    """Returns a screen that is typed at before anybody has looked which session it goes on with."""

    class Hasty(TerminalApp):
        def _begin(self) -> None:
            for one in typed:
                one(self)
            super()._begin()

    return Hasty


def slug(stage: Stage, goal: str) -> str:
    with stage.here(), closing(LocalScreenHost(str(stage.root))) as host:
        return next(one.slug for one in host.engine().sessions.all() if one.goal == goal)


def heard(app: TerminalApp, words: str) -> list[str]:
    """Returns the sessions in which the person said something."""
    sessions = app.engine.sessions
    return [
        one.session
        for one in sessions.all()
        for each in sessions.events(one)
        if isinstance(each.event, MessageAdded) and words in str(each.event)
    ]


def planned(stage: Stage, goal: str, *, approved: bool = False) -> str:
    """Has a session present a plan, maybe approves it, and returns its name."""
    stage.script(*PLANS)
    assert stage.run("-p", "--model", stage.model, goal).code == PRESENTED
    plan = stage.ok("plan", "show")
    if approved:
        stage.ok("approve", "--digest", str(plan["digest"]))
    return str(plan["name"])


def hold_finding(app: TerminalApp, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Has a session found only when the gate lets it through."""
    gate, find = Gate(), app.engine.sessions.find

    def late(reference: str) -> Any:
        gate.wait()
        return find(reference)

    monkeypatch.setattr(app.engine.sessions, "find", late)
    return gate


def test_words_behind_resume_go_to_the_session_that_it_opens(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    talked(stage, "First", "Second")
    reading = hold_reading(monkeypatch, "First")

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        finding = hold_finding(app, monkeypatch)
        slash(f"/resume {session(app, 'First').slug}")(app)
        await seat.until(finding.reached.is_set)
        said("Say it again")(app)
        assert not app.session_controller.at_work
        finding.let()
        await seat.until(reading.reached.is_set)
        assert not app.session_controller.at_work
        reading.let()
        await seat.shows("> Say it again")
        await seat.rest()
        assert here(app) == "First"
        assert heard(app, "Say it again") == [app.session_controller.session]

    stage.show(act, GOING_ON)


@pytest.mark.parametrize("way", ["resume", "fork"])
def test_what_is_typed_before_the_first_session_is_read_stays_in_order(
    stage: Stage, way: str
) -> None:
    talked(stage, "First", "Second")
    app = hasty(slash(f"/{way} {slug(stage, 'First')}"), said("Say it again"))
    before = {one["session"] for one in stage.ok("sessions", "list")["sessions"]}

    async def act(seat: Seat) -> None:
        await seat.shows("> Say it again")
        await seat.rest()
        assert here(seat.app) == "First"
        assert (seat.app.session_controller.session in before) == (way == "resume")
        assert heard(seat.app, "Say it again") == [seat.app.session_controller.session]

    stage.show(act, GOING_ON, app=app)


def test_a_command_that_fails_lets_what_is_behind_it_go_on(stage: Stage) -> None:
    talked(stage, "First")

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        slash("/resume nobody")(app)
        said("Say it again")(app)
        await seat.shows("> Say it again")
        await seat.rest()
        text = seat.text()
        assert text.index("Session 'nobody' not found.") < text.index("> Say it again")

    stage.show(act, GOING_ON)


def test_build_behind_resume_builds_the_plan_of_the_session_that_is_shown(stage: Stage) -> None:
    planned(stage, "First")
    planned(stage, "Second", approved=True)

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        slash(f"/resume {session(app, 'First').slug}")(app)
        slash("/build")(app)
        await seat.shows("is not approved; nothing was built.")
        await seat.rest()
        assert here(app) == "First"
        assert app.run_controller.watched is None

    stage.show(act, GOING_ON)


def test_a_mode_that_was_confirmed_for_one_session_is_not_set_in_another(stage: Stage) -> None:
    talked(stage, "First", "Second")
    typed = (slash("/mode yolo"), slash(f"/resume {slug(stage, 'First')}"))

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.until(lambda: here(app) == "First" and app.ready)
        await seat.opened(ConfirmPanel)
        await seat.press("ctrl+y")
        await seat.shows(SESSION_CHANGED[:40])
        await seat.rest()
        assert {one.mode for one in app.engine.sessions.all()} == {"plan"}

    stage.show(act, GOING_ON, app=hasty(*typed))


def test_words_behind_a_mode_are_said_in_it(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    talked(stage, "First")
    gate = Gate()

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        set_mode = app.engine.sessions.set_mode

        def late(*about: Any) -> Any:
            gate.wait()
            return set_mode(*about)

        monkeypatch.setattr(app.engine.sessions, "set_mode", late)
        slash("/mode ask")(app)
        await seat.until(gate.reached.is_set)
        said("Say it again")(app)
        key("cycle_mode")(app)
        assert not app.session_controller.at_work
        gate.let()
        await seat.shows("> Say it again")
        await seat.rest()
        assert app.status_snapshot.mode == "auto-edit"

    stage.show(act, GOING_ON)


@pytest.mark.parametrize("habit", ["review", "edit_plan"])
def test_a_key_that_is_pressed_before_the_session_is_read_is_for_its_plan(
    stage: Stage, habit: str
) -> None:
    planned(stage, "First")
    planned(stage, "Second")
    stage.env["EDITOR"] = stage.env["VISUAL"] = "true"

    async def act(seat: Seat) -> None:
        panel = await seat.opened(ApprovalPanel)
        assert panel.plan_id == session(seat.app, "First").plan_id
        await seat.rest()

    resumed = StartOptions(resume=slug(stage, "First"))
    stage.show(act, resumed, app=hasty(key(habit)))


@pytest.mark.parametrize("command", ["/build", "/edit"])
def test_a_session_without_a_plan_takes_up_no_plan_of_another(stage: Stage, command: str) -> None:
    talked(stage, "First")
    name = planned(stage, "Second", approved=True)

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        slash(command)(app)
        await seat.shows(NO_PLAN)
        await seat.rest()
        assert f"next: {command} {name}" in seat.text()
        assert app.run_controller.watched is None
        if command == "/build":
            slash(f"/build {name}")(app)
            await seat.opened(RunPanel)
            await seat.rest()

    stage.show(act, StartOptions(resume=slug(stage, "First")))


def test_where_no_session_is_begun_the_current_plan_is_built(stage: Stage) -> None:
    planned(stage, "First", approved=True)

    async def act(seat: Seat) -> None:
        slash("/build")(seat.app)
        await seat.opened(RunPanel)
        await seat.rest()

    stage.show(act)


def test_nothing_that_was_typed_before_the_session_was_read_is_lost(stage: Stage) -> None:
    talked(stage, "First")
    stage.script(*[{"text": "Again."}] * 4)  # one answer for all of it, or one for each

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.shows("> And that")
        await seat.rest()
        found = [line for line in seat.text().splitlines() if line.strip().startswith("> ")]
        assert [line.strip()[2:] for line in found[:-1]] == ["First", *words]  # the last: prompt
        assert [heard(app, each) for each in words] == [[app.session_controller.session]] * 3
        assert app.session_controller.queued.texts == ()
        assert app.prompt.text == ""

    words = ("Say it again", "Then this", "And that")
    stage.show(act, GOING_ON, app=hasty(*map(said, words)))
