"""One step: one model request, each part of the answer stored as soon as it is complete."""

import re
from collections.abc import Callable, Generator, Sequence, Set
from typing import TypeAlias

import msgspec

from assent.core.errors import AnswerTooLong, AssentError, Unavailable
from assent.core.event import StoredEvent
from assent.core.llm import (
    ImagePart,
    ModelRequest,
    PartCompleted,
    RequestRetried,
    StopReason,
    StreamDelta,
    StreamEnded,
    StreamPaused,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from assent.core.session.event import CallEnded, PartSaid, SessionEvent, StepEnded, StepRetried
from assent.ports import OpenedModel
from assent.ports.session import Turn

MAX_NAME_CHARS = 64  # characters of a tool's name or a call's id
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ODD = r"[^A-Za-z0-9_-]"

ANSWER_TOO_LARGE = "The answer was cut off at a limit before it was complete. The call was not run."
CALL_ABORTED = "The user interrupted the turn before this call started. It was not run."

SessionOutput: TypeAlias = StoredEvent | StreamDelta
# Turns the tokens of a request into dollars; where none were told, what was said must do.
RecordUsage: TypeAlias = Callable[[TokenUsage, Sequence[PartSaid]], float | None]


class ModelAnswer(msgspec.Struct, frozen=True):
    """A complete answer."""

    stop: StopReason
    calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage = TokenUsage()
    words: str = ""
    text: str = ""  # what the model said to the user


class ModelStep:
    """One request of a turn; `clock` measures how long a part took."""

    def __init__(
        self,
        turn: Turn,
        opened: OpenedModel,
        pay: RecordUsage,
        clock: Callable[[], float],
    ) -> None:
        self._turn = turn
        self._opened = opened
        self._pay = pay
        self._clock = clock
        self._said: list[PartSaid] = []
        self._ids: set[str] = set()  # of the calls among them
        self._open = True  # the answer is not complete
        self._handed_over = False

    def ask(self, prompt: ModelRequest) -> Generator[SessionOutput, None, ModelAnswer]:
        """Makes one request; wrappers of the model may retry, which voids the earlier parts."""
        answers = self._opened.model.stream(prompt)
        since = self._clock()
        try:
            for answer in answers:
                match answer:
                    case StreamDelta():
                        yield answer
                    case PartCompleted():
                        self._keep(answer, self._clock() - since)
                        since = self._clock()
                    case StreamPaused():
                        yield from self._turn.append_events()
                    case RequestRetried(attempt, wait, reason):
                        yield from self.void(attempt, wait, reason)
                        since = self._clock()
                    case StreamEnded():
                        return self._end(answer)
        finally:
            answers.close()
        raise Unavailable("The response ended early.")

    def void(self, attempt: int, wait: float, reason: str) -> tuple[StoredEvent, ...]:
        """Records that the parts of an earlier attempt are void."""
        self._said.clear()
        self._ids.clear()
        return self._turn.append_events(StepRetried(attempt, wait, reason))

    def failed(self, error: AssentError) -> tuple[SessionEvent, ...]:
        """Returns the events to record if no further attempt follows."""
        if not self._open or not self._said:
            return ()
        if not isinstance(error, AnswerTooLong):
            return (StepRetried(1, 0.0, error.message),)
        self._open = False  # what was said before the limit was said, as after an interruption
        cost = self._pay(TokenUsage(), self._said)
        cut = StepEnded(StopReason.LENGTH, cost=cost, words=error.message)
        return cut, *declined_calls(self._calls, ANSWER_TOO_LARGE)

    def aborted(self) -> tuple[SessionEvent, ...]:
        """Returns the events to record when the user interrupts; no call stays open."""
        if self._handed_over or not self._calls:
            return ()
        cut = StepEnded(StopReason.END, words="The user interrupted the answer.")
        return *((cut,) if self._open else ()), *declined_calls(self._calls, CALL_ABORTED)

    def hand_over(self) -> None:
        """Leaves the calls to the code that settles each of them."""
        self._handed_over = True

    @property
    def _calls(self) -> tuple[ToolCall, ...]:
        return tuple(said.part for said in self._said if isinstance(said.part, ToolCall))

    def _keep(self, said: PartCompleted, seconds: float) -> None:
        """Stores a part; it is durable before the model's next part is awaited."""
        if isinstance(said.part, ImagePart | ToolResult):
            return  # no model says such a thing
        spoken = said.part
        if isinstance(spoken, ToolCall):
            spoken = normalized_call(spoken, self._ids, self._turn.record.steps)
            self._ids.add(spoken.id)
        part = PartSaid(spoken, round(seconds, 3))
        self._said.append(part)
        self._turn.defer_events(part)

    def _end(self, answer: StreamEnded) -> ModelAnswer:
        cost = self._pay(answer.usage, self._said)
        self._open = False
        self._turn.defer_events(StepEnded(answer.stop, answer.usage, cost, answer.words))
        text = "".join(one.part.text for one in self._said if isinstance(one.part, TextPart))
        return ModelAnswer(answer.stop, self._calls, answer.usage, answer.words, text)


def normalized_call(call: ToolCall, taken: Set[str], step: int) -> ToolCall:
    """Returns a call with a name and an id that every provider accepts in later requests."""
    name = (
        call.tool
        if _NAME.fullmatch(call.tool)
        else re.sub(_ODD, "_", call.tool)[:MAX_NAME_CHARS] or "_"
    )
    fits = _NAME.fullmatch(call.id) and call.id not in taken
    id = call.id if fits else f"call_{step}_{len(taken) + 1}"
    return msgspec.structs.replace(call, id=id, tool=name)


def declined_calls(calls: tuple[ToolCall, ...], why: str) -> tuple[CallEnded, ...]:
    """Returns the ends of calls that were not run."""
    return tuple(CallEnded(c.id, c.tool, ToolResult(c.id, why, failed=True)) for c in calls)
