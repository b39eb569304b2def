"""The next step that a message names is a command that there is."""

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.cli.test_help import GROUPS
from tests.house.source import modules, nodes

from assent.cli.registry import COMMANDS

_STEP = re.compile(r"assent ([a-z]+)(?: ([a-z]+)\b)?")


@cache
def steps() -> frozenset[tuple[str, str]]:
    """Returns the commands with which errors of the program end, and in which file that is."""
    return frozenset(_steps())


def _steps() -> Iterator[tuple[str, str]]:
    for file, tree in modules().items():
        raised = [node.exc for node in nodes(tree) if isinstance(node, ast.Raise)]
        calls = [error for error in raised if isinstance(error, ast.Call)]
        found = [_STEP.match(_text(given)) for error in calls for given in error.args[1:]]
        yield from ((step[0], file) for step in found if step)


def _text(node: ast.expr) -> str:
    """Returns a literal, or what comes first in one that is put together."""
    if isinstance(node, ast.JoinedStr):
        node = node.values[0]
    return str(node.value) if isinstance(node, ast.Constant) else ""


def test_the_next_step_of_an_error_is_a_command() -> None:
    wrong = [(step, file) for step, file in steps() if not is_command(step)]
    assert wrong == []


def is_command(step: str) -> bool:
    command, _, further = step.removeprefix("assent ").partition(" ")
    return command in COMMANDS and (not further or further in GROUPS.get(command, (further,)))


def test_a_step_that_is_no_command_is_noticed() -> None:
    assert not is_command("assent nothing")
    assert not is_command("assent plan nothing")
    assert is_command("assent plan list")


def test_many_errors_name_a_next_step() -> None:
    assert len(steps()) > 100
