"""Hooks through the real command line: they hear, they can say no, and they allow nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.adversarial.harness import Stage, really_ran

from assent.agent.hook_guard import hook_message
from assent.sandbox.runner.user_program import NO_PROGRAM

CONSENT = "[approve]\nwithout_terminal = true\n"


class Hooked(Stage):
    """A stage with hooks, whose programs lie beside the project and note what they hear."""

    def __init__(self, base: Path) -> None:
        super().__init__(base, CONSENT)
        self.programs = base / "hooks"
        self.programs.mkdir()

    def hook(self, on: str, body: str, **more: object) -> Path:
        """Adds a hook; `$LOG` in its body is where it notes what it hears."""
        number = len(list(self.programs.iterdir()))
        path = self.programs / f"hook{number}"
        noted = f"LOG={self.base}/heard\n"
        path.write_text(f"#!/bin/sh\n{noted}{body}\n", encoding="utf-8")
        path.chmod(0o755)
        rows = {"on": on, "run": [str(path)], "confined": False, **more}
        lines = [f"{name} = {json.dumps(value)}" for name, value in rows.items()]
        with self.config.open("a", encoding="utf-8") as config:
            config.write("\n".join(["[[hooks]]", *lines, ""]))
        return path

    def heard(self) -> list[dict[str, Any]]:
        path = self.base / "heard"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]


YOLO = ("--mode", "yolo")
NOTE = 'cat >> "$LOG"; echo >> "$LOG"'


@pytest.fixture
def stage(tmp_path: Path) -> Hooked:
    found = Hooked(tmp_path)
    found.put("a.txt", b"one\n")
    found.ok("init")
    return found


def test_f134_hooks_hear_calls_before_and_after(stage: Hooked) -> None:
    stage.hook("before_tool", NOTE)
    stage.hook("after_tool", NOTE)
    (ended,) = stage.called(("read_file", {"file_path": "a.txt"}))
    assert not ended["result"]["failed"]
    before, after = stage.heard()
    assert before["on"] == "before_tool"
    assert (before["tool"], before["arguments"]) == ("read", {"path": "a.txt"})
    assert (before["mode"], before["agent"], before["verdict"]) == ("plan", "plan", "run")
    assert before["cwd"] == str(stage.root)
    touched = {"action": "read", "permission": "read", "resource": "a.txt"}
    assert before["touched"] == [touched]
    assert after["on"] == "after_tool"
    assert (after["failed"], "one" in after["result"]) == (False, True)


@pytest.mark.parametrize("body", ["echo never >&2; exit 2", "exit 1", "kill -KILL $$", "yes"])
def test_f134_a_hook_that_objects_or_breaks_stops_the_call(stage: Hooked, body: str) -> None:
    stage.hook("before_tool", body, tool="write|edit")
    files = stage.everything()
    wrote, read = stage.called(
        ("write", {"path": "b.txt", "content": "x"}),
        ("read", {"path": "a.txt"}),
        options=("--mode", "yolo"),
    )
    assert (wrote["result"]["failed"], read["result"]["failed"]) == (True, False)
    assert (wrote["verdict"], wrote["decided"].startswith("hook")) == ("deny", True)
    assert stage.everything() == files


def test_f134_a_no_of_a_hook_says_that_a_hook_said_it(stage: Hooked) -> None:
    stage.hook("before_tool", "echo never on Fridays >&2; exit 2", tool="write")
    (wrote,) = stage.called(("write", {"path": "b.txt", "content": "x"}), options=YOLO)
    assert wrote["result"]["text"].startswith("Denied by a hook: never on Fridays. ")
    [row] = stage.ok("log", "--decisions")["decisions"]
    assert (row["what"], row["decision"]) == ("write: edit b.txt", "deny")
    assert row["reason"] == "hook (before_tool: write): Denied by a hook: never on Fridays."
    shown = stage.run("log", "--decisions").out.decode()
    assert "Denied by a hook: never on Fridays." in shown


def test_f134_runs_by_permit_and_plans_of_a_model_name_their_session(stage: Hooked) -> None:
    for on in ("plan_proposed", "run_finished"):
        stage.hook(on, NOTE)
    stage.called(("write", {"path": "b.txt", "content": "x"}), options=YOLO)
    plan = {"tool": "write_plan", "args": {"text": "# Say\n\nHello.\n"}}
    stage.play({"calls": [plan]}, {"calls": [{"tool": "present_plan", "args": {}}]})
    second, first = stage.ok("sessions", "list")["sessions"]
    ran, proposed = stage.heard()
    told = [ran[name] for name in ("on", "session", "agent", "mode", "outcome")]
    assert told == ["run_finished", first["session"], "build", "yolo", "done"]
    assert ran["run"]
    assert "plan" not in ran
    told = [proposed[name] for name in ("on", "session", "agent", "mode", "plan")]
    wanted = ["plan_proposed", second["session"], "plan", "plan", second["plan_id"]]
    assert told == wanted


def test_f134_a_missing_or_slow_hook_is_a_no(stage: Hooked) -> None:
    stage.hook("before_tool", "sleep 1000", timeout_s=0.2, tool="read")
    stage.hook("before_tool", "exit 0", tool="list").unlink()
    read, listed = stage.called(("read", {"path": "a.txt"}), ("list", {"path": "."}))
    assert (read["result"]["failed"], listed["result"]["failed"]) == (True, True)
    assert "reached its limit of time" in read["result"]["text"]
    assert NO_PROGRAM in listed["result"]["text"]


def test_no_hook_allows_what_the_gate_refuses(stage: Hooked) -> None:
    stage.hook("before_tool", 'echo \'{"decision": "allow"}\'; exit 0')
    files = stage.everything()
    never, nor_here, later, unasked = stage.called(
        ("shell", {"command": "rm -rf .", "stage": True}),
        ("shell", {"command": "rm -rf ."}),
        ("shell", {"command": "rm a.txt", "stage": True}),
        ("shell", {"command": "rm a.txt"}),
    )
    assert never["result"]["failed"]
    assert nor_here["verdict"] == "deny"
    assert not really_ran(unasked)
    assert (later["verdict"], later["result"]["failed"]) == ("stage", False)
    assert stage.everything() == files


def test_words_of_hooks_reach_the_model(stage: Hooked) -> None:
    stage.hook("before_tool", "echo mind the gap")
    stage.hook("after_tool", "echo well read")
    (ended,) = stage.called(("read", {"path": "a.txt"}))
    assert hook_message("mind the gap") in ended["result"]["text"]
    assert hook_message("well read") in ended["result"]["text"]


def test_f134_a_prompt_can_be_refused(stage: Hooked) -> None:
    stage.hook("prompt", f"{NOTE}; echo no names >&2; exit 2")
    answer = stage.play({"text": "Never said."}, said="Ask Bob")
    assert answer.code == 7
    assert b"no names" in answer.out + answer.err
    assert [each["prompt"] for each in stage.heard()] == ["Ask Bob"]
    assert stage.ok("sessions", "list")["sessions"] == []


def test_f134_plans_and_runs_are_heard_of(stage: Hooked) -> None:
    for on in ("plan_proposed", "plan_approved", "run_finished"):
        stage.hook(on, f"{NOTE}; exit 2")  # a no comes too late
    stage.plan()
    stage.write("b.txt", b"two\n")
    digest = stage.approve()
    built = stage.run("build", "--json")
    assert built.code == 0
    assert b"exited with code 2" in built.err
    heard = stage.heard()
    assert [each["on"] for each in heard] == ["plan_proposed", "plan_approved", "run_finished"]
    assert {each["digest"] for each in heard} == {digest}
    assert (heard[-1]["outcome"], heard[-1]["state"]) == ("done", "COMPLETED")
    assert stage.undo().code == 0
    assert [each["on"] for each in stage.heard()][3:] == ["run_finished"]


def test_a_confined_hook_changes_nothing(stage: Hooked) -> None:
    body = f"touch {stage.root}/made; echo x > {stage.root}/a.txt; exit 0"
    stage.hook("before_tool", body, confined=True)
    files = stage.everything()
    (ended,) = stage.called(("read", {"path": "a.txt"}))
    assert not ended["result"]["failed"]
    assert stage.everything() == files


def test_an_unconfined_hook_gets_no_keys_of_providers(stage: Hooked) -> None:
    stage.env |= {"OPENAI_API_KEY": "sk-secret", "HARMLESS": "1"}
    stage.hook("before_tool", 'echo "$OPENAI_API_KEY+$HARMLESS"')
    (ended,) = stage.called(("read", {"path": "a.txt"}))
    assert hook_message("+1") in ended["result"]["text"]
