"""Hooks before a change to files, after an answer, and before a compaction, by the command line."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.adversarial.harness import final
from tests.adversarial.test_hooks import CONSENT, NOTE, YOLO, Hooked
from tests.cli.harness import PROGRAM
from tests.cli.terminal import Terminal

from assent.core.digest import sha256
from assent.sandbox.runner.user_program import NO_PROGRAM

LONG = "word " * 800
PROJECT = ".opencode/assent.toml"
MAKES = ("write", {"path": "b.txt", "content": "two\n"})


@pytest.fixture
def stage(tmp_path: Path) -> Hooked:
    found = Hooked(tmp_path)
    found.put("a.txt", b"one\n")
    found.ok("init")
    return found


def project(stage: Hooked) -> dict[bytes, object]:
    """The files of the project."""
    return {name: what for name, what in stage.everything().items() if name.startswith(b"project")}


def staged(stage: Hooked) -> str:
    """A plan that was approved, and what it is called."""
    stage.plan()
    stage.write("b.txt", b"two\n")
    stage.ok("stage", "delete", "a.txt")
    return stage.approve()


def project_hook(stage: Hooked, on: str, body: str) -> tuple[str, str]:
    """Gives the project a hook, and returns the file that says so, with its content."""
    stage.hook(on, body)
    own = stage.config.read_text("utf-8")
    at = own.index("[[hooks]]")
    stage.config.write_text(own[:at], encoding="utf-8")
    stage.put(PROJECT, own[at:].encode())
    return PROJECT, own[at:]


def test_f134_a_hook_sees_exactly_what_is_about_to_be_written(stage: Hooked) -> None:
    stage.hook("before_write", f"{NOTE}; ls {stage.root} >> {stage.base}/seen")
    (wrote,) = stage.called(MAKES, options=YOLO)
    assert not wrote["result"]["failed"]
    (heard,) = stage.heard()
    assert (heard["on"], heard["mode"], heard["call"]) == ("before_write", "yolo", wrote["call"])
    assert heard["session"]
    (operation,) = heard["operations"]
    assert (operation["kind"], operation["path"]) == ("create", "b.txt")
    assert (operation["content"], operation["mode"]) == ("two\n", "644")
    assert (stage.base / "seen").read_text("utf-8") == "a.txt\n"  # it was not there yet
    assert (stage.root / "b.txt").read_text("utf-8") == "two\n"


def test_f134_a_build_asks_hooks_before_the_approval_is_used(stage: Hooked) -> None:
    digest = staged(stage)
    hook = stage.hook("before_write", f"{NOTE}; echo not on Fridays >&2; exit 2")
    files = project(stage)
    found = stage.no(7, "build")
    assert "Denied by a hook: not on Fridays." in found["message"]
    assert "the approval is still valid" in found["message"]
    assert project(stage) == files
    (heard,) = stage.heard()
    assert (heard["digest"], heard["state"]) == (digest, "AWAITING_APPROVAL")
    assert [(each["kind"], each["path"]) for each in heard["operations"]] == [
        ("create", "b.txt"),
        ("delete", "a.txt"),
    ]
    hook.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    assert stage.ok("build")["outcome"] == "done"


@pytest.mark.parametrize(
    "decision",
    [
        ["approve", "--without", "2", "--digest", "PART"],
        ["reject", "--note", "Not yet."],
        ["propose"],
    ],
    ids=lambda line: line[0],
)
def test_a_build_does_not_start_when_its_plan_changes_in_preparation(
    stage: Hooked, decision: list[str]
) -> None:
    staged(stage)
    part = stage.ok("approve", "--without", "2", "--dry-run")["digest"]
    line = [part if word == "PART" else word for word in decision]
    env = [f"{name}={value}" for name, value in stage.env.items()]
    command = shlex.join(["env", *env, *PROGRAM, "-C", str(stage.root), *line])
    if line == ["propose"]:
        text = shlex.quote(str(stage.root / stage.ok("plan", "show")["path"]))
        command = f"echo More. >> {text}; {command}"
    stage.hook("before_write", f"{command} > {stage.base}/said 2>&1")
    files = project(stage)
    assert stage.no(5, "build")["error"] == "moved"
    assert (stage.base / "said").read_bytes()
    stage.config.write_text(CONSENT, encoding="utf-8")
    assert project(stage) == files
    assert stage.ok("runs", "list")["runs"] == []
    if line[0] == "approve":
        done = stage.ok("build")
        assert [each["result"] for each in done["operations"]] == ["done"]
        assert (stage.root / "a.txt").exists()


@pytest.mark.parametrize("body", ["echo never >&2; exit 2", "exit 1", "kill -KILL $$", "yes"])
def test_f134_a_hook_that_objects_or_breaks_stops_the_change(stage: Hooked, body: str) -> None:
    stage.hook("before_write", body)
    files = stage.everything()
    wrote, read = stage.called(MAKES, ("read", {"path": "a.txt"}), options=YOLO)
    assert (wrote["result"]["failed"], read["result"]["failed"]) == (True, False)
    assert wrote["result"]["text"].startswith("Denied by a hook: ")
    assert stage.everything() == files
    assert "permit_given" not in stage.logged()


def test_f134_a_slow_or_missing_hook_stops_a_build(stage: Hooked) -> None:
    staged(stage)
    hook = stage.hook("before_write", "sleep 1000", timeout_s=0.2)
    files = project(stage)
    assert "reached its limit of time" in stage.no(7, "build")["message"]
    hook.unlink()
    assert NO_PROGRAM in stage.no(7, "build")["message"]
    assert project(stage) == files


def test_f134_an_undo_asks_hooks_and_a_plan_in_plan_mode_is_only_staged(stage: Hooked) -> None:
    staged(stage)
    stage.ok("build")
    stage.hook("before_write", f"{NOTE}; exit 2")
    assert stage.undo().code == 7
    assert [each["kind"] for each in stage.heard()[0]["operations"]] == ["create", "delete"]
    (wrote,) = stage.called(("write", {"path": "c.txt", "content": "x"}))
    assert (wrote["verdict"], wrote["result"]["failed"]) == ("stage", False)
    assert len(stage.heard()) == 1  # what is staged changes no file


def test_a_hook_that_reads_nothing_may_let_a_large_change_pass(stage: Hooked) -> None:
    stage.hook("before_write", "exit 0")
    calls = [("write", {"path": f"{n}.txt", "content": "x" * 60_000}) for n in range(3)]
    calls.append(("write", {"path": "big.txt", "content": "x" * 200_000}))
    assert [each["result"]["failed"] for each in stage.called(*calls, options=YOLO)] == [False] * 4
    stage.hook("before_write", NOTE)
    stage.called(
        ("write", {"path": "0.txt", "content": "y" * 200_000}),
        ("write", {"path": "1.txt", "content": "\u00e4"}),
        options=YOLO,
    )
    first, second = stage.heard()
    assert (first["operations"][0]["kind"], first["operations"][0]["content"]) == ("edit", None)
    assert second["operations"][0]["content"] == "\u00e4"


def test_f134_hooks_hear_every_answer_of_a_model(stage: Hooked) -> None:
    stage.hook("response", f"{NOTE}; echo ignored; exit 2")  # a no comes too late
    call = {"tool": "read", "args": {"path": "a.txt"}}
    answer = stage.play({"text": "I look.", "calls": [call]}, {"text": "Done."})
    assert (answer.code, final(answer)["result"]) == (0, "Done.")
    first, last = stage.heard()
    assert (first["on"], first["response"], first["agent"]) == ("response", "I look.", "plan")
    assert [(each["tool"], each["arguments"]) for each in first["calls"]] == [
        ("read", {"path": "a.txt"})
    ]
    assert (last["response"], last["calls"]) == ("Done.", [])
    assert last["model"].startswith("scripted:")
    assert b"exited with code 2" in answer.err
    assert b"ignored" not in answer.out


def test_f134_a_hook_can_keep_a_session_from_being_compacted(stage: Hooked) -> None:
    answer = stage.play({"text": LONG}, {"text": "Fine."})
    assert answer.code == 0
    hook = stage.hook("before_compact", f"{NOTE}; echo keep it >&2; exit 2")
    model = ("--model", f"scripted:{stage.script}")
    found = stage.no(7, "sessions", "compact", *model)
    assert "A hook blocked the compaction of this session: keep it." in found["message"]
    (heard,) = stage.heard()
    told: dict[str, Any] = {"on": "before_compact", "cause": "user", "compactions": 0}
    assert {key: heard[key] for key in told} == told
    assert heard["messages"] == 2
    assert "compacted" not in stage.logged()
    hook.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")  # that is only a warning
    done = stage.run("sessions", "compact", *model)
    assert done.code == 0
    assert b"exited with code 1" in done.err
    assert "compacted" in stage.logged()


def test_f134_hooks_of_a_project_count_only_once_they_are_trusted(stage: Hooked) -> None:
    _, line = project_hook(stage, "before_write", "exit 2")
    (wrote,) = stage.called(MAKES, options=YOLO)
    assert not wrote["result"]["failed"]
    shown = stage.run("trust", "show")
    assert b"before every change to files" in shown.out
    assert re.findall(r'run = \["(.+)"\]', line)[0].encode() in shown.out


def test_f134_a_trusted_hook_of_a_project_stops_changes_until_trust_is_revoked(
    stage: Hooked,
) -> None:
    digest = staged(stage)
    path, line = project_hook(stage, "before_write", "echo not this file >&2; exit 2")
    terminal = Terminal(stage, "trust", "give", path, "--json")
    shown = sha256((stage.root / path).read_bytes())[:8]
    assert terminal.answer(shown.encode() + b"\n").code == 0
    files = project(stage)
    found = stage.no(7, "build")
    assert "Denied by a hook: not this file." in found["message"]
    assert "the approval is still valid" in found["message"]
    assert project(stage) == files
    assert stage.ok("status")["plan"]["digest"] == digest
    (wrote,) = stage.called(("write", {"path": "c.txt", "content": "x"}), options=YOLO)
    assert wrote["result"]["text"].startswith("Denied by a hook: not this file")
    assert not (stage.root / "c.txt").exists()
    stage.put(path, line.replace("hook0", "other").encode())  # another content is not trusted
    (wrote,) = stage.called(("write", {"path": "c.txt", "content": "x"}), options=YOLO)
    assert not wrote["result"]["failed"]
    stage.put(path, line.encode())
    stage.ok("trust", "revoke", path)
    assert stage.ok("build")["outcome"] == "done"
