"""Sessions for tests: a driver that follows a script, tools that wish, people who answer."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from tests.engine.world import World

from assent.core.agent import Agent
from assent.core.digest import sha256
from assent.core.event import Recorded
from assent.core.grant import Pattern
from assent.core.message import Call, Message, Result, Text
from assent.core.model import Delta, Stop, Usage
from assent.core.operation import DeleteFile, FileState, WriteFile
from assent.core.process import Chunk, Ended, Errand, Hold, Limits, Program, Standing
from assent.core.session import SessionRecord
from assent.core.session_event import (
    Level,
    PartSaid,
    Question,
    StepEnded,
    StepStarted,
    Todo,
    TurnEnded,
)
from assent.core.tool import (
    Action,
    Decision,
    Edit,
    Effect,
    EnterPlan,
    Fact,
    Outcome,
    PlanText,
    Posture,
    Present,
    Questions,
    Request,
    TodoList,
    Verdict,
)
from assent.engine.session.tooling import Tooling
from assent.ports import Fetched, Turn
from assent.tools.tool import Around, Tool
from assent.tools.toolbox import Toolbox

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

    def decide(self, requests: Sequence[Request], posture: Posture) -> Decision:
        edits = any(request.action is Action.EDIT for request in requests)
        if any("secret" in request.resource for request in requests):
            return Decision(Verdict.ASK, "It may be private.")
        if posture.mode == "plan" and edits:
            return Decision(Verdict.STAGE, "plan mode")
        if posture.mode == "ask" and edits:
            return Decision(Verdict.ASK, "ask mode")
        return Decision(Verdict.RUN, f"{posture.mode} mode")

    def never_allowed_reason(self, tool: str, action: Action, posture: Posture) -> str:
        return ""

    def risk(self, requests: Sequence[Request]) -> tuple[Level, tuple[str, ...]]:
        return "low", ()

    def parts(self, requests: Sequence[Request]) -> tuple[str, ...]:
        return ()

    def files(self, requests: Sequence[Request]) -> tuple[Request, ...]:
        return ()

    def operands(self, requests: Sequence[Request]) -> tuple[str, ...]:
        return ()

    def is_mandatory_ask(self, requests: Sequence[Request], posture: Posture) -> bool:
        return False

    def grant_patterns(self, requests: Sequence[Request], posture: Posture) -> tuple[Pattern, ...]:
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
    """Implements ports.Process, Shell and Fetch where nothing can be run or fetched."""

    def sandbox_status(self) -> Standing:
        return Standing(Hold.OFF)

    def program(self, names: Sequence[str], *, own: bool = False) -> bytes | None:
        return None

    def visible(self, path: bytes) -> bool:
        return False

    def hidden_below(self, folder: bytes) -> bytes | None:
        return None

    def still_running(self) -> str:
        return ""

    def entries(self, folder: bytes) -> dict[bytes, bool]:
        return {}

    def get(self, url: str, limit: int, allowed: Callable[[str], bool]) -> Fetched:
        raise AssertionError("nothing is fetched here")


class NoProcess(NoPrograms):
    def run(
        self, pipeline: Sequence[Program], folder: bytes, limits: Limits
    ) -> Iterator[Chunk | Ended]:
        raise AssertionError("nothing runs here")

    def run_command(
        self, errand: Errand, folder: bytes, limits: Limits, *, confined: bool = True
    ) -> Iterator[Chunk | Ended]:
        raise AssertionError("nothing runs here")


class NoShell(NoPrograms):
    def run(
        self, text: str, folder: bytes, limits: Limits | None = None
    ) -> Iterator[Chunk | Ended]:
        raise AssertionError("nothing runs here")


def _wish(effect: Callable[[Anything, Around], Effect]) -> Callable[[Anything, Around], Outcome]:
    return lambda args, around: Outcome("Fine.", effect=effect(args, around))


def _read(args: Anything, around: Around) -> Outcome:
    content = around.overlay.content(args.path.encode())
    return Outcome(content.decode(), metadata={"seen": {args.path: sha256(content)}})


def _long(args: Anything, around: Around) -> Outcome:
    return Outcome("the beginning", rest=b"all of it")


def _write(args: Anything, around: Around) -> Edit:
    path, content = args.path.encode(), args.text.encode()
    before = around.overlay.state(path)
    assert before != "folder"
    after = FileState(sha256(content), len(content), 0o644)
    return Edit((WriteFile(path, before, after),), {after.digest: content})


def _delete(args: Anything, around: Around) -> Edit:
    state = around.overlay.state(args.path.encode())
    assert isinstance(state, FileState)
    return Edit((DeleteFile(args.path.encode(), state),))


def _todos(args: Anything, around: Around) -> TodoList:
    return TodoList(tuple(Todo(words) for words in args.items))


def _questions(args: Anything, around: Around) -> Questions:
    return Questions(tuple(Question("Choice", words) for words in args.items))


def _tool(
    name: str, action: Action, run: Callable[[Anything, Around], Outcome], only: str = ""
) -> Tool:
    def touches(args: Anything, around: Around) -> tuple[Request, ...]:
        return (Request(action, args.path or name),)

    return Tool(name, Anything, touches, run, action, only)


TOOLS = (
    _tool("read", Action.READ, _read),
    _tool("long", Action.READ, _long),
    _tool("write", Action.EDIT, _wish(_write)),
    _tool("delete", Action.EDIT, _wish(_delete)),
    _tool("write_plan", Action.PLAN, _wish(lambda args, _: PlanText(args.text, args.name)), "plan"),
    _tool("todo", Action.PLAN, _wish(_todos)),
    _tool("question", Action.PLAN, _wish(_questions)),
    _tool("present_plan", Action.PRESENT, _wish(lambda args, _: Present())),
    _tool("enter_plan", Action.PLAN, _wish(lambda args, _: EnterPlan(args.text)), "build"),
    _tool("remember", Action.PLAN, _wish(lambda args, _: Fact(args.text))),
)


# What a model does with a plan whose operations are staged.
PRESENTS: list[tuple[str, dict[str, Any]]] = [
    ("write_plan", {"text": "# What changes\n"}),
    ("present_plan", {}),
]


def tooling(person: Person | None = None, tools: Sequence[Tool] = TOOLS) -> Tooling:
    """Everything that calls work with, and somebody to ask."""
    gate = OpenGate()
    return Tooling(
        NoProcess(),
        NoShell(),
        NoPrograms(),
        gate,
        person or Person(),
        Toolbox(tools, gate, suggest=True),
        AGENTS,
    )


class Script:
    """Implements ports.Driver: each answer is a text or calls, (tool, arguments)."""

    def __init__(self, *answers: str | Sequence[tuple[str, dict[str, Any]]]) -> None:
        self.answers = list(answers)
        self.prompts: list[tuple[Message, ...]] = []

    def drive(self, turn: Turn) -> Iterator[Recorded | Delta]:
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

    def child_driver(self, steps: int = 0) -> "Script":
        return self

    def _step(self, turn: Turn) -> Any:
        step = turn.record.steps + 1
        yield from turn.append_events(StepStarted(step, turn.agent.name, "m", turn.record.mode))
        self.prompts.append(turn.messages)
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            parts: list[Text | Call] = [Text(answer)]
        else:
            parts = [Call(f"{step}.{n}", *call) for n, call in enumerate(answer, 1)]
        said = [PartSaid(part) for part in parts]
        yield from turn.append_events(*said, StepEnded(Stop.END, Usage(10, 1), 0.5))
        return [part for part in parts if isinstance(part, Call)]


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


def results(world: World, record: SessionRecord) -> list[Result]:
    """What the model was told about its calls."""
    found = []
    for recorded in world.engine().sessions.events(record):
        result = getattr(recorded.event, "result", None)
        if isinstance(result, Result):
            found.append(result)
    return found


def told(world: World, record: SessionRecord, about: str) -> list[str]:
    """The synthetic messages about something."""
    events = [recorded.event for recorded in world.engine().sessions.events(record)]
    chosen = [event for event in events if getattr(event, "synthetic", "") == about]
    return [part.text for event in chosen for part in event.parts]  # type: ignore[union-attr]
