"""Rehearsals as sentences: what passed, what failed, what was not run, and who chose it."""

import pytest
from msgspec.structs import replace

from assent.core.plan.rehearsal import ChosenBy, Rehearsal, RehearsedCommand
from assent.render.rehearsal import rehearsal_lines, rehearsal_row, rehearsal_text

HERE = Rehearsal("d", "o", "r", (), "overlay", "person", "2026-01-01T00:00:00Z")
AT = replace(HERE, commit="1a2b3c4d5e", others=2)


def ran(
    line: str, exit: int | None = 0, source: ChosenBy = "user", *, why: str = ""
) -> RehearsedCommand:
    return RehearsedCommand(line, source, exit, 6.2, "the end\n", (b"a",), why)


TEXTS: dict[str, tuple[Rehearsal | None, str]] = {
    "none": (None, "Not rehearsed"),
    "passed": (
        replace(AT, commands=(ran("make all", source="operation"), ran("lint"), ran("pytest -q"))),
        "Rehearsed: lint, pytest -q passed in 12 s, on exactly these operations, at commit 1a2b3c "
        "with 2 other changed files"),
    "only commands of the plan": (
        replace(HERE, commands=(ran("make test", source="operation"),)),
        "Rehearsed: make test passed in 6.2 s, on exactly these operations"),
    "one other file": (
        replace(AT, others=1, commands=(ran("a"),)),
        "Rehearsed: a passed in 6.2 s, on exactly these operations, at commit 1a2b3c with 1 other "
        "changed file"),
    "no other files": (
        replace(AT, others=0, commands=(ran("a", 3), ran("b", None))),
        "Rehearsal failed: a ended with exit code 3, at commit 1a2b3c"),
    "not run": (
        replace(HERE, commands=(ran("a"), ran("npm install", None, why="it needs the network"),
                                ran("b", None))),
        "Partly rehearsed: 2 commands were not run, the first is npm install (it needs the "
        "network)"),
    "by a model": (
        replace(HERE, by="model", commands=(ran("a", source="model"),)),
        "Rehearsed by the model: a passed in 6.2 s, on exactly these operations"),
    "failed by a model": (
        replace(HERE, by="model", commands=(ran("a", 1, "model"),)),
        "A rehearsal by the model failed: a ended with exit code 1"),
    "timed out": (
        replace(HERE, commands=(replace(ran("a", 137), cut="time"),)),
        "Rehearsal failed: a timed out"),
    "stopped by another limit": (
        replace(HERE, commands=(replace(ran("a", 137), cut="memory"),)),
        "Rehearsal failed: a was stopped (memory)"),
    "no commands": (HERE, "Rehearsed without commands: the operations can be applied"),
    "hidden characters": (
        replace(HERE, commands=(ran("a\u202eb\nc"),)),
        "Rehearsed: a<U+202E>b<U+000A>c passed in 6.2 s, on exactly these operations"),
}  # fmt: skip


@pytest.mark.parametrize(("found", "text"), TEXTS.values(), ids=TEXTS)
def test_g12_one_sentence_says_it(found: Rehearsal | None, text: str) -> None:
    assert rehearsal_text(found) == text


def test_g12_the_lines_name_who_chose_each_command_and_show_what_failed() -> None:
    sources: tuple[ChosenBy, ...] = (
        "operation", "argument", "model", "plan", "user", "project", "confirmed")  # fmt: skip
    commands = [ran("make", source=source) for source in sources]
    commands += [replace(ran("y", 137), cut="time"), ran("x", 1)]
    found = replace(HERE, commands=(*commands,))
    assert [line.text.strip() for line in rehearsal_lines(found)] == [
        "Rehearsal failed: y timed out",
        "make: passed in 6.2 s, a command of the plan",
        "make: passed in 6.2 s, given by hand",
        "make: passed in 6.2 s, chosen by the model",
        "make: passed in 6.2 s, chosen by the plan's text",
        "make: passed in 6.2 s, from your configuration",
        "make: passed in 6.2 s, from the project's configuration",
        "make: passed in 6.2 s, suggested by the project's files, confirmed by you",
        "y: timed out, exit code 137 in 6.2 s, from your configuration",
        "│ the end",
        "x: exit code 1 in 6.2 s, from your configuration",
        "│ the end",
    ]


def test_g12_programs_get_every_field() -> None:
    row = rehearsal_row(replace(AT, digest="", commands=(ran("a", None, why="no network"),)))
    assert row == {
        "digest": None, "operations_hash": "o", "passed": None, "copy": "overlay", "by": "person",
        "at": "2026-01-01T00:00:00Z", "commit": "1a2b3c4d5e", "other_changed_files": 2,
        "network": False,
        "commands": [{
            "line": "a", "source": "user", "exit": None, "seconds": 6.2, "output": "the end\n",
            "changed": [{"path": "a"}], "not_run": "no network",
        }],
    }  # fmt: skip
    cut = rehearsal_row(replace(AT, commands=(replace(ran("a", 137), cut="time"),)))
    assert cut is not None
    assert cut["commands"][0]["cut"] == "time"
    assert rehearsal_row(None) is None
