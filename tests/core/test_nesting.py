"""Values that are nested without end are found without going down into them."""

import pytest

from assent.core.nesting import DEEPEST, is_deep
from assent.core.rpc import Garbage, heard


def nested(depth: int, *, tables: bool) -> object:
    value: object = {} if tables else []
    for _ in range(depth - 1):
        value = {"a": value} if tables else [value]
    return value


@pytest.mark.parametrize("tables", [False, True])
@pytest.mark.parametrize(
    ("depth", "deep"), [(1, False), (DEEPEST, False), (DEEPEST + 1, True), (100_000, True)]
)
def test_depth(depth: int, deep: bool, tables: bool) -> None:
    assert is_deep(nested(depth, tables=tables)) is deep


def test_what_is_wide_is_not_deep() -> None:
    assert not is_deep([[{"a": [1]}]] * 10_000)
    assert not is_deep("[" * 10_000)


@pytest.mark.parametrize("depth", [300, 10_000])
def test_a_server_of_tools_that_nests_without_end_makes_no_sense(depth: int) -> None:
    line = b'{"jsonrpc": "2.0", "id": 1, "result": ' + b"[" * depth + b"]" * depth + b"}"
    with pytest.raises(Garbage, match="nested more than 100 levels deep"):
        heard(line)
