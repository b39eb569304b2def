"""An interrupt where no command runs tells what stands, and the command that goes on."""

import msgspec
import pytest
from tests.cli.harness import Answer, World
from tests.cli.terminal import PROGRAM as TYPED
from tests.cli.terminal import Terminal
from tests.cli.test_interrupted_start import PRESSED
from tests.cli.test_run_stream import STREAM

RECORDED = ("runs/plan_commands.py", "record")
LOCKED = ("runs/runs.py", "_fitting")
ANSWERED = ("render/rows.py", "run_row")
STANDS = "$ touch made was not started this time; everything before it is kept and recorded."


def pressed(world: World, place: tuple[str, str], *line: str) -> Answer:
    """Runs a command, and presses Ctrl-C in this place."""
    module, name = place
    program = _program(module, name)
    terminal = Terminal(world, *line, "--json", program=program, forked=True)
    answer = terminal.end()
    assert answer.code == 130, (answer, terminal.screen)
    return answer


@pytest.fixture
def approved(planned: World) -> World:
    planned.write("a", b"a\n")
    planned.ok("stage", "run", "--script", "touch made")
    planned.approve()
    return planned


def test_while_files_are_recorded_before_a_command(approved: World) -> None:
    error = pressed(approved, RECORDED, "build").error
    run = approved.ok("status")["run"]
    assert run["outcome"] is None
    assert error["error"] == "interrupted"
    assert error["message"] == (
        f"Interrupted. Run {run['run']} is not finished: {STANDS} "
        "`assent recover` finishes it or rolls it back."
    )
    assert error["next"] == "assent recover"
    assert sorted(approved.files()) == [b"a"]
    assert approved.ok("recover")["outcome"] == "done"
    assert sorted(approved.files()) == [b"a", b"made"]


def test_while_they_are_recorded_before_what_a_roll_back_runs(planned: World) -> None:
    planned.ok("stage", "run", "--undo", "rm made", "--script", "touch made")
    planned.ok("stage", "run", "--script", "false")
    planned.approve()
    assert planned.run("build", "--json").code == 6
    error = pressed(planned, RECORDED, "recover", "--roll-back").error
    assert "$ rm made was not started this time; everything before it is kept" in error["message"]
    assert error["next"] == "assent recover"
    assert planned.run("recover", "--json").json["outcome"] == "rolled_back"
    assert planned.files() == {}


def test_before_the_run_began_the_yes_is_kept(approved: World) -> None:
    error = pressed(approved, LOCKED, "build").error
    plan = approved.ok("plan", "show")
    assert (error["message"], plan["approved"]) == (
        "Interrupted before the run started. The approval is kept; nothing was changed.",
        True,
    )
    assert approved.files() == {}
    program, *words = error["next"].split()
    assert (program, words) == ("assent", ["build", "--plan", plan["plan_id"]])
    assert approved.ok(*words)["outcome"] == "done"


def test_after_the_run_ended_nothing_is_said_to_be_as_before(approved: World) -> None:
    error = msgspec.json.decode(pressed(approved, ANSWERED, "build").err)
    assert error["message"] == "Interrupted; `assent status` shows the current state."
    assert approved.ok("status")["run"]["outcome"] == "done"


def test_in_the_stream_it_is_the_last_line_too(approved: World) -> None:
    module, name = RECORDED
    program = _program(module, name).replace("SIGINT", "SIGTERM")
    answer = Terminal(approved, "build", *STREAM, program=program, forked=True).end()
    error = msgspec.json.decode(answer.err)
    assert answer.code == 130
    assert error["message"].startswith("Interrupted by SIGTERM. Run ")
    assert STANDS in error["message"]
    last = msgspec.json.decode(answer.out.splitlines()[-1])
    assert (last["kind"], last["body"]) == ("result", error)


def _program(module: str, name: str) -> str:
    return PRESSED.format(module=module, name=name, event="return", entry="Running") + TYPED
