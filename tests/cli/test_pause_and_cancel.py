"""`assent sessions pause|cancel|resume|retry`, and where the list says that sessions stand."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.adversarial.harness import Stage, events, final
from tests.cli.harness import PROGRAM
from tests.support import forked_python

TASKS = [
    {"tool": "task", "args": {"prompt": "Look", "agent": "explore", "description": f"Look {n}"}}
    for n in (1, 2)
]

PATIENCE = 60
NEVER = 600_000  # milliseconds: no test waits so long for an answer


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def with_children(stage: Stage, *turns: dict[str, Any], **children: list[dict[str, Any]]) -> None:
    """Writes a script in which children have turns of their own."""
    script = {"turns": turns, "children": children}
    stage.script.write_text(json.dumps(script), encoding="utf-8")


def states(stage: Stage) -> list[tuple[str, str]]:
    return [(row["slug"], row["state"]) for row in stage.ok("sessions", "list")["sessions"]]


def test_f111_a_session_is_paused_cancelled_and_resumed(stage: Stage) -> None:
    stage.play({"text": "First."}, {"text": "Second."}, said="Do it")
    assert states(stage) == [("do-it", "idle")]
    paused = stage.ok("sessions", "pause", "do-it", "--reason", "Lunch.")
    assert (paused["state"], states(stage)) == ("paused", [("do-it", "paused")])
    text = stage.run("sessions", "cancel").out.decode()
    assert "The session is idle and now marked cancelled." in text
    assert states(stage) == [("do-it", "cancelled")]
    resumed = stage.run("sessions", "resume", "do-it", "--json")
    assert (resumed.code, resumed.json["result"]) == (0, "Second.")
    assert states(stage) == [("do-it", "idle")]


def test_f111_a_failed_session_says_why_and_is_tried_again(stage: Stage) -> None:
    failed = stage.play(said="Do it")  # the script has no turn at all
    assert failed.code == 1
    [row] = stage.ok("sessions", "list")["sessions"]
    assert row["state"] == "failed"
    assert "has 0 turns" in row["failure"]
    assert "(failed: " in stage.run("sessions", "list").out.decode()
    stage.script.write_text('{"turns": [{}, {"text": "Better."}]}', encoding="utf-8")
    again = stage.run("sessions", "retry", "do-it", "--json")
    assert (again.code, again.json["result"]) == (0, "Better.")
    said = stage.run("sessions", "show").out.decode()
    assert "Assent (retry)" in said


def test_children_stand_behind_their_parents(stage: Stage) -> None:
    looks = [{"text": "Seen."}]
    with_children(stage, {"calls": TASKS}, {"text": "Thanks."}, explore=looks)
    answer = stage.go_on("Do it")
    assert (answer.code, final(answer)["result"]) == (0, "Thanks.")
    assert states(stage) == [
        ("do-it", "idle"),
        ("do-it-explore-1", "idle"),
        ("do-it-explore-2", "idle"),
    ]
    lines = stage.run("sessions", "list").out.decode().splitlines()
    assert [line[12:].partition(" plan")[0].rstrip() for line in lines[1:]] == [
        "  do-it",
        "    do-it-explore-1",
        "    do-it-explore-2",
    ]
    told = {event["session"] for event in events(answer)}
    assert len(told) == 3


def test_a_session_that_nobody_knows_is_not_halted(stage: Stage) -> None:
    for verb in ("pause", "cancel", "resume", "retry"):
        assert stage.no(1, "sessions", verb, "nobody")["error"] == "not_found"


def test_an_empty_name_is_nobody_s_and_not_that_of_the_last_session(stage: Stage) -> None:
    stage.play({"text": "First."}, said="Do it")
    verbs = ("show", "rename", "fork", "export", "delete", "pause", "cancel", "resume", "retry")
    for verb in verbs:
        for name in ("", " "):
            assert stage.no(2, "sessions", verb, name)["error"] == "usage", verb
    for line in (("undo", ""), ("rules", "revoke", ""), ("review", "--plan", "")):
        assert stage.no(2, *line)["error"] == "usage", line
    for option in ("-r", "--plan"):
        assert stage.no(2, "-p", "Go on", option, "")["error"] == "usage"
    assert states(stage) == [("do-it", "idle")]


def test_f111_only_what_was_paused_or_broken_off_is_resumed(stage: Stage) -> None:
    stage.play({"text": "First."}, said="Do it")
    refused = stage.no(1, "sessions", "resume", "do-it")
    assert "is not paused or interrupted" in refused["message"]


def test_f111_a_cancelled_session_is_only_gone_on_with_by_its_name(stage: Stage) -> None:
    stage.play({"text": "First."}, {"text": "Second."}, said="Do it")
    text = stage.run("sessions", "cancel", "do-it").out.decode()
    assert "Next: assent sessions resume do-it\n" in text
    assert "Next: assent sessions resume do-it\n" in stage.run("sessions", "pause").out.decode()
    stage.run("sessions", "cancel")
    refused = stage.no(1, "-c", "-p", "Go on")
    assert "was cancelled" in refused["message"]
    assert refused["next"].endswith(" sessions resume do-it")
    assert stage.run("sessions", "resume", "do-it").code == 0


@pytest.mark.parametrize("verb", ["pause", "cancel"])
def test_f111_a_halt_breaks_off_the_wait_and_nothing_is_done_after_it(
    stage: Stage, verb: str
) -> None:
    write = {"tool": "write", "args": {"path": "b.txt", "content": "new"}}
    late = {"calls": [write], "delay_ms": NEVER}
    script = {"turns": [late, {"text": "Never said."}]}
    stage.script.write_text(json.dumps(script), encoding="utf-8")
    line = ["-p", "Do it", "--mode", "yolo", "--model", f"scripted:{stage.script}", "--json"]
    process = forked_python.Popen(
        [*PROGRAM, *line],
        cwd=stage.root,
        env=stage.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    while not any(row["steps"] for row in stage.ok("sessions", "list")["sessions"]):
        assert process.poll() is None
    stage.ok("sessions", verb, "do-it")
    out, _ = process.communicate(timeout=PATIENCE)  # long before the model would have answered
    how = {"pause": "paused", "cancel": "cancelled"}[verb]
    row = json.loads(out)
    assert (process.returncode, row["exit"], row["why"]) == (130, 130, how)
    assert row["message"] == f"{how.capitalize()} from another process."
    assert row["next"] == "assent sessions resume do-it"
    assert states(stage) == [("do-it", how)]
    assert not (stage.root / "b.txt").exists()


def test_f111_the_first_interrupt_stops_children_in_good_order(stage: Stage) -> None:
    slow = [{"text": "Never said.", "delay_ms": NEVER}]
    with_children(stage, {"calls": TASKS}, {"text": "Never said."}, explore=slow)
    line = ["-p", "Do it", "--model", f"scripted:{stage.script}", "--output-format", "stream-json"]
    process = forked_python.Popen(
        [*PROGRAM, *line],
        cwd=stage.root,
        env=stage.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    working: set[str] = set()
    while len(working) < 3:  # the parent and both children
        event = json.loads(process.stdout.readline())
        working |= {event["session"]} if event["kind"] == "step_started" else set()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert [state for _, state in states(stage)] == ["interrupted"] * 3


def test_f111_a_session_whose_process_was_killed_is_not_at_work(stage: Stage) -> None:
    slow = [{"text": "Never said.", "delay_ms": NEVER}]
    with_children(stage, {"calls": TASKS}, {"text": "Never said."}, explore=slow)
    line = ["-p", "Do it", "--model", f"scripted:{stage.script}", "--output-format", "stream-json"]
    with forked_python.Popen(
        [*PROGRAM, *line],
        cwd=stage.root,
        env=stage.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        working: set[str] = set()
        while len(working) < 3:  # the parent and both children
            event = json.loads(process.stdout.readline())
            working |= {event["session"]} if event["kind"] == "step_started" else set()
        assert [state for _, state in states(stage)] == ["working"] * 3
        process.kill()
    assert [state for _, state in states(stage)] == ["interrupted"] * 3
    assert stage.ok("sessions", "show", "do-it")["state"] == "interrupted"
    assert stage.ok("status")["session"]["state"] == "interrupted"
    told = stage.run("sessions", "pause", "do-it").out
    assert b"The session is idle and now marked paused." in told
