"""Decodes streamed answers of the Anthropic Messages API."""

from collections.abc import Iterator
from typing import Any

import msgspec

from assent.core.llm import (
    MessagePart,
    PartCompleted,
    ReasoningPart,
    StopReason,
    StreamDelta,
    StreamEnded,
    StreamEvent,
    TextPart,
    TokenUsage,
)
from assent.llm.http.sse import SseEvent
from assent.llm.wires.response_limits import ResponseMeter, TextBuffer
from assent.llm.wires.tool_arguments import tool_call
from assent.llm.wires.wire import ResponseFailed

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


_LINE = msgspec.json.Decoder(_AnthropicEvent)


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
    """Puts the blocks of one answer together."""

    def __init__(self, meter: ResponseMeter | None = None) -> None:
        self.done = False
        self._meter = meter or ResponseMeter()
        self._open: dict[int, _OpenAnthropicBlock] = {}
        self._count: dict[str, int] = {}
        self._stop = ""
        self._words = ""

    def feed(self, event: SseEvent) -> Iterator[StreamEvent]:
        """Yields what an event says; kinds of events that are unknown say nothing."""
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
        """Returns the end, if the last event came and no block is half said."""
        if not self.done or self._open:
            return None
        return [], StreamEnded(STOPS.get(self._stop, StopReason.END), self._usage(), self._words)

    def unfinished_parts(self) -> Iterator[StreamEvent]:
        """Yields text and thoughts of blocks that have no end; a call without one is none."""
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
            raise msgspec.ValidationError("a change of a block that did not begin")
        found = self._open[index]
        self._meter.add("reasoning", change.signature)
        found.signature.append(change.signature)
        said = change.text or change.thinking or change.partial_json
        if said:
            kind = _KINDS.get(found.block.type, "text")
            self._meter.add(_METERED.get(kind, kind), said)
            found.said.append(said)
            yield StreamDelta(kind, said)

    def _complete(self, index: int) -> Iterator[StreamEvent]:
        found = self._open.pop(index, None)
        part = found.part() if found else None
        if part is not None:
            yield PartCompleted(part)

    def _note(self, line: _AnthropicEvent) -> None:
        """Takes counts and the reason of the end from whichever event has them."""
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
