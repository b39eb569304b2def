"""Ordinary exploring lines, as a coding agent types them, and bash's own output for each.

Of `exploring.txt`, groups headed `scratch copy` run in a copy of the workspace that they may
change, and those headed `differs` say why the answer is another one. All others agree with bash.
"""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.shell.bench import Bench, set_up
from tests.shell.desk import bash, plain_environment
from tests.shell.lists import CORPUS, grouped
from tests.shell.test_corpus_runs import REFUSED, Run, _odd
from tests.shell.watching import Leaks

LATER, OTHERWISE = "scratch copy", "differs"
SHARE = 0.97  # of all lines give bash's own output, one way or the other
TOGETHER = 20  # calls of one answer
# They print the environment, the home or the time, which are the sandbox's own.
OWN = {"echo $PATH", "env | sort | head -3", "ls ~ | head -1", "time ls > /dev/null"}
GROUPS = grouped(CORPUS / "exploring.txt")
LINES = [line for lines in GROUPS.values() for line in lines]
WAITING = [line for head, lines in GROUPS.items() if head.startswith(LATER) for line in lines]
AGREEING = {
    head: lines for head, lines in GROUPS.items() if not head.startswith((LATER, OTHERWISE))
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Iterator[Bench]:
    yield from set_up(tmp_path_factory.mktemp("exploring"), state)


@pytest.fixture(scope="module")
def reference(bench: Bench) -> Run:
    env = plain_environment(bench.desk.world.base / "plain")
    return partial(bash, root=bench.desk.twin(), env=env)


@pytest.mark.parametrize("head", AGREEING)
def test_f79_ordinary_lines_give_the_output_of_bash(
    head: str, bench: Bench, reference: Run
) -> None:
    assert _odd(AGREEING[head], bench.desk.run, reference, bench) == []


def test_f14_what_is_more_than_reading_is_refused_where_no_copy_takes_it(bench: Bench) -> None:
    ran = {line: bench.desk.run(line) for line in WAITING}
    assert [line for line, seen in ran.items() if seen[:2] != (REFUSED, "")] == []
    assert bench.watch.deep_leaks() == Leaks()


def test_f79_in_plan_mode_nearly_all_lines_give_the_output_of_bash(
    bench: Bench, reference: Run
) -> None:
    """Those that are more than reading run in the scratch copy, as a model's calls."""
    said = _planned(bench, WAITING)
    expected = {line: reference(line) for line in WAITING}
    odd = {
        line: (said[line], seen)
        for line, seen in expected.items()
        if said[line] not in map(_plain, (seen.out, seen.out + seen.err, seen.err + seen.out))
    }
    assert {line: each for line, each in odd.items() if line not in OWN} == {}
    agreeing = sum(map(len, AGREEING.values())) + len(WAITING) - len(odd)
    assert agreeing >= SHARE * len(LINES)
    leaks = bench.watch.deep_leaks()
    assert {*leaks.changed} <= {str(bench.desk.world.root)}  # the session's plan file came and went
    assert leaks.heard == ()


def _planned(bench: Bench, lines: list[str]) -> dict[str, str]:
    """Has a planning model run lines; returns what it reads of each, without remarks."""
    world = bench.desk.world
    calls = [{"tool": "shell", "args": {"command": line}} for line in lines]
    turns = [{"calls": calls[at : at + TOGETHER]} for at in range(0, len(calls), TOGETHER)]
    script = world.base / "script.json"
    script.write_text(json.dumps({"turns": [*turns, {"text": "Done."}]}), encoding="utf-8")
    model = ("--model", f"scripted:{script}")
    answer = world.run("-p", "Look around", *model, "--output-format", "stream-json")
    bodies = [json.loads(row) for row in answer.out.splitlines()]
    ended = [one["body"] for one in bodies if one["kind"] == "call_ended"]
    assert {one["verdict"] for one in ended} == {"run"}
    copies = [one["result"]["text"] for one in ended]
    assert all("scratch copy" in text.rpartition("\n")[2] for text in copies)
    return {line: _plain(text) for line, text in zip(lines, copies, strict=True)}


def _plain(text: str) -> str:
    """Returns an output without Assent's remarks in brackets at its end."""
    lines = text.rstrip("\n").split("\n")
    while lines and re.fullmatch(r"\[.*\]", lines[-1]):
        lines.pop()
    return "\n".join(lines)


def test_f79_the_share_of_lines_that_agree() -> None:
    """Five of six only read; with those that a copy takes, 97 of 100 run as in bash."""
    agreeing = sum(map(len, AGREEING.values()))
    assert len(set(LINES)) == len(LINES) >= 400
    assert agreeing >= 0.83 * len(LINES)
    assert agreeing + len(WAITING) >= 0.97 * len(LINES)
