"""What a server says that never comes to an end, for each wire."""

from typing import Any

import msgspec
from tests.llm.server import Turn

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"  # until the connection closes
MANY = 64  # events that are sent at once
KINDS = ("text", "reasoning", "arguments", "calls")


def event(fields: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(fields) + b"\n\n"


def endless(wire: str, kind: str, piece: str = "spam " * 200) -> Turn:
    """An answer with more and more of one kind."""
    first, again = _WIRES[wire](kind, piece)
    return Turn(raw=HEAD + first, forever=again * MANY)


def _anthropic(kind: str, piece: str) -> tuple[bytes, bytes]:
    names = {"text": "text", "reasoning": "thinking"}
    block: dict[str, Any] = {"type": names.get(kind, "tool_use")}
    if kind in ("arguments", "calls"):
        block |= {"id": "c", "name": "read", "input": {}}
    begin = event({"type": "content_block_start", "index": 0, "content_block": block})
    if kind == "calls":
        return b"", begin + event({"type": "content_block_stop", "index": 0})
    field = {"text": "text", "reasoning": "thinking", "arguments": "partial_json"}[kind]
    change = {"type": "content_block_delta", "index": 0, "delta": {field: piece}}
    return begin, event(change)


def _chat(kind: str, piece: str) -> tuple[bytes, bytes]:
    function = {"name": "read", "arguments": piece if kind == "arguments" else ""}
    deltas: dict[str, list[dict[str, Any]]] = {
        "text": [{"content": piece}],
        "reasoning": [{"reasoning_content": piece}],
        "arguments": [{"tool_calls": [{"index": 0, "id": "c", "function": function}]}],
        "calls": [{"tool_calls": [{"index": 0, "id": f"c{n}", "function": function}]}
                  for n in range(2)],
    }  # fmt: skip
    return b"", b"".join(event({"choices": [{"delta": delta}]}) for delta in deltas[kind])


def _responses(kind: str, piece: str) -> tuple[bytes, bytes]:
    names = {
        "text": "output_text",
        "reasoning": "reasoning_summary_text",
        "arguments": "function_call_arguments",
    }
    if kind == "calls":
        call = {"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"}
        return b"", event({"type": "response.output_item.done", "item": call})
    return b"", event({"type": f"response.{names[kind]}.delta", "delta": piece})


_WIRES = {"anthropic": _anthropic, "chat": _chat, "responses": _responses}
