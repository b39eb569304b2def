"""Families for tests: a real log, real locks, real threads; only the models follow a script."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event, Lock
from typing import Any

import msgspec
from tests.support.engine import World
from tests.support.session import NoProcess, NoPrograms, NoShell, Person

from assent.agent.services import TaskLimits, ToolEnvironment
from assent.app.engine import Engine
from assent.core.errors import Interrupted
from assent.core.event import StoredEvent
from assent.core.llm import ChatMessage, StopReason, StreamDelta, TextPart, ToolCall, ToolResult
from assent.core.permission.mode import CustomMode
from assent.core.permission.rule import PermissionPolicy
from assent.core.session.agent import Agent
from assent.core.session.event import (
    CallEnded,
    MessageAdded,
    PartSaid,
    StepEnded,
    StepStarted,
    TurnEnded,
)
from assent.core.session.record import SessionRecord
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.commands.read_only.classifier import files_read_by
from assent.permissions.gate import RuleGate
from assent.ports.session import Turn
from assent.store.clock import SystemClock
from assent.store.locks import FileLocks
from assent.store.sqlite import SqliteEventStore
from assent.tools.dispatcher import ToolDispatcher
from assent.tools.registry import TOOLS

Answer = str | list[tuple[str, dict[str, Any]]]
EDITS = ("write", "edit", "patch", "delete", "move", "notebook_edit")
AGENTS = {
    "plan": Agent("plan", kind="primary"),
    "build": Agent("build", kind="primary"),
    "explore": Agent("explore", "Looks.", tools=dict.fromkeys(EDITS, False)),
    "general": Agent("general", "Works.", kind="subagent"),
}


class Cast:
    """Who says what: answers by agent, and what happens before a step is answered."""

    def __init__(self, answers: Mapping[str, Sequence[Answer]]) -> None:
        self.answers = {name: list(each) for name, each in answers.items()}
        self.before: Callable[[Turn, Actor], None] = lambda turn, actor: None
        self.prompts: dict[str, list[tuple[ChatMessage, ...]]] = {}
        self._alone = Lock()

    def next(self, turn: Turn, taken: int) -> Answer:
        """Returns the next answer of the root; of a child, the one for that step of its turn."""
        with self._alone:
            self.prompts.setdefault(turn.record.session, []).append(turn.messages)
            if turn.record.parent:
                return self.answers[turn.agent.name][taken - 1]
            return self.answers["main"].pop(0)


class Actor:
    """Implements ports.AgentDriver with answers of a cast."""

    def __init__(self, cast: Cast, steps: int = 0) -> None:
        self.cast = cast
        self.steps = steps
        self.stopped = Event()

    def stop(self) -> None:
        self.stopped.set()

    def compact(self, turn: Turn, model: str = "") -> Generator[StoredEvent, None, bool]:
        yield from ()
        return False  # it says what it was told to, and no summary

    def child_driver(self, steps: int = 0) -> "Actor":
        return Actor(self.cast, steps)

    def drive(self, turn: Turn) -> Iterator[StoredEvent | StreamDelta]:
        try:
            yield from self._steps(turn)
        except (KeyboardInterrupt, Interrupted):
            yield from turn.append_events(TurnEnded("interrupted", "You interrupted the turn."))
            raise Interrupted("You interrupted the turn.") from None
        except GeneratorExit:
            turn.append_events(TurnEnded("interrupted", "You interrupted the turn."))
            raise

    def _steps(self, turn: Turn) -> Iterator[StoredEvent | StreamDelta]:
        taken = 0
        while True:
            yield from turn.read_new_messages()
            if turn.is_over:
                return
            taken += 1
            calls = yield from self._step(turn, taken)
            if taken == self.steps:
                yield from turn.append_events(TurnEnded("limit", f"That were {taken} steps."))
                return
            if calls:
                yield from turn.run_calls(calls)
            elif not (yield from turn.wait_for_children()):
                yield from turn.append_events(TurnEnded("end"))
                return

    def _step(self, turn: Turn, taken: int) -> Any:
        step = turn.record.steps + 1
        yield from turn.append_events(StepStarted(step, turn.agent.name, "m", turn.record.mode))
        self.cast.before(turn, self)
        if self.stopped.is_set():
            raise Interrupted("Stopped.")
        answer = self.cast.next(turn, taken)
        calls = [] if isinstance(answer, str) else answer
        parts: list[TextPart | ToolCall] = [TextPart(answer)] if isinstance(answer, str) else []
        parts += [ToolCall(f"{step}.{n}", *call) for n, call in enumerate(calls, 1)]
        yield from turn.append_events(*map(PartSaid, parts), StepEnded(StopReason.END))
        return [part for part in parts if isinstance(part, ToolCall)]


class Family:
    """A workspace in which sessions have children."""

    def __init__(self, base: Path, limits: TaskLimits | None = None) -> None:
        self.world = World(base)
        self.world.store = SqliteEventStore(base / "state" / "log.db")
        self.world.locks = FileLocks(base / "state" / "locks", patience=60)
        self.world.clock = SystemClock()  # type: ignore[assignment]
        self.limits = limits or TaskLimits()
        self.agents = dict(AGENTS)
        self.modes: dict[str, CustomMode] = {}
        self.person: Any = Person()
        self.shown: list[StoredEvent] = []

    @property
    def engine(self) -> Engine:
        return self.world.engine()

    def tooling(self, actor: Actor | None) -> ToolEnvironment:
        gate = RuleGate(PermissionPolicy(), classify_command_line, files_read_by)
        return ToolEnvironment(
            NoProcess, NoShell, NoPrograms(), gate, self.person,
            ToolDispatcher(TOOLS, gate, suggest=True), self.agents, modes=self.modes, driver=actor,
            tasks=self.limits,
        )  # fmt: skip

    def start(self, mode: str = "plan", agent: str = "") -> SessionRecord:
        return self.engine.sessions.start("Do it", mode, agent)

    def work(self, record: SessionRecord, cast: Cast) -> SessionRecord:
        """Drives one turn to its end, and keeps what a face would have seen."""
        actor = Actor(cast)
        heard = self.engine.sessions.work(record, actor, self.tooling(actor))
        self.shown += [one for one in heard if isinstance(one, StoredEvent)]
        return self.load(record)

    def play(self, mode: str = "plan", **answers: Sequence[Answer]) -> SessionRecord:
        """Starts a session and drives its first turn."""
        return self.work(self.start(mode), Cast(answers))

    def load(self, record: SessionRecord) -> SessionRecord:
        return self.engine.sessions.load(record.session)

    def children(self, record: SessionRecord) -> list[SessionRecord]:
        """The children of a session, the first-born first."""
        found = [each for each in self.engine.sessions.all() if each.parent == record.session]
        return found[::-1]

    def results(self, record: SessionRecord) -> list[ToolResult]:
        """What the model was told about its calls."""
        events = [one.event for one in self.engine.sessions.events(record)]
        return [event.result for event in events if isinstance(event, CallEnded)]

    def told(self, record: SessionRecord, about: str) -> list[str]:
        """The synthetic messages about something."""
        events = [one.event for one in self.engine.sessions.events(record)]
        chosen = [e for e in events if isinstance(e, MessageAdded) and e.synthetic == about]
        return [part.text for event in chosen for part in event.parts if isinstance(part, TextPart)]

    def ends(self, record: SessionRecord) -> list[tuple[str, str]]:
        """How the turns of a session ended."""
        events = [one.event for one in self.engine.sessions.events(record)]
        return [(event.why, event.words) for event in events if isinstance(event, TurnEnded)]

    def with_agent(self, agent: Agent) -> None:
        self.agents[agent.name] = agent

    def with_limits(self, **limits: Any) -> None:
        self.limits = msgspec.structs.replace(self.limits, **limits)


def task(prompt: str, agent: str = "explore", **more: Any) -> tuple[str, dict[str, Any]]:
    """A call that starts a child."""
    return "task", {"prompt": prompt, "agent": agent, **more}
