"""The OpenAI Responses API: encodes prompts and decodes streamed answers.

Nothing is stored on the server.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from assent.core.decoding import decode_json, json_decoder
from assent.core.llm import (
    AnswerSettings,
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
    data_url,
    encode_json,
    encoded_messages,
    list_member,
    long_list_member,
    open_object,
    tool_call,
)

# Decodes streamed answers of the OpenAI Responses API.


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


class _ResponsesContent(msgspec.Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _ResponsesItem(msgspec.Struct):
    type: str = ""
    content: list[_ResponsesContent] | None = None
    summary: list[_ResponsesContent] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None


class _ResponsesTokenDetails(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class _ResponsesUsage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _ResponsesTokenDetails | None = None
    output_tokens_details: _ResponsesTokenDetails | None = None


class _ResponsesIncompleteDetails(msgspec.Struct):
    reason: str | None = None


class _ResponsesError(msgspec.Struct):
    code: str | int | None = None
    type: str | None = None
    message: str | None = None


class _ResponsesBody(msgspec.Struct):
    usage: _ResponsesUsage | None = None
    incomplete_details: _ResponsesIncompleteDetails | None = None
    error: _ResponsesError | None = None


class _ResponsesEvent(msgspec.Struct):
    type: str = ""
    delta: str | dict[str, Any] | None = None
    output_index: int | None = None
    item: msgspec.Raw = msgspec.Raw(b"{}")
    response: _ResponsesBody | None = None
    error: _ResponsesError | None = None
    code: str | int | None = None
    message: str | None = None


_LINE, _ITEM = json_decoder(_ResponsesEvent), json_decoder(_ResponsesItem)


class _GrowingCall(msgspec.Struct, frozen=True):
    """The call whose arguments are arriving; items come one after the other."""

    at: int | None = None
    id: str = ""
    tool: str = ""


class ResponsesDecoder:
    """Takes the items of one answer, each when it is complete."""

    def __init__(self, serial: str, most: AnswerSettings | None = None) -> None:
        self.done = False
        self._live, self._whole = (
            ResponseMeter(most),
            ResponseMeter(most),
        )  # pieces, and the items they become
        self._saying = {"text": TextBuffer(), "reasoning": TextBuffer()}
        self._serial = serial
        self._calls = 0
        self._growing = _GrowingCall()
        self._last = _ResponsesEvent()
        self._refusal = ""

    def feed(self, event: SseEvent) -> Iterator[StreamEvent]:
        """Yields the parts in an event; unknown kinds of events are ignored."""
        if event.data.strip() == b"[DONE]":
            return
        line = _LINE.decode(event.data)
        if line.type in DELTAS and isinstance(line.delta, str):
            yield self._piece(DELTAS[line.type], line.delta, line.output_index)
        elif line.type == "response.output_item.added":
            self._growing = self._begun(_ITEM.decode(line.item), line.output_index)
        elif line.type == "response.output_item.done":
            yield from self._item(line.item)
        elif line.type in LAST:
            self.done, self._last = True, line
        elif line.type in ("error", "response.failed"):
            raise _failed(line)

    def ended(self) -> tuple[list[StreamEvent], StreamEnded] | None:
        """Returns the end, if its event came."""
        if not self.done:
            return None
        response = self._last.response or _ResponsesBody()
        return [], StreamEnded(self._stop(response), _usage(response.usage), self._refusal)

    def unfinished_parts(self) -> Iterator[StreamEvent]:
        """Yields text and reasoning of unfinished items."""
        thoughts, text = self._saying["reasoning"].joined(), self._saying["text"].joined()
        if thoughts:
            yield PartCompleted(ReasoningPart(thoughts))
        if text:
            yield PartCompleted(TextPart(text))

    def _begun(self, item: _ResponsesItem, at: int | None) -> "_GrowingCall":
        """Returns the call that an item is, with the id that it will have; none if it is none."""
        if item.type != "function_call":
            return _GrowingCall()
        id = item.call_id or f"{self._serial}_{self._calls + 1}"
        return _GrowingCall(at, id, item.name or "")

    def _piece(self, kind: str, piece: str, at: int | None = None) -> StreamDelta:
        self._live.add(_METERED.get(kind, kind), piece)
        if kind in self._saying:
            self._saying[kind].append(piece)
        if kind == "call" and self._growing.id and at == self._growing.at:
            return StreamDelta(kind, piece, self._growing.id, self._growing.tool)
        return StreamDelta(kind, piece)

    def _stop(self, response: _ResponsesBody) -> StopReason:
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

    def _part(self, item: _ResponsesItem, raw: msgspec.Raw, said: str) -> MessagePart | None:
        match item.type:
            case "message":
                self._whole.part()
                self._whole.add("text", said)
                self._saying["text"] = TextBuffer()
                return TextPart(said) if said else None
            case "reasoning":
                summary = "\n\n".join(piece.text or "" for piece in item.summary or ())
                whole = decode_json(raw, dict[str, Any])
                kept = {key: whole[key] for key in _KEPT if whole.get(key) is not None}
                self._whole.part()
                self._whole.add_value("reasoning", kept)
                self._saying["reasoning"] = TextBuffer()
                return ReasoningPart(summary or said, kept)
            case "function_call":
                self._whole.call()
                said = f"{item.call_id}{item.name}{item.arguments}"
                self._whole.add("arguments", said)
                self._calls += 1
                id = item.call_id or f"{self._serial}_{self._calls}"
                return tool_call(id, item.name or "", item.arguments or "")
            case _:
                return None


def _failed(line: _ResponsesEvent) -> ResponseFailed:
    inner = line.error or (line.response and line.response.error) or _ResponsesError()
    kind = inner.code or inner.type or line.code or ""
    return ResponseFailed(str(kind), inner.message or line.message or "")


def _usage(count: _ResponsesUsage | None) -> TokenUsage:
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


class ResponsesWire(BaseWire):
    """The wire for the Responses API with one model."""

    path = "/responses"

    def body(self, prompt: ModelRequest) -> list[bytes]:
        """Returns the request; a reasoning model is asked for its encrypted reasoning."""
        members = {**self._members(prompt), "store": False}
        if prompt.output:
            members["max_output_tokens"] = prompt.output
        if self._asked.reasons:
            members["include"] = ["reasoning.encrypted_content"]
        if system := "\n\n".join(text for text in prompt.system if text.strip()):
            members["instructions"] = system
        tools = self._tools.all(prompt.tools)
        messages = encoded_messages(self._messages, prompt)
        return [
            open_object(members),
            *(list_member(b"tools", tools) if tools else ()),
            *long_list_member(b"input", self._joined_messages(prompt, messages)),
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
