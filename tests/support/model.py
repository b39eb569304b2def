"""Models that say what a test tells them, and remember what they were asked."""

from collections.abc import Iterable, Iterator

from assent.agent.loop.budget import BudgetLimits
from assent.agent.loop.loop import AgentLoop
from assent.core.errors import AssentError
from assent.core.event import StoredEvent
from assent.core.llm import (
    MessagePart,
    ModelRequest,
    PartCompleted,
    Prices,
    StopReason,
    StreamDelta,
    StreamEnded,
    StreamEvent,
    TextPart,
    TokenUsage,
    ToolCall,
)
from assent.core.session.agent import PromptContext
from assent.ports import OpenedModel
from assent.ports.cancellation import CancellableModelStream
from assent.testing.memory_turn import MemoryTurn

Move = StreamEvent | BaseException
PRICES = Prices(1_000_000, 2_000_000, 0, 0)  # one dollar a token of input, two of output


class Spoken:
    """Answers the k-th request with the k-th script; an exception in it is raised there."""

    def __init__(self, *scripts: Iterable[Move]) -> None:
        self._scripts = [list(script) for script in scripts]
        self.asked: list[ModelRequest] = []
        self.closed = 0

    def stream(self, prompt: ModelRequest) -> CancellableModelStream:
        self.asked.append(prompt)
        script = self._scripts.pop(0)
        return CancellableModelStream(lambda cut: self._answer(script))

    def _answer(self, script: list[Move]) -> Iterator[StreamEvent]:
        try:
            for move in script:
                if isinstance(move, BaseException):
                    raise move
                yield move
        finally:
            self.closed += 1


def says(
    *parts: MessagePart | str, usage: TokenUsage | None = None, stop: StopReason | None = None
) -> list[Move]:
    """A whole answer."""
    said = [TextPart(part) if isinstance(part, str) else part for part in parts]
    calls = any(isinstance(part, ToolCall) for part in said)
    usual = StopReason.CALLS if calls else StopReason.END
    return [*map(PartCompleted, said), StreamEnded(stop or usual, usage or TokenUsage())]


def driver(model: object, limits: BudgetLimits | None = None, **known: object) -> AgentLoop:
    """A driver whose clock stands still."""
    opened = OpenedModel(model, "test/model", **known)  # type: ignore[arg-type]
    return AgentLoop(lambda name: opened, PromptContext(), limits, clock=lambda: 0.0)


def drive(it: AgentLoop, turn: MemoryTurn) -> list[StoredEvent | StreamDelta]:
    """Drives a turn to its end."""
    return list(it.drive(turn))


def fails(it: AgentLoop, turn: MemoryTurn) -> AssentError:
    """Drives a turn that must fail; returns how."""
    try:
        list(it.drive(turn))
    except AssentError as error:
        return error
    raise AssertionError("the turn did not fail")
