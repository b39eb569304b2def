"""`assent -p`: the exit code says how a turn ended, and JSON and stderr say why."""

import json
from typing import Any

import pytest
from tests.cli.harness import Answer, unsandboxed
from tests.cli.scripts import MODEL, PLANS, PRESENT, WRITE_PLAN, Talker, turn, write

from assent.agent.loop.loop import step_limit_text
from assent.agent.loop_guard import stuck_text
from assent.cli.goal.result import DRAFT_LEFT
from assent.sandbox.status import install_command

READ = ("read", {"path": "script.json"})
WHICH = ("question", {"questions": [{"header": "Name", "question": "What name?"}]})
GIT_LOG = ("shell", {"command": "git log"})
STUCK = stuck_text(5)


def both(talker: Talker, *line: str) -> tuple[dict[str, Any], Answer]:
    """Says the same twice, in new sessions; returns the object and the answer in text."""
    found = talker.say("Greet", *line, "--json")
    return found.json, talker.say("Greet", *line)


def test_the_loop_guard_ends_with_1_and_says_why(talker: Talker) -> None:
    talker.script(*[turn("", READ)] * 20)
    row, text = both(talker)
    assert (row["exit"], row["why"], row["error"]) == (1, "limit", "limit")
    assert row["message"].startswith(STUCK)
    assert (text.code, text.out) == (1, b"")
    assert f"assent: {STUCK}" in text.err.decode()
    assert b"\n  next: assent " in text.err


def test_max_turns_ends_with_1_and_a_sentence_on_stderr(talker: Talker) -> None:
    talker.script(turn("", WRITE_PLAN), turn("Summary."))
    row, text = both(talker, "--max-turns", "2")
    assert (row["exit"], row["why"], row["error"]) == (1, "limit", "limit")
    assert (text.code, text.out) == (1, b"Summary.\n")
    assert f"assent: {step_limit_text(2)}".encode() in text.err
    assert f"assent: {DRAFT_LEFT}: 0 operations".encode() in text.err


def test_json_has_the_sentence_on_stderr_too(talker: Talker) -> None:
    talker.script(turn("", READ), turn("Summary."))
    answer = talker.say("Greet", "--max-turns", "2", "--json")
    assert (answer.code, answer.json["exit"]) == (1, 1)
    assert answer.err.startswith(f"assent: {step_limit_text(2)}".encode())


def test_a_spent_budget_is_4(talker: Talker) -> None:
    talker.script(turn("", READ), turn("Never said."))
    row, text = both(talker, "--max-tokens", "1")
    assert (row["exit"], row["why"], text.code) == (4, "budget", 4)


@pytest.mark.parametrize("mode", ["plan", "auto-edit"])
def test_an_open_question_is_4_whatever_was_said_after_it(talker: Talker, mode: str) -> None:
    talker.script(turn("Hm.", WHICH), turn("I need to know."))
    row, text = both(talker, "--mode", mode)
    assert (row["exit"], row["why"], text.code) == (4, "end", 4)
    assert [asked["question"] for asked in row["questions"]] == ["What name?"]


def test_a_presented_plan_is_3_and_words_about_it_are_0(talker: Talker) -> None:
    talker.script(turn("Hm.", WHICH), *PLANS, turn("As I said."))
    row = talker.json("Greet", code=3)
    assert (row["why"], row["state"]) == ("presented", "AWAITING_APPROVAL")
    later = talker.json("-c", "Why?")
    assert (later["why"], later["state"], later["digest"]) == (
        "end", "AWAITING_APPROVAL", row["digest"],
    )  # fmt: skip


def test_a_draft_is_named_and_0(talker: Talker) -> None:
    talker.script(turn("", WRITE_PLAN, write("hello.txt", "hello\n")), turn("More tomorrow."))
    row, text = both(talker)
    assert (row["exit"], row["state"], row["operations"]) == (0, "DRAFTING", 1)
    assert row["draft"].endswith("PLAN_greet.md")
    assert (text.code, text.out) == (0, b"More tomorrow.\n")
    assert f"assent: {DRAFT_LEFT}: 1 operation, text in ".encode() in text.err


@pytest.mark.parametrize("mode", ["plan", "yolo"])
def test_a_command_that_lacks_a_sandbox_is_1(talker: Talker, mode: str) -> None:
    line = GIT_LOG if mode == "plan" else ("shell", {"command": "touch a.txt"})
    talker.script(turn("", line), turn("I could not."))
    say = ("-p", "Look", "--model", MODEL, "--mode", mode)
    answer = unsandboxed(talker.world, *say, "--json")
    assert (answer.code, answer.json["error"], answer.json["why"]) == (1, "not_run", "end"), answer
    named = "git log" if mode == "plan" else "touch a.txt"
    install = install_command("bubblewrap")
    assert answer.json["next"] == install
    assert answer.json["not_run"] == {"commands": [named], "next": install}
    assert answer.err.endswith(f"What helps: {install}\n".encode())
    stream = unsandboxed(talker.world, *say, "--output-format", "stream-json")
    assert stream.err.endswith(f"What helps: {install}\n".encode())
    text = unsandboxed(talker.world, *say)
    assert (text.code, text.out) == (1, b"I could not.\n")
    assert f"assent: Not run, because no sandbox works here: {named}.".encode() in text.err
    assert (b"Nothing was staged" in text.err) is (mode == "plan")
    assert f"next: {install}\n".encode() in text.err


def test_a_command_that_lacks_a_sandbox_and_a_plan_are_3(talker: Talker) -> None:
    talker.script(turn("", GIT_LOG, WRITE_PLAN, write("a", "b\n")), turn("", PRESENT))
    say = ("-p", "Look", "--model", MODEL)
    install = install_command("bubblewrap")
    answer = unsandboxed(talker.world, *say, "--json")
    assert (answer.code, answer.json["error"]) == (3, None), answer
    assert answer.json["not_run"] == {"commands": ["git log"], "next": install}
    assert b"Not run, because no sandbox works here: git log." in answer.err
    talker.script(turn("", GIT_LOG, WRITE_PLAN, write("b", "b\n")), turn("", PRESENT))
    text = unsandboxed(talker.world, *say)
    assert text.code == 3
    assert b"Not run, because no sandbox works here: git log." in text.err
    assert f"What helps: {install}\n".encode() in text.err


@pytest.mark.parametrize("line", ["pytest -q", "CI=1 make  all && echo 'a, b' > out.txt"])
@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_a_command_that_needs_a_scratch_copy_is_told_of_as_written_in_every_output(
    talker: Talker, form: str, line: str
) -> None:
    """While planning it is denied, and the turn goes on: nothing failed, yet something lacks."""
    talker.script(turn("", ("shell", {"command": line})), turn("I could not."))
    say = ("-p", "Test", "--model", MODEL, "--output-format", form)
    answer = unsandboxed(talker.world, *say)
    install = install_command("bubblewrap")
    assert answer.code == 0, answer
    assert f"Not run, because no sandbox works here: {line}.".encode() in answer.err
    assert f"What helps: {install}\n".encode() in answer.err
    if form != "text":
        last = json.loads(answer.out.splitlines()[-1])
        row = last["body"] if form == "stream-json" else last
        assert row["not_run"] == {"commands": [line], "next": install}
    if form == "stream-json":
        (ended,) = [row["body"] for row in Talker.rows(answer) if row["kind"] == "call_ended"]
        assert ended["metadata"] == {"lacks": "scratch_copy", "help": install}
