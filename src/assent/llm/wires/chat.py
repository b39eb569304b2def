"""OpenAI Chat Completions and compatible servers: encodes prompts, decodes streamed answers.

The decoder handles the quirks of those servers.
"""

from collections.abc import Iterator
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
    data_url,
    encode_json,
    encoded_messages,
    list_member,
    long_list_member,
    open_object,
    tool_call,
)

# Decodes streamed answers of Chat Completions, with the quirks of compatible servers.


STOPS = {"length": StopReason.LENGTH, "content_filter": StopReason.REFUSED}
_THOUGHTS = ("reasoning_content", "reasoning")


class _ChatFunction(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _ChatCallDelta(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _ChatFunction | None = None
    extra_content: dict[str, Any] | None = None  # Gemini's, which wants it back with the call


class _ChatDelta(msgspec.Struct):
    content: str | list[dict[str, Any]] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[_ChatCallDelta] | None = None


class _ChatChoice(msgspec.Struct):
    index: int | None = None
    delta: _ChatDelta | None = None
    finish_reason: str | None = None


class _ChatTokenDetails(msgspec.Struct):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class _ChatUsage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _ChatTokenDetails | None = None
    completion_tokens_details: _ChatTokenDetails | None = None
    prompt_cache_hit_tokens: int | None = None


class _ChatError(msgspec.Struct):
    message: str | None = None
    type: str | None = None
    code: str | int | None = None


class _ChatChunk(msgspec.Struct):
    choices: list[_ChatChoice] | None = None
    usage: _ChatUsage | None = None
    error: _ChatError | str | None = None


_CHUNK = json_decoder(_ChatChunk)


class _OpenChatCall:
    """A call that is still streaming."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = self.name = ""
        self.pieces = TextBuffer()
        self.attached: dict[str, Any] | None = None


class ChatDecoder:
    """Assembles the pieces of one answer."""

    def __init__(self, serial: str, meter: ResponseMeter | None = None) -> None:
        self.done = False
        self._serial = serial
        self._meter = meter or ResponseMeter()
        self._texts = TextBuffer()
        self._thoughts = TextBuffer()
        self._extra: dict[str, Any] = {}
        self._refusals = TextBuffer()
        self._calls: list[_OpenChatCall] = []
        self._stop: str | None = None
        self._usage = TokenUsage()

    def feed(self, event: SseEvent) -> Iterator[StreamEvent]:
        """Yields the parts in a chunk."""
        if event.data.strip() == b"[DONE]":
            self.done = True
            return
        chunk = _CHUNK.decode(event.data)
        if chunk.error:
            raise _failed(chunk.error)
        if chunk.usage:
            self._usage = _usage(chunk.usage)
        for choice in chunk.choices or ():
            if choice.delta:
                yield from self._change(choice.delta)
            self._stop = choice.finish_reason or self._stop
        if self._stop == "error":
            raise ResponseFailed("error", "the provider stopped with an error")

    def ended(self) -> tuple[list[StreamEvent], StreamEnded] | None:
        """Returns all parts, and the end, if a stop reason or the last event came."""
        if self._stop is None and not self.done:
            return None
        refused = self._refusals.joined()
        stop = STOPS.get(self._stop or "", StopReason.CALLS if self._calls else StopReason.END)
        stop = StopReason.REFUSED if refused else stop
        return [*self._parts()], StreamEnded(stop, self._usage, refused)

    def unfinished_parts(self) -> Iterator[StreamEvent]:
        """Yields text and reasoning; whether a call is complete is only known at the end."""
        self._calls = []
        yield from self._parts()

    def _parts(self) -> Iterator[StreamEvent]:
        thoughts, text = self._thoughts.joined(), self._texts.joined()
        for number, found in enumerate(self._calls):
            found.id = found.id or f"{self._serial}_{number}"
        if attached := {found.id: found.attached for found in self._calls if found.attached}:
            self._extra["calls"] = attached
        if thoughts or self._extra:
            yield PartCompleted(ReasoningPart(thoughts, self._extra))
        if text:
            yield PartCompleted(TextPart(text))
        for found in self._calls:
            yield PartCompleted(tool_call(found.id, found.name, found.pieces.joined()))

    def _change(self, change: _ChatDelta) -> Iterator[StreamEvent]:
        for field in _THOUGHTS:
            if thought := getattr(change, field):
                self._extra.setdefault("field", field)
                yield from self._think(thought)
                break
        if change.reasoning_details:
            self._meter.add_value("reasoning", change.reasoning_details)
            self._extra.setdefault("reasoning_details", []).extend(change.reasoning_details)
        yield from self._say(change.content or "")
        if change.refusal:
            self._meter.add("text", change.refusal)
            self._refusals.append(change.refusal)
        for piece in change.tool_calls or ():
            yield from self._grow(piece)

    def _say(self, content: str | list[dict[str, Any]]) -> Iterator[StreamEvent]:
        """Handles content; if it is a list, it may include reasoning."""
        if isinstance(content, str):
            if content:
                self._meter.add("text", content)
                self._texts.append(content)
                yield StreamDelta("text", content)
            return
        for item in content:
            if item.get("type") == "thinking":
                yield from self._think(_thinking_text(item.get("thinking")))
            else:
                yield from self._say(str(item.get("text") or ""))

    def _think(self, thought: str) -> Iterator[StreamEvent]:
        if thought:
            self._meter.add("reasoning", thought)
            self._thoughts.append(thought)
            yield StreamDelta("reasoning", thought)

    def _grow(self, piece: _ChatCallDelta) -> Iterator[StreamEvent]:
        found = self._call(piece)
        function = piece.function or _ChatFunction()
        if not found.id or not found.name:
            self._meter.add("arguments", (piece.id or "") + (function.name or ""))
        found.id = found.id or piece.id or ""
        found.name = found.name or function.name or ""
        if piece.extra_content:
            self._meter.add_value("arguments", piece.extra_content)
            found.attached = piece.extra_content
        said = function.arguments
        if isinstance(said, dict):
            said = msgspec.json.encode(said).decode()
        if said:
            self._meter.add("arguments", said)
            found.pieces.append(said)
            yield StreamDelta("call", said, found.id, found.name)

    def _call(self, piece: _ChatCallDelta) -> _OpenChatCall:
        """Finds the call that a piece belongs to; some servers number all calls alike, or none."""
        same = (c for c in reversed(self._calls) if piece.index in (None, c.index))
        last = next(same, None)
        begins = last is not None and bool(piece.id and last.id and piece.id != last.id)
        if last is not None and not begins:
            return last
        self._meter.call()
        self._calls.append(_OpenChatCall(len(self._calls) if piece.index is None else piece.index))
        return self._calls[-1]


def _thinking_text(found: object) -> str:
    """Returns reasoning text that may be a string, or a list of pieces with texts."""
    if isinstance(found, list):
        return "".join(_thinking_text(piece) for piece in found)
    if isinstance(found, dict):
        return str(found.get("text") or "")
    return found if isinstance(found, str) else ""


def _failed(trouble: _ChatError | str) -> ResponseFailed:
    if isinstance(trouble, str):
        return ResponseFailed("", trouble)
    return ResponseFailed(str(trouble.code or trouble.type or ""), trouble.message or "")


def _usage(count: _ChatUsage) -> TokenUsage:
    before, after = count.prompt_tokens_details, count.completion_tokens_details
    cached = (before and before.cached_tokens) or count.prompt_cache_hit_tokens or 0
    reasoning = (after and after.reasoning_tokens) or 0
    said = count.completion_tokens or 0
    return TokenUsage(count.prompt_tokens or 0, said, cached, reasoning=reasoning)


COUNT = {"stream_options": {"include_usage": True}}
SENDS_USAGE_UNASKED = ("mistral",)  # count without being asked, and may not like to be
IMAGE_NOTE = "(image returned by the tool)"


class ChatWire(BaseWire):
    """The wire for Chat Completions with one model."""

    path = "/chat/completions"

    def body(self, prompt: ModelRequest) -> list[bytes]:
        """Returns the request."""
        members = {
            **self._members(prompt),
            **({} if self._asked.provider in SENDS_USAGE_UNASKED else COUNT),
            **self._limit(prompt.output),
        }
        system = "\n\n".join(text for text in prompt.system if text.strip())
        first = encode_json({"role": "system", "content": system}) if system else b""
        messages = self._joined_messages(prompt, encoded_messages(self._messages, prompt))
        tools = self._tools.all(prompt.tools)
        return [
            open_object(members),
            *long_list_member(b"messages", messages, first),
            *(list_member(b"tools", tools) if tools else ()),
            b"}",
        ]

    def decoder(self, serial: str) -> ChatDecoder:
        return ChatDecoder(serial, ResponseMeter(self._asked.answer_limits))

    def _limit(self, output: int) -> dict[str, int]:
        """Returns the output limit; OpenAI requires the newer name, which others may not know."""
        word = "max_completion_tokens" if self._asked.provider == "openai" else "max_tokens"
        return {word: output} if output else {}

    def _message(self, message: ChatMessage) -> bytes:
        """Returns a message, which may become several here, because each result is one."""
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
    """Returns the texts and images of a user, and images that tools returned."""
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
    """Returns reasoning under its original name; plain text only if calls continue it.

    Servers whose models reason between calls need it back; some refuse it otherwise.
    """
    members: dict[str, Any] = {}
    if details := thought.extra.get("reasoning_details"):
        members["reasoning_details"] = details
    elif with_calls and (field := thought.extra.get("field")):
        members[str(field)] = thought.text
    return members
