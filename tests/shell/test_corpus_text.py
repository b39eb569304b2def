"""The corpus by its text alone: what is read-only and what is not, the same on every machine."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from tests.cli.harness import PROGRAM
from tests.shell.lists import CORPUS, every, families, filled, leaving, listed, staying
from tests.support import forked_python

# Parts that cannot be quoted: those that would end the quotation, and those that are not there.
IN_WORDS = ("line break", "backtick", "more than 50 commands", "At the end", "empty word")
SCRIPTED = ("sed", "awk")  # of their scripts a part is told by its kind
QUOTED = re.compile(r"`([^`]+)`")
LISTS = {"ordinary": listed(CORPUS / "ordinary.txt"), "narrower": listed(CORPUS / "narrower.txt")}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, dict[str, Any]]:
    """What one process says to every line of the corpus."""
    lines = [*_all(), *LISTS["ordinary"], *LISTS["narrower"]]
    return dict(zip(lines, _checked(lines), strict=True))


@pytest.fixture(scope="module")
def narrow() -> dict[str, dict[str, Any]]:
    """The same where no sandbox holds."""
    lines = [*_all(), *LISTS["narrower"]]
    return dict(zip(lines, _checked(lines, "--no-sandbox"), strict=True))


def test_the_corpus_is_large_and_says_nothing_twice() -> None:
    runs, refused = every("runs"), every("refused")
    assert len(runs) >= 200
    assert len(refused) >= 400
    assert len(set(runs + refused)) == len(runs + refused)
    assert len(set(LISTS["ordinary"])) == len(LISTS["ordinary"]) >= 150


@pytest.mark.parametrize("family", families("runs"))
def test_f79_what_only_reads_is_read_only(family: str, verdicts: dict[str, Any]) -> None:
    wrong = [(x, verdicts[x]["reason"]) for x in families("runs")[family] if not _ok(verdicts, x)]
    assert wrong == []


@pytest.mark.parametrize("family", families("refused"))
def test_f14_what_might_write_or_run_is_not_read_only(
    family: str, verdicts: dict[str, Any]
) -> None:
    assert [x for x in filled(families("refused")[family]) if _ok(verdicts, x)] == []


def test_f80_every_redirect_and_writer_is_refused(verdicts: dict[str, Any]) -> None:
    lines = filled([*families("refused")["redirects"], *families("refused")["writers"]])
    assert [line for line in lines if _ok(verdicts, line)] == []


@pytest.mark.parametrize("family", families("refused"))
def test_a_refusal_names_the_part(family: str, verdicts: dict[str, Any]) -> None:
    lines = filled(families("refused")[family])
    wrong = [(x, verdicts[x]["reason"]) for x in lines if not _named(x, verdicts[x]["reason"])]
    assert wrong == []


def test_f98_a_command_without_an_entry_in_the_registry_is_refused() -> None:
    strangers = ["frobnicate", "frobnicate --version", "ls | frobnicate", "git frobnicate"]
    strangers += ["cd src && frobnicate -la", "true; frobnicate", "ls --frobnicate", "ls -$"]
    assert [answer["read_only"] for answer in _checked(strangers)] == [False] * len(strangers)


def test_at_most_one_in_twenty_ordinary_commands_is_refused(verdicts: dict[str, Any]) -> None:
    refused = [line for line in LISTS["ordinary"] if not _ok(verdicts, line)]
    assert len(refused) * 20 <= len(LISTS["ordinary"]), refused


def test_the_verdict_does_not_depend_on_the_machine(verdicts: dict[str, Any]) -> None:
    lines = _all()
    bare = _checked(lines, env={"PATH": "", "HOME": "/nonexistent", "LANG": "C"})
    assert [verdicts[line] for line in lines] == bare


def test_what_stays_read_only_without_a_sandbox(narrow: dict[str, Any]) -> None:
    assert [(x, narrow[x]["reason"]) for x in staying() if not _ok(narrow, x)] == []


def test_what_needs_a_sandbox(verdicts: dict[str, Any], narrow: dict[str, Any]) -> None:
    behind, without = (
        [line for line in leaving() if _ok(seen, line)] for seen in (verdicts, narrow)
    )
    assert (behind, without) == (leaving(), [])


def test_the_narrower_class_is_narrower(narrow: dict[str, Any]) -> None:
    assert [line for line in filled(every("refused")) if _ok(narrow, line)] == []


def test_a_line_that_is_none_is_an_error_and_the_next_is_answered() -> None:
    bad = ['{"cmd": "\\udc80"}', "ls", '{"command": "ls"}', '{"cmd": 1}', "[]", "{", '"ls"']
    answers = _answers("\n".join([*bad, '{"cmd": "ls"}\n']).encode())
    assert [sorted(answer) for answer in answers[:-1]] == [["error"]] * len(bad)
    assert answers[-1]["read_only"] is True


def _all() -> list[str]:
    return [*every("runs"), *filled(every("refused"))]


def _ok(verdicts: Mapping[str, Mapping[str, Any]], line: str) -> bool:
    return verdicts[line]["read_only"] is True


def _named(line: str, reason: str) -> bool:
    """Whether a reason quotes something that the line holds, or names it in words."""
    bare = re.sub(r"[\"'\\]", "", line)  # a word may be named as the program would get it
    parts = [
        part
        for quoted in QUOTED.findall(reason)
        for part in [*re.split(r"[\s=]", quoted), quoted]
        if part
    ]
    points = [f"U+{ord(character):04X}" for character in line]
    named = [part for part in parts if part in line or part in bare]
    named += [name for name in SCRIPTED if name in line and f"{name} script" in reason]
    return bool(named) or any(words in reason for words in (*points, *IN_WORDS))


def _checked(
    lines: Sequence[str], *options: str, env: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    asked = b"".join(msgspec.json.encode({"cmd": line}) + b"\n" for line in lines)
    answers = _answers(asked, *options, env=env)
    assert {tuple(sorted(answer)) for answer in answers} == {("read_only", "reason")}
    return answers


def _answers(
    asked: bytes, *options: str, env: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    done = forked_python.run(
        [*PROGRAM, "shell", "check", "--stdin", *options],
        input=asked,
        env=dict(os.environ if env is None else env),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return [msgspec.json.decode(line, type=dict[str, Any]) for line in done.stdout.splitlines()]
