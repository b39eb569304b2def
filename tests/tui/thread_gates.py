"""Gates for tests of races: each holds a thread back until the other side has done its part."""

from threading import Event, Thread, current_thread
from typing import Any

import pytest
from tests.tui.harness import Stage

from assent.app.engine import Engine
from assent.app.session import SessionRuntime
from assent.cli.tui import LocalScreenHost
from assent.core.session.record import SessionRecord
from assent.ports.session import Asker
from assent.tui import session_opening
from assent.tui.app import TerminalApp
from assent.tui.conversation.view import session_events
from assent.tui.host import StartOptions

PRESENTED = 3  # the exit code of a line that ends with a plan to be read
LOOKS = 2  # at what is followed, in one look at its file
PATIENCE_S = 90.0  # longer than a test waits for what it wants to see


class Gate:
    """Holds a thread back where it is put, until the test lets it through."""

    def __init__(self) -> None:
        self.reached, self._open = Event(), Event()
        self._thread: Thread | None = None

    def wait(self) -> None:
        """Holds whoever comes first; the others go through."""
        if not self.reached.is_set():
            self._thread = current_thread()
            self.reached.set()
            assert self._open.wait(PATIENCE_S), "nobody opened the gate"

    def let(self) -> None:
        """Lets the thread through, and waits until it is done."""
        self._open.set()
        if self._thread is not None:
            self._thread.join(PATIENCE_S)


class Slow(LocalScreenHost):
    """A host whose parts take as long as a test wants, in threads of a name."""

    def __init__(self, folder: str, **gates: Gate) -> None:
        super().__init__(folder)
        self._gates = gates

    def _hold(self, what: str) -> None:
        gate = self._gates.get(f"{what}_{current_thread().name}", self._gates.get(what))
        if gate is not None:
            gate.wait()

    def engine(self) -> Engine:
        self._hold("engine")
        return super().engine()

    def work(self, asker: Asker, model: str, agent: str) -> SessionRuntime:
        self._hold("work")
        return super().work(asker, model, agent)

    def defaults(self) -> StartOptions:
        self._hold("defaults")
        return super().defaults()

    def models(self) -> tuple[list[dict[str, object]], list[str]]:
        self._hold("models")
        return [], ["The server of elsewhere timed out."]


def slow(stage: Stage, monkeypatch: pytest.MonkeyPatch, **gates: Gate) -> None:
    monkeypatch.setattr(stage, "host", lambda: Slow(str(stage.root), **gates))


def talked(stage: Stage, *said: str) -> None:
    """Has sessions begun, each with one thing said, the last of which is the newest."""
    stage.script({"text": "Hello."}, {"text": "Again."})
    for words in said:
        assert stage.run("-p", "--model", stage.model, words).code == 0


def session(app: TerminalApp, goal: str) -> SessionRecord:
    return next(one for one in app.engine.sessions.all() if one.goal == goal)


def here(app: TerminalApp) -> str:
    return app.session_controller.record.goal if app.session_controller.record else ""


def hold_reading(monkeypatch: pytest.MonkeyPatch, goal: str) -> Gate:
    """Has the session of a goal read, and posted, only when the gate lets it through."""
    gate = Gate()

    def late(engine: Engine, record: SessionRecord) -> Any:
        found = session_events(engine, record)
        if record.goal == goal:
            gate.wait()
        return found

    monkeypatch.setattr(session_opening, "session_events", late)
    return gate
