"""Arguments are mended where they can mean one thing only."""

from typing import Any

import pytest

from assent.core.llm import ToolCall
from assent.llm.wires.wire import parse_arguments, tool_call

FENCE = "`" * 3
READ: dict[str, tuple[str, dict[str, Any] | None]] = {
    "an object": ('{"a": 1}', {"a": 1}),
    "nothing": ("", {}),
    "blank": (" \n", {}),
    "null": ("null", {}),
    "JSON in a string": ('"{\\"a\\": 1}"', {"a": 1}),
    "a code fence": (f'{FENCE}json\n{{"a": 1}}\n{FENCE}', {"a": 1}),
    "a fence without a name": (f'{FENCE}\n{{"a": 1}}\n{FENCE}', {"a": 1}),
    "trailing commas": ('{"a": [1, 2,], "b": {"c": 3,},}', {"a": [1, 2], "b": {"c": 3}}),
    "a comma in a string": ('{"a": ",}", }', {"a": ",}"}),
    "a line end in a string": ('{"a": "x\ny\tz"}', {"a": "x\ny\tz"}),
    "an escaped quote": ('{"a": "x\\"\n,}",}', {"a": 'x"\n,}'}),
    "cut off": ('{"a": "b', None),
    "two objects": ('{"a": 1}{"a": 2}', None),
    "a list": ("[1]", None),
    "a number": ("7", None),
    "words": ("path = a.py", None),
    "single quotes": ("{'a': 1}", None),
    "no quotes": ("{a: 1}", None),
    "far too deep": ("[" * 100_000, None),
}


@pytest.mark.parametrize(("raw", "args"), READ.values(), ids=READ)
def test_arguments(raw: str, args: dict[str, Any] | None) -> None:
    assert parse_arguments(raw) == args
    assert tool_call("1", "read", raw) == ToolCall(
        "1", "read", args, "" if args is not None else raw
    )


@pytest.mark.parametrize("depth", [101, 300, 5000, 100_000])
def test_arguments_that_are_nested_too_deeply_mean_nothing(depth: int) -> None:
    lists = '{"a":' + "[" * depth + "]" * depth + "}"
    tables = '{"a":' * depth + "1" + "}" * depth
    assert (parse_arguments(lists), parse_arguments(tables)) == (None, None)
    assert tool_call("c", "read", lists).raw == lists


@pytest.mark.parametrize(
    "raw",
    [
        '{"a": ' + '"\\\\"' * 500_000,
        "```\n" + " " * 1_000_000 + "x",
        "```" + "\n" * 1_000_000 + "x",
    ],
)
def test_long_arguments_that_mean_nothing_are_given_up_at_once(raw: str) -> None:
    assert parse_arguments(raw) is None
