"""What a person is told of an undo that was killed: what the undo itself would have said."""

import pytest
from tests.cli.harness import World
from tests.cli.killed_undo import kill_undo
from tests.cli.test_recovery import AFTER, BEFORE, results, two_files


@pytest.fixture
def built(world: World) -> World:
    """Two files that a build replaced."""
    two_files(world)
    world.ok("build")
    return world


def run_of(world: World, kind: str = "run") -> str:
    (found, *_) = [row for row in world.ok("runs", "list")["runs"] if row["kind"] == kind]
    return str(found["run"])


def said(world: World, *arguments: str) -> list[str]:
    return world.run(*arguments).out.decode().splitlines()


def without_run(answer: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in answer.items() if key != "run"}


def test_law_8_a_killed_undo_that_is_recovered_says_what_an_undo_says(built: World) -> None:
    uncut = World(built.base / "uncut")
    two_files(uncut)
    uncut.ok("build")
    wanted = uncut.undo().json

    kill_undo(built)
    answer = built.ok("recover")
    assert without_run(answer) == without_run(wanted)
    assert results(answer) == ["undone", "undone"]
    assert built.files() == BEFORE
    assert answer["run"] == run_of(built, "undo")


def test_law_8_what_is_taken_back_is_not_called_applied(built: World) -> None:
    run = run_of(built)
    kill_undo(built)
    assert said(built, "recover") == [
        "Done: everything was undone.",
        "undone       write   one",
        "undone       write   two",
        f"run {run_of(built, 'undo')}",
        "Next: assent redo",
    ]
    assert said(built, "status")[0] == f"Last run: {run[:12]} is done, then undone."
    shown = built.ok("runs", "show", run)
    assert (shown["undone"], results(shown)) == (True, ["undone", "undone"])
    digest = built.ok("redo", "--dry-run")["digest"]
    assert said(built, "redo", "--digest", digest)[-1] == "Next: assent undo"
    assert built.files() == AFTER


def test_a_killed_redo_that_is_recovered_says_what_a_redo_says(built: World) -> None:
    assert built.undo().code == 0
    kill_undo(built, "redo")
    first, *rows, _, last = said(built, "recover")
    assert (first, last) == ("Done: all operations applied.", "Next: assent undo")
    assert sorted(rows) == ["done         write   one", "done         write   two"]
    assert built.files() == AFTER
    assert built.undo().code == 0
    assert built.files() == BEFORE


def test_what_a_killed_undo_left_alone_is_named_with_its_reason(built: World) -> None:
    built.put("one", b"mine\n")
    wanted = built.ok("undo", "--dry-run")
    kill_undo(built, at=0)
    recovered = built.run("recover", "--json")
    answer = recovered.json
    assert (recovered.code, answer["outcome"]) == (1, "partial")
    assert results(answer) == ["conflict", "undone"]
    assert answer["conflicts"] == wanted["conflicts"]
    assert [row["path"] for row in answer["restored"]] == ["two"]
    assert answer["notes"] == ["Skipped: one changed after the run."]
    assert built.files() == {**BEFORE, b"one": ("file", 0o644, b"mine\n")}


def test_a_killed_undo_of_one_operation_names_it_alone(built: World) -> None:
    (first, second) = built.ok("runs", "show", run_of(built))["operations"]
    built.undo("--operation", "1")
    kill_undo(built, at=0)  # of what is left
    answer = built.ok("recover")
    assert answer["operations"] == [{"id": second["id"], "result": "undone"}]
    assert first["id"] != second["id"]
    assert built.files() == BEFORE


def test_a_killed_undo_that_is_rolled_back_says_that_nothing_is_undone(built: World) -> None:
    run = run_of(built)
    kill_undo(built, call="write", at=0)
    half = World.run(built, "recover")
    assert half.code == 1
    lines = half.out.decode().splitlines()
    assert lines[0].startswith("Rolled back: all files are as before.")
    assert lines[-2:] == [f"Not undone: run {run}", f"Next: assent undo {run}"]
    assert built.files() == AFTER
    assert built.undo(run).code == 0


def test_undo_again_finishes_the_killed_one_and_takes_back_no_other(world: World) -> None:
    world.plan("first")
    world.write("first", b"1\n")
    world.build()
    two_files(world)
    world.ok("build")
    run = run_of(world)
    digest = world.ok("undo", "--dry-run")["digest"]
    for again in ([], ["--digest", digest], [run[:14]]):
        kill_undo(world)
        answer = world.run("undo", *again, "--no-input")
        assert answer.code == 0, answer
        assert answer.out.startswith(b"Done: everything was undone.\n")
        assert answer.out.endswith(b"\nNext: assent redo\n")
        told = f", which undoes run {run}, was interrupted; it is now done."
        assert told in answer.err.decode()
        assert world.files() == {**BEFORE, b"first": ("file", 0o644, b"1\n")}
        kill_undo(world, "redo")
        redone = world.run("redo", "--no-input")
        assert (redone.code, redone.out.splitlines()[-1]) == (0, b"Next: assent undo")
        assert world.files() == {**AFTER, b"first": ("file", 0o644, b"1\n")}


def test_a_run_that_was_not_meant_is_not_answered_for(world: World) -> None:
    world.plan("first")
    world.write("first", b"1\n")
    first = str(world.build()["run"])
    two_files(world)
    world.ok("build")
    kill_undo(world)
    digest = world.run("undo", first, "--dry-run", "--json").json["digest"]
    answer = world.run("undo", first, "--digest", digest, "--json")
    assert (answer.code, len(answer.json["restored"])) == (0, 1)
    assert world.files() == BEFORE


def test_a_killed_undo_that_waits_for_a_person_names_what_it_takes_back(built: World) -> None:
    kill_undo(built)
    built.put("one", b"mine one\n")
    built.put("two", b"mine two\n")
    answer = built.run("recover", "--json")
    assert (answer.code, answer.json["outcome"]) == (6, "needs_you")
    assert set(results(answer.json)) == {"conflict"}
    assert [row["id"] for row in answer.json["operations"]] == [
        row["id"] for row in built.ok("runs", "show", run_of(built))["operations"]
    ]
    accepted = built.ok("recover", "--accept")
    assert accepted["outcome"] == "nothing"
    assert "undone" not in results(accepted)
