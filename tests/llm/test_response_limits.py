"""Answers without end: each ends at a limit, as one error that nobody retries."""

import gzip
from collections import deque
from collections.abc import Callable

import msgspec
import pytest
from tests.llm.endless_responses import HEAD, KINDS, endless, event
from tests.llm.http_models import HELLO, KEY, NAMES, client, retrying
from tests.llm.server import Server, Turn, serving, whole

from assent.core.errors import AnswerTooLong, ModelError
from assent.core.llm import (
    AnswerSettings,
    PartCompleted,
    ReasoningPart,
    StreamEvent,
    TextPart,
    ToolCall,
)
from assent.llm.catalog import ProviderAccount
from assent.llm.errors import ErrorContext
from assent.llm.http_client import parse_url
from assent.llm.http_model import HttpModel, ProviderEndpoint
from assent.llm.model_list import list_model_names
from assent.llm.wires.anthropic import AnthropicWire
from assent.llm.wires.chat import ChatWire
from assent.llm.wires.responses import ResponsesWire
from assent.llm.wires.wire import WireProtocol, WireTarget

SMALL = AnswerSettings(0.1, 0.1, 0.1, calls=20, events=2000, total_mb=4)
WIRES: dict[str, Callable[[WireTarget], WireProtocol]] = {
    "anthropic": AnthropicWire, "chat": ChatWire, "responses": ResponsesWire
}  # fmt: skip


def asked(
    server: Server, name: str, most: AnswerSettings = SMALL
) -> tuple[list[StreamEvent], ModelError]:
    """Asks patiently; returns what was said and the error in which it ended, after one request."""
    base = server.url if name == "anthropic" else f"{server.url}/v1"
    door = ProviderEndpoint(
        ErrorContext("test", "model-1", base, "TEST_KEY", KEY), parse_url(base, "url"), {}
    )
    model = HttpModel(
        WIRES[name](WireTarget("test", "model-1", answer_limits=most)), door, client()
    )
    found: list[StreamEvent] = []
    waits: list[float] = []
    with pytest.raises(ModelError) as caught:
        deque(map(found.append, retrying(model, waits).stream(HELLO)), 0)
    assert (waits, len(server.heard)) == ([], 1)
    return found, caught.value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_endless_answer_ends_as_one_error(name: str, kind: str) -> None:
    with serving(endless(name, kind)) as server:
        found, error = asked(server, name)
    assert isinstance(error, AnswerTooLong)
    what = {
        "text": ("more than 0.1 MB of text", "answer.text_mb"),
        "reasoning": ("more than 0.1 MB of reasoning", "answer.reasoning_mb"),
        "arguments": ("more than 0.1 MB of tool call arguments", "answer.arguments_mb"),
        "calls": ("more than 20 tool calls", "answer.calls"),
    }[kind]
    assert error.message == (
        f"The response of test/model-1 was cut off: {what[0]}. "
        f"To allow larger responses, raise {what[1]} in your user config."
    )
    parts = [answer.part for answer in found if isinstance(answer, PartCompleted)]
    limit = 0.1 * (1 << 20)
    if kind in ("text", "reasoning"):
        (part,) = parts
        assert isinstance(part, TextPart if kind == "text" else ReasoningPart)
        assert limit - 1000 <= len(part.text) <= limit
    elif kind == "calls" and name != "chat":
        assert len(parts) == 20
        assert all(isinstance(part, ToolCall) for part in parts)
    else:
        assert parts == []  # whether a call was complete, nobody knows


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("forever", "what"),
    [
        (b": keep-alive\n\n" * 100, "more than 2000 events"),
        (b"\n" * 1000, "more than 2000 events"),
        (b"\r\n" * 1000, "more than 2000 events"),
        (b"id: 7\n" * 100, "more than 2000 events"),
        (b"event: ping\n" * 100, "more than 2000 events"),
        (b"data:\n" * 1000, "an event is longer than"),
        (b"data: x\n" * 1000, "an event is longer than"),
        (b"x" * 65536, "more than 4 MB of data"),
        (b" " * 65536, "more than 4 MB of data"),
        (b'data: {"type": "ping"}\n\n' * 100, "more than 2000 events"),
    ],
)
def test_a_stream_that_says_nothing_for_ever_ends(name: str, forever: bytes, what: str) -> None:
    most = msgspec.structs.replace(SMALL, total_mb=64.0) if "longer" in what else SMALL
    with serving(Turn(raw=HEAD, forever=forever)) as server:
        found, error = asked(server, name, most)
    assert isinstance(error, AnswerTooLong)
    assert what in error.message
    assert not any(isinstance(answer, PartCompleted) for answer in found)


@pytest.mark.parametrize(
    ("raw", "forever", "what"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"X-More: yes\r\n" * 100, "headers without an end"),
        (b"HTTP/1.1 200 OK\r\nX: ", b"x" * 1000, "headers without an end"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", "without content"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0" * 1000, "without a size"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n" * 99,
         "without content"),
        (b"HTTP/1.1 400 Bad\r\n\r\n", b"no " * 1000, "rejected the request (400): no no no"),
        (b"HTTP/1.1 400 Bad\r\n\r\n", b" " * 1000, "rejected the request (400)"),
        (b"HTTP/1.1 400 Bad\r\nContent-Encoding: gzip\r\n\r\n" + b"\x1f\x8b\x08\x08" + bytes(6),
         b"name" * 999, "rejected the request (400)"),
    ],
)  # fmt: skip
def test_what_comes_before_an_answer_or_instead_of_it_ends(
    raw: bytes, forever: bytes, what: str
) -> None:
    with serving(Turn(raw=raw, forever=forever)) as server:
        _, error = asked(server, "chat")
    assert what in error.message
    assert len(error.message) < 600


@pytest.mark.parametrize("kind", [b"text/html", b"application/json"])
def test_an_endless_body_that_is_no_stream_of_events_is_not_read_on(kind: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\n\r\n" % kind
    with serving(Turn(raw=head + b'{"error": "', forever=b"x" * 1000)) as server:
        base = f"{server.url}/v1"
        door = ProviderEndpoint(ErrorContext("test", "model-1", base), parse_url(base, "url"), {})
        model = HttpModel(
            ChatWire(WireTarget("test", "model-1", answer_limits=SMALL)), door, client()
        )
        with pytest.raises(ModelError) as caught:
            list(model.stream(HELLO))
    assert len(caught.value.message) < 600


def test_an_endless_packed_stream_ends() -> None:
    head = HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    first = gzip.compress(event({"choices": [{"delta": {"content": "Hello"}}]}))
    with serving(Turn(raw=head + first, forever=b"after the end" * 999)) as server:
        found, error = asked(server, "chat")
    assert "more than 4 MB of data" in error.message
    assert [answer.part for answer in found if isinstance(answer, PartCompleted)] == [
        TextPart("Hello")
    ]


def test_what_follows_an_answer_without_end_keeps_no_later_request_waiting() -> None:
    done = event({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]})
    endless_end = Turn(raw=HEAD + done + b"data: [DONE]\n\n", forever=b": more\n\n" * 999)
    with serving(endless_end) as server:
        base = f"{server.url}/v1"
        door = ProviderEndpoint(ErrorContext("test", "model-1", base), parse_url(base, "url"), {})
        model = HttpModel(ChatWire(WireTarget("test", "model-1")), door, client())
        for _ in range(2):
            said = [a.part for a in model.stream(HELLO) if isinstance(a, PartCompleted)]
            assert said == [TextPart("Hi")]


def test_an_endless_list_of_models_ends() -> None:
    head = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"data": ['
    with serving(Turn(raw=head, forever=b'{"id": "m"},' * 4000)) as server:
        server.endless = True
        account = ProviderAccount("test", parse_url(f"{server.url}/v1", "url"), "chat")
        with pytest.raises(ModelError, match="its model list is too long"):
            list_model_names(account, client())


@pytest.mark.parametrize("name", NAMES)
def test_an_event_nested_without_end_is_one_that_cannot_be_read(name: str) -> None:
    deep = b'{"a":' * 10_000 + b"1" + b"}" * 10_000
    bad = [b'data: {"%b": %b}\n\n' % (field, deep) for field in (b"delta", b"item", b"other")]
    with serving(Turn(raw=HEAD + b"".join(bad), close=True)) as server:
        base = server.url if name == "anthropic" else f"{server.url}/v1"
        door = ProviderEndpoint(ErrorContext("test", "model-1", base), parse_url(base, "url"), {})
        model = HttpModel(WIRES[name](WireTarget("test", "model-1")), door, client())
        with pytest.raises(ModelError, match="ended early"):
            list(model.stream(HELLO))


def test_an_error_nested_without_end_is_told() -> None:
    deep = b"[" * 20_000 + b"]" * 20_000
    with serving(Turn(raw=whole(b"400 Bad", deep))) as server:
        _, error = asked(server, "chat")
    assert "rejected the request (400): [[[[" in error.message
