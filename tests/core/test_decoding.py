"""Threads may use a type first at the same time, and what is nested without end is found."""

import subprocess
import sys

import pytest

from assent.core.decoding import MAX_DEPTH, is_too_deep
from assent.core.jsonrpc import InvalidJsonRpc, decode_message


def nested(depth: int, *, tables: bool) -> object:
    value: object = {} if tables else []
    for _ in range(depth - 1):
        value = {"a": value} if tables else [value]
    return value


@pytest.mark.parametrize("tables", [False, True])
@pytest.mark.parametrize(
    ("depth", "deep"), [(1, False), (MAX_DEPTH, False), (MAX_DEPTH + 1, True), (100_000, True)]
)
def test_depth(depth: int, deep: bool, tables: bool) -> None:
    assert is_too_deep(nested(depth, tables=tables)) is deep


def test_what_is_wide_is_not_deep() -> None:
    assert not is_too_deep([[{"a": [1]}]] * 10_000)
    assert not is_too_deep("[" * 10_000)


@pytest.mark.parametrize("depth", [300, 10_000])
def test_a_server_of_tools_that_nests_without_end_makes_no_sense(depth: int) -> None:
    line = b'{"jsonrpc": "2.0", "id": 1, "result": ' + b"[" * depth + b"]" * depth + b"}"
    with pytest.raises(InvalidJsonRpc, match="nested more than 100 levels deep"):
        decode_message(line)


# Without the lock, these threads end the process by a segmentation fault.
AT_ONCE = """
import sys, threading, msgspec
from assent.core.decoding import convert, decode_json, json_decoder, msgpack_decoder

sys.setswitchinterval(1e-6)
ways = (
    lambda kind: convert({"x": [{"f": 1}]}, kind),
    lambda kind: decode_json('{"x": [{"f": 1}]}', kind),
    lambda kind: json_decoder(kind).decode('{"x": [{"f": 1}]}'),
    lambda kind: msgpack_decoder(kind).decode(msgspec.msgpack.encode({"x": [{"f": 1}]})),
)
for _ in range(100):
    inner = [msgspec.defstruct("Inner", [("f", int), ("g", int | None, None)]) for _ in range(9)]
    fields = [("x", list[inner[0]])] + [(f"y{n}", one | None, None) for n, one in enumerate(inner)]
    kind = msgspec.defstruct("Outer", fields)
    gate, read = threading.Barrier(len(ways)), []

    def use(way):
        gate.wait()
        read.append(way(kind).x[0].f)

    threads = [threading.Thread(target=use, args=(way,)) for way in ways]
    [each.start() for each in threads]
    [each.join() for each in threads]
    assert read == [1] * len(ways)
"""


def test_several_threads_use_a_type_first() -> None:
    done = subprocess.run([sys.executable, "-c", AT_ONCE], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
