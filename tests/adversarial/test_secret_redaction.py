"""One secret goes through everything, and no command but a decision's own shows it (F92)."""

from pathlib import Path
from typing import Any

import pytest
from tests.adversarial.harness import Stage
from tests.cli.terminal import Terminal

from assent.core.text.secrets import redaction_text

KEY = "AKIA" + "Z7Q4X2M9K1B8W3LP"
GOAL = f"Use {KEY}"
TODO = {"todos": [{"content": f"Use {KEY}", "status": "pending"}]}
ASKED = {"question": f"Is it {KEY}?", "header": KEY, "options": [{"label": KEY}, {"label": "no"}]}
TASK = {"description": f"Use {KEY}", "prompt": f"Use {KEY}", "agent": "general"}
CHILD = {"general": [{"text": f"It was {KEY}."}]}
ECHO = ("shell", {"command": f"echo {KEY} > q.txt"})


def calls(*made: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "args": args} for tool, args in made]}


SAYS = {"text": f"The key is {KEY}.\n\nAnd that is all."}
WORKS = (
    calls(
        ("todo", TODO),
        ("remember", {"fact": f"The key is {KEY}."}),
        ("read", {"path": "a.txt"}),
        ("read", {"path": KEY}),
        (f"none-{KEY}", {KEY: KEY}),
        ("task", TASK),
    ),
    SAYS,
)
ASKS = (calls(ECHO, ("question", {"questions": [ASKED]})), SAYS)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    found = Stage(tmp_path)
    found.put("a.txt", f"aws = {KEY}\n".encode())
    return found


def played(stage: Stage, form: str, mode: str, *more: str) -> bytes:
    """Says the goal to the model of the script that was written last; returns all output."""
    model = ("--model", f"scripted:{stage.script}")
    answer = stage.run("-p", GOAL, *model, "--output-format", form, "--mode", mode, *more)
    assert answer.code in (0, 3, 4), answer
    return answer.out + answer.err


def shows(output: bytes) -> tuple[bool, bool]:
    """Tells whether the secret is shown, and whether its mask is."""
    return KEY.encode() in output, redaction_text("AWS access key").encode() in output


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_f92_no_form_of_a_turn_shows_it(stage: Stage, form: str) -> None:
    stage.play(*WORKS, said=GOAL, options=("--mode", "yolo"), children=CHILD)
    assert shows(played(stage, form, "yolo")) == (False, True)
    stage.play(*ASKS, said=GOAL, options=("--mode", "ask"))
    assert shows(played(stage, form, "ask")) == (False, True)
    assert shows(played(stage, form, "ask", "--ask-later"))[0] is False


def test_f92_no_command_that_only_tells_shows_it(stage: Stage) -> None:
    stage.play(*WORKS, said=GOAL, options=("--mode", "yolo"), children=CHILD)
    stage.play(*ASKS, said=GOAL, options=("--mode", "ask"))
    stage.play(*ASKS, said=GOAL, options=("--mode", "ask", "--ask-later"))
    asked = [one["id"] for one in stage.ok("questions", "list", "--all")["questions"]]
    waits = stage.ok("questions", "list")["questions"]
    permission = next(one["id"] for one in waits if one["tool"] == "shell")
    sessions = [one["slug"] for one in stage.ok("sessions", "list")["sessions"]]
    facts = [one["fact"] for one in stage.ok("memory", "list")["facts"]]
    assert (len(asked) >= 3, len(sessions), len(facts)) == (True, 4, 1)
    told = [
        ("questions", "list"), ("questions", "list", "--all"), ("memory", "list"),
        ("sessions", "list"), ("log",), ("log", "--decisions"), ("log", "--verify"), ("status",),
        ("rules", "list"), ("plan", "list"), ("debug", "prompt"),
        *[("questions", "show", one) for one in asked],
        *[("sessions", verb, slug) for slug in sessions for verb in ("show", "export")],
        ("questions", "answer", permission, "no", "--words", GOAL),
        ("memory", "forget", facts[0]),
    ]  # fmt: skip
    for command in told:
        for form in ((), ("--json",)) if command[-1] not in (GOAL, *facts) else ((),):
            answer = stage.run(*command, *form)
            assert (command, answer.code, shows(answer.out + answer.err)[0]) == (command, 0, False)


def test_f92_on_the_terminal_the_question_shows_exactly_what_a_yes_would_do(stage: Stage) -> None:
    stage.play(*ASKS, said=GOAL, options=("--mode", "ask", "--ask-later"))
    first = stage.ok("questions", "list")["questions"][0]["id"]
    terminal = Terminal(stage, "questions", "answer", first, shared=("stdin", "stdout", "stderr"))
    terminal.wait_for(f"echo {KEY} > q.txt".encode())
    terminal.type(b"n\r")
    terminal.end()


def test_f92_what_comes_live_is_masked_on_a_terminal_too(stage: Stage) -> None:
    stage.play(SAYS, said=GOAL)
    model = ("--model", f"scripted:{stage.script}")
    terminal = Terminal(stage, "-p", "Tell me", *model, shared=("stdout", "stderr"))
    terminal.wait_for(b"And that is all.")
    terminal.end()
    assert shows(terminal.screen) == (False, True)
