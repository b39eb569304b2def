"""The scripted model: answers from a file, turn by turn, and can simulate server faults."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from assent.core.decoding import TOO_DEEP, decode_json, is_too_deep
from assent.core.errors import ModelError, Unavailable, UsageError
from assent.core.llm import (
    ChatMessage,
    ImagePart,
    MessagePart,
    ModelRequest,
    PartCompleted,
    ReasoningPart,
    StopReason,
    StreamDelta,
    StreamEnded,
    StreamEvent,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from assent.ports.cancellation import CancellableModelStream, CancelToken

LIMIT = 64 << 20
LIST = "assent models list"

ScriptedFault = Literal[
    "rate_limit",
    "rate_limit_after",
    "server_error",
    "overloaded",
    "reset_before",
    "reset_during",
    "cut",
    "malformed_event",
    "truncated_json",
    "error_event",
    "html_page",
    "empty_reply",
    "drip",
    "stall",
]

# What each fault looks like from outside; those in the middle of an answer come after half of it.
BEFORE = {
    "rate_limit": "is rate limiting requests (429)",
    "rate_limit_after": "is rate limiting requests (429)",
    "server_error": "returned an error (500)",
    "overloaded": "is overloaded (529)",
    "reset_before": "reset the connection",
    "html_page": "sent a text/html page, not an event stream",
    "empty_reply": "sent an empty response",
}
DURING = {
    "reset_during": "reset the connection during the response",
    "cut": "closed the connection before the end of the response",
    "malformed_event": "sent an event that could not be read",
    "truncated_json": "sent half of an event",
    "error_event": "reported an error in the response",
    "stall": "sent nothing for too long",
}


class ScriptedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call of a turn."""

    tool: str
    args: dict[str, Any] = {}


class ScriptedTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    delay_ms: float = 0
    fault: ScriptedFault | None = None


NOT_REGULAR = "is not a regular file."


class ModelScript(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole script file."""

    turns: tuple[ScriptedTurn, ...] = ()
    children: dict[str, tuple[ScriptedTurn, ...]] = {}
    answers: dict[str, dict[int, ScriptedTurn]] = {}  # turns to use instead after an answer


def read_script(path: Path, name: str) -> ModelScript:
    """Reads a script; `name` is what the user called it."""
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"The script {name} {NOT_REGULAR}", LIST)
        with path.open("rb") as file:
            content = file.read(LIMIT + 1)
    except OSError as error:
        raise UsageError(f"The script {name} cannot be read: {error.strerror}.", LIST) from None
    if len(content) > LIMIT:
        raise UsageError(f"The script {name} is longer than {LIMIT} bytes.", LIST)
    try:
        script = decode_json(content, ModelScript)
    except RecursionError:
        raise _deep(name) from None
    except msgspec.MsgspecError as error:
        raise UsageError(f"The script {name} cannot be used: {error}.", LIST) from None
    turns = [*script.turns, *(turn for turns in script.children.values() for turn in turns)]
    turns += [turn for instead in script.answers.values() for turn in instead.values()]
    if any(is_too_deep(call.args) for turn in turns for call in turn.calls):
        raise _deep(name)
    return script


def _deep(name: str) -> UsageError:
    told = f"The script {name} cannot be used: {TOO_DEEP}."
    return UsageError(told, LIST)


class ScriptedModel:
    """Answers a session's k-th main request with turn k.

    k comes from the prompt, so it survives a restart. A turn's fault happens once; a retry gets the
    turn's answer.
    """

    def __init__(self, script: ModelScript, name: str) -> None:
        self._script = script
        self._name = name
        self._failed: set[tuple[str, int]] = set()

    def stream(self, prompt: ModelRequest) -> CancellableModelStream:
        return CancellableModelStream(lambda token: self._answer(prompt, token))

    def _answer(self, prompt: ModelRequest, token: CancelToken[str]) -> Iterator[StreamEvent]:
        if prompt.kind in ("title", "compact"):
            yield from _aside(prompt)
            return
        number = prompt.turn or 1 + sum(m.role == "assistant" for m in prompt.messages)
        turn = self._instead(prompt, number) or self._turn(prompt.kind, number)
        token.wait(turn.delay_ms / 1000)
        token.raise_if_cancelled()
        fault = self._due(turn, prompt.kind, number)
        if fault in BEFORE:
            after = 1.0 if fault == "rate_limit_after" else -1.0
            raise Unavailable(f"{self._name} {BEFORE[fault]}.", "", after)
        parts = _parts(turn, f"{prompt.kind}_{number}")
        yield from _deltas(parts, drip=fault == "drip", half=fault in DURING)
        if fault in DURING:
            raise Unavailable(f"{self._name} {DURING[fault]}.")
        yield from map(PartCompleted, parts)
        stop = StopReason.CALLS if turn.calls else StopReason.END
        yield StreamEnded(stop, TokenUsage(_size(prompt.messages) // 4, _length(parts) // 4))

    def _instead(self, prompt: ModelRequest, number: int) -> ScriptedTurn | None:
        """Returns the turn after an answer that the user gave to a question, if there is one."""
        results = [
            part.text
            for message in prompt.messages
            for part in message.parts
            if prompt.kind == "main" and isinstance(part, ToolResult)
        ]
        for answer, turns in self._script.answers.items():
            if number in turns and any(f'"{answer}"' in text for text in results):
                return turns[number]
        return None

    def _turn(self, kind: str, number: int) -> ScriptedTurn:
        turns = self._script.turns if kind == "main" else self._script.children.get(kind, ())
        if number > len(turns):
            whose = "" if kind == "main" else f" for {kind}"
            count = "1 turn" if len(turns) == 1 else f"{len(turns)} turns"
            told = f"{self._name} has {count}{whose}, but turn {number} was requested."
            raise ModelError(told, "add a turn to the script, or start a new session")
        return turns[number - 1]

    def _due(self, turn: ScriptedTurn, kind: str, number: int) -> str:
        if turn.fault is None or (kind, number) in self._failed:
            return ""
        self._failed.add((kind, number))
        return turn.fault


def _parts(turn: ScriptedTurn, serial: str) -> list[MessagePart]:
    parts: list[MessagePart] = [ReasoningPart(turn.reasoning)] if turn.reasoning else []
    parts += [TextPart(turn.text)] if turn.text else []
    calls = enumerate(turn.calls, start=1)
    return [*parts, *(ToolCall(f"call_{serial}_{n}", call.tool, call.args) for n, call in calls)]


def _deltas(parts: Sequence[MessagePart], *, drip: bool, half: bool) -> Iterator[StreamEvent]:
    for part in parts:
        match part:
            case ReasoningPart(text):
                of = StreamDelta("reasoning", text)
            case TextPart(text):
                of = StreamDelta("text", text)
            case ToolCall(id, tool, args):
                of = StreamDelta("call", msgspec.json.encode(args).decode(), id, tool)
            case _:
                continue
        told = of.text[: len(of.text) // 2] if half else of.text
        for piece in told if drip else re.findall(r"\s*\S+\s*", told):
            yield msgspec.structs.replace(of, text=piece)


def _aside(prompt: ModelRequest) -> Iterator[StreamEvent]:
    """Answers a request for a title or a summary, which uses no turn."""
    texts = [
        p.text
        for m in prompt.messages
        if m.role == "user"
        for p in m.parts
        if isinstance(p, TextPart)
    ]
    words = " ".join(" ".join(texts).split()[:8]) or "No messages"
    yield PartCompleted(TextPart(words if prompt.kind == "title" else f"Summary: {words}"))
    yield StreamEnded(StopReason.END)


def _size(messages: tuple[ChatMessage, ...]) -> int:
    return sum(_length(message.parts) for message in messages)


def _length(parts: tuple[MessagePart, ...] | list[MessagePart]) -> int:
    """Returns how many characters parts have, for a token estimate."""
    total = 0
    for part in parts:
        match part:
            case TextPart(text) | ReasoningPart(text) | ToolResult(_, text):
                total += len(text)
            case ToolCall():
                total += len(str(part.args))
            case ImagePart():
                pass
    return total
