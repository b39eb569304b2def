"""Sessions for tests: a driver that follows a script, tools that wish, people who answer."""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import msgspec
from tests.support.engine import World

from assent.agent.effects import SessionPlans
from assent.agent.permission_request import drain
from assent.agent.services import ToolEnvironment
from assent.app.engine import Engine
from assent.core.digest import sha256
from assent.core.event import StoredEvent
from assent.core.llm import (
    ChatMessage,
    StopReason,
    StreamDelta,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from assent.core.permission.rule import PermissionPattern
from assent.core.plan.operation import DeleteFile, FileState, WriteFile
from assent.core.session.agent import Agent
from assent.core.session.event import (
    PartSaid,
    Question,
    RiskLevel,
    SessionEvent,
    StepEnded,
    StepStarted,
    Todo,
    TurnEnded,
)
from assent.core.session.record import SessionRecord
from assent.core.shell.process import (
    CommandSpec,
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    Program,
    SandboxState,
    SandboxStatus,
)
from assent.core.tool import (
    Action,
    Decision,
    EditEffect,
    Effect,
    EnterPlanEffect,
    MemoryEffect,
    PermissionContext,
    PlanTextEffect,
    PresentPlanEffect,
    QuestionsEffect,
    ResourceAccess,
    TodosEffect,
    ToolOutcome,
    Verdict,
)
from assent.ports import FetchResponse
from assent.ports.session import Turn
from assent.tools.dispatcher import ToolDispatcher
from assent.tools.tool import Tool, ToolContext

Answers = tuple[tuple[str, ...], ...] | None
AGENTS = {name: Agent(name) for name in ("plan", "build", "explore")}


class Anything(msgspec.Struct):
    """Arguments of the tools below: what each needs of them."""

    path: str = ""
    text: str = ""
    name: str = ""
    items: list[str] = []


class OpenGate:
    """Implements ports.Gate by the mode alone, as the real one does without rules."""

    def decide(self, requests: Sequence[ResourceAccess], posture: PermissionContext) -> Decision:
        edits = any(request.action is Action.EDIT for request in requests)
        if any("secret" in request.resource for request in requests):
            return Decision(Verdict.ASK, "It may be private.")
        if posture.mode == "plan" and edits:
            return Decision(Verdict.STAGE, "plan mode")
        if posture.mode == "ask" and edits:
            return Decision(Verdict.ASK, "ask mode")
        return Decision(Verdict.RUN, f"{posture.mode} mode")

    def never_allowed_reason(self, tool: str, action: Action, posture: PermissionContext) -> str:
        return ""

    def risk(
        self, requests: Sequence[ResourceAccess], *, planning: bool = False, asking: bool = False
    ) -> tuple[RiskLevel, tuple[str, ...]]:
        return "low", ()

    def parts(self, requests: Sequence[ResourceAccess]) -> tuple[str, ...]:
        return ()

    def files(self, requests: Sequence[ResourceAccess]) -> tuple[ResourceAccess, ...]:
        return ()

    def operands(self, requests: Sequence[ResourceAccess]) -> tuple[str, ...]:
        return ()

    def runs_in_copy(self, requests: Sequence[ResourceAccess], posture: PermissionContext) -> bool:
        return False

    def is_mandatory_ask(
        self, requests: Sequence[ResourceAccess], posture: PermissionContext
    ) -> bool:
        return False

    def grant_patterns(
        self, requests: Sequence[ResourceAccess], posture: PermissionContext
    ) -> tuple[PermissionPattern, ...]:
        return ()


class Person:
    """Implements ports.Asker with prepared answers; without one, nobody is there."""

    defers = False
    present = True

    def __init__(self, *answers: Answers) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Question, ...]] = []

    def ask(self, questions: Sequence[Question], answered: Callable[[], str]) -> Answers:
        self.asked.append(tuple(questions))
        return self.answers.pop(0) if self.answers else None


class NoPrograms:
    """Implements ports.ProcessRunner, ReadOnlyShell and PageFetcher; nothing can be run."""

    def sandbox_status(self) -> SandboxStatus:
        return SandboxStatus(SandboxState.OFF)

    def program(self, names: Sequence[str], *, own: bool = False) -> bytes | None:
        return None

    def home(self) -> bytes:
        return b"/home/ada"

    def visible(self, path: bytes) -> bool:
        return False

    def chosen(self) -> tuple[bytes, ...]:
        return ()

    def visibility_notes(self, line: str, folder: bytes) -> tuple[str, ...]:
        return ()

    def hidden_below(self, folder: bytes) -> bytes | None:
        return None

    def still_running(self) -> str:
        return ""

    def entries(self, folder: bytes) -> dict[bytes, bool]:
        return {}

    def get(self, url: str, limit: int, allowed: Callable[[str], bool]) -> FetchResponse:
        raise AssertionError("nothing is fetched here")


class NoProcess(NoPrograms):
    def run(
        self, pipeline: Sequence[Program], folder: bytes, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        raise AssertionError("nothing runs here")

    def run_command(
        self, errand: CommandSpec, folder: bytes, limits: ProcessLimits, *, confined: bool = True
    ) -> Iterator[OutputChunk | ProcessResult]:
        raise AssertionError("nothing runs here")


class NoShell(NoPrograms):
    def run(
        self, text: str, folder: bytes, limits: ProcessLimits | None = None
    ) -> Iterator[OutputChunk | ProcessResult]:
        raise AssertionError("nothing runs here")


def _wish(
    effect: Callable[[Anything, ToolContext], Effect],
) -> Callable[[Anything, ToolContext], ToolOutcome]:
    return lambda args, around: ToolOutcome("Fine.", effect=effect(args, around))


def _read(args: Anything, around: ToolContext) -> ToolOutcome:
    content = around.overlay.content(args.path.encode())
    return ToolOutcome(content.decode(), metadata={"seen": {args.path: sha256(content)}})


def _long(args: Anything, around: ToolContext) -> ToolOutcome:
    return ToolOutcome("the beginning", rest=b"all of it")


def _write(args: Anything, around: ToolContext) -> EditEffect:
    path, content = args.path.encode(), args.text.encode()
    before = around.overlay.state(path)
    assert before != "folder"
    after = FileState(sha256(content), len(content), 0o644)
    return EditEffect((WriteFile(path, before, after),), {after.digest: content})


def _delete(args: Anything, around: ToolContext) -> EditEffect:
    state = around.overlay.state(args.path.encode())
    assert isinstance(state, FileState)
    return EditEffect((DeleteFile(args.path.encode(), state),))


def _todos(args: Anything, around: ToolContext) -> TodosEffect:
    return TodosEffect(tuple(Todo(words) for words in args.items))


def _questions(args: Anything, around: ToolContext) -> QuestionsEffect:
    return QuestionsEffect(tuple(Question("Choice", words) for words in args.items))


def _tool(
    name: str, action: Action, run: Callable[[Anything, ToolContext], ToolOutcome], only: str = ""
) -> Tool:
    def touches(args: Anything, around: ToolContext) -> tuple[ResourceAccess, ...]:
        return (ResourceAccess(action, args.path or name),)

    return Tool(name, Anything, touches, run, action, only)


TOOLS = (
    _tool("read", Action.READ, _read),
    _tool("long", Action.READ, _long),
    _tool("write", Action.EDIT, _wish(_write)),
    _tool("delete", Action.EDIT, _wish(_delete)),
    _tool(
        "write_plan",
        Action.PLAN,
        _wish(lambda args, _: PlanTextEffect(args.text, args.name)),
        "plan",
    ),
    _tool("todo", Action.PLAN, _wish(_todos)),
    _tool("question", Action.PLAN, _wish(_questions)),
    _tool("present_plan", Action.PRESENT, _wish(lambda args, _: PresentPlanEffect())),
    _tool("enter_plan", Action.PLAN, _wish(lambda args, _: EnterPlanEffect(args.text)), "build"),
    _tool("remember", Action.PLAN, _wish(lambda args, _: MemoryEffect(args.text))),
)


# What a model does with a plan whose operations are staged.
PRESENTS: list[tuple[str, dict[str, Any]]] = [
    ("write_plan", {"text": "# What changes\n"}),
    ("present_plan", {}),
]


def tooling(person: Person | None = None, tools: Sequence[Tool] = TOOLS) -> ToolEnvironment:
    """Everything that calls work with, and somebody to ask."""
    gate = OpenGate()
    return ToolEnvironment(
        NoProcess,
        NoShell,
        NoPrograms(),
        gate,
        person or Person(),
        ToolDispatcher(tools, gate, suggest=True),
        AGENTS,
    )


class Script:
    """Implements ports.AgentDriver: each answer is a text or calls, (tool, arguments)."""

    def __init__(self, *answers: str | Sequence[tuple[str, dict[str, Any]]]) -> None:
        self.answers = list(answers)
        self.prompts: list[tuple[ChatMessage, ...]] = []

    def drive(self, turn: Turn) -> Iterator[StoredEvent | StreamDelta]:
        while True:
            yield from turn.read_new_messages()
            if turn.is_over:
                return
            calls = yield from self._step(turn)
            yield from turn.run_calls(calls)
            if turn.is_over:
                return
            if not calls:
                yield from turn.append_events(TurnEnded("end"))
                return

    def stop(self) -> None:
        """There is no request that could be under way."""

    def compact(self, turn: Turn, model: str = "") -> Generator[StoredEvent, None, bool]:
        yield from ()
        return False  # it says what it was told to, and no summary

    def child_driver(self, steps: int = 0) -> "Script":
        return self

    def _step(self, turn: Turn) -> Any:
        step = turn.record.steps + 1
        yield from turn.append_events(StepStarted(step, turn.agent.name, "m", turn.record.mode))
        self.prompts.append(turn.messages)
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            parts: list[TextPart | ToolCall] = [TextPart(answer)]
        else:
            parts = [ToolCall(f"{step}.{n}", *call) for n, call in enumerate(answer, 1)]
        said = [PartSaid(part) for part in parts]
        yield from turn.append_events(*said, StepEnded(StopReason.END, TokenUsage(10, 1), 0.5))
        return [part for part in parts if isinstance(part, ToolCall)]


def work(
    world: World, record: SessionRecord, script: Script, person: Person | None = None
) -> SessionRecord:
    """Runs one turn to its end in an engine of its own."""
    engine = world.engine()
    for _ in engine.sessions.work(record, script, tooling(person)):
        pass
    return world.engine().sessions.load(record.session)


def turn(
    world: World,
    goal: str,
    *answers: str | Sequence[tuple[str, dict[str, Any]]],
    person: Person | None = None,
) -> SessionRecord:
    """Starts a session in plan mode and runs its first turn."""
    record = world.engine().sessions.start(goal, "plan")
    return work(world, record, Script(*answers), person)


def planned(engine: Engine, record: SessionRecord) -> SessionRecord:
    """Makes a session's plan, as its first call that needs one does."""
    made: list[SessionEvent] = []
    drain(SessionPlans(engine._services).plan(record), made.append)
    return engine.sessions.repository().append(record, *made)[0]


def results(world: World, record: SessionRecord) -> list[ToolResult]:
    """What the model was told about its calls."""
    found = []
    for recorded in world.engine().sessions.events(record):
        result = getattr(recorded.event, "result", None)
        if isinstance(result, ToolResult):
            found.append(result)
    return found


def told(world: World, record: SessionRecord, about: str) -> list[str]:
    """The synthetic messages about something."""
    events = [recorded.event for recorded in world.engine().sessions.events(record)]
    chosen = [event for event in events if getattr(event, "synthetic", "") == about]
    return [part.text for event in chosen for part in event.parts]  # type: ignore[union-attr]
