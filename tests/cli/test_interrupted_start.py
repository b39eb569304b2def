"""An interrupt at the edges of a command is answered like one in its middle."""

import pytest
from tests.cli.harness import Answer, World
from tests.cli.terminal import PROGRAM, Terminal

from assent.cli.output import run_interrupted

# Presses Ctrl-C where a function of a module is called or returns; of the journal's with an entry.
PRESSED = """
import os, signal, sys

def look(frame, event, arg):
    code = frame.f_code
    if event == "{event}" and code.co_filename.endswith("/{module}") and code.co_name == "{name}":
        if type(frame.f_locals.get("entry")).__name__ in ("NoneType", "{entry}"):
            sys.setprofile(None)
            os.kill(os.getpid(), signal.SIGINT)
sys.setprofile(look)
"""
JOURNAL = ("runs/journal.py", "write")
PROCESS = ("sandbox/runner/pipeline.py", "_started")
CALL = ("sandbox/runner/pipeline.py", "_spawn")
LOOKED = ("runs/plan_commands.py", "changes")


def pressed(
    world: World, place: tuple[str, str], event: str = "return", entry: str = "CommandStartedEntry"
) -> Answer:
    """Builds the plan, and presses Ctrl-C in this place."""
    module, name = place
    program = PRESSED.format(module=module, name=name, event=event, entry=entry) + PROGRAM
    terminal = Terminal(world, "build", "--json", program=program, forked=True)
    answer = terminal.end()
    assert answer.code == 130, (answer, terminal.screen)
    return answer


@pytest.mark.parametrize("place", [JOURNAL, PROCESS, CALL])
@pytest.mark.parametrize("options", [(), ("--no-sandbox",)], ids=["confined", "unconfined"])
def test_an_interrupt_while_a_command_is_started_is_answered(
    planned: World, options: tuple[str, ...], place: tuple[str, str]
) -> None:
    planned.write("a", b"a\n")
    planned.ok("stage", "run", *options, "--script", "sleep 5; touch never")
    planned.approve()
    answer = pressed(planned, place)
    assert [row["result"] for row in answer.json["operations"]] == ["done", "failed"]
    assert "the command was interrupted" in answer.json["notes"][0]
    assert len(answer.json["next"]) == 3
    assert planned.ok("status")["run"]["outcome"] == "needs_you"
    assert planned.run("recover", "--roll-back", "--json").json["outcome"] == "rolled_back"
    assert planned.files() == {}


def test_an_interrupt_while_it_is_looked_what_changed_leaves_nothing_unknown(
    planned: World,
) -> None:
    planned.ok("stage", "run", "--script", "touch made")
    planned.approve()
    pressed(planned, LOOKED)
    (row,) = planned.ok("recover")["operations"]
    assert (row["result"], row["exit"]) == ("done", 0)
    assert planned.undo().code == 0
    assert planned.files() == {}


def test_an_interrupt_when_its_end_is_about_to_be_recorded_leaves_nothing_unknown(
    planned: World,
) -> None:
    planned.ok("stage", "run", "--script", "echo said; touch made")
    planned.approve()
    answer = pressed(planned, JOURNAL, "call", "CommandEndedEntry")
    run = planned.ok("status")["run"]["run"]
    assert answer.error["message"] == run_interrupted(KeyboardInterrupt(), run).message
    done = planned.ok("recover")
    assert [(row["result"], row["exit"]) for row in done["operations"]] == [("done", 0)]
    (shown,) = planned.ok("runs", "show", done["run"])["operations"]
    assert shown["command"]["output"] == "said\n"


def test_an_interrupt_is_one_line_of_json_that_says_who_sent_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt("SIGTERM")

    monkeypatch.setattr("assent.planning.plans.Plans.new", interrupted)
    answer = world.run("plan", "new", "work", "--json")
    assert (answer.code, answer.out, answer.err.count(b"\n")) == (130, b"", 1)
    assert answer.error["message"].startswith("Interrupted by SIGTERM;")
