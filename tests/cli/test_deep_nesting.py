"""Files and answers that are nested 10,000 deep: an error in words, and never a traceback."""

import json
import sys
import time
from pathlib import Path

import pytest
from tests.cli.harness import World
from tests.cli.scripts import Talker, turn
from tests.support import forked_python

from assent.config.config_file import parse_toml
from assent.core.decoding import TOO_DEEP
from assent.core.errors import UsageError

DEEP = 10_000
JSON = "[" * DEEP + "]" * DEEP
TABLES = '{"a":' * DEEP + "1" + "}" * DEEP
DEPTHS = (150, 400, DEEP)
# Several commands in one process, each from the depth of stack at which the program starts it.
SEVERAL = """
import json, sys
from assent.cli.entry import run
with open(sys.argv[1]) as file:
    print("", json.dumps([run(line) for line in json.load(file)]), sep="\\n")
"""


def told(world: World, *arguments: str, stdin: bytes = b"") -> tuple[int, str]:
    """Runs the program; returns its exit code, and what it says of a failure."""
    answer = world.process(*arguments, stdin=stdin)
    words = (answer.err + answer.out).decode()
    assert "Traceback" not in words
    assert "Recursion" not in words
    return answer.code, words


def codes(world: World, *lines: tuple[str, ...]) -> list[int]:
    """Runs several command lines, one after the other; returns their exit codes."""
    file = world.base / "lines.json"
    file.write_text(json.dumps(lines), encoding="utf-8")
    answer = world.start([sys.executable, "-c", SEVERAL, str(file)], run=forked_python.run)
    assert b"Traceback" not in answer.err + answer.out
    assert b"Recursion" not in answer.err + answer.out
    assert answer.code == 0
    found: list[int] = json.loads(answer.out.splitlines()[-1])
    assert len(found) == len(lines)
    return found


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_script_of_a_model(world: World, depth: int) -> None:
    args = '{"a":' * depth + "1" + "}" * depth
    script = f'{{"turns": [{{"calls": [{{"tool": "read", "args": {args}}}]}}]}}'
    (world.root / "script.json").write_text(script, encoding="utf-8")
    code, words = told(world, "-p", "--model", "scripted:script.json", "Hello")
    assert (code, f": {TOO_DEEP}." in words) == (2, True)
    (world.root / "script.json").write_text(JSON, encoding="utf-8")
    code, _ = told(world, "-p", "--model", "scripted:script.json", "Hello")
    assert code == 2


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(
    ("name", "before", "opens", "closes"),
    [
        (".opencode/assent.toml", "permission = ", "[", "]"),
        (".opencode/assent.toml", "permission = ", "{a = ", "}"),
        (".opencode/assent.toml", "permission.a", ".a", ""),
        ("opencode.json", '{"permission": ', "[", "]"),
        ("opencode.json", '{"permission": ', '{"a":', "}"),
        (".opencode/agents/odd.md", "---\ntools: ", "[", "]"),
        (".opencode/agents/odd.md", "---\ntools: ", "{a: ", "}"),
        (".opencode/commands/odd.md", "---\ndescription: ", "[", "]"),
    ],
)
def test_files_of_a_project(
    world: World, depth: int, name: str, before: str, opens: str, closes: str
) -> None:
    inside = " = 1" if not closes else "1" if opens.endswith(("=", ":", " ")) else ""
    after = {"toml": "\n", "json": "}", "md": "\n---\nHello\n"}[name.rpartition(".")[2]]
    text = before + opens * depth + inside + closes * depth + after
    world.put(name, text.encode())
    asked = (("status",), ("rules", "list"), ("trust", "show"), ("modes", "list"))
    assert {*codes(world, *asked)} <= {0, 1, 2, 7}


@pytest.mark.parametrize("key", ["a{} = 1", "b = {{ a{} = 1 }}", '[a{}."b"]', '"="{} = 1'])
def test_a_key_of_very_many_parts_costs_little(key: str) -> None:
    began = time.process_time()
    with pytest.raises(UsageError, match="nested too deeply"):
        parse_toml(Path("assent.toml"), key.format(" . a" * 5 * DEEP).encode())
    assert time.process_time() - began < 1


def test_many_dots_in_strings_are_no_key() -> None:
    globs = [f"*.{number}.py" for number in range(DEEP)]
    assert parse_toml(Path("assent.toml"), f"deny = {globs}\n".encode()) == {"deny": globs}


@pytest.mark.parametrize("depth", DEPTHS)
def test_files_that_are_read_by_name(world: World, depth: int) -> None:
    world.plan()
    lists, tables = "[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth
    for deep in (lists, tables, f'{{"assent_bundle": {tables}}}'):
        for line in (("review", "-"), ("approve", "-"), ("build", "-"), ("stage", "patch", "-")):
            code, _ = told(world, *line, stdin=deep.encode())
            assert code not in (0, 3)
    front = f"---\nscope: {lists}\nrelies_on: {tables}\n---\n# Text\n\nWords.\n"
    told(world, "plan", "write", "-", stdin=front.encode())
    code, _ = told(world, "propose")
    assert code != 0


@pytest.mark.parametrize(
    "line",
    [
        "(" * DEEP + "ls" + ")" * DEEP,
        "ls " + "$( ls " * DEEP + ")" * DEEP,
        "ls " + "$(" * 3000 + ")" * 3000,
        "((((" * 1000,
        "[[ " + "! " * 3000 + "a ]]",
        'ls "$(' * 1000,
        "{ " * 3000,
        "if true; then " * 1000,
    ],
    ids=["brackets", "commands", "empty", "unclosed", "negations", "quotes", "braces", "ifs"],
)
def test_command_lines(world: World, line: str) -> None:
    world.plan()
    verbs = (("shell", "check"), ("rules", "test", "bash"), ("rules", "explain", "bash"))
    *asked, staged, listed = codes(
        world,
        *((*verb, line) for verb in verbs),
        ("stage", "run", "--script", line),
        ("stage", "list"),
    )
    assert {*asked} <= {0, 1, 2, 3, 4, 7}
    assert staged in (0, 1, 2, 7)
    assert listed == 0


@pytest.mark.parametrize("mode", ["plan", "ask", "auto-edit"])
def test_calls_of_a_model(talker: Talker, mode: str) -> None:
    deep = "$( ls " * 2000 + ")" * 2000
    talker.world.put("a.ipynb", f'{{"cells": {JSON}}}'.encode())
    talker.script(
        turn("One.", ("shell", {"command": f"ls {deep}"})),
        turn("Two.", ("todo", {"todos": JSON}), ("question", {"questions": JSON})),
        turn("Three.", ("notebook_edit", {"path": "a.ipynb", "source": "x"})),
        turn("Four.", ("read", {"path": "a/" * 300 + "b"})),
        turn("Five.", ("write", {"path": "a/" * 300 + "b", "content": "x"})),
        turn("Done."),
    )
    answer = talker.say("Go", "--mode", mode)
    assert b"Traceback" not in answer.err
    assert b"Recursion" not in answer.err
    assert b"Done." in answer.out
    log = talker.world.ok("log", "--json")["events"]
    ended = [row["body"]["result"]["text"] for row in log if row["kind"] == "call_ended"]
    assert not [text for text in ended if "RecursionError" in text]
    assert "200 folders" in ended[-1]
