"""What an undo left alone can still be undone, until it is; and nobody is told that it was."""

import os
from typing import Any

import pytest
from tests.cli.harness import World
from tests.cli.test_undo_operation import listed, results


def content(world: World, path: str) -> bytes:
    return (world.root / path).read_bytes()


def said(world: World, *arguments: str) -> list[str]:
    return world.run(*arguments).out.decode().splitlines()


def redo(world: World, code: int = 0) -> dict[str, Any]:
    digest = world.ok("redo", "--dry-run")["digest"]
    answer = world.run("redo", "--digest", digest, "--json")
    assert answer.code == code, answer
    return answer.json


@pytest.fixture
def halves(world: World) -> tuple[World, str]:
    """A run of which a move could not be taken back at first: its file was elsewhere."""
    world.put("a", b"A")
    world.put("k", b"k")
    world.plan()
    world.ok("stage", "move", "a", "b")
    world.ok("stage", "delete", "k")
    run = str(world.build()["run"])
    os.rename(world.at("b"), world.at("elsewhere"))
    assert world.undo().code == 1
    return world, run


def test_g6_what_an_undo_of_one_operation_left_alone_can_go_later(planned: World) -> None:
    planned.put("a", b"1\n")
    planned.ok("stage", "run", "--script", "echo c >> a; echo n > n")
    planned.ok("stage", "run", "--script", "echo d >> a")
    run = str(planned.build()["run"])
    assert planned.undo("--operation", "1").code == 1
    assert (b"n" in planned.files(), content(planned, "a")) == (False, b"1\nc\nd\n")
    assert (results(planned, run), listed(planned)[-1]) == (["done"] * 2, ("run", "partly undone"))
    assert planned.undo("--operation", "2").code == 0
    again = planned.ok("undo", "--operation", "1", "--dry-run")
    assert ([row["path"] for row in again["operations"]], again["conflicts"]) == (["a"], [])
    assert planned.undo("--operation", "1").code == 0
    assert content(planned, "a") == b"1\n"
    assert (results(planned, run), listed(planned)[-1]) == (["undone"] * 2, ("run", "undone"))
    assert planned.no(1, "undo")["error"] == "not_found"
    assert said(planned, "status")[-1] == "Next: assent redo"


def test_g6_of_a_command_that_was_partly_undone_only_the_rest_is_left(planned: World) -> None:
    planned.put("a", b"1\n")
    planned.put("b", b"b\n")
    planned.ok("stage", "run", "--script", "echo c >> a")
    planned.ok("stage", "run", "--script", "echo d >> a; echo 2 > b")
    planned.build()
    planned.put("b", b"mine\n")
    assert planned.undo("--operation", "2").code == 1
    assert content(planned, "a") == b"1\nc\n"
    whole = planned.ok("undo", "--dry-run")
    assert [row["path"] for row in whole["operations"]] == ["a"]
    assert [row["path"] for row in whole["conflicts"]] == ["b"]
    assert planned.undo().code == 1
    assert (content(planned, "a"), content(planned, "b")) == (b"1\n", b"mine\n")


def test_f139_undo_goes_on_with_what_the_last_one_left_alone(halves: tuple[World, str]) -> None:
    world, run = halves
    assert listed(world)[-1] == ("run", "partly undone")
    assert said(world, "status")[-1] == "Next: assent undo"
    os.rename(world.at("elsewhere"), world.at("b"))
    for words in ((), ("--operation", "1"), (run,)):
        preview = world.ok("undo", *words, "--dry-run")
        assert [(row["path"], row["to"]) for row in preview["operations"]] == [("a", "b")]
        assert (preview["run"], preview["conflicts"]) == (run, [])
    assert world.undo().code == 0
    assert sorted(world.files()) == [b"a", b"k"]
    assert listed(world)[-1] == ("run", "undone")
    assert world.no(1, "undo")["error"] == "not_found"
    redo(world)
    assert (sorted(world.files()), listed(world)[-1]) == ([b"b", b"k"], ("run", "partly undone"))


def test_f139_what_still_cannot_be_undone_is_named_with_what_comes_next(
    halves: tuple[World, str],
) -> None:
    world, run = halves
    answer = world.run("undo", "--json")
    assert (answer.code, answer.json["outcome"]) == (5, "nothing")
    assert [row["reason"] for row in answer.json["conflicts"]] == ["b changed after the run"]
    assert answer.json["next"] == [f"assent runs show {run}"]
    world.plan("later")
    world.write("z", b"z")
    newer = str(world.build()["run"])
    world.put("z", b"mine")
    os.rename(world.at("elsewhere"), world.at("b"))
    assert world.run("undo", "--dry-run", "--json").json["next"] == [f"assent undo {run}"]
    os.unlink(world.at("b"))
    told = said(world, "undo")
    assert told[-2:] == ["Nothing to undo.", f"Next: assent runs show {newer}"]


def test_f141_what_a_redo_left_alone_can_be_redone_later(world: World) -> None:
    world.plan()
    world.write("a", b"a")
    world.write("b", b"b")
    run = str(world.build()["run"])
    assert world.undo().code == 0
    world.put("b", b"mine")
    assert redo(world, 1)["outcome"] == "partial"
    assert (results(world, run), sorted(world.files())) == (["done", "undone"], [b"a", b"b"])
    os.unlink(world.at("b"))
    assert [row["path"] for row in redo(world)["restored"]] == ["b"]
    assert results(world, run) == ["done", "done"]


@pytest.mark.parametrize("words", [(), ("--operation", "1")])
def test_law_6_the_undo_of_a_command_is_not_run_again(
    planned: World, words: tuple[str, ...]
) -> None:
    undo = "sh -c 'echo undo >> log'"
    planned.ok("stage", "run", "--undo", undo, "--script", "echo 1 > a")
    run = str(planned.build()["run"])
    digest = planned.ok("undo", run, *words, "--dry-run")["digest"]
    for _ in range(2):
        assert planned.run("undo", run, *words, "--digest", digest).code == 0
    assert content(planned, "log") == b"undo\n"


def test_the_first_line_claims_no_more_than_is_recorded_of_commands(planned: World) -> None:
    planned.write("a", b"a")
    planned.ok("stage", "run", "--script", "echo b > b")
    planned.build()
    for number, words in (("2", "all recorded changes were"), ("1", "everything was")):
        digest = planned.ok("undo", "--operation", number, "--dry-run")["digest"]
        told = said(planned, "undo", "--operation", number, "--digest", digest)
        assert told[0] == f"Done: {words} undone."
