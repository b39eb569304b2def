"""Questions of sub-agents through the command line: nobody there, some other day, and a no."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.adversarial.harness import Stage, events, final
from tests.cli.harness import TRUSTING
from tests.cli.terminal import Terminal

WRITE: dict[str, Any] = {
    "calls": [{"tool": "write", "args": {"path": "b.txt", "content": "new\n"}}]
}
LOGS: dict[str, Any] = {"calls": [{"tool": "shell", "args": {"command": "echo x >> log.txt"}}]}
SCREEN = ("stdin", "stdout", "stderr")
HINT = b"free text as feedback (Enter: no, end the turn): "
CHILD: dict[str, list[dict[str, Any]]] = {"general": [WRITE, {"text": "Written."}]}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, TRUSTING)


def task(**more: Any) -> dict[str, Any]:
    return {"calls": [{"tool": "task", "args": {"prompt": "Do", "agent": "general", **more}}]}


def go_on(stage: Stage) -> dict[str, Any]:
    """Types what answering a question names as the next step, without a person."""
    answer = stage.run("-c", "-p", "", "--model", f"scripted:{stage.script}", "--json")
    return answer.json


@pytest.mark.parametrize("background", [False, True])
def test_f95_a_yes_to_a_child_that_waits_is_carried_out_when_its_root_is_taken_up(
    stage: Stage, background: bool
) -> None:
    turns = [task(background=background), {"text": "One."}, {"text": "Two."}]
    asked = stage.play(*turns, children=CHILD, options=("--mode", "ask", "--ask-later"))
    [question] = stage.ok("questions", "list")["questions"]
    last = final(asked)
    assert (asked.code, last["why"], last["waiting"]) == (4, "waiting", [question["id"]])
    assert not (stage.root / "b.txt").exists()
    id, digest = question["id"], question["digest"]
    stage.ok("questions", "answer", id, "yes", "--digest", digest)
    done = go_on(stage)
    assert (done["exit"], done["result"]) == (0, "Two." if background else "One.")
    assert (stage.root / "b.txt").read_bytes() == b"new\n"
    assert len(stage.ok("sessions", "list")["sessions"]) == 2  # no second child


def test_f94_without_a_person_a_question_of_a_child_is_a_no_at_once(stage: Stage) -> None:
    turns = [task(), {"text": "I see."}]
    children = {"general": [WRITE, {"text": "I may not."}]}
    answer = stage.play(*turns, children=children, options=("--mode", "ask"))
    assert (answer.code, final(answer)["result"]) == (0, "I see.")
    ended = [one["body"] for one in events(answer) if one["kind"] == "call_ended"]
    told = {end["tool"]: end["result"] for end in ended}
    assert told["write"]["failed"]
    assert told["task"]["text"].startswith("I may not.")
    assert not (stage.root / "b.txt").exists()
    assert stage.ok("questions", "list")["questions"] == []
    assert [row["state"] for row in stage.ok("sessions", "list")["sessions"]] == ["idle", "idle"]


def test_a_no_to_a_child_ends_with_the_exit_code_of_a_no(stage: Stage) -> None:
    stage.play(task(), {"text": "."}, children=CHILD, options=("--mode", "ask", "--ask-later"))
    [question] = stage.ok("questions", "list")["questions"]
    stage.ok("questions", "answer", question["id"], "no")
    done = go_on(stage)
    assert (done["exit"], done["why"]) == (4, "declined")
    assert done["message"].startswith('You denied permission to sub-agent general (task "Do")')
    assert done["next"].endswith("-c 'WHAT INSTEAD'")
    assert not (stage.root / "b.txt").exists()


@pytest.mark.parametrize("background", [False, True])
def test_f95_f105_a_question_of_a_child_that_was_killed_is_answered_and_gone_on_with(
    stage: Stage, background: bool
) -> None:
    # In the background, the parent may be in its second answer by then.
    turns = [task(background=background), {"text": "Fine."}, {"text": "Fine."}]
    children = {"general": [LOGS, {"text": "Logged."}]}
    stage.script.write_text(json.dumps({"turns": turns, "children": children}), encoding="utf-8")
    model = ("--model", f"scripted:{stage.script}")
    terminal = Terminal(stage, "Do it", "--mode", "ask", *model, shared=SCREEN)
    terminal.wait_for(HINT)
    os.kill(terminal.pid, signal.SIGKILL)
    terminal.end()
    [question] = stage.ok("questions", "list")["questions"]
    stage.ok("questions", "answer", question["id"], "yes", "--digest", question["digest"])
    assert not (stage.root / "log.txt").exists()
    done = go_on(stage)
    assert (done["exit"], done["result"]) == (0, "Fine.")
    assert "Logged." in json.dumps(stage.ok("sessions", "export", "do-it"))
    assert (stage.root / "log.txt").read_bytes() == b"x\n"  # once
    assert len(stage.ok("sessions", "list")["sessions"]) == 2  # no second child
    assert len(stage.ok("questions", "list", "--all")["questions"]) == 1
