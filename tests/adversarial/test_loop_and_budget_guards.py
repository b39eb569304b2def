"""Loops, budgets and secrets through the real command line, without anybody to ask."""

from pathlib import Path
from typing import Any

import pytest
from tests.adversarial.harness import Stage, events, final

from assent.agent.loop_guard import CallRepeat, all_failed_text, repeat_text
from assent.core.text.secrets import redaction_text

KEY = "AKIA" + "Z7Q4X2M9K1B8W3LP"
READ = {"calls": [{"tool": "read", "args": {"path": "a.txt"}}]}
DONE = {"text": "That is all."}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    found = Stage(tmp_path)
    found.put("a.txt", b"one\n")
    return found


def ends(
    stage: Stage, *turns: dict[str, Any], options: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    answer = stage.play(*turns, options=options)
    return [event["body"] for event in events(answer) if event["kind"] == "call_ended"]


def test_f106_f107_the_same_call_is_warned_of_and_without_a_person_refused(stage: Stage) -> None:
    found = ends(stage, READ, READ, READ, READ, DONE)
    assert [each["result"]["failed"] for each in found[:3]] == [False, False, True]
    assert repeat_text(CallRepeat(2)) in found[1]["result"]["text"]
    assert all(each["result"]["failed"] for each in found[2:])


def test_f106_a_cycle_over_many_steps_is_noticed(stage: Stage) -> None:
    stage.put("b.txt", b"two\n")
    other = {"calls": [{"tool": "read", "args": {"path": "b.txt"}}]}
    found = ends(stage, READ, other, READ, other, READ, other, DONE)
    assert [each["result"]["failed"] for each in found[:5]] == [False] * 4 + [True]


def call(tool: str, **args: object) -> dict[str, Any]:
    return {"tool": tool, "args": args}


def one_by_one(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"calls": [each]} for each in calls]


def failed(found: list[dict[str, Any]]) -> list[bool]:
    return [each["result"]["failed"] for each in found]


YOLO = ("--mode", "yolo")
MISSING = [call("read", path=f"missing-{n}.txt") for n in range(3)]
NO_MATCH = [
    call("shell", command=line)
    for line in (
        "grep nothing a.txt", "cat a.txt | grep nothing", "test -f missing",
        "diff a.txt b.txt", "cmp a.txt b.txt", "rg nothing a.txt", "git grep --no-index nothing",
    )
]  # fmt: skip
MALFORMED = [call("edit", path="a.txt", old=f"not there {n}", new="x") for n in range(4)]
UNFIT_READS = [call("read", file_name=f"a{n}.txt") for n in range(3)]
CRASHES = [call("shell", command=f"sh -c 'exit {n}'") for n in (3, 4, 5)]


def test_f108_a_streak_of_failures_is_stopped(stage: Stage) -> None:
    good = call("shell", command="touch b.txt")
    found = ends(stage, *one_by_one(*CRASHES, good, good), DONE, options=YOLO)
    assert failed(found) == [True] * 5
    assert all_failed_text(3) in found[2]["result"]["text"]
    assert all(all_failed_text(3) in each["result"]["text"] for each in found[3:])
    assert b"b.txt" not in stage.files()


GOOD_READ = call("read", path="a.txt")
GOOD_EDIT = call("edit", path="a.txt", old="one", new="two")


@pytest.mark.parametrize(
    ("calls", "good"),
    [
        (MISSING, GOOD_READ),
        (MALFORMED, GOOD_EDIT),
        (MALFORMED, GOOD_READ),
        (UNFIT_READS, GOOD_READ),
    ],
)
@pytest.mark.parametrize("together", [True, False])
def test_f108_after_calls_that_did_nothing_a_corrected_one_runs(
    stage: Stage, calls: list[dict[str, Any]], good: dict[str, Any], together: bool
) -> None:
    turns = [{"calls": calls}] if together else one_by_one(*calls)
    found = ends(stage, *turns, {"calls": [good]}, DONE)
    assert failed(found) == [*[True] * len(calls), False]


@pytest.mark.parametrize("options", [(), YOLO])
def test_f108_an_exit_code_that_is_an_answer_is_no_failure(
    stage: Stage, options: tuple[str, ...]
) -> None:
    stage.put("b.txt", b"two\n")
    found = ends(stage, *one_by_one(*NO_MATCH), READ, DONE, options=options)
    assert failed(found) == [False] * (len(NO_MATCH) + 1)
    assert "Exit code 1." in found[0]["result"]["text"]


def test_f108_crashes_of_one_answer_are_one_failure(stage: Stage) -> None:
    good = call("shell", command="touch b.txt")
    found = ends(stage, {"calls": CRASHES}, {"calls": [good]}, DONE, options=YOLO)
    assert failed(found) == [True, True, True, False]
    assert b"b.txt" in stage.files()


def test_f108_reading_goes_on_after_any_failures(stage: Stage) -> None:
    reads = READ, {"calls": [call("shell", command="cat a.txt")]}
    for each in reads:
        found = ends(stage, *one_by_one(*CRASHES, CRASHES[0]), each, DONE, options=YOLO)
        assert failed(found) == [True, True, True, True, False]


def test_f108_different_commands_do_not_fail_alike(stage: Stage) -> None:
    turns = []
    for number, crash in enumerate([*CRASHES, call("shell", command="sh -c 'exit 6'")]):
        turns += one_by_one(crash, call("shell", command=f"touch b{number}"))
    found = ends(stage, *turns, DONE, options=YOLO)
    assert failed(found) == [True, False] * 4


def test_f110_a_budget_of_tokens_ends_with_what_is_kept(stage: Stage) -> None:
    answer = stage.play(READ, DONE, options=("--max-tokens", "1"))
    ended = [event["body"] for event in events(answer) if event["kind"] == "turn_ended"]
    assert [each["why"] for each in ended] == ["budget"]
    assert "Messages and staged changes are kept" in ended[0]["words"]
    assert final(answer)["why"] == "budget"


def test_f92_no_secret_gets_into_results_the_stream_or_the_log(stage: Stage) -> None:
    stage.put("a.txt", f"aws = {KEY}\n".encode())
    answer = stage.play(READ, {"text": f"It is {KEY}."})
    assert [
        answer.out.count(word.encode()) > 0 for word in (KEY, redaction_text("AWS access key"))
    ] == [
        False,
        True,
    ]
    assert KEY.encode() not in stage.run("log", "--json").out


UNKNOWN = [{"calls": [{"tool": f"none{n}", "args": {}}]} for n in range(40)]
UNFIT = [{"calls": [{"tool": "read", "args": {"nope": n}}]} for n in range(40)]
DENIED = [{"calls": [{"tool": "write", "args": {"path": ".git/x", "content": "x"}}]}] * 40
SPELLED = [{"calls": [{"tool": "read", "args": {"path": "./" * n + "a.txt"}}]} for n in range(40)]


@pytest.mark.parametrize("turns", [[READ] * 40, UNKNOWN, UNFIT, DENIED, SPELLED])
def test_f107_a_model_that_does_not_stop_is_stopped(
    stage: Stage, turns: list[dict[str, Any]]
) -> None:
    answer = stage.play(*turns, DONE)
    ended = [event["body"] for event in events(answer) if event["kind"] == "turn_ended"]
    steps = [event for event in events(answer) if event["kind"] == "step_started"]
    assert [each["why"] for each in ended] == ["limit"]
    assert all(word in ended[0]["words"] for word in ("5 answers in a row", "is kept", "assent -c"))
    assert len(steps) == 7


def test_f107_how_long_a_stubborn_model_is_heard_is_a_setting(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "[loops]\ngive_up = 1\n")
    stage.put("a.txt", b"one\n")
    answer = stage.play(READ, READ, READ, READ, DONE)
    assert final(answer)["why"] == "limit"
    assert [event["kind"] for event in events(answer)].count("step_started") == 3


SLEEPS = {"calls": [{"tool": "shell", "args": {"command": "sleep 60; touch late"}}]}


def test_f110_a_command_ends_with_the_time_of_its_turn(stage: Stage) -> None:
    for seconds in (1, 5, 25):  # on a busy machine the time may be over before the command begins
        answer = stage.play(SLEEPS, DONE, options=("--mode", "yolo", "--max-time", str(seconds)))
        assert final(answer)["why"] == "budget"
        found = [event["body"] for event in events(answer) if event["kind"] == "call_ended"]
        if found:
            break
    assert [each["result"]["failed"] for each in found] == [True]
    assert b"late" not in stage.files()


def test_f110_steps_are_counted_for_each_session_and_tokens_for_all(stage: Stage) -> None:
    task = {"description": "look", "prompt": "Look.", "agent": "general"}
    works: list[dict[str, Any]] = [
        {"calls": [{"tool": "shell", "args": {"command": f"echo {n}"}}]} for n in range(5)
    ]
    children = {"general": [*works, DONE]}
    turns = ({"calls": [{"tool": "task", "args": task}]}, DONE)
    options = ("--mode", "yolo", "--max-turns", "3")
    answer = stage.play(*turns, options=options, children=children)
    assert [event["kind"] for event in events(answer)].count("step_started") == 8
    assert final(answer)["steps"] == 2
    options = ("--mode", "yolo", "--max-tokens", "1")
    answer = stage.play(*turns, options=options, children=children)
    assert [event["kind"] for event in events(answer)].count("step_started") == 1
