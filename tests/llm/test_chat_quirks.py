"""Servers that speak Chat Completions have habits; none of them spoils an answer."""

from typing import Any

import msgspec
import pytest

from assent.core.llm import (
    MessagePart,
    PartCompleted,
    ReasoningPart,
    StopReason,
    StreamEnded,
    TextPart,
    TokenUsage,
    ToolCall,
)
from assent.llm.http_response import SseEvent
from assent.llm.wires.chat import ChatDecoder
from assent.llm.wires.wire import ResponseFailed

STOP = {"choices": [{"delta": {}, "finish_reason": "stop"}]}


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"delta": fields}]}


def tool(arguments: Any, **fields: Any) -> dict[str, Any]:
    name = fields.pop("name", None)
    return delta(tool_calls=[{**fields, "function": {"name": name, "arguments": arguments}}])


HABITS: dict[str, tuple[list[dict[str, Any]], list[MessagePart]]] = {
    "reasoning under another name": (
        [delta(reasoning="hm"), delta(content="yes")],
        [ReasoningPart("hm", {"field": "reasoning"}), TextPart("yes")],
    ),
    "both names at once": (
        [delta(reasoning="hm", reasoning_content="hm"), delta(content="yes")],
        [ReasoningPart("hm", {"field": "reasoning_content"}), TextPart("yes")],
    ),
    "details that are wanted back": (
        [delta(reasoning="hm", reasoning_details=[{"a": 1}]), delta(content="yes")],
        [
            ReasoningPart("hm", {"field": "reasoning", "reasoning_details": [{"a": 1}]}),
            TextPart("yes"),
        ],
    ),
    "content as a list": (
        [
            delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]),
            delta(content=[{"type": "text", "text": "yes"}]),
        ],
        [ReasoningPart("hm"), TextPart("yes")],
    ),
    "thoughts as plain text in a list": (
        [delta(content=[{"type": "thinking", "thinking": "hm"}, {"type": "odd"}, {"text": "yes"}])],
        [ReasoningPart("hm"), TextPart("yes")],
    ),
    "something attached to a call": (
        [tool("{}", index=0, id="x", name="ls", extra_content={"google": {"seal": "s"}})],
        [ReasoningPart("", {"calls": {"x": {"google": {"seal": "s"}}}}), ToolCall("x", "ls", {})],
    ),
    "nulls everywhere": (
        [delta(content=None, tool_calls=None, reasoning=None), delta(content="yes")],
        [TextPart("yes")],
    ),
    "calls that come whole": (
        [tool('{"a": 1}', index=0, id="x", name="read"), tool("{}", index=1, id="y", name="ls")],
        [ToolCall("x", "read", {"a": 1}), ToolCall("y", "ls", {})],
    ),
    "calls that all have number 0": (
        [tool('{"a": 1}', index=0, id="x", name="read"), tool("{}", index=0, id="y", name="ls")],
        [ToolCall("x", "read", {"a": 1}), ToolCall("y", "ls", {})],
    ),
    "calls without numbers": (
        [tool('{"a"', id="x", name="read"), tool(": 1}"), tool("{}", id="y", name="ls")],
        [ToolCall("x", "read", {"a": 1}), ToolCall("y", "ls", {})],
    ),
    "calls without ids": (
        [tool("{}", index=0, name="read"), tool("{}", index=1, name="ls")],
        [ToolCall("call_7_0", "read", {}), ToolCall("call_7_1", "ls", {})],
    ),
    "calls that repeat themselves": (
        [tool('{"a"', index=0, id="x", name="read"), tool(": 1}", index=0, id="x", name="read")],
        [ToolCall("x", "read", {"a": 1})],
    ),
    "arguments that are no string": (
        [tool({"a": 1}, index=0, id="x", name="read")],
        [ToolCall("x", "read", {"a": 1})],
    ),
}


def decoded(
    chunks: list[dict[str, Any]], *, done: bool
) -> tuple[list[MessagePart], StreamEnded] | None:
    decoder = ChatDecoder("call_7")
    for chunk in chunks:
        list(decoder.feed(SseEvent("", msgspec.json.encode(chunk))))
    if done:
        list(decoder.feed(SseEvent("", b"[DONE]")))
    ended = decoder.ended()
    if ended is None:
        return None
    return [said.part for said in ended[0] if isinstance(said, PartCompleted)], ended[1]


@pytest.mark.parametrize(("chunks", "said"), HABITS.values(), ids=HABITS)
def test_habits(chunks: list[dict[str, Any]], said: list[MessagePart]) -> None:
    stop = StopReason.CALLS if isinstance(said[-1], ToolCall) else StopReason.END
    assert decoded([*chunks, STOP], done=True) == (said, StreamEnded(stop))


def test_an_end_needs_a_reason_or_a_last_event() -> None:
    chunks = [delta(content="yes")]
    assert decoded(chunks, done=False) is None
    assert decoded([*chunks, STOP], done=False) == ([TextPart("yes")], StreamEnded(StopReason.END))
    assert decoded(chunks, done=True) == ([TextPart("yes")], StreamEnded(StopReason.END))


def test_a_refusal_has_words() -> None:
    chunks = [delta(refusal="I would "), delta(refusal="rather not."), STOP]
    assert decoded(chunks, done=True) == (
        [],
        StreamEnded(StopReason.REFUSED, words="I would rather not."),
    )


def test_cache_hits_under_another_name() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 5}
    found = decoded([delta(content="yes"), {**STOP, "usage": usage}], done=True)
    assert found == ([TextPart("yes")], StreamEnded(StopReason.END, TokenUsage(9, 2, 5)))


@pytest.mark.parametrize(
    ("error", "kind"),
    [({"code": 502, "message": "no"}, "502"), ("no", ""), ({"type": "x", "message": "no"}, "x")],
)
def test_errors_in_the_middle(error: object, kind: str) -> None:
    with pytest.raises(ResponseFailed) as caught:
        decoded([delta(content="yes"), {"error": error}], done=False)
    assert (caught.value.kind, str(caught.value)) == (kind, "no")
