"""What a provider's server says: one reply as the events of each of the three wires."""

from collections.abc import Callable
from typing import Any

import msgspec

Fields = dict[str, Any]


class Reply(msgspec.Struct, frozen=True):
    """An answer, before any wire gets hold of it."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()  # id, tool, arguments
    stop: str = ""  # length, refusal; else what follows from the calls


def anthropic(reply: Reply) -> list[bytes]:
    """Messages: blocks that begin, change and end."""
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 30,
        "output_tokens": 1,
    }
    events: list[Fields] = [{"type": "message_start", "message": {"id": "msg_1", "usage": usage}}]
    blocks = _anthropic_blocks(reply)
    for index, (start, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events.append({"type": "ping"})
        events += [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas]
        events.append({"type": "content_block_stop", "index": index})
    usual = "tool_use" if reply.calls else "end_turn"
    stop = {"length": "max_tokens", "refusal": "refusal"}.get(reply.stop, usual)
    delta = {"stop_reason": stop}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}})
    events.append({"type": "message_stop"})
    return [_event(event, str(event["type"])) for event in events]


def _anthropic_blocks(reply: Reply) -> list[tuple[Fields, list[Fields]]]:
    blocks: list[tuple[Fields, list[Fields]]] = []
    if reply.reasoning:
        thoughts = [{"type": "thinking_delta", "thinking": p} for p in halves(reply.reasoning)]
        signed = {"type": "signature_delta", "signature": "signed"}
        blocks.append(({"type": "thinking", "thinking": ""}, [*thoughts, signed]))
    if reply.text:
        texts = [{"type": "text_delta", "text": piece} for piece in halves(reply.text)]
        blocks.append(({"type": "text", "text": ""}, texts))
    for id, tool, raw in reply.calls:
        pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in halves(raw)]
        blocks.append(({"type": "tool_use", "id": id, "name": tool, "input": {}}, pieces))
    return blocks


def chat(reply: Reply) -> list[bytes]:
    """Chat Completions: changes of one message, a reason to stop, a count, [DONE]."""
    deltas: list[Fields] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in halves(reply.reasoning)]
    deltas += [{"content": piece} for piece in halves(reply.text)]
    for index, (id, tool, raw) in enumerate(reply.calls):
        first = {"index": index, "id": id, "function": {"name": tool, "arguments": ""}}
        deltas.append({"tool_calls": [first]})
        for piece in halves(raw):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    chunks: list[Fields] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    usual = "tool_calls" if reply.calls else "stop"
    stop = {"length": "length", "refusal": "content_filter"}.get(reply.stop, usual)
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": stop}]})
    usage = {
        "prompt_tokens": 60,
        "completion_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 30},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }
    chunks.append({"choices": [], "usage": usage})
    return [*map(_event, chunks), b"data: [DONE]\n\n"]


def responses(reply: Reply) -> list[bytes]:
    """Responses: items that grow and are done, then the whole."""
    events: list[Fields] = [{"type": "response.created", "response": {"id": "resp_1"}}]
    for kind, piece in _responses_deltas(reply):
        events.append({"type": f"response.{kind}.delta", "delta": piece})
    for item in _responses_items(reply):
        events.append({"type": "response.output_item.done", "item": item})
    usage = {
        "input_tokens": 60,
        "output_tokens": 9,
        "input_tokens_details": {"cached_tokens": 30},
        "output_tokens_details": {"reasoning_tokens": 4},
    }
    last = "response.incomplete" if reply.stop == "length" else "response.completed"
    why = {"reason": "max_output_tokens"} if reply.stop == "length" else None
    events.append({"type": last, "response": {"usage": usage, "incomplete_details": why}})
    return [_event(event, str(event["type"])) for event in events]


def _responses_deltas(reply: Reply) -> list[tuple[str, str]]:
    said = [("reasoning_summary_text", piece) for piece in halves(reply.reasoning)]
    said += [("output_text", piece) for piece in halves(reply.text)]
    for _, _, raw in reply.calls:
        said += [("function_call_arguments", piece) for piece in halves(raw)]
    return said


def _responses_items(reply: Reply) -> list[Fields]:
    items: list[Fields] = []
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        sealed = {"id": "rs_1", "summary": summary, "encrypted_content": "sealed"}
        items.append({"type": "reasoning", **sealed})
    content = [{"type": "output_text", "text": reply.text}] if reply.text else []
    if reply.stop == "refusal":
        content.append({"type": "refusal", "refusal": "I would rather not."})
    if content:
        items.append({"type": "message", "content": content})
    for id, tool, raw in reply.calls:
        call = {"id": f"fc_{id}", "call_id": id, "name": tool, "arguments": raw}
        items.append({"type": "function_call", **call})
    return items


def halves(text: str) -> list[str]:
    """Cuts a text in two, as a stream would."""
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]


def error_event(wire: str) -> bytes:
    """What each wire says in the middle of an answer when it cannot go on."""
    trouble = {"type": "overloaded_error", "message": "Overloaded"}
    if wire == "chat":
        return _event({"error": {"message": "Overloaded", "type": "server_error", "code": 503}})
    if wire == "anthropic":
        return _event({"type": "error", "error": trouble}, "error")
    failed = {"error": {"code": "server_error", "message": "Overloaded"}}
    return _event({"type": "response.failed", "response": failed}, "response.failed")


def _event(fields: Fields, name: str = "") -> bytes:
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + msgspec.json.encode(fields) + b"\n\n"


WIRES: dict[str, Callable[[Reply], list[bytes]]] = {
    "anthropic": anthropic,
    "chat": chat,
    "responses": responses,
}
PATHS = {
    "/v1/messages": "anthropic",
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
}
