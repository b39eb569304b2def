"""What a way back says is true: nothing is lost, called back, or taken for done that is not."""

import os
from typing import Any

import pytest
from tests.cli.harness import Answer, World

from assent.core.run.rollback import UNREADABLE
from assent.core.undo import NO_LONGER_READABLE
from assent.render.status import RESTORED, RESTORED_EXCEPT


def script(world: World, lines: str, *options: str) -> None:
    world.ok("stage", "run", *options, "--script", lines)


def built(world: World, code: int = 0) -> Answer:
    world.approve()
    answer = world.run("build", "--json")
    assert answer.code == code
    return answer


def results(answer: Answer) -> list[str]:
    return [str(row["result"]) for row in answer.json["operations"]]


def roll_back(world: World) -> dict[str, Any]:
    return world.run("recover", "--roll-back", "--json").json


def content(world: World, name: str) -> bytes:
    return (world.root / name).read_bytes()


def test_g5_a_file_that_became_something_odd_comes_back_once_that_is_gone(world: World) -> None:
    world.put("a", b"uncommitted\n")
    world.plan()
    script(world, "rm a; mkfifo a; exit 1")
    built(world, 6)
    waits = roll_back(world)
    assert waits["outcome"] == "needs_you"
    assert any(note.startswith(f"a: {UNREADABLE}") for note in waits["notes"])
    assert not (world.root / "a").is_file(), "it is left alone while it stands there"
    (world.root / "a").unlink()
    assert roll_back(world)["outcome"] == "rolled_back"
    assert content(world, "a") == b"uncommitted\n"


def test_f139_an_undo_leaves_what_is_odd_alone_and_comes_again(world: World) -> None:
    world.put("a", b"old\n")
    world.plan()
    script(world, "rm a; mkfifo a")
    built(world)
    shown = world.ok("runs", "show", world.ok("runs", "list")["runs"][0]["run"])
    (command,) = [row["command"] for row in shown["operations"]]
    assert [row["how"] for row in command["changed"]] == ["changed"]
    assert command["skipped"] == []
    (left,) = world.run("undo", "--dry-run", "--json").json["conflicts"]
    assert left["reason"] == f"a {NO_LONGER_READABLE}"
    (world.root / "a").unlink()
    assert world.undo().code == 0
    assert content(world, "a") == b"old\n"


def accepted_undo(world: World, undo: str) -> str:
    """Undoes a write of `b` and a command; its undo fails, and that is accepted as it stands."""
    world.put("a", b"a\n")
    world.put("b", b"orig\n")
    world.plan()
    world.write("b", b"new\n")
    script(world, "echo cmd >> a", "--undo", undo)
    built(world)
    run = str(world.ok("runs", "list")["runs"][0]["run"])
    digest = world.ok("undo", "--dry-run")["digest"]
    assert world.run("undo", "--digest", digest, "--json").code == 6
    world.ok("recover", "--accept")
    return run


def test_law_7_an_undo_that_was_accepted_halfway_is_not_done(world: World) -> None:
    run = accepted_undo(world, "test -e wanted")
    shown = world.ok("runs", "show", run)
    assert (shown["undone"], [row["result"] for row in shown["operations"]]) == (
        False, ["done", "done"],
    )  # fmt: skip
    assert content(world, "b") == b"new\n"
    world.put("wanted", b"")
    assert world.undo().code == 0
    assert content(world, "b") == b"orig\n"
    assert world.ok("runs", "show", run)["undone"]


def test_law_7_what_an_accepted_undo_did_take_back_is_not_taken_back_again(world: World) -> None:
    world.put("a", b"a\n")
    world.plan()
    script(world, "true", "--undo", "false")
    script(world, "echo second >> a", "--undo", "echo undone >> a")
    built(world)
    run = str(world.ok("runs", "list")["runs"][0]["run"])
    digest = world.ok("undo", "--dry-run")["digest"]
    assert world.run("undo", "--digest", digest, "--json").code == 6
    world.ok("recover", "--accept")
    shown = world.ok("runs", "show", run)
    assert [row["result"] for row in shown["operations"]] == ["done", "undone"]
    assert shown["partly_undone"]
    (only,) = world.ok("undo", run, "--dry-run")["operations"]
    assert only["argv"] == ["false"]


def test_g5_what_a_command_s_own_undo_did_not_put_back_is_named(world: World) -> None:
    world.put("a", b"a\n")
    world.plan()
    script(world, "echo once > log; echo changed > a", "--undo", "true")
    script(world, "exit 1")
    built(world, 6)
    answer = world.run("recover", "--roll-back")
    told = answer.out.decode()
    assert told.startswith(RESTORED_EXCEPT)
    for name in ("a", "log"):
        assert f"Still different from before the command: {name}." in told


def test_g5_what_it_did_put_back_is_not_named(world: World) -> None:
    world.put("a", b"a\n")
    world.plan()
    script(world, "echo changed > a", "--undo", "printf 'a\\n' > a")
    script(world, "exit 1")
    built(world, 6)
    assert world.run("recover", "--roll-back").out.decode().startswith(RESTORED)


@pytest.mark.parametrize("fails", [True, False])
def test_g5_a_file_behind_a_folder_that_was_swapped_is_not_called_back(
    world: World, *, fails: bool
) -> None:
    world.put("d/k", b"k\n")
    world.plan()
    world.write("d/n", b"n\n")
    script(world, "exit 1" if fails else "true")
    built(world, 6 if fails else 0)
    (world.root / "d").rename(world.root / "dd")
    os.symlink("dd", world.root / "d")
    if fails:
        assert roll_back(world)["outcome"] == "needs_you"
    else:
        (left,) = world.run("undo", "--dry-run", "--json").json["conflicts"]
        assert left["path"] == "d/n"
    (world.root / "d").unlink()
    (world.root / "dd").rename(world.root / "d")
    assert (roll_back(world)["outcome"] == "rolled_back") if fails else world.undo().code == 0
    assert os.listdir(world.root / "d") == ["k"]
