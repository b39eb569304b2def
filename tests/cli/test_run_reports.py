"""What a model reads after a build, an undo, a switch: once, before the user's new words."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cli.harness import World
from tests.llm.server import Server, Turn, serving
from tests.llm.wire_responses import Reply

MODEL = ("--model", "openai/any")
KEY = "AKIA" + "IOSFODNN7EXAMPLZ"
EDIT = ("edit", {"path": "a", "old": "one", "new": "two"})
LOUD = "for n in $(seq 40); do echo line $n; done"


class Spoken:
    """A session with a model on loopback, and what that was sent."""

    def __init__(self, world: World, server: Server) -> None:
        self.world, self.server = world, server
        world.env |= {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}

    def answer(self, *calls: tuple[str, dict[str, Any]]) -> None:
        asked = tuple((f"c{n}", tool, json.dumps(args)) for n, (tool, args) in enumerate(calls))
        self.server._turns[:] = [Turn(Reply("", calls=asked)), Turn(Reply("Fine."))]

    def plan(self, *calls: tuple[str, dict[str, Any]]) -> str:
        """Has the model plan and present; returns the digest."""
        self.answer(("write_plan", {"text": "# Greet\n"}), *calls, ("present_plan", {}))
        answer = self.world.run("-p", *MODEL, "Greet", "--json")
        assert answer.code == 3, answer
        return str(answer.json["digest"])

    def read(self, words: str = "What now?") -> str:
        """Says something, and returns what the model reads before it since its last answer."""
        self.server._turns[:] = [Turn(Reply("Fine."))]
        answer = self.world.run("-p", "-c", *MODEL, words, "--json")
        assert answer.code == 0, answer
        body = [one.json for one in self.server.heard if one.body][-1]
        last = (body.get("messages") or body["input"])[-1]
        assert last["role"] == "user"
        content = last["content"]
        parts = [content] if isinstance(content, str) else [part["text"] for part in content]
        told = "\n\n".join(parts)
        assert told.endswith(words)
        return told.removesuffix(words).removesuffix("\n\n")

    def undo(self, way: str = "undo") -> None:
        digest = self.world.ok(way, "--dry-run")["digest"]
        self.world.ok(way, "--digest", digest)


@pytest.fixture
def spoken(world: World) -> Iterator[Spoken]:
    with serving() as server:
        yield Spoken(world, server)


def write(path: str, content: str = "x\n") -> tuple[str, dict[str, Any]]:
    return "write", {"path": path, "content": content}


def shell(line: str) -> tuple[str, dict[str, Any]]:
    return "shell", {"command": line, "stage": True}


def test_a_build_is_told_with_the_end_of_what_its_commands_printed(spoken: Spoken) -> None:
    loud = f"{LOUD}; printf '\\033[31m%s\\033[0m\\n' {KEY} > made; cat made"
    digest = spoken.plan(write("a"), shell(loud))
    spoken.world.ok("approve", "--digest", digest, "--build")
    told = spoken.read()
    lines = told.splitlines()
    assert lines[0].endswith(" Everything in it was applied.")
    assert lines[1] == "1. done: write a"
    assert lines[2].startswith("2. done: run ")
    assert " (exit code 0, " in lines[2]
    assert lines[3] == "  … 11 lines before"
    assert lines[4] == "  | line 12"
    assert lines[32] == "  | line 40"
    assert lines[33:] == ["  | [masked: AWS access key]"]
    assert "approved the plan with digest" not in told


def test_a_halted_build_and_its_end_are_told_as_one_state(spoken: Spoken) -> None:
    digest = spoken.plan(write("a"), shell("echo why >&2; exit 127"), write("b"))
    assert spoken.world.run("approve", "--digest", digest, "--build").code == 6
    spoken.world.ok("recover", "--accept")
    *rows, last = spoken.read().splitlines()
    assert rows[1:] == ["1. done: write a", rows[2], "  | why", "3. not_started: write b"]
    assert rows[2].startswith("2. failed: run ")
    assert " (exit code 127, " in rows[2]
    assert last.startswith("Applied except command 2, which failed with exit code 127")
    assert last.endswith(", and 1 that was not started; accepted by the user.")


def test_a_rolled_back_build_is_told_once_with_its_cause(spoken: Spoken) -> None:
    digest = spoken.plan(write("a"), shell("exit 3"))
    assert spoken.world.run("approve", "--digest", digest, "--build").code == 6
    assert spoken.world.run("recover", "--roll-back").code == 1
    told = spoken.read()
    assert "It stopped" not in told
    assert told.splitlines()[-1].startswith(
        "It was rolled back because of command 2, which failed with exit code 3"
    )


def test_a_build_that_was_undone_since_is_told_as_that_and_names_files(spoken: Spoken) -> None:
    digest = spoken.plan(write("a"), write("b"))
    run = spoken.world.ok("approve", "--digest", digest, "--build")["run"]
    spoken.undo()
    told = spoken.read()
    assert "The user undid it" in told
    assert run not in told


def test_an_undo_after_the_model_knew_names_files_and_no_run(spoken: Spoken) -> None:
    digest = spoken.plan(write("a"), write("b"))
    run = spoken.world.ok("approve", "--digest", digest, "--build")["run"]
    spoken.read()
    spoken.undo()
    told = spoken.read()
    assert told.splitlines()[1:] == ["- a", "- b"]
    assert run not in told


def test_an_undo_that_was_redone_is_not_told(spoken: Spoken) -> None:
    digest = spoken.plan(write("a"))
    spoken.world.ok("approve", "--digest", digest, "--build")
    spoken.read()
    spoken.undo()
    spoken.undo("redo")
    assert spoken.read() == ""


def test_a_rejection_that_no_longer_holds_leaves_only_its_words(spoken: Spoken) -> None:
    spoken.plan(write("a"))
    spoken.world.ok("reject", "--note", "Call it b.")
    digest = spoken.world.ok("propose")["digest"]
    spoken.world.ok("approve", "--digest", digest, "--build")
    rejected, _, built = spoken.read().partition("\n\nCall it b.")
    assert rejected.startswith("The user had rejected the plan before.")
    assert "revise it" not in rejected
    assert "Everything in it was applied." in built


def decline_edit(spoken: Spoken) -> None:
    """Has the model edit what it read, and takes that out of the draft."""
    spoken.world.put("a", b"one\n")
    spoken.answer(("read", {"path": "a"}), EDIT)
    assert spoken.world.run("-p", *MODEL, "Greet", "--json").code == 0
    spoken.world.ok("stage", "clear")


def test_a_declined_edit_is_no_change_that_the_model_has_to_read_again(spoken: Spoken) -> None:
    world = spoken.world
    decline_edit(spoken)
    spoken.answer(EDIT)
    assert world.run("-p", "-c", *MODEL, "Do it after all", "--json").code == 0
    assert [op["path"] for op in world.ok("review")["operations"]] == ["a"]


def test_what_another_changed_has_to_be_read_again(spoken: Spoken) -> None:
    world = spoken.world
    decline_edit(spoken)
    world.put("a", b"one, by another\n")
    spoken.answer(EDIT)
    assert world.run("-p", "-c", *MODEL, "Do it after all", "--json").code == 0
    assert world.ok("review")["operations"] == []


@pytest.mark.parametrize(
    ("words", "status"),
    [("Write and present the plan", "completed"), ("Add the login form", "in_progress")],
)
def test_presenting_closes_the_todo_about_it_and_no_other(
    spoken: Spoken, words: str, status: str
) -> None:
    rows = [(words, "in_progress"), ("Tell them about plan B", "pending")]
    todos = [{"content": content, "status": state} for content, state in rows]
    spoken.plan(("todo", {"todos": todos}), write("a"))
    (session,) = spoken.world.ok("sessions", "list")["sessions"]
    shown = spoken.world.ok("sessions", "show", session["session"])["todos"]
    assert [row["status"] for row in shown] == [status, "pending"]
