"""Patterns mean the same with every Python that Assent supports."""

import ast
import re
from collections.abc import Iterator

import pytest
from tests.house.source import Modules, modules, nodes

# Up to 3.11.4 a group that is repeated and takes nothing back could match less than it should, and
# of a masked key the rest was shown. Single characters and sets may be repeated so.
POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{\d*,?\d*\})\+")


def test_no_group_is_repeated_possessively() -> None:
    assert [*possessive_groups(modules())] == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('P = r"(?:a|b)*+c"', True),
        ('P = rf"(?:a|{x}){{{y},}}+"', True),
        ('P = r"(?:a)++"', True),
        ('P = r"(?:[ab]*+c)+[a-z]++"', False),
        (r'P = r"\)++"', False),
    ],
)
def test_such_a_group_is_found(source: str, found: bool) -> None:
    assert bool([*possessive_groups({"m.py": ast.parse(source)})]) == found


def possessive_groups(of: Modules) -> Iterator[str]:
    for name, tree in of.items():
        for node in nodes(tree):
            if POSSESSIVE_GROUP.search(_text(node)):
                yield f"{name}:{getattr(node, 'lineno', 0)}"


def _text(node: ast.AST) -> str:
    """Returns the text of a string, with a number for each value in it."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) or "0" for part in parts)
        case _:
            return ""
