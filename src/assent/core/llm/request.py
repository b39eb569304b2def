"""Requests to a model, and the stream of parts that it answers with."""

from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

from assent.core.llm.message import ChatMessage, MessagePart


class ToolDefinition(msgspec.Struct, frozen=True):
    """A tool as a model gets to see it."""

    name: str
    description: str
    schema: dict[str, Any]


class ModelRequest(msgspec.Struct, frozen=True):
    """Everything that a model is told. What stands first changes least, so that caches help."""

    system: tuple[str, ...]
    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolDefinition, ...] = ()
    output: int = 0  # most tokens of the answer; 0: what the catalogue knows
    kind: str = "main"  # main, title, compact, or the kind of a child: what the answer is for
    turn: int = (
        0  # which main request of the session it is; 0: as many answers as it holds, and one
    )
    temperature: float | None = None  # None: what the provider finds best


class StopReason(StrEnum):
    """Why a model stopped."""

    END = "end"
    CALLS = "calls"
    LENGTH = "length"
    REFUSED = "refused"


class TokenUsage(msgspec.Struct, frozen=True):
    """Tokens. `input` counts all that was read, cached or not."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0


class StreamDelta(msgspec.Struct, frozen=True):
    """A piece of the part that is being said: shown, never stored, void after `RequestRetried`."""

    kind: str  # text, reasoning or call
    text: str


class PartCompleted(msgspec.Struct, frozen=True):
    """A part that is complete; void, too, after `RequestRetried`."""

    part: MessagePart


class StreamPaused(msgspec.Struct, frozen=True):
    """Nothing more has come so far: the moment to make durable what was said."""


class RequestRetried(msgspec.Struct, frozen=True):
    """An attempt failed and another follows; what it had said does not count."""

    attempt: int
    wait: float
    reason: str


class StreamEnded(msgspec.Struct, frozen=True):
    """The end of an answer."""

    stop: StopReason
    usage: TokenUsage = TokenUsage()
    words: str = ""  # of a refusal, where the provider gives some


StreamEvent: TypeAlias = StreamDelta | PartCompleted | StreamPaused | RequestRetried | StreamEnded
