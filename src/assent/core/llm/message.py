"""Messages: what a person, a model and tools said to each other, made of typed parts."""

from typing import Any, Literal, TypeAlias

import msgspec


class TextPart(msgspec.Struct, frozen=True, tag="text"):
    """Words."""

    text: str


class ReasoningPart(msgspec.Struct, frozen=True, tag="reasoning"):
    """What a model thought before it spoke.

    `extra` belongs to the wire that made it, which needs it back unchanged; no other looks at it.
    """

    text: str
    extra: dict[str, Any] = {}


class ImagePart(msgspec.Struct, frozen=True, tag="image"):
    """A picture for the model."""

    media_type: str
    content: bytes


class ToolCall(msgspec.Struct, frozen=True, tag="call"):
    """A model's request to use a tool.

    `args` is None where the arguments could not be read; `raw` has them as they came.
    """

    id: str
    tool: str
    args: dict[str, Any] | None
    raw: str = ""


class ToolResult(msgspec.Struct, frozen=True, tag="result"):
    """What came of a call, in words for the model."""

    call: str
    text: str
    failed: bool = False
    images: tuple[ImagePart, ...] = ()


MessagePart: TypeAlias = TextPart | ReasoningPart | ImagePart | ToolCall | ToolResult


class ChatMessage(msgspec.Struct, frozen=True):
    """What one side said. Results of calls are in the user's message after the model's."""

    role: Literal["user", "assistant"]
    parts: tuple[MessagePart, ...]
    model: str = ""  # which model said it; its reasoning means nothing to another
