"""Encodes prompts for the OpenAI Responses API, with nothing kept on the server."""

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
from assent.llm.wires.responses_decoder import ResponsesDecoder
from assent.llm.wires.wire import (
    BaseWire,
    data_url,
    encode_json,
    encoded_messages,
    list_member,
    open_object,
)


class ResponsesWire(BaseWire):
    """Speaks the Responses API with one model."""

    path = "/responses"

    def body(self, prompt: ModelRequest) -> list[bytes]:
        """Returns the request; a model that reasons is asked for its thoughts, sealed."""
        members = {**self._members(prompt), "store": False}
        if prompt.output:
            members["max_output_tokens"] = prompt.output
        if self._asked.reasons:
            members["include"] = ["reasoning.encrypted_content"]
        if system := "\n\n".join(text for text in prompt.system if text.strip()):
            members["instructions"] = system
        tools = self._tools.all(prompt.tools)
        return [
            open_object(members),
            *(list_member(b"tools", tools) if tools else ()),
            *list_member(b"input", encoded_messages(self._messages, prompt)),
            b"}",
        ]

    def decoder(self, serial: str) -> ResponsesDecoder:
        return ResponsesDecoder(serial, self._asked.answer_limits)

    def _message(self, message: ChatMessage) -> bytes:
        own = message.model == self._asked.full
        if message.role == "user":
            items = [*_results(message.parts), *_said(message.parts)]
        else:
            items = [item for part in message.parts if (item := _item(part, own=own))]
        return b",".join(map(encode_json, items))

    def _tool(self, offer: ToolDefinition) -> bytes:
        return encode_json(
            {
                "type": "function",
                "name": offer.name,
                "description": offer.description,
                "parameters": offer.schema,
                "strict": False,
            }
        )


def _results(parts: tuple[MessagePart, ...]) -> list[dict[str, Any]]:
    return [
        {"type": "function_call_output", "call_id": part.call, "output": _output(part)}
        for part in parts
        if isinstance(part, ToolResult)
    ]


def _output(result: ToolResult) -> str | list[dict[str, Any]]:
    if not result.images:
        return result.text
    said = [{"type": "input_text", "text": result.text}] if result.text else []
    return [*said, *map(_image, result.images)]


def _said(parts: tuple[MessagePart, ...]) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    for part in parts:
        match part:
            case TextPart(text) if text:
                content.append({"type": "input_text", "text": text})
            case ImagePart():
                content.append(_image(part))
            case _:
                pass
    return [{"role": "user", "content": content}] if content else []


def _image(image: ImagePart) -> dict[str, Any]:
    return {"type": "input_image", "image_url": data_url(image)}


def _item(part: MessagePart, *, own: bool) -> dict[str, Any] | None:
    match part:
        case TextPart(text) if text:
            return {"role": "assistant", "content": [{"type": "output_text", "text": text}]}
        case ReasoningPart(extra={"encrypted_content": str()}) if own:
            return {"type": "reasoning", "summary": [], **part.extra}
        case ToolCall():
            said = msgspec.json.encode(part.args or {}).decode()
            call = {"call_id": part.id, "name": part.tool, "arguments": said}
            return {"type": "function_call", **call}
        case _:
            return None
