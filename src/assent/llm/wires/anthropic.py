"""The Anthropic Messages API: encodes prompts with cache markers, decodes streamed answers."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from assent.core.decoding import json_decoder
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
    ToolDefinition,
    ToolResult,
)
from assent.llm.http_response import SseEvent
from assent.llm.wires.wire import (
    BaseWire,
    ResponseFailed,
    ResponseMeter,
    TextBuffer,
    encode_json,
    encoded_messages,
    list_member,
    long_list_member,
    open_object,
    tool_call,
)

# Decodes streamed answers of the Anthropic Messages API.


STOPS = {
    "tool_use": StopReason.CALLS,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "refusal": StopReason.REFUSED,
}


class _AnthropicBlock(msgspec.Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: str = ""
    id: str = ""
    name: str = ""
    input: dict[str, Any] = {}


class _AnthropicDelta(msgspec.Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    stop_reason: str | None = None
    stop_details: dict[str, Any] | None = None


class _AnthropicUsage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _AnthropicMessageStart(msgspec.Struct):
    usage: _AnthropicUsage | None = None


class _AnthropicError(msgspec.Struct):
    type: str = ""
    message: str = ""


class _AnthropicEvent(msgspec.Struct):
    type: str = ""
    index: int = 0
    message: _AnthropicMessageStart | None = None
    content_block: _AnthropicBlock | None = None
    delta: _AnthropicDelta | None = None
    usage: _AnthropicUsage | None = None
    error: _AnthropicError | None = None


_LINE = json_decoder(_AnthropicEvent)


class _OpenAnthropicBlock:
    """A block that is still streaming."""

    def __init__(self, block: _AnthropicBlock) -> None:
        self.block = block
        self.said = TextBuffer(block.text or block.thinking)
        self.signature = TextBuffer(block.signature)

    def part(self) -> MessagePart | None:
        block = msgspec.structs.replace(self.block, signature=self.signature.joined())
        return _part(block, self.said.joined())


class AnthropicDecoder:
    """Assembles the blocks of one answer."""

    def __init__(self, meter: ResponseMeter | None = None) -> None:
        self.done = False
        self._meter = meter or ResponseMeter()
        self._open: dict[int, _OpenAnthropicBlock] = {}
        self._count: dict[str, int] = {}
        self._stop = ""
        self._words = ""

    def feed(self, event: SseEvent) -> Iterator[StreamEvent]:
        """Yields the parts in an event; unknown kinds of events are ignored."""
        line = _LINE.decode(event.data)
        match line:
            case _AnthropicEvent(type="error"):
                trouble = line.error or _AnthropicError()
                raise ResponseFailed(trouble.type, trouble.message)
            case _AnthropicEvent(
                type="content_block_start", content_block=_AnthropicBlock() as block
            ):
                self._begin(line.index, block)
            case _AnthropicEvent(type="content_block_delta", delta=_AnthropicDelta() as change):
                yield from self._change(line.index, change)
            case _AnthropicEvent(type="content_block_stop"):
                yield from self._complete(line.index)
            case _AnthropicEvent(type="message_stop"):
                self.done = True
            case _:
                self._note(line)

    def ended(self) -> tuple[list[StreamEvent], StreamEnded] | None:
        """Returns the end, if the last event came and no block is incomplete."""
        if not self.done or self._open:
            return None
        return [], StreamEnded(STOPS.get(self._stop, StopReason.END), self._usage(), self._words)

    def unfinished_parts(self) -> Iterator[StreamEvent]:
        """Yields text and reasoning of unfinished blocks; an unfinished call is dropped."""
        for found in self._open.values():
            part = None if found.block.type == "tool_use" else found.part()
            if part is not None:
                yield PartCompleted(part)

    def _begin(self, index: int, block: _AnthropicBlock) -> None:
        if block.type == "tool_use":
            self._meter.call()
            self._meter.add("arguments", block.id + block.name)
            self._meter.add_value("arguments", block.input)
        else:
            self._meter.part()
            self._meter.add("text", block.text)
            self._meter.add("reasoning", block.thinking + block.signature + block.data)
        self._open[index] = _OpenAnthropicBlock(block)

    def _change(self, index: int, change: _AnthropicDelta) -> Iterator[StreamEvent]:
        if index not in self._open:
            raise msgspec.ValidationError("a change to a block that was not started")
        found = self._open[index]
        self._meter.add("reasoning", change.signature)
        found.signature.append(change.signature)
        said = change.text or change.thinking or change.partial_json
        if said:
            kind = _KINDS.get(found.block.type, "text")
            self._meter.add(_METERED.get(kind, kind), said)
            found.said.append(said)
            yield StreamDelta(kind, said, found.block.id, found.block.name)

    def _complete(self, index: int) -> Iterator[StreamEvent]:
        found = self._open.pop(index, None)
        part = found.part() if found else None
        if part is not None:
            yield PartCompleted(part)

    def _note(self, line: _AnthropicEvent) -> None:
        """Takes token counts and the stop reason from any event that has them."""
        for count in (line.message and line.message.usage, line.usage):
            if isinstance(count, _AnthropicUsage):
                numbers = msgspec.structs.asdict(count)
                self._count |= {key: n for key, n in numbers.items() if n is not None}
        if line.delta and line.delta.stop_reason:
            self._stop = line.delta.stop_reason
            self._words = str((line.delta.stop_details or {}).get("explanation") or "")
            self._meter.add("text", self._words)

    def _usage(self) -> TokenUsage:
        count = _AnthropicUsage(**self._count)
        read, written = count.cache_read_input_tokens or 0, count.cache_creation_input_tokens or 0
        total = (count.input_tokens or 0) + read + written
        return TokenUsage(total, count.output_tokens or 0, read, written)


_KINDS = {"thinking": "reasoning", "redacted_thinking": "reasoning", "tool_use": "call"}
_METERED = {"call": "arguments"}


def _part(block: _AnthropicBlock, said: str) -> MessagePart | None:
    match block.type:
        case "text":
            return TextPart(said) if said else None
        case "thinking":
            sign = {"signature": block.signature} if block.signature else {}
            return ReasoningPart(said, sign) if said or sign else None
        case "redacted_thinking":
            return ReasoningPart("", {"redacted": block.data})
        case "tool_use":
            raw = said or (msgspec.json.encode(block.input).decode() if block.input else "")
            return tool_call(block.id, block.name, raw)
        case _:
            return None


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
    """The wire for the Messages API with one model."""

    path = "/v1/messages"

    def headers(self, key: str, *, bearer: bool) -> dict[str, str]:
        """Returns the headers for authentication and the version of the protocol."""
        proof = {"authorization": f"Bearer {key}"} if bearer else {"x-api-key": key}
        return {"anthropic-version": VERSION, **(proof if key else {})}

    def body(self, prompt: ModelRequest) -> list[bytes]:
        """Returns the request; what changes least comes first, so that caches work."""
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
            *long_list_member(b"messages", self._joined_messages(prompt, _marked(messages))),
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
    """Adds cache markers to the newest user messages, at the end of their last block."""
    newest_first = range(len(messages) - 1, -1, -1)
    said = (at for at in newest_first if messages[at].startswith(b'{"role":"user"'))
    for index in islice(said, _NEWEST):
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
    """Returns reasoning that the provider signed or encrypted; it accepts no other."""
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
