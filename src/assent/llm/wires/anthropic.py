"""Encodes prompts for the Anthropic Messages API, with cache markers."""

import re
from typing import Any

from assent.core.llm import (
    ChatMessage,
    ImagePart,
    MessagePart,
    ModelRequest,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolDefinition,
    ToolResult,
)
from assent.llm.wires.anthropic_decoder import AnthropicDecoder
from assent.llm.wires.response_limits import ResponseMeter
from assent.llm.wires.wire import BaseWire, encode_json, encoded_messages, list_member, open_object

VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = (
    32_000  # asked for where the model could say more; the request must name a limit
)
FALLBACK_MAX_TOKENS = 16_000
_NEWEST = 2  # marked messages: where this request ends, and where the one before it ended

_MARK = {"type": "ephemeral"}
_MARKED = b',"cache_control":{"type":"ephemeral"}'
# Where calls were made before, a request must name tools, also one that allows no more of them.
_USED = b'"type":"tool_use"'
_NO_TOOL = encode_json({"name": "none", "description": "", "input_schema": {"type": "object"}})
_ID = re.compile(r"[^A-Za-z0-9_-]")


class AnthropicWire(BaseWire):
    """Speaks the Messages API with one model."""

    path = "/v1/messages"

    def headers(self, key: str, *, bearer: bool) -> dict[str, str]:
        """Returns what proves who asks, and the version of the protocol."""
        proof = {"authorization": f"Bearer {key}"} if bearer else {"x-api-key": key}
        return {"anthropic-version": VERSION, **(proof if key else {})}

    def body(self, prompt: ModelRequest) -> list[bytes]:
        """Returns the request; what changes least stands first, so that caches find it."""
        members = {
            **self._members(prompt),
            "max_tokens": prompt.output
            or min(self._asked.output, DEFAULT_MAX_TOKENS)
            or FALLBACK_MAX_TOKENS,
        }
        messages = encoded_messages(self._messages, prompt)
        tools = self._tools.all(prompt.tools)
        if not tools and any(_USED in message for message in messages):
            tools, members["tool_choice"] = [_NO_TOOL], {"type": "none"}
        system = _system(prompt.system)
        if tools and not system:
            tools[-1] = tools[-1][:-1] + _MARKED + b"}"
        return [
            open_object(members),
            *(list_member(b"tools", tools) if tools else ()),
            *(list_member(b"system", system) if system else ()),
            *list_member(b"messages", _marked(messages)),
            b"}",
        ]

    def decoder(self, serial: str) -> AnthropicDecoder:
        return AnthropicDecoder(ResponseMeter(self._asked.answer_limits))

    def _message(self, message: ChatMessage) -> bytes:
        own = message.model == self._asked.full
        parts = sorted(message.parts, key=lambda part: not isinstance(part, ToolResult))
        blocks = [block for part in parts if (block := _block(part, own=own))]
        return encode_json({"role": message.role, "content": blocks}) if blocks else b""

    def _tool(self, offer: ToolDefinition) -> bytes:
        return encode_json(
            {"name": offer.name, "description": offer.description, "input_schema": offer.schema}
        )


def _system(texts: tuple[str, ...]) -> list[bytes]:
    """Marks the first text, which stays when the others change, and the last."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": t} for t in texts if t.strip()]
    for block in (*blocks[:1], *blocks[-1:]):
        block["cache_control"] = _MARK
    return [encode_json(block) for block in blocks]


def _marked(messages: list[bytes]) -> list[bytes]:
    """Marks the newest messages of the user, at the end of their last block."""
    marked = [i for i, content in enumerate(messages) if content.startswith(b'{"role":"user"')]
    for index in marked[-_NEWEST:]:
        messages[index] = messages[index][: -len(b"}]}")] + _MARKED + b"}]}"
    return messages


def _block(part: MessagePart, *, own: bool) -> dict[str, Any] | None:
    match part:
        case TextPart(text):
            return {"type": "text", "text": text} if text.strip() else None
        case ImagePart():
            return _image(part)
        case ReasoningPart():
            return _thinking(part) if own else None
        case ToolCall():
            return {
                "type": "tool_use",
                "id": _id(part.id),
                "name": part.tool,
                "input": part.args or {},
            }
        case ToolResult():
            return _result(part)


def _image(image: ImagePart) -> dict[str, Any]:
    source = {"type": "base64", "media_type": image.media_type, "data": image.content}
    return {"type": "image", "source": source}


def _thinking(reasoning: ReasoningPart) -> dict[str, Any] | None:
    """Returns thoughts that the provider signed or sealed; it takes no others."""
    match reasoning.extra:
        case {"redacted": sealed}:
            return {"type": "redacted_thinking", "data": sealed}
        case {"signature": signature}:
            return {"type": "thinking", "thinking": reasoning.text, "signature": signature}
        case _:
            return None


def _result(result: ToolResult) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": _id(result.call)}
    if result.images:
        said = [{"type": "text", "text": result.text}] if result.text.strip() else []
        block["content"] = [*said, *map(_image, result.images)]
    elif result.text:
        block["content"] = result.text
    return {**block, "is_error": True} if result.failed else block


def _id(call: str) -> str:
    """Returns an id that this provider accepts, also for a call that another model made."""
    return _ID.sub("_", call) or "_"
