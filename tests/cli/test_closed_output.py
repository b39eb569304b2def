"""Answers that nobody can be told: what was done is said elsewhere, and nothing begins unheard."""

import shlex
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest
from tests.cli.harness import PROGRAM, Answer, World
from tests.support import forked_python

from assent.core.errors import RUN_WAITS

TYPED = shlex.join(PROGRAM)
FULL = "The result could not be printed: No space left on device."
OPENED = """
import atexit, os
def note():
    with open(os.environ["NOTE"], "w") as file:
        file.write(" ".join(os.readlink(f"/proc/self/fd/{number}") for number in CLOSED))
atexit.register(note)
from assent.cli import main; main()
"""


def typed(world: World, line: str) -> Answer:
    """Types a line into a shell."""
    return world.start(["sh", "-c", f"{TYPED} {line}"])


def refusal(answer: Answer) -> tuple[int, dict[str, str]]:
    return answer.code, msgspec.json.decode(answer.err)


def ended(world: World, run: str) -> str:
    return str(world.ok("runs", "show", run)["outcome"])


@pytest.fixture
def approved(world: World) -> World:
    world.plan()
    world.write("a.txt", b"a\n")
    world.approve()
    return world


def test_a_build_an_undo_and_a_redo_whose_answer_is_lost_say_that_they_are_done(
    approved: World,
) -> None:
    for verb in ("build", "undo", "redo"):
        digest = "" if verb == "build" else approved.ok(verb, "--dry-run")["digest"]
        line = f"{verb} --digest {digest}" if digest else verb
        code, error = refusal(typed(approved, f"{line} --json > /dev/full"))
        run = error["next"].removeprefix("assent runs show ")
        assert (code, error["message"]) == (1, f"{FULL} Run {run} is finished.")
        assert ended(approved, run) == "done"
        assert (approved.root / "a.txt").exists() == (verb != "undo")


def test_in_words_it_is_said_as_well(approved: World) -> None:
    answer = typed(approved, "build > /dev/full")
    assert answer.code == 1
    assert f"{FULL} Run ".encode() in answer.err
    assert b"  next: assent runs show " in answer.err


def test_a_run_that_waits_is_told_with_its_own_exit_code(world: World) -> None:
    world.plan()
    world.ok("stage", "run", "--no-sandbox", "--script", "exit 3")
    world.approve()
    for line in ("build", "recover"):
        code, error = refusal(typed(world, f"{line} --json > /dev/full"))
        assert (code, error["error"], error["next"]) == (6, "needs_you", "assent recover")
        assert error["message"] == f"{FULL} {RUN_WAITS}"


def test_of_other_commands_it_is_said_that_what_they_did_stands(world: World) -> None:
    code, error = refusal(typed(world, "plan new other --json > /dev/full"))
    told = f"{FULL} Any changes the command made are kept."
    assert (code, error["message"], error["next"]) == (1, told, "assent status")
    assert world.ok("status")["plan"]["name"] == "other"


def test_a_full_disk_at_stderr_is_no_traceback(world: World) -> None:
    answer = typed(world, "plan show 2> /dev/full")
    assert (answer.code, answer.out) == (1, b"")


@pytest.mark.parametrize(
    ("closed", "name", "heard"),
    [(">&-", "stdout", "/dev/null"), ("2>&-", "stderr", "/dev/null")],
)
def test_nothing_begins_where_one_of_both_is_closed_and_the_other_says_so(
    approved: World, closed: str, name: str, heard: str
) -> None:
    answer = typed(approved, f"build --json {closed}")
    said = msgspec.json.decode(answer.out + answer.err)
    told = f"{name} is closed, so the result could not be shown. Nothing was changed."
    assert (answer.code, said["error"], said["message"]) == (2, "usage", told)
    assert said["next"] == f"assent build --json {closed.removesuffix('&-')} {heard}"
    assert not (approved.root / "a.txt").exists()
    program, *words = shlex.split(said["next"].partition(" >")[0].partition(" 2>")[0])
    assert program == "assent"
    assert approved.run(*words).code == 0


def test_with_both_closed_nothing_begins_either(approved: World) -> None:
    assert typed(approved, "build >&- 2>&-") == (2, b"", b"")
    assert not (approved.root / "a.txt").exists()


def test_without_stdin_a_build_goes_on_as_ever(approved: World) -> None:
    answer = typed(approved, "build <&-")
    assert (answer.code, answer.err) == (0, b"")
    assert (approved.root / "a.txt").exists()


@pytest.mark.parametrize(
    ("closed", "numbers"), [("<&-", (0,)), (">&-", (1,)), ("<&- >&- 2>&-", (0, 1, 2))]
)
def test_no_file_of_ours_gets_the_number_of_a_closed_one(
    world: World, tmp_path: Path, closed: str, numbers: tuple[int, ...]
) -> None:
    """Else what is printed, or what a command reads, would be the log."""
    script = OPENED.replace("CLOSED", repr(numbers))
    note = tmp_path / "note"
    line = f"{shlex.join([PROGRAM[0], '-c', script])} status {closed}"
    world.start(["sh", "-c", line], env={"NOTE": str(note)})
    assert note.read_text("utf-8").split() == ["/dev/null"] * len(numbers)


TOLD = """
import os, signal
from assent.cli.output import as_assent_error
from assent.cli.terminal import interruptible
try:
    with interruptible():
        os.kill(os.getpid(), signal.NAME)
except KeyboardInterrupt as error:
    print(as_assent_error(error).message, as_assent_error(error).next, sep="\\n")
"""


@pytest.mark.parametrize(
    ("name", "by"), [("SIGINT", ""), ("SIGTERM", " by SIGTERM"), ("SIGHUP", " by SIGHUP")]
)
def test_an_interrupt_is_told_with_the_signal_that_came(world: World, name: str, by: str) -> None:
    front = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    answer = world.start([PROGRAM[0], "-c", front + TOLD.replace("NAME", name)])
    message, next = answer.out.decode().splitlines()
    assert message == f"Interrupted{by}; `assent status` shows the current state."
    assert next == "assent status"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
def test_a_command_that_was_interrupted_is_not_said_to_have_got_a_signal(
    world: World, number: signal.Signals
) -> None:
    world.plan()
    world.ok("stage", "run", "--no-sandbox", "--script", "echo begun; while :; do sleep 1; done")
    world.approve()
    with forked_python.Popen(
        [*PROGRAM, "build"],
        cwd=world.root,
        env=world.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as work:
        assert work.stdout is not None
        assert b"echo begun" in work.stdout.readline()
        assert work.stdout.readline() == b"  | begun\n"
        work.send_signal(number)
        out, err = work.communicate(timeout=60)
    assert (work.returncode, err) == (130, b"")
    assert b"(exit 130)" in out
    assert b"SIGINT" not in out
