"""What a command says and does that first takes up a run which had been interrupted."""

import os
import select
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest
from tests.cli.harness import PROGRAM, Answer, World
from tests.cli.killed_undo import kill_undo
from tests.cli.scripts import Talker
from tests.cli.terminal import PROGRAM as TYPED
from tests.cli.terminal import Terminal
from tests.cli.test_killed_command import PATIENCE, number
from tests.cli.test_run_stream import STREAM
from tests.cli.test_undo_todos import worked
from tests.support import forked_python

from assent.cli.output import as_assent_error, build_interrupted
from assent.cli.text_plan_build import APPROVAL_KEPT
from assent.core.errors import RUN_WAITS
from assent.runs.runs import TAKEN_UP

ALL = [b"a", b"b", b"made1", b"made2"]
ZEROS = "0" * 64
# Sends a signal where a function of a module returns.
SENT = """
import os, signal, sys

def look(frame, event, arg):
    code = frame.f_code
    if event == "return" and code.co_filename.endswith("/{module}") and code.co_name == "{name}":
        sys.setprofile(None)
        os.kill(os.getpid(), signal.{by})
sys.setprofile(look)
"""
RECORDED = {"module": "runs/plan_commands.py", "name": "record"}
LOCKED = {"module": "runs/runs.py", "name": "_fitting"}
KEPT = {"module": "runs/retention.py", "name": "retain"}


def sent(world: World, place: dict[str, str], by: str = "SIGINT") -> Answer:
    """Builds the plan, and sends a signal in this place."""
    program = SENT.format(**place, by=by) + TYPED
    answer = Terminal(world, "build", "--json", program=program, forked=True).end()
    assert answer.code == 130, answer
    return answer


@pytest.fixture
def cut(planned: World) -> World:
    """A build that got Ctrl-C before its first command, so that it is not over."""
    planned.write("a", b"a\n")
    planned.ok("stage", "run", "--script", "touch made1")
    planned.write("b", b"b\n")
    planned.ok("stage", "run", "--script", "touch made2")
    planned.approve()
    sent(planned, RECORDED)
    assert sorted(planned.files()) == [b"a"]
    return planned


def sentence(world: World) -> str:
    return f"Run {world.ok('runs', 'list')['runs'][-1]['run']} {TAKEN_UP} done."


def else_changed(told: str) -> str:
    """What is said where another run was taken up before."""
    return told.replace("nothing was changed", "nothing else was changed")


def other_plan(world: World) -> None:
    world.plan("other")
    world.write("z", b"z\n")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (4, ("undo", "--no-input")),
        (4, ("undo", "--no-input", *STREAM)),
        (1, ("undo", "nosuch")),
        (5, ("undo", "--digest", ZEROS)),
        (1, ("redo",)),
    ],
)
def test_a_refusal_names_the_run_that_was_finished_before_it(
    cut: World, code: int, line: tuple[str, ...]
) -> None:
    answer = cut.run(*line) if STREAM[0] in line else cut.run(*line, "--json")
    assert answer.code == code, answer
    error = msgspec.json.decode(answer.err)
    assert error["message"].startswith(sentence(cut) + " ")
    assert "othing was changed" not in error["message"]
    if answer.out:
        assert msgspec.json.decode(answer.out.splitlines()[-1])["body"] == error
    assert bool(answer.out) == (STREAM[0] in line)
    assert sorted(cut.files()) == ALL


def test_the_words_of_a_declined_undo_are_true(cut: World) -> None:
    error = cut.no(4, "undo", "--no-input")
    said = (
        f"{sentence(cut)} Not approved; nothing else was changed. "
        "Approval needs an interactive terminal. "
    )
    assert error["message"].startswith(said)
    assert cut.no(4, "undo", "--no-input")["message"].startswith(
        "Not approved; nothing was changed."
    )


def test_in_text_it_is_said_once(cut: World) -> None:
    answer = cut.run("undo", "--no-input")
    said = " ".join(answer.err.decode().replace("assent: ", "").split())
    assert said.startswith(f"{sentence(cut)} Not approved; nothing else was changed. ")
    assert said.count("was interrupted") == 1


def test_so_does_a_build_without_a_yes(cut: World) -> None:
    other_plan(cut)
    cut.propose()
    message = cut.no(3, "build")["message"]
    assert message.startswith(sentence(cut) + " ")
    assert sorted(cut.files()) == ALL


def test_so_does_a_build_of_a_file_without_a_yes(cut: World, tmp_path: Path) -> None:
    other = World(tmp_path / "other")
    other_plan(other)
    file = str(tmp_path / "plan.json")
    other.ok("propose", "--portable", "--out", file)
    answer = cut.run("build", file, "--json")
    assert answer.error["message"].startswith(sentence(cut) + " ")
    assert sorted(cut.files()) == ALL


def test_so_does_a_build_that_is_interrupted_before_it_begins(cut: World) -> None:
    other_plan(cut)
    cut.approve()
    told = else_changed(build_interrupted(KeyboardInterrupt(), "").message)
    assert sent(cut, LOCKED).error["message"] == f"{sentence(cut)} {told}"
    assert sorted(cut.files()) == ALL


def test_so_does_a_build_by_a_model_that_there_is_not(cut: World) -> None:
    cut.plan("prose")
    cut.text().write_text("# Prose\n\nDo it.\n", encoding="utf-8")
    cut.approve()
    message = cut.no(2, "build", "--model", "none/such")["message"]
    assert message.startswith(sentence(cut) + " ")
    assert message.endswith(f" {else_changed(APPROVAL_KEPT)}")
    assert sorted(cut.files()) == ALL


def test_a_redo_names_the_undo_that_it_finished(world: World) -> None:
    world.plan()
    world.write("a", b"a\n")
    world.write("b", b"b\n")
    run = world.build()["run"]
    kill_undo(world)
    message = world.no(4, "redo", "--no-input")["message"]
    told = f", which undoes run {run}, was interrupted; it is now done. Not approved; "
    assert f"{told}nothing else was changed." in message
    assert world.files() == {}


def slow(world: World) -> None:
    """A build that got Ctrl-C before a command which says its number and never ends by itself."""
    fifo = world.base / "fifo"
    os.mkfifo(fifo)
    world.write("a", b"a\n")
    script = f"echo $$ > {fifo}; touch began; sleep 1000"
    world.ok("stage", "run", "--no-sandbox", "--script", script)
    world.approve()
    sent(world, RECORDED)


def ended(world: World, by: signal.Signals, *line: str) -> Answer:
    """Runs a command, and ends it by a signal while it is at the command that it took up."""
    with forked_python.Popen(
        [*PROGRAM, *line],
        cwd=world.root,
        env=world.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        command = os.pidfd_open(number(world))
        process.send_signal(by)
        out, err = process.communicate(timeout=PATIENCE)
        gone, _, _ = select.select([command], [], [], PATIENCE)
        os.close(command)
    assert gone, "the command outlived its starter"
    return Answer(process.returncode, out, err)


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("verb", ["undo", "redo", "build"])
def test_a_signal_while_a_run_is_taken_up_is_answered(
    planned: World, tmp_path: Path, verb: str, by: signal.Signals
) -> None:
    slow(planned)
    line = [verb]
    if verb == "build":
        other = World(tmp_path / "other")
        other_plan(other)
        line.append(str(tmp_path / "plan.json"))
        other.ok("propose", "--portable", "--out", line[-1])
    answer = ended(planned, by, *line, "--json")
    assert answer.code == 130, answer
    run = planned.ok("status")["run"]
    assert run["outcome"] == "needs_you"
    told = as_assent_error(KeyboardInterrupt(by.name)).message
    assert answer.error["message"] == f"{told} {RUN_WAITS}"
    assert answer.error["next"] == "assent recover"
    told = planned.run("recover", "--json").json
    assert [row["result"] for row in told["operations"]] == ["done", "failed"]
    assert "the command was interrupted" in told["notes"][0]


def test_a_signal_after_the_answer_does_not_end_a_build_without_a_word(world: World) -> None:
    world.plan()
    world.write("a", b"a\n")
    world.approve()
    answer = sent(world, KEPT, "SIGTERM")
    assert answer.json["outcome"] == "done"
    assert msgspec.json.decode(answer.err)["message"].startswith("Interrupted by SIGTERM; ")


@pytest.fixture
def built(talker: Talker) -> World:
    world = worked(talker, h1="1\n", h2="2\n")
    assert todos(world) == ["one", "two"]
    return world


def todos(world: World) -> list[str]:
    rows = [row for row in world.ok("sessions", "list")["sessions"] if row["session"]]
    shown = [world.ok("sessions", "show", row["session"])["todos"] for row in rows]
    return [row["content"] for each in shown for row in each]


@pytest.mark.parametrize("line", ["undo {run} --operation 1", "redo --no-input", "undo nosuch"])
def test_f128_whatever_finishes_an_undo_sets_the_todos_back(built: World, line: str) -> None:
    run = built.ok("runs", "list")["runs"][0]["run"]
    kill_undo(built)
    assert todos(built) == ["one", "two"]
    assert built.run(*line.format(run=run).split(), "--json").code
    assert sorted(built.files()) == [b"script.json"]
    assert todos(built) == ["one"]


def test_f128_so_does_a_build_of_another_plan(built: World) -> None:
    other_plan(built)
    built.approve()
    kill_undo(built)
    assert built.ok("build")["outcome"] == "done"
    assert sorted(built.files()) == [b"script.json", b"z"]
    assert todos(built) == ["one"]


@pytest.mark.parametrize("named", [False, True], ids=["plain", "digest"])
def test_an_undo_of_a_plan_that_is_asked_for_again_is_told_as_done(
    built: World, named: bool
) -> None:
    plan = ("--plan", built.ok("status")["plan"]["plan_id"])
    digest = built.ok("undo", *plan, "--dry-run")["digest"]
    kill_undo(built)
    answer = built.ok("undo", *plan, *(("--digest", digest) if named else ()))
    assert (answer["outcome"], len(answer["restored"])) == ("done", 2)
    assert sorted(built.files()) == [b"script.json"]
    assert todos(built) == ["one"]


def test_that_of_another_plan_is_not(world: World) -> None:
    world.plan("first")
    world.write("first", b"1\n")
    world.build()
    first = world.ok("status")["plan"]["plan_id"]
    world.plan("second")
    world.write("a", b"a\n")
    world.write("b", b"b\n")
    world.build()
    kill_undo(world)
    message = world.no(4, "undo", "--plan", first, "--no-input")["message"]
    assert f"{TAKEN_UP} done. Not approved; nothing else was changed." in message
    assert sorted(world.files()) == [b"first"]
