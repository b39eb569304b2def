"""Races of the screen: what sessions, turns and choices do that overtake each other."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.cli.scripts import PLANS
from tests.tui.harness import Seat, Stage
from tests.tui.thread_gates import (
    PRESENTED,
    Gate,
    here,
    hold_reading,
    session,
    slow,
    talked,
)

from assent.core.plan.record import PlanRecord
from assent.core.session.event import MessageAdded
from assent.core.session.record import SessionRecord
from assent.tui import status as poller
from assent.tui.host import StartOptions
from assent.tui.messages import ShellOver, TurnOver
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.panel import ConfirmPanel
from assent.tui.session_controller import BUSY


def test_a_session_that_is_read_slowly_does_not_cover_the_one_chosen_after_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    talked(stage, "First", "Second")
    gate = hold_reading(monkeypatch, "First")

    async def act(seat: Seat) -> None:
        app = seat.app
        app.open_session(session(app, "First"))
        await seat.until(gate.reached.is_set)
        app.open_session(session(app, "Second"))
        await seat.shows("> Second")
        gate.let()
        await seat.rest()
        assert "> Second" in seat.text()
        assert "> First" not in seat.text()

    stage.show(act)


def test_a_session_that_is_read_slowly_does_not_come_back_after_new(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    talked(stage, "First")
    gate = hold_reading(monkeypatch, "First")

    async def act(seat: Seat) -> None:
        app = seat.app
        app.open_session(session(app, "First"))
        await seat.until(gate.reached.is_set)
        app.open_session(None)
        await seat.until(lambda: app.ready)
        gate.let()
        await seat.rest()
        assert "> First" not in seat.text()
        await seat.say("Third")
        assert "> Third" in seat.text()
        assert here(app) == "Third"

    stage.show(act)


def test_what_is_told_while_a_session_is_read_stands_below_it(stage: Stage) -> None:
    talked(stage, "First")

    async def act(seat: Seat) -> None:
        await seat.rest()
        text = seat.text()
        assert text.index("> First") < text.index("nonsense")

    stage.show(act, StartOptions(going_on=True, mode="nonsense"))


def test_a_mode_that_is_set_slowly_does_not_bring_its_session_back(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    talked(stage, "First", "Second")
    gate = Gate()

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        set_mode = app.engine.sessions.set_mode

        def late(record: SessionRecord, name: str) -> SessionRecord:
            gate.wait()
            return set_mode(record, name)

        monkeypatch.setattr(app.engine.sessions, "set_mode", late)
        app.set_mode("ask")
        await seat.until(gate.reached.is_set)
        app.open_session(session(app, "First"))
        await seat.shows("> First")
        gate.let()
        await seat.rest()
        assert here(app) == "First"
        assert session(app, "Second").mode == "ask"

    stage.show(act, StartOptions(going_on=True))


def test_yolo_is_confirmed_although_the_session_before_was_in_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    talked(stage, "First", "Second")
    gate, read = Gate(), poller.read_snapshot

    def late(*about: Any) -> Any:
        gate.wait()
        return read(*about)

    async def act(seat: Seat) -> None:
        app = seat.app
        app.set_mode("yolo")
        await seat.until(lambda: app.status_snapshot.base == "yolo")
        await seat.rest()
        monkeypatch.setattr(poller, "read_snapshot", late)
        app.open_session(session(app, "First"))
        await seat.until(lambda: app.ready)
        app.run_slash("/mode yolo")
        await seat.pilot.pause()
        assert app.is_open(ConfirmPanel)
        gate.let()
        assert session(app, "First").mode == "plan"

    stage.show(act, StartOptions(going_on=True))


def test_where_a_session_stands_is_not_shown_after_another_was_opened(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    talked(stage, "First", "Second")
    gate, read = Gate(), poller.read_snapshot
    stood: list[str] = []

    def late(*about: Any) -> Any:
        found = read(*about)
        gate.wait()
        return found

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        monkeypatch.setattr(poller, "read_snapshot", late)
        app.refresh_status()
        await seat.until(gate.reached.is_set)
        app.open_session(session(app, "First"))
        stand = app.apply_status

        def standing(found: Any) -> None:
            stood.append(found.record.goal)
            stand(found)

        monkeypatch.setattr(app, "apply_status", standing)
        gate.let()
        await seat.until(lambda: app.ready)
        await seat.rest()

    stage.show(act, StartOptions(going_on=True))
    assert stood
    assert set(stood) == {"First"}


@pytest.mark.parametrize("kind", [TurnOver, ShellOver])
def test_whoever_hears_of_an_end_can_begin_the_next_at_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, kind: type
) -> None:
    stage.script({"text": "Hello."}, {"text": "Again."})
    gate = Gate()

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        begin: Callable[[str], object] = app.say if kind is TurnOver else app.run_shell
        post = app.messages.post

        def lingering(letter: object, *rest: Any) -> None:
            post(letter, *rest)
            if isinstance(letter, kind):
                gate.wait()

        monkeypatch.setattr(app.messages, "post", lingering)
        begin("echo one")
        await seat.until(gate.reached.is_set)
        await seat.until(lambda: app.quiet)
        assert not app.at_work
        begin("echo two")
        await seat.shows("Again." if kind is TurnOver else "! echo two")
        gate.let()
        await seat.until(lambda: not app.at_work)
        await seat.rest()
        assert "first." not in seat.text()  # as every refusal says what to do first

    assert BUSY.endswith("first.")
    stage.show(act)


def test_the_end_of_a_turn_opens_no_review_of_another_session(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.script(*PLANS)
    assert stage.run("-p", "--model", stage.model, "First").code == PRESENTED

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        deliver = app.deliver
        monkeypatch.setattr(app, "deliver", lambda: None)
        app.say("Second")
        await seat.until(lambda: not app.session_controller.at_work)
        app.open_session(session(app, "First"))
        monkeypatch.setattr(app, "deliver", deliver)
        deliver()
        await seat.until(lambda: app.ready)
        await seat.rest()
        assert not app.is_open(ApprovalPanel)
        assert "> First" in seat.text()
        assert "> Second" not in seat.text()

    stage.show(act)


def test_a_command_is_told_to_the_session_in_which_it_was_typed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    talked(stage, "First", "Second")
    gate = Gate()
    slow(stage, monkeypatch, engine_shell=gate)

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        app.run_shell("echo hello")
        await seat.until(gate.reached.is_set)
        app.open_session(session(app, "First"))
        gate.let()
        await seat.until(lambda: app.ready)
        told = [
            one.goal
            for one in app.engine.sessions.all()
            for heard in app.engine.sessions.events(one)
            if isinstance(heard.event, MessageAdded) and heard.event.synthetic == "shell"
        ]
        assert told == ["Second"]
        await seat.rest()

    stage.show(act, StartOptions(going_on=True))


def test_what_is_said_after_a_model_was_chosen_is_said_to_it_however_slowly_it_opens(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.script({"text": "Other."})
    other = stage.path.rename(stage.path.with_name("other.json"))
    stage.script({"text": "Hello."})
    chosen, opened = Gate(), Gate()
    slow(stage, monkeypatch, work=chosen, work_turn=opened)

    async def act(seat: Seat) -> None:
        app = seat.app
        app.run_slash(f"/model scripted:{other}")
        await seat.until(chosen.reached.is_set)
        app.say("First")
        opened.reached.wait(1.0)  # as soon as any turn that does not wait for the choice
        chosen.let()
        opened.let()
        await seat.rest()
        assert "Other." in seat.text()
        assert "Hello." not in seat.text()

    stage.show(act)


def test_a_plan_that_is_chosen_during_a_turn_stays_chosen_after_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.script(*PLANS)
    assert stage.run("-p", "--model", stage.model, "First").code == PRESENTED
    stage.script({"text": "Hello."})
    gate = Gate()
    slow(stage, monkeypatch, work_turn=gate)

    async def act(seat: Seat) -> None:
        app = seat.app
        plan = app.engine.plans.find(session(app, "First").plan_id)
        app.say("Second")
        await seat.until(gate.reached.is_set)
        app.plan_chosen(plan, None)
        gate.let()
        await seat.rest()
        assert app.session_controller.plan_id == plan.plan_id

    stage.show(act, StartOptions(mode="ask"))


def test_the_plan_that_a_turn_took_up_is_the_one_that_is_built_after_it(stage: Stage) -> None:
    stage.script(*PLANS)
    for words in ("First", "Second"):
        assert stage.run("-p", "--model", stage.model, words).code == PRESENTED
    stage.script(*PLANS, {"text": "Hello."})

    async def act(seat: Seat) -> None:
        app = seat.app
        plan = app.engine.plans.use(session(app, "First").plan_id)
        app.plan_chosen(plan, None)
        await seat.say("Go on with that one")
        assert here(app) == "Second"
        assert app.status_snapshot.plan is not None
        assert app.status_snapshot.plan.plan_id == app.session_controller.plan_id == plan.plan_id

    stage.show(act, StartOptions(going_on=True))


def test_a_review_that_is_asked_for_twice_opens_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.script(*PLANS)
    assert stage.run("-p", "--model", stage.model, "First").code == PRESENTED
    gate = Gate()

    async def act(seat: Seat) -> None:
        app = seat.app
        find = app.engine.plans.find

        def late(reference: str = "") -> PlanRecord:
            gate.wait()
            return find(reference)

        await seat.rest()
        monkeypatch.setattr(app.engine.plans, "find", late)
        app.review_plan()
        await seat.until(gate.reached.is_set)
        app.review_plan()
        gate.let()
        await seat.opened(ApprovalPanel)
        await seat.rest()
        assert len(app.screen_stack) == 2

    stage.show(act)
