"""Sessions whose calls wait for a person: a real log, and as many people as a test likes."""

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from threading import Lock
from typing import TypeVar

import msgspec
from tests.support.engine import PassedOn, World
from tests.support.session import Answers, OpenGate, Person, tooling

from assent.agent.formatters import EditFormatter
from assent.agent.permission_request import PermissionRequest, PermissionRequester
from assent.agent.services import ToolEnvironment
from assent.agent.session_repository import SessionRepository
from assent.app.engine import Engine
from assent.core.event import StoredEvent
from assent.core.llm import StopReason, ToolCall
from assent.core.permission.mode import Mode
from assent.core.permission.rule import PermissionPattern
from assent.core.session.event import (
    PartSaid,
    Question,
    RiskLevel,
    SessionEvent,
    SessionStarted,
    StepEnded,
    StepStarted,
)
from assent.core.session.question import PendingQuestion, PermissionAnswer, QuestionReply
from assent.core.session.record import SessionRecord
from assent.core.tool import Action, Decision, PermissionContext, ResourceAccess, Verdict
from assent.ports import EventBatch, EventStore
from assent.store.sqlite import SqliteEventStore

R = TypeVar("R")

STATUS, PUSH = "git status -s", "git push origin"


class Remembering(OpenGate):
    """Implements ports.Gate where the first two words of a command can be remembered."""

    def risk(
        self, requests: Sequence[ResourceAccess], *, planning: bool = False, asking: bool = False
    ) -> tuple[RiskLevel, tuple[str, ...]]:
        return "medium", ("It runs a program.",)

    def parts(self, requests: Sequence[ResourceAccess]) -> tuple[str, ...]:
        return ()

    def grant_patterns(
        self, requests: Sequence[ResourceAccess], posture: PermissionContext
    ) -> tuple[PermissionPattern, ...]:
        words = [request.resource.split()[:2] for request in requests]
        return tuple(PermissionPattern("bash", f"{' '.join(each)} *") for each in words)


class Absent(Person):
    """Somebody who answers some other day, and elsewhere."""

    defers = True


class Elsewhere(Person):
    """Somebody who sits there while another one answers elsewhere."""

    def __init__(self, act: Callable[[], object], *answers: Answers) -> None:
        super().__init__(*answers)
        self._act = act

    def ask(self, questions: Sequence[Question], answered: Callable[[], str]) -> Answers:
        assert not answered()
        self._act()
        self.stopped = bool(answered())
        return super().ask(questions, answered)


class Killed(BaseException):
    """The process is gone."""


class Dying(PassedOn):
    """A store that nothing reaches any more once some kind of event was recorded so many times."""

    def __init__(self, store: EventStore, after: type, times: int = 1) -> None:
        super().__init__(store)
        self._after = after
        self._left = times
        self._alone = Lock()

    def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
        with self._alone:
            if self._left <= 0:
                raise Killed
            added = super().append(*batches)
            self._left -= sum(isinstance(one.event, self._after) for one in added)
            return added


def on_disk(world: World, path: Path) -> World:
    """Gives a world a log on disk."""
    world.store = SqliteEventStore(path / "log.db")
    return world


class Booth:
    """A session whose calls are asked about, in an engine of its own: as after a restart."""

    def __init__(
        self, world: World, session: str = "", mode: Mode = "ask", expires_s: int = 0
    ) -> None:
        self.world = world
        self.engine: Engine = world.engine()
        self.mode: Mode = mode
        self._expires_s = expires_s
        sessions = self.engine.sessions
        self.session = session or sessions.start("Go on", mode).session
        self._before = self.recorded() if session else None

    @property
    def record(self) -> SessionRecord:
        return self.engine.sessions.load(self.session)

    def again(self) -> "Booth":
        """Another process takes the session up."""
        return Booth(self.world, self.session, self.mode, self._expires_s)

    def note(self, *events: SessionEvent) -> None:
        SessionRepository(self.world.engine()._ports, self.record.workspace).append(
            self.record, *events
        )

    def step(self, *calls: ToolCall) -> None:
        """The model makes calls."""
        started = StepStarted(self.record.steps + 1, "build", "m", self.mode)
        said = [PartSaid(call) for call in calls]
        self.note(started, *said, StepEnded(StopReason.CALLS))

    def ask(self, call: ToolCall, person: Person, layer: str = "mode") -> object:
        """Asks about a call in this process, and returns what the person said."""
        requests, gate = (
            (ResourceAccess(Action.SHELL, str((call.args or {})["line"])),),
            Remembering(),
        )
        level, reasons = gate.risk(requests)
        doubt = PermissionRequest(
            call,
            call.tool,
            requests,
            Decision(Verdict.ASK, "ask mode", layer),
            "build",
            self.mode,
            command=self.mode != "plan",
            risk=(level, *reasons),
            always=gate.grant_patterns(requests, PermissionContext(self.mode)),
        )
        return self.drained(self.permission(person).ask(self.record, doubt))

    def permission(self, person: Person) -> PermissionRequester:
        """Returns somebody to ask, who knows what was asked before the session was taken up."""
        tools = self.tooling(person)
        shaping = EditFormatter(self.engine.sessions._services, tools)
        found = PermissionRequester(self.engine.pending_questions, tools, shaping)
        if self._before is not None:
            found.resume(self._before)
        return found

    def tooling(self, person: Person) -> ToolEnvironment:
        return msgspec.structs.replace(
            tooling(person), gate=Remembering(), questions_s=self._expires_s
        )

    def drained(self, work: Generator[SessionEvent, None, R]) -> R:
        while True:
            try:
                event = next(work)
            except StopIteration as end:
                value: R = end.value
                return value
            self.note(event)

    def events(self) -> list[SessionEvent]:
        return [one.event for one in self.recorded()]  # type: ignore[misc]

    def recorded(self) -> list[StoredEvent]:
        return self.engine.sessions.events(self.record)

    def pending(self) -> PendingQuestion:
        """The one question that is open."""
        [one] = self.engine.pending_questions.pending()
        return one

    def answer(self, one: PendingQuestion, label: str, **more: object) -> object:
        """Answers from elsewhere."""
        reply = msgspec.structs.replace(QuestionReply(((label,),), "ada (test)"), **more)
        return self.world.engine().pending_questions.answer(one.id, one.inquiry.asked.digest, reply)


def shell(id: str, line: str = STATUS) -> ToolCall:
    return ToolCall(id, "shell", {"line": line})


def child_of(world: World, parent: SessionRecord, name: str) -> SessionRecord:
    """Starts a child by hand."""
    started = SessionStarted(
        name, parent.workspace, name, "ask", "Look it up", parent=parent.session,
        depth=parent.depth + 1,
    )  # fmt: skip
    return SessionRepository(world.engine()._ports, parent.workspace).start(started)


def parked(booth: Booth, call: str = "c1", line: str = STATUS) -> None:
    """A call asks, and nobody is there today."""
    consent = booth.ask(shell(call, line), Absent())
    assert isinstance(consent, PermissionAnswer)
    assert consent.later
    assert not consent.yes


CALL = shell("c1")
