"""The JSON of every command is as it was recorded, and the record is about every command.

What differs on purpose is recorded anew by `python -m tests.record.story --write`; the difference
of the golden files is then part of the change, for whoever reviews it.
"""

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
from tests.record.program import COMMAND, NoSandbox
from tests.record.shape import shape
from tests.record.story import AGAIN, CHAPTERS, GOLDEN, differences, recorded, told

from assent.cli.root import root

ERRORS = Path(__file__).parents[2] / "docs" / "errors.md"
STREAM = "--output-format stream-json"
FORMS = ("--json", STREAM)
# Commands that the story leaves out.
UNTOLD = {
    "doctor": "takes ten seconds and tells what the machine can do; tests/doctor has its JSON",
}
# Words of errors that no step ends with.
UNSAID = {
    "error": "whatever has no word of its own",
    "plan": "a family",
    "consent": "a family",
    "stale": "a family",
    "busy": "needs two processes at the same moment",
    "workspace": "needs a file that cannot be read, which root always can",
    "not_run": "needs a machine without a sandbox",
    "may_write": "told to models; a person gets `refused`",
    "overflow": "needs a model that counts",
    "answer_too_long": "needs a model that never ends",
}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_json_of_every_command_is_as_recorded(chapter: str, tmp_path: Path) -> None:
    try:
        now = told(chapter, tmp_path)
    except NoSandbox as lack:
        pytest.skip(str(lack))
    found = [*differences(chapter, now)]
    assert not found, "\n".join([f"Not as recorded. If it should be so: {AGAIN}", *found])


def test_nothing_is_recorded_that_no_chapter_tells() -> None:
    assert {folder.name for folder in GOLDEN.iterdir()} == {*CHAPTERS}


def test_every_command_is_told_in_every_form_that_it_has() -> None:
    lines = [" ".join(shlex.split(step["line"])) for step in steps()]
    missing = [
        f"{COMMAND} {name} {form}".rstrip()
        for name, command in commands(root, click.Context(root))
        for form in forms(command)
        if name not in UNTOLD
        and not any(f"{line} ".startswith(f"{COMMAND} {name} ") and form in line for line in lines)
    ]
    assert not missing, f"No chapter of tests/record types: {', '.join(missing)}"


def test_what_is_left_out_exists_and_is_left_out() -> None:
    names = {name for name, _ in commands(root, click.Context(root))}
    assert names >= UNTOLD.keys()
    lines = [step["line"] for step in steps()]
    assert not [name for name in UNTOLD for line in lines if line.startswith(f"{COMMAND} {name}")]
    assert not said() & UNSAID.keys()


def test_a_goal_is_told_in_every_form() -> None:
    lines = [step["line"] for step in steps() if step["line"].startswith(f"{COMMAND} -p ")]
    ends = {next((form for form in FORMS if line.endswith(form)), "text") for line in lines}
    assert ends == {*FORMS, "text"}


def test_every_exit_code_of_the_contract_occurs() -> None:
    table = ERRORS.read_text("utf-8").partition("## Words")[0]
    assert {step["exit"] for step in steps()} == set(
        map(int, re.findall(r"^\| (\d+) ", table, re.M))
    )


def test_every_word_of_an_error_occurs() -> None:
    table = ERRORS.read_text("utf-8").partition("generated: errors")[2].partition("<!-- end")[0]
    words = set(re.findall(r"^\| `(\w+)` \|", table, re.M))
    assert words - said() == UNSAID.keys()


def test_a_shape_tells_keys_types_and_states_apart() -> None:
    rows = [{"state": "open", "n": 1, "at": None}, {"state": "shut", "n": 1, "more": [True]}]
    assert shape({"rows": rows, "text": "A text.", "none": []}).shown() == {
        "none": [],
        "rows": [
            {"at?": "null", "more?": ["=true"], "n": "integer", "state": "=open | =shut"},
        ],
        "text": "string",
    }
    events = [{"kind": "a", "body": {"x": 1.5}}, {"kind": "b", "body": "0" * 64}]
    assert shape(events).shown() == {
        "[a]": {"body": {"x": "number"}, "kind": "=a"},
        "[b]": {"body": "digest", "kind": "=b"},
    }
    assert shape([1, {"a": 1}, None]).shown() == [{"one of": ["integer | null", {"a": "integer"}]}]


@cache
def steps() -> list[dict[str, Any]]:
    """Everything that is recorded."""
    return [json.loads(text) for chapter in CHAPTERS for text in recorded(chapter).values()]


def said() -> set[str]:
    """Every word of an error that is recorded."""
    found = re.findall(r'"error\??": "([^"]*)"', "".join(map(json.dumps, steps())))
    return {word.removeprefix("=") for each in found for word in each.split(" | ")}


def commands(group: click.Group, ctx: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Every command that can be typed, as it is typed."""
    for name in group.list_commands(ctx):
        match group.get_command(ctx, name):
            case click.Group() as inner:
                for rest, command in commands(inner, click.Context(inner, parent=ctx)):
                    yield f"{name} {rest}", command
            case click.Command() as command:
                yield name, command
            case None:
                pytest.fail(f"{name} is listed and does not exist")


def forms(command: click.Command) -> list[str]:
    """The forms of its answer that a command lets choose."""
    options = {option for param in command.params for option in param.opts}
    return [form for form in FORMS if form.split()[0] in options] or [""]
