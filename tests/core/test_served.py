"""What servers of tools say: lines of JSON-RPC, lists, answers, and what is none of these."""

from typing import Any

import pytest

from assent.core.rpc import (
    Asked,
    Fault,
    Garbage,
    Heard,
    Noticed,
    Reply,
    answering,
    asking,
    heard,
    noticing,
)
from assent.core.served import Answered, Served, answered, has_tools, listed

EMPTY = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}', Reply(1, {"a": 1})),
        (b'{"jsonrpc":"2.0","id":1,"result":null}', Reply(1, None)),
        (
            b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m","data":[]}}',
            Fault(1, -1, "m"),
        ),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}', Fault(None, -1, "m")),
        (b'{"jsonrpc":"2.0","error":"odd"}', Fault(None, 0, "")),
        (b'{"jsonrpc":"2.0","id":"x","method":"ping"}', Asked("x", "ping")),
        (b'{"jsonrpc":"2.0","method":"n","params":{}}', Noticed("n")),
    ],
)
def test_lines(line: bytes, found: Heard) -> None:
    assert heard(line) == found


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
    with pytest.raises(Garbage):
        heard(line)


def test_what_is_said() -> None:
    question = b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1}}'
    assert asking(7, "m", {"a": 1}) == question
    assert noticing("m", {}) == b'{"jsonrpc":"2.0","method":"m","params":{}}'
    assert answering(Asked(3, "ping")) == b'{"jsonrpc":"2.0","id":3,"result":{}}'
    assert b'"error":{"code":-32601,' in answering(Asked("a", "roots/list"))


def test_an_introduction() -> None:
    assert has_tools({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}})
    assert not has_tools({"protocolVersion": "2024-11-05", "capabilities": {}})
    odd_ones: list[Any] = [None, [], {}, {"protocolVersion": "2025-06-18"}]
    for odd in (*odd_ones, {"protocolVersion": "9", "capabilities": {}}):
        with pytest.raises(Garbage):
            has_tools(odd)


def test_f15_what_a_tool_claims_about_itself_is_not_even_read() -> None:
    claims = {"name": "a", "annotations": {"readOnlyHint": True}, "_meta": {"reads": True}}
    assert listed({"tools": [claims], "nextCursor": "c"}) == ([Served("a", "", EMPTY)], "c")


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
    with pytest.raises(Garbage):
        listed({"tools": tools})


@pytest.mark.parametrize(
    ("result", "found"),
    [
        ({"content": []}, Answered("")),
        ({"content": [{"type": "text", "text": "a"}], "isError": True}, Answered("a", failed=True)),
        ({"content": [{"type": "text", "text": "a"}], "isError": "no"}, Answered("a")),
        ({"content": [], "structuredContent": {"a": 1}}, Answered('{"a":1}')),
        (
            {"content": [{"type": "resource", "resource": {"uri": "u", "text": "t"}}]},
            Answered("t"),
        ),
        ({"content": [{"type": "resource_link", "uri": "u"}]}, Answered("[A link to u]")),
        ({"content": [{"type": "hologram"}, {}]}, Answered("[hologram; not shown]\n[something; not "
         "shown]")),
    ],
)  # fmt: skip
def test_answers(result: Any, found: Answered) -> None:
    assert answered(result) == found
