"""Stdin that cannot be read leads to the help of the command that wanted to read it."""

import os
import shlex

import pytest
from tests.cli.harness import PROGRAM, World
from tests.support import forked_python

READERS = (
    "stage patch -",
    "stage write x --from -",
    "stage run --script -",
    "plan write -",
    "modes import - --yes",
    "verify -",
    "review -",
    "approve - --out yes.json",
    "build -",
)
CLOSED = "Cannot read stdin: it is closed. Nothing was changed."
NOT_OPEN = "stdin: Bad file descriptor. Nothing was changed."


def typed(world: World, line: str, redirection: str) -> tuple[int, dict[str, str]]:
    """Types a line with a redirection of stdin into a shell."""
    answer = world.start(["bash", "-c", f"{shlex.join(PROGRAM)} {line} --json {redirection}"])
    return answer.code, answer.error


def helps(world: World, line: str, command: str) -> bool:
    """Tells whether a command is the help of what was typed, and there is such a help."""
    program, *words = shlex.split(command)
    assert (program, words[-1]) == ("assent", "--help")
    return line.startswith(" ".join(words[:-1])) and world.run(*words).code == 0


@pytest.mark.parametrize("line", READERS)
@pytest.mark.parametrize(
    ("redirection", "code", "message"), [("<&-", 2, CLOSED), ("0>out", 1, NOT_OPEN)]
)
def test_stdin_that_cannot_be_read_leads_to_the_help_of_its_command(
    world: World, line: str, redirection: str, code: int, message: str
) -> None:
    world.plan()
    found, error = typed(world, line, redirection)
    assert (found, error["message"]) == (code, message)
    assert helps(world, line, error["next"])


def test_a_goal_whose_stdin_cannot_be_read_is_told_how_to_do_without(world: World) -> None:
    code, error = typed(world, "-p hi", "0>out")
    told = "stdin: Bad file descriptor. Nothing was sent to a model."
    assert (code, error["message"]) == (1, told)
    assert error["next"] == "assent -p 'TEXT' < /dev/null"


def test_a_pipe_that_nobody_waits_for_is_not_taken_for_its_beginning(world: World) -> None:
    """Its reading end was opened so that it never waits: what came so far is not all."""
    world.plan()
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.write(writer, b"the beginning\n")
    done = forked_python.run(
        [*PROGRAM, "stage", "write", "x", "--from", "-"],
        cwd=world.root,
        env=world.env,
        stdin=reader,
        capture_output=True,
        check=False,
    )
    os.close(reader)
    os.close(writer)
    assert (done.returncode, done.stdout) == (1, b"")
    assert (
        b"stdin: no data is available yet, and the stream is non-blocking. Nothing" in done.stderr
    )
    assert b"next: assent stage write --help" in done.stderr
    assert world.ok("stage", "list")["operations"] == []
