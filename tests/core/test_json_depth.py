"""Values that are nested without end are found without going down into them."""

import pytest

from assent.core.json_depth import MAX_DEPTH, is_too_deep
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
