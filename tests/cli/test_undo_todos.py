"""F128: with a run, an undo sets the todos of its session back, whoever hears its answer."""

import shlex

import msgspec
import pytest
from tests.cli.harness import PROGRAM, World
from tests.cli.killed_undo import kill_undo
from tests.cli.scripts import PRESENT, WRITE_PLAN, Talker, turn, write

from assent.cli.output import output_failed


def todo(*words: str) -> tuple[str, dict[str, object]]:
    return "todo", {"todos": [{"content": each, "status": "pending"} for each in words]}


def worked(talker: Talker, **files: str) -> World:
    """Returns a world with a run of a session's plan, after which the todos were changed."""
    written = [write(name, content) for name, content in files.items()]
    talker.script(
        turn("Planning.", WRITE_PLAN, todo("one"), *written),
        turn("Here it is.", PRESENT),
        turn("More.", todo("one", "two")),
        turn("Noted."),
    )
    digest = talker.json("Greet", code=3)["digest"]
    talker.world.ok("approve", "--digest", digest, "--build")
    talker.json("-c", "And more")
    return talker.world


@pytest.fixture
def built(talker: Talker) -> World:
    world = worked(talker, **{"hello.txt": "hello\n"})
    assert todos(world) == ["one", "two"]
    return world


def todos(world: World) -> list[str]:
    (session,) = world.ok("sessions", "list")["sessions"]
    shown = world.ok("sessions", "show", session["session"])
    return [row["content"] for row in shown["todos"]]


def unheard(world: World, *line: str, first: str = "") -> str:
    """Runs a command whose answer finds no room; returns the word for how it failed.

    `first` is what it says before that.
    """
    typed = f"{shlex.join((*PROGRAM, *line))} > /dev/full"
    answer = world.start(["sh", "-c", typed])
    assert answer.code == 1
    message = str(msgspec.json.decode(answer.err.splitlines()[0])["message"])
    told = output_failed("No space left on device", {"outcome": "done", "run": ""}).message
    assert message.startswith(first + told.partition("Run ")[0] + "Run ")
    return message.rpartition(" ")[2]


@pytest.mark.parametrize("form", [("--json",), ("--output-format", "stream-json")], ids=" ".join)
def test_f128_an_undo_whose_answer_is_lost_sets_them_back(
    built: World, form: tuple[str, ...]
) -> None:
    digest = built.ok("undo", "--dry-run")["digest"]
    assert todos(built) == ["one", "two"]
    assert unheard(built, "undo", "--digest", digest, *form) == "finished."
    assert todos(built) == ["one"]


@pytest.mark.parametrize("verb", ["undo", "recover"])
def test_f128_so_does_one_that_was_killed_and_is_taken_up(built: World, verb: str) -> None:
    kill_undo(built, at=0)
    assert todos(built) == ["one", "two"]
    taken_up = built.ok("status")["run"]["run"]
    (run,) = [row["run"] for row in built.ok("runs", "list")["runs"] if row["run"] != taken_up]
    told = f"Run {taken_up}, which undoes run {run}, was interrupted; it is now done. "
    assert unheard(built, verb, "--json", first=told if verb == "undo" else "") == "finished."
    assert todos(built) == ["one"]


def test_f128_a_redo_leaves_them_as_they_are(built: World) -> None:
    assert built.undo().code == 0
    assert todos(built) == ["one"]
    digest = built.ok("redo", "--dry-run")["digest"]
    assert unheard(built, "redo", "--digest", digest, "--json") == "finished."
    assert todos(built) == ["one"]
