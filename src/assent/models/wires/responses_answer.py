"""OpenAI Responses: how an answer is read."""

from collections.abc import Iterator
from typing import Any

import msgspec

from assent.core.llm.message import MessagePart, ReasoningPart, TextPart
from assent.core.llm.provider import AnswerSettings
from assent.core.llm.request import (
    PartCompleted,
    StopReason,
    StreamDelta,
    StreamEnded,
    StreamEvent,
    TokenUsage,
)
from assent.models.net.sse import Event
from assent.models.wires.arguments import call
from assent.models.wires.meter import Meter, Pieces
from assent.models.wires.wire import Failed

DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
    "response.function_call_arguments.delta": "call",
}
_METERED = {"call": "arguments"}
LAST = ("response.completed", "response.incomplete")
_KEPT = ("id", "summary", "content", "encrypted_content")


class _Content(msgspec.Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct):
    type: str = ""
    content: list[_Content] | None = None
    summary: list[_Content] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Count(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Details | None = None
    output_tokens_details: _Details | None = None


class _Why(msgspec.Struct):
    reason: str | None = None


class _Trouble(msgspec.Struct):
    code: str | int | None = None
    type: str | None = None
    message: str | None = None


class _Response(msgspec.Struct):
    usage: _Count | None = None
    incomplete_details: _Why | None = None
    error: _Trouble | None = None


class _Line(msgspec.Struct):
    type: str = ""
    delta: str | dict[str, Any] | None = None
    item: msgspec.Raw = msgspec.Raw(b"{}")
    response: _Response | None = None
    error: _Trouble | None = None
    code: str | int | None = None
    message: str | None = None


_LINE, _ITEM = msgspec.json.Decoder(_Line), msgspec.json.Decoder(_Item)


class ResponsesDecoder:
    """Takes the items of one answer, each when it is complete."""

    def __init__(self, serial: str, most: AnswerSettings | None = None) -> None:
        self.done = False
        self._live, self._whole = Meter(most), Meter(most)  # pieces, and the items they become
        self._saying = {"text": Pieces(), "reasoning": Pieces()}
        self._serial = serial
        self._calls = 0
        self._last = _Line()
        self._refusal = ""

    def feed(self, event: Event) -> Iterator[StreamEvent]:
        """Yields what an event says; kinds of events that are unknown say nothing."""
        if event.data.strip() == b"[DONE]":
            return
        line = _LINE.decode(event.data)
        if line.type in DELTAS and isinstance(line.delta, str):
            yield self._piece(DELTAS[line.type], line.delta)
        elif line.type == "response.output_item.done":
            yield from self._item(line.item)
        elif line.type in LAST:
            self.done, self._last = True, line
        elif line.type in ("error", "response.failed"):
            raise _failed(line)

    def ended(self) -> tuple[list[StreamEvent], StreamEnded] | None:
        """Returns the end, if the event that says so came."""
        if not self.done:
            return None
        response = self._last.response or _Response()
        return [], StreamEnded(self._stop(response), _usage(response.usage), self._refusal)

    def unfinished_parts(self) -> Iterator[StreamEvent]:
        """Yields text and thoughts whose item has no end yet."""
        thoughts, text = self._saying["reasoning"].joined(), self._saying["text"].joined()
        if thoughts:
            yield PartCompleted(ReasoningPart(thoughts))
        if text:
            yield PartCompleted(TextPart(text))

    def _piece(self, kind: str, piece: str) -> StreamDelta:
        self._live.add(_METERED.get(kind, kind), piece)
        if kind in self._saying:
            self._saying[kind].append(piece)
        return StreamDelta(kind, piece)

    def _stop(self, response: _Response) -> StopReason:
        reason = response.incomplete_details and response.incomplete_details.reason
        if self._refusal or reason == "content_filter":
            return StopReason.REFUSED
        if self._last.type != LAST[0]:
            return StopReason.LENGTH
        return StopReason.CALLS if self._calls else StopReason.END

    def _item(self, raw: msgspec.Raw) -> Iterator[StreamEvent]:
        item = _ITEM.decode(raw)
        contents = item.content or []
        refusal = "".join(content.refusal or "" for content in contents)
        self._whole.add("text", refusal)
        self._refusal += refusal
        part = self._part(item, raw, "".join(content.text or "" for content in contents))
        if part is not None:
            yield PartCompleted(part)

    def _part(self, item: _Item, raw: msgspec.Raw, said: str) -> MessagePart | None:
        match item.type:
            case "message":
                self._whole.part()
                self._whole.add("text", said)
                self._saying["text"] = Pieces()
                return TextPart(said) if said else None
            case "reasoning":
                summary = "\n\n".join(piece.text or "" for piece in item.summary or ())
                whole = msgspec.json.decode(raw, type=dict[str, Any])
                kept = {key: whole[key] for key in _KEPT if whole.get(key) is not None}
                self._whole.part()
                self._whole.add_value("reasoning", kept)
                self._saying["reasoning"] = Pieces()
                return ReasoningPart(summary or said, kept)
            case "function_call":
                self._whole.call()
                said = f"{item.call_id}{item.name}{item.arguments}"
                self._whole.add("arguments", said)
                self._calls += 1
                id = item.call_id or f"{self._serial}_{self._calls}"
                return call(id, item.name or "", item.arguments or "")
            case _:
                return None


def _failed(line: _Line) -> Failed:
    inner = line.error or (line.response and line.response.error) or _Trouble()
    kind = inner.code or inner.type or line.code or ""
    return Failed(str(kind), inner.message or line.message or "")


def _usage(count: _Count | None) -> TokenUsage:
    if count is None:
        return TokenUsage()
    before, after = count.input_tokens_details, count.output_tokens_details
    return TokenUsage(
        input=count.input_tokens or 0,
        output=count.output_tokens or 0,
        cache_read=(before and before.cached_tokens) or 0,
        cache_write=(before and before.cache_write_tokens) or 0,
        reasoning=(after and after.reasoning_tokens) or 0,
    )
