"""What comes late to the screen: to a panel that is gone, a part that shows more, or nobody."""

from contextlib import closing
from threading import Thread, current_thread
from typing import Any

import pytest
from tests.cli.scripts import PLANS
from tests.tui.harness import Seat, Stage
from tests.tui.thread_gates import LOOKS, PATIENCE_S, PRESENTED, Gate, here, session, slow, talked

from assent.app.engine import Engine
from assent.core.session.record import SessionRecord
from assent.tui.app import TerminalApp
from assent.tui.conversation.view import load_session, session_events
from assent.tui.host import StartOptions
from assent.tui.key_actions import KEY_ACTIONS
from assent.tui.panels.session_list import SessionList
from assent.tui.panels.setting_list import ModelList
from assent.tui.sidebar import sidebar
from assent.tui.sidebar.data import PlanFileText, PlanFileWatcher, SidebarData
from assent.tui.sidebar.sidebar import Sidebar


def test_the_side_area_shows_what_was_looked_at_last(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    talked(stage, "First", "Second")
    gate, read = Gate(), sidebar.read_sidebar_data

    def late(engine: Engine, record: SessionRecord, *rest: Any, **chosen: str) -> SidebarData:
        found = read(engine, record, *rest, **chosen)
        if record.goal == "First":
            gate.wait()
        return found

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.until(lambda: app.screen.query(Sidebar))
        await seat.rest()
        area = app.screen.query_one(Sidebar)
        monkeypatch.setattr(sidebar, "read_sidebar_data", late)
        second = session(app, "Second")
        area.refresh_data(app.engine, session(app, "First"))
        await seat.until(gate.reached.is_set)
        area.show(SidebarData())
        area.refresh_data(app.engine, second)
        await seat.until(lambda: area.values.session == second.session)
        gate.let()
        await seat.pilot.pause()
        assert area.values.session == second.session

    stage.show(act, StartOptions(going_on=True), size=(140, 45))


def test_a_list_that_is_closed_while_it_is_read_is_no_mishap(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    talked(stage, "First")
    gate, rows = Gate(), SessionList.rows

    def late(panel: SessionList) -> Any:
        gate.wait()
        return rows(panel)

    monkeypatch.setattr(SessionList, "rows", late)

    async def act(seat: Seat) -> None:
        app, panel = seat.app, SessionList()
        app.open_panel(panel)
        await seat.until(gate.reached.is_set)
        panel.action_leave()
        await seat.until(lambda: not panel.is_attached)
        gate.let()
        await seat.rest()
        assert app.messages.mishaps == []

    stage.show(act)


@pytest.mark.parametrize("leaves", [True, False])
def test_why_models_are_missing_is_told_as_long_as_the_list_is_open(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, *, leaves: bool
) -> None:
    gate = Gate()
    slow(stage, monkeypatch, models=gate)

    async def act(seat: Seat) -> None:
        app, panel = seat.app, ModelList()
        app.open_panel(panel)
        await seat.until(gate.reached.is_set)
        if leaves:
            panel.action_leave()
            await seat.until(lambda: not panel.is_attached)
        gate.let()
        await seat.rest()
        assert app.is_running
        assert ("timed out" in seat.text()) is not leaves

    stage.show(act)


@pytest.mark.parametrize("held", ["defaults", "work_turn"])
def test_leaving_while_something_is_still_being_opened_is_no_mishap(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, held: str
) -> None:
    stage.script({"text": "Hello."})
    gate, mishaps = Gate(), []
    slow(stage, monkeypatch, **{held: gate})

    class Leaving(TerminalApp):
        def leave(self) -> None:
            gate.let()  # the screen is gone by now
            mishaps.extend(self.messages.mishaps)
            super().leave()

    async def act(seat: Seat) -> None:
        if held == "work_turn":
            seat.app.say("Say hello")
        await seat.until(gate.reached.is_set)

    stage.show(act, app=Leaving)
    assert mishaps == []


def test_a_turn_ends_in_good_order_although_another_session_waits_for_an_answer(
    stage: Stage,
) -> None:
    asks = {"text": "", "calls": [{"tool": "shell", "args": {"command": "echo x > y"}}]}
    stage.script(asks)

    async def ask(seat: Seat) -> None:
        seat.app.say("First")
        await seat.until(lambda: seat.app.status_snapshot.waiting)

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.until(lambda: app.status_snapshot.waiting)
        app.say("Second")
        await seat.until(lambda: here(app) == "Second")
        await seat.until(lambda: app.engine.sessions.is_at_work(session(app, "Second")))

    stage.show(ask, StartOptions(mode="ask"))
    stage.script({"text": "Hello.", "delay_ms": 60_000})
    stage.show(act)
    with stage.here(), closing(stage.host()) as host:
        ends = {one.goal: one.ended for one in host.engine().sessions.all()}
    assert ends == {"First": "", "Second": "interrupted"}


def test_a_plan_that_is_shown_while_the_file_of_another_is_looked_at_is_followed(
    stage: Stage,
) -> None:
    stage.script(*PLANS)
    assert stage.run("-p", "--model", stage.model, "First").code == PRESENTED

    class Late(PlanFileWatcher):
        """Follows another plan just when the first was looked at."""

        other: Thread | None = None

        @property
        def _what(self) -> Any:
            found = self.__dict__["what"]
            if found is not None and found[1] is first and current_thread() is looking:
                self._looked += 1
            if found is not None and self._looked == LOOKS and self.other is None:
                self.other = Thread(target=self.follow, args=(engine, second, PlanFileText()))
                self.other.start()
                self.other.join(1.0)  # as long as anybody takes who does not wait for the look
            return found

        @_what.setter
        def _what(self, what: Any) -> None:
            self.__dict__["what"] = what

        _looked = 0

    with stage.here(), closing(stage.host()) as host:
        engine, looking = host.engine(), current_thread()
        first, second = engine.plans.find(), engine.plans.find()
        following = Late(lambda plan, live: None)
        following.stop()
        following.follow(engine, first, PlanFileText())
        following._looked = 0
        following.check()
        assert following.other is not None
        following.other.join(PATIENCE_S)
        assert following.__dict__["what"][1] is second


@pytest.mark.parametrize(("key", "seen"), [("to_start", " > 0"), ("page_back", " 170")])
def test_whoever_scrolls_before_a_session_is_laid_out_gets_there(
    stage: Stage, key: str, seen: str
) -> None:
    talked(stage, "\n".join(str(number) for number in range(200)))

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        (record,) = app.engine.sessions.all()
        app.conversation.open(load_session(record.session, session_events(app.engine, record)))
        KEY_ACTIONS[key](app)
        await seat.rest()
        assert f"{seen}\n" in seat.text().replace(" \n", "\n")

    stage.show(act)
