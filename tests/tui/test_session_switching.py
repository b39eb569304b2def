"""The right session: modes, words and output stay with the session that they were meant for."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest
from tests.cli.scripts import turn, write
from tests.tui.harness import Seat, Stage
from tests.tui.thread_gates import Gate, here, session, slow, talked

from assent.app.engine import Engine
from assent.core.session.record import SessionRecord
from assent.tui.commands.session import ON
from assent.tui.host import StartOptions
from assent.tui.panels.panel import ConfirmPanel
from assent.tui.session_controller import BUSY, NOTED, OTHER_MODE

MADE = "made.txt"


def began(stage: Stage, *goals: str) -> None:
    """Has sessions begun in plan mode, whose next answer writes a file."""
    stage.script(turn("Hello."), turn("Writing.", write(MADE, "x\n")), turn("Written."))
    for goal in goals:
        assert stage.run("-p", "--model", stage.model, goal).code == 0


def elsewhere(engine: Engine, record: SessionRecord | None, mode: str) -> None:
    """Has another screen change the mode, of which this one hears nothing."""
    assert record is not None
    engine.sessions.set_mode(record, mode)


def said(seat: Seat) -> list[str]:
    """Returns what the person has said in the session on the screen."""
    sessions = seat.app.engine.sessions
    assert seat.app.session_controller.record is not None
    return [one.text for one in sessions.messages(seat.app.session_controller.record)]


def whole(seat: Seat) -> str:
    """Returns the screen in one line, as nobody wrapped it."""
    return " ".join(seat.text().split())


def status(seat: Seat) -> str:
    return seat.text().splitlines()[-1].split()[0]


def test_plan_sets_the_record_whatever_the_status_line_says(stage: Stage) -> None:
    began(stage, "First")

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        elsewhere(app.engine, app.session_controller.record, "auto-edit")
        assert status(seat) == "plan"
        app.run_slash("/plan")
        await seat.shows(ON)
        assert session(app, "First").mode == "plan"
        await seat.say("Do it")
        assert said(seat) == ["First", "Do it"]

    stage.show(act, StartOptions(going_on=True))
    assert not (stage.root / MADE).exists()


def test_words_are_not_said_to_a_mode_that_the_person_was_not_shown(stage: Stage) -> None:
    began(stage, "First")

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        elsewhere(app.engine, app.session_controller.record, "auto-edit")
        await seat.say("Do it")
        await seat.until(lambda: OTHER_MODE.format("auto-edit") in whole(seat))
        assert app.prompt.text == "Do it"
        assert said(seat) == ["First"]
        assert not (stage.root / MADE).exists()
        await seat.until(lambda: status(seat) == "auto-edit")
        await seat.press("enter")
        await seat.shows("Written.")
        await seat.rest()
        assert said(seat) == ["First", "Do it"]
        assert (stage.root / MADE).exists()

    stage.show(act, StartOptions(going_on=True))


def test_words_that_come_back_stand_above_what_was_typed_meanwhile(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    began(stage, "First")

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        elsewhere(app.engine, app.session_controller.record, "ask")
        gate, load = Gate(), app.engine.sessions.load

        def late(name: str) -> SessionRecord:
            gate.wait()
            return load(name)

        monkeypatch.setattr(app.engine.sessions, "load", late)
        app.say("Do it")
        await seat.until(gate.reached.is_set)
        await seat.type("more")
        gate.let()
        await seat.rest()
        assert app.prompt.text == "Do it\nmore"

    stage.show(act, StartOptions(going_on=True))


def test_a_mode_that_was_shown_meanwhile_takes_words_at_once(stage: Stage) -> None:
    began(stage, "First")

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        elsewhere(app.engine, app.session_controller.record, "auto-edit")
        app.refresh_status()
        await seat.until(lambda: status(seat) == "auto-edit")
        await seat.say("Do it")
        assert said(seat) == ["First", "Do it"]
        assert app.prompt.text == ""

    stage.show(act, StartOptions(going_on=True))
    assert (stage.root / MADE).exists()


def test_words_wait_for_a_mode_that_this_screen_is_changing(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    began(stage, "First")

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        gate, set_mode = Gate(), app.engine.sessions.set_mode

        def late(record: SessionRecord, name: str) -> SessionRecord:
            changed = set_mode(record, name)
            gate.wait()  # it is on record, and this screen does not know yet
            return changed

        monkeypatch.setattr(app.engine.sessions, "set_mode", late)
        app.set_mode("auto-edit")
        await seat.until(gate.reached.is_set)
        app.say("Do it")
        await seat.pilot.pause()
        gate.let()
        await seat.shows("Written.")
        await seat.rest()
        assert app.prompt.text == ""
        assert said(seat) == ["First", "Do it"]

    stage.show(act, StartOptions(going_on=True))


@pytest.mark.parametrize("over", ["/new", "/resume second"])
def test_a_yes_to_yolo_holds_for_its_session_alone(stage: Stage, over: str) -> None:
    began(stage, "Second", "First")

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        app.run_slash("/mode yolo")
        await seat.opened(ConfirmPanel)
        await seat.press("ctrl+y")
        await seat.until(lambda: status(seat) == "yolo")
        for line in dict.fromkeys((over, "/new")):
            app.run_slash(line)
            await seat.rest()
            await seat.until(lambda: status(seat) == "plan")
        await seat.say("Third")
        assert (here(app), session(app, "Third").mode) == ("Third", "plan")
        assert session(app, "First").mode == "yolo"

    stage.show(act, StartOptions(going_on=True))


def test_a_mode_of_the_command_line_holds_for_every_session_that_begins(stage: Stage) -> None:
    talked(stage)

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        app.set_mode("auto-edit")
        await seat.until(lambda: status(seat) == "auto-edit")
        await seat.say("First")
        app.run_slash("/new")
        await seat.rest()
        await seat.until(lambda: status(seat) == "ask")
        await seat.say("Second")
        assert [session(app, one).mode for one in ("First", "Second")] == ["auto-edit", "ask"]

    stage.show(act, StartOptions(mode="ask"))


@contextmanager
def at_work(engine: Engine, record: SessionRecord) -> Iterator[None]:
    """Has somebody else drive a session meanwhile."""
    holds, over = Event(), Event()

    def hold() -> None:
        with engine.sessions.locked(record, "session of another screen"):
            holds.set()
            over.wait()

    other = Thread(target=hold)
    other.start()
    holds.wait()
    try:
        yield
    finally:
        over.set()
        other.join()


def test_words_that_nobody_can_drive_now_are_said_to_be_on_record(stage: Stage) -> None:
    talked(stage, "First")

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        with at_work(app.engine, session(app, "First")):
            app.say("Words of mine")
            await seat.until(lambda: NOTED in whole(seat))
        assert "next: send `continue` when it is idle" in whole(seat)
        assert "othing was changed" not in whole(seat)
        assert said(seat) == ["First", "Words of mine"]
        await seat.rest()
        assert app.prompt.text == ""

    stage.show(act, StartOptions(going_on=True))


def test_nothing_is_forked_while_a_turn_is_driven(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    talked(stage, "First")
    gate = Gate()
    slow(stage, monkeypatch, work_turn=gate)

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        app.say("Second")
        await seat.until(gate.reached.is_set)
        app.run_slash("/fork")
        await seat.shows(BUSY)
        await seat.until(lambda: not app.tasks.activity_text)
        gate.let()
        await seat.rest()
        assert "Forked to" not in seat.text()
        assert len(app.engine.sessions.all()) == 1

    stage.show(act, StartOptions(going_on=True))


def test_a_fork_that_a_turn_overtook_is_named_and_not_shown(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    talked(stage, "First")
    forking, working = Gate(), Gate()
    slow(stage, monkeypatch, work_turn=working)

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        fork = app.engine.sessions.fork

        def late(record: SessionRecord) -> SessionRecord:
            forking.wait()
            return fork(record)

        monkeypatch.setattr(app.engine.sessions, "fork", late)
        app.run_slash("/fork")
        await seat.until(forking.reached.is_set)
        app.say("Second")
        await seat.until(working.reached.is_set)
        forking.let()
        await seat.until(lambda: "Open it with /resume first-2." in whole(seat))
        assert BUSY not in whole(seat)
        working.let()
        await seat.rest()
        assert app.slug == "first"

    stage.show(act, StartOptions(going_on=True))


@pytest.mark.parametrize("over", ["/new", "/resume second"])
def test_what_a_command_prints_is_not_shown_in_another_session(stage: Stage, over: str) -> None:
    talked(stage, "Second", "First")

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        app.run_shell("until [ -e go ]; do sleep 0.02; done; echo OF-''FIRST; exit 3")
        app.run_slash(over)
        await seat.rest()
        await seat.until(lambda: app.slug != "first" and app.ready)
        (stage.root / "go").touch()
        await seat.until(lambda: "The command in session first ended. Exit code 3." in whole(seat))
        await seat.until(lambda: not app.at_work)
        assert "OF-FIRST" not in seat.text()

    stage.show(act, StartOptions(going_on=True))


def test_what_a_command_prints_is_shown_where_a_session_began_meanwhile(stage: Stage) -> None:
    talked(stage)

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        app.run_shell("until [ -e go ]; do sleep 0.02; done; echo OF-''NONE")
        await seat.say("First")
        (stage.root / "go").touch()
        await seat.shows("OF-NONE")
        await seat.shows("Exit code 0.")
        await seat.until(lambda: not app.at_work)
        assert "The command" not in seat.text()

    stage.show(act)


def test_a_command_of_an_empty_screen_is_not_shown_on_the_next_one(stage: Stage) -> None:
    talked(stage)

    async def act(seat: Seat) -> None:
        app = seat.app
        await seat.rest()
        app.run_shell("until [ -e go ]; do sleep 0.02; done; echo OF-''NONE")
        app.run_slash("/new")
        await seat.rest()
        (stage.root / "go").touch()
        await seat.shows("The command you ran earlier ended. Exit code 0.")
        await seat.until(lambda: not app.at_work)
        assert "OF-NONE" not in seat.text()

    stage.show(act)
