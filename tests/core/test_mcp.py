"""What servers of tools say: lines of JSON-RPC, lists, answers, and what is none of these."""

from typing import Any

import pytest

from assent.core.jsonrpc import (
    InvalidJsonRpc,
    RpcError,
    RpcMessage,
    RpcNotification,
    RpcRequest,
    RpcResponse,
    decode_message,
    encode_notification,
    encode_request,
    encode_response,
)
from assent.core.mcp import McpResult, McpTool, has_tools, parse_result, parse_tools

EMPTY = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}', RpcResponse(1, {"a": 1})),
        (b'{"jsonrpc":"2.0","id":1,"result":null}', RpcResponse(1, None)),
        (
            b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m","data":[]}}',
            RpcError(1, -1, "m"),
        ),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}', RpcError(None, -1, "m")),
        (b'{"jsonrpc":"2.0","error":"odd"}', RpcError(None, 0, "")),
        (b'{"jsonrpc":"2.0","id":"x","method":"ping"}', RpcRequest("x", "ping")),
        (b'{"jsonrpc":"2.0","method":"n","params":{}}', RpcNotification("n")),
    ],
)
def test_lines(line: bytes, found: RpcMessage) -> None:
    assert decode_message(line) == found


@pytest.mark.parametrize(
    "line",
    [
        b"", b"hello", b"[]", b"{}", b'{"jsonrpc":"1.0","id":1,"result":1}', b'{"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":"one","result":1}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}',
        b"\xff", b'{"jsonrpc":"2.0","id":1,"result":1} more',
    ],
)  # fmt: skip
def test_garbage(line: bytes) -> None:
    with pytest.raises(InvalidJsonRpc):
        decode_message(line)


def test_what_is_said() -> None:
    question = b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1}}'
    assert encode_request(7, "m", {"a": 1}) == question
    assert encode_notification("m", {}) == b'{"jsonrpc":"2.0","method":"m","params":{}}'
    assert encode_response(RpcRequest(3, "ping")) == b'{"jsonrpc":"2.0","id":3,"result":{}}'
    assert b'"error":{"code":-32601,' in encode_response(RpcRequest("a", "roots/list"))


def test_an_introduction() -> None:
    assert has_tools({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}})
    assert not has_tools({"protocolVersion": "2024-11-05", "capabilities": {}})
    odd_ones: list[Any] = [None, [], {}, {"protocolVersion": "2025-06-18"}]
    for odd in (*odd_ones, {"protocolVersion": "9", "capabilities": {}}):
        with pytest.raises(InvalidJsonRpc):
            has_tools(odd)


def test_f15_what_a_tool_claims_about_itself_is_not_even_read() -> None:
    claims = {"name": "a", "annotations": {"readOnlyHint": True}, "_meta": {"reads": True}}
    assert parse_tools({"tools": [claims], "nextCursor": "c"}) == ([McpTool("a", "", EMPTY)], "c")


@pytest.mark.parametrize(
    "tools",
    [
        None, {}, ["a"], [{}], [{"name": ""}], [{"name": 5}], [{"name": "a", "inputSchema": []}],
        [{"name": "a", "inputSchema": {"properties": []}}],
        [{"name": "a", "inputSchema": {"required": "a"}}],
        [{"name": "a", "inputSchema": {"description": "x" * 70_000}}],
    ],
)  # fmt: skip
def test_lists_that_make_no_sense(tools: Any) -> None:
    with pytest.raises(InvalidJsonRpc):
        parse_tools({"tools": tools})


@pytest.mark.parametrize(
    ("result", "found"),
    [
        ({"content": []}, McpResult("")),
        (
            {"content": [{"type": "text", "text": "a"}], "isError": True},
            McpResult("a", failed=True),
        ),
        ({"content": [{"type": "text", "text": "a"}], "isError": "no"}, McpResult("a")),
        ({"content": [], "structuredContent": {"a": 1}}, McpResult('{"a":1}')),
        (
            {"content": [{"type": "resource", "resource": {"uri": "u", "text": "t"}}]},
            McpResult("t"),
        ),
        ({"content": [{"type": "resource_link", "uri": "u"}]}, McpResult("[Link to u]")),
        (
            {"content": [{"type": "hologram"}, {}]},
            McpResult("[hologram; not shown]\n[something; not shown]"),
        ),
    ],
)
def test_answers(result: Any, found: McpResult) -> None:
    assert parse_result(result) == found
