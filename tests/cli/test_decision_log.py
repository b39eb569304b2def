"""Every decision of a person is on record: who, when, about which digest, what, and why (F60)."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.cli.harness import World
from tests.cli.machines import Machines
from tests.cli.terminal import Terminal


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.plan()
    world.write("a.txt", b"a\n")
    world.write("b.txt", b"b\n")
    return world


def decisions(world: World) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = world.ok("log", "--decisions")["decisions"]
    return rows


def test_f60_a_no_at_the_question_is_on_record(world: World) -> None:
    digest = world.propose()
    trusting = world.config.read_text(encoding="utf-8")
    world.config.write_text("", encoding="utf-8")
    assert Terminal(world, "approve", "--json").answer(b"no\n").code == 4
    world.config.write_text(trusting, encoding="utf-8")
    (row,) = decisions(world)
    assert (row["kind"], row["digest"], row["decision"]) == (
        "plan_declined", digest, "declined at the prompt",
    )  # fmt: skip
    assert row["who"].endswith(" (terminal)")
    world.ok("approve", "--digest", digest)  # the plan stays as it was
    assert world.ok("build")["outcome"] == "done"


def test_f60_where_nobody_was_asked_nobody_declined(world: World) -> None:
    world.propose()
    world.config.write_text("", encoding="utf-8")
    assert world.process("approve", "--json").code == 4
    assert Terminal(world, "approve", "--json", "--no-input").end().code == 4
    assert decisions(world) == []


def test_f60_yes_no_and_part_of_it_are_on_record_with_their_reasons(world: World) -> None:
    first = world.propose()
    world.ok("reject", "--note", "Not yet")
    second = world.propose()
    gone = world.ok("review")["operations"][0]["id"]
    answer = world.ok("approve", "--without", gone, "--dry-run")
    line = ("approve", "--without", gone, "--digest", answer["digest"], "--note", "Not a")
    assert world.run(*line, "--json").code == 0
    rows = decisions(world)
    assert [(row["kind"], row["digest"], row["reason"]) for row in rows] == [
        ("plan_rejected", first, "Not yet"),
        ("operations_declined", second, "Not a"),
        ("plan_approved", answer["digest"], "Not a"),
    ]
    assert gone in rows[1]["what"]
    assert all(row["at"] and row["who"] for row in rows)


def test_f60_a_yes_that_travels_is_on_record_where_it_was_given_and_where_it_was_used(
    tmp_path: Path,
) -> None:
    machines = Machines(tmp_path)
    machines.ready()
    machines.runner.ok("build", str(machines.file))
    digest = machines.person.ok("review", str(machines.file))["digest"]
    for world in (machines.person, machines.runner):
        (row,) = decisions(world)
        assert (row["kind"], row["digest"]) == ("plan_approved", digest)
        assert world.ok("log", "--verify")["holds"] is True


@pytest.mark.parametrize("kind", ["plan_declined", "plan_rejected", "plan_approved", "key_trusted"])
def test_f60_an_edited_line_is_found(world: World, kind: str) -> None:
    digest = world.propose()
    trusting = world.config.read_text(encoding="utf-8")
    world.config.write_text("", encoding="utf-8")
    assert Terminal(world, "approve", "--json").answer(b"no\n").code == 4
    world.config.write_text(trusting, encoding="utf-8")
    world.ok("approve", "--digest", digest)
    world.ok("reject", "--note", "Changed my mind")
    world.ok("keys", "trust", "ab" * 32)
    assert world.ok("log", "--verify")["holds"] is True
    with closing(sqlite3.connect(world.state / "assent" / "log.db")) as log, log:
        log.execute("UPDATE events SET body = replace(body, 'root', 'toor') WHERE kind = ?", [kind])
        log.execute("UPDATE events SET at = '2020' WHERE kind = ?", [kind])
    answer = world.run("log", "--verify", "--json")
    assert (answer.code, answer.json["holds"]) == (1, False)
    assert f"({kind}, " in answer.json["broken"]
