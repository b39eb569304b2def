"""The next step that a message names is a command that there is."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.test_help import GROUPS

import assent
from assent.cli.table import COMMANDS

_STEP = re.compile(r"assent ([a-z]+)(?: ([a-z]+)\b)?")


def steps() -> Iterator[tuple[str, str]]:
    """Yields the commands with which errors of the program end, and in which file that is."""
    top = Path(assent.__file__).parent
    for file in sorted(top.rglob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
        calls = [error for error in raised if isinstance(error, ast.Call)]
        found = [_STEP.match(_text(given)) for error in calls for given in error.args[1:]]
        yield from ((step[0], str(file.relative_to(top))) for step in found if step)


def _text(node: ast.expr) -> str:
    """Returns a literal, or what comes first in one that is put together."""
    if isinstance(node, ast.JoinedStr):
        node = node.values[0]
    return str(node.value) if isinstance(node, ast.Constant) else ""


STEPS = sorted(set(steps()))


@pytest.mark.parametrize(("step", "file"), STEPS)
def test_the_next_step_of_an_error_is_a_command(step: str, file: str) -> None:
    command, _, further = step.removeprefix("assent ").partition(" ")
    assert command in COMMANDS
    assert not further or further in GROUPS.get(command, (further,))


def test_many_errors_name_a_next_step() -> None:
    assert len(STEPS) > 100
