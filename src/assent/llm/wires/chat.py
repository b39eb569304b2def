"""Encodes prompts for OpenAI Chat Completions and compatible servers."""

from collections.abc import Iterator
from typing import Any

import msgspec

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
from assent.llm.wires.chat_decoder import ChatDecoder
from assent.llm.wires.response_limits import ResponseMeter
from assent.llm.wires.wire import (
    BaseWire,
    data_url,
    encode_json,
    encoded_messages,
    list_member,
    open_object,
)

COUNT = {"stream_options": {"include_usage": True}}
SENDS_USAGE_UNASKED = ("mistral",)  # count without being asked, and may not like to be
IMAGE_NOTE = "(the picture that the tool found)"


class ChatWire(BaseWire):
    """Speaks Chat Completions with one model."""

    path = "/chat/completions"

    def body(self, prompt: ModelRequest) -> list[bytes]:
        """Returns the request."""
        members = {
            **self._members(prompt),
            **({} if self._asked.provider in SENDS_USAGE_UNASKED else COUNT),
            **self._limit(prompt.output),
        }
        system = "\n\n".join(text for text in prompt.system if text.strip())
        first = [encode_json({"role": "system", "content": system})] if system else []
        tools = self._tools.all(prompt.tools)
        return [
            open_object(members),
            *list_member(b"messages", [*first, *encoded_messages(self._messages, prompt)]),
            *(list_member(b"tools", tools) if tools else ()),
            b"}",
        ]

    def decoder(self, serial: str) -> ChatDecoder:
        return ChatDecoder(serial, ResponseMeter(self._asked.answer_limits))

    def _limit(self, output: int) -> dict[str, int]:
        """OpenAI itself wants the newer word, which others may not know."""
        word = "max_completion_tokens" if self._asked.provider == "openai" else "max_tokens"
        return {word: output} if output else {}

    def _message(self, message: ChatMessage) -> bytes:
        """Returns what may be several messages here, because each result is one."""
        if message.role == "user":
            said = [*_results(message.parts), *_said(message.parts)]
        else:
            said = _answered(message.parts, own=message.model == self._asked.full)
        return b",".join(map(encode_json, said))

    def _tool(self, offer: ToolDefinition) -> bytes:
        function = {
            "name": offer.name,
            "description": offer.description,
            "parameters": offer.schema,
        }
        return encode_json({"type": "function", "function": function})


def _results(parts: tuple[MessagePart, ...]) -> Iterator[dict[str, Any]]:
    for part in parts:
        if isinstance(part, ToolResult):
            yield {"role": "tool", "tool_call_id": part.call, "content": part.text}


def _said(parts: tuple[MessagePart, ...]) -> list[dict[str, Any]]:
    """Returns the words and pictures of a user, and pictures that tools found."""
    found = [image for part in parts if isinstance(part, ToolResult) for image in part.images]
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    images = [part for part in parts if isinstance(part, ImagePart)]
    if not images and not found:
        content = "\n\n".join(text for text in texts if text)
        return [{"role": "user", "content": content}] if content else []
    said = [*texts, IMAGE_NOTE] if found else texts
    shown = [{"type": "image_url", "image_url": {"url": data_url(i)}} for i in (*images, *found)]
    words = [{"type": "text", "text": text} for text in said if text]
    return [{"role": "user", "content": [*words, *shown]}]


def _answered(parts: tuple[MessagePart, ...], *, own: bool) -> list[dict[str, Any]]:
    text = "".join(part.text for part in parts if isinstance(part, TextPart))
    thoughts = [part for part in parts if isinstance(part, ReasoningPart)] if own else []
    attached = {id: more for part in thoughts for id, more in part.extra.get("calls", {}).items()}
    calls = [_call(part, attached.get(part.id)) for part in parts if isinstance(part, ToolCall)]
    if not text and not calls:
        return []
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = calls
    for thought in thoughts:
        message |= _thought(thought, with_calls=bool(calls))
    return [message]


def _call(part: ToolCall, attached: object) -> dict[str, Any]:
    said = msgspec.json.encode(part.args or {}).decode()
    function = {"name": part.tool, "arguments": said}
    call = {"id": part.id, "type": "function", "function": function}
    return {**call, "extra_content": attached} if attached else call


def _thought(thought: ReasoningPart, *, with_calls: bool) -> dict[str, Any]:
    """Returns thoughts under the name they had; plain ones only where calls continue them.

    Servers that let a model think between calls need them back; some refuse them otherwise.
    """
    members: dict[str, Any] = {}
    if details := thought.extra.get("reasoning_details"):
        members["reasoning_details"] = details
    elif with_calls and (field := thought.extra.get("field")):
        members[str(field)] = thought.text
    return members
