"""Answers at the terminal of a session: in words, remembered, from elsewhere, after a crash."""

import json
import os
import signal

from tests.cli.scripts import Talker, turn, write
from tests.cli.terminal import Terminal

from assent.tools.dispatcher import NOT_ALLOWED

SCREEN = ("stdin", "stdout", "stderr")
HINT = b"free text as feedback (Enter: no, end the turn): "
CONFIRM = b"y, n, or free text (Enter: no): "
MODEL = ("--model", "scripted:script.json")
WRITES = turn("May I?", write("hello.txt", "hello\n"))


def typed(talker: Talker, *line: str) -> Terminal:
    return Terminal(talker.world, *line, *MODEL, shared=SCREEN)


def greeted(talker: Talker) -> bytes | None:
    path = talker.world.root / "hello.txt"
    return path.read_bytes() if path.exists() else None


def ended(talker: Talker) -> list[str]:
    """What the model was told about its calls."""
    events = talker.world.ok("sessions", "export", "greet-me")["events"]
    return [row["body"]["result"]["text"] for row in events if row["kind"] == "call_ended"]


def test_f41_f85_any_other_words_are_a_no_and_the_model_hears_them(talker: Talker) -> None:
    talker.script(WRITES, turn("I may not."))
    terminal = typed(talker, "Greet me", "--mode", "ask")
    terminal.wait_for(HINT)
    terminal.type(b"yo, not there\n")
    terminal.wait_for(b"I may not.")
    assert terminal.end().code == 0
    assert greeted(talker) is None
    [told] = ended(talker)
    assert f"{NOT_ALLOWED}yo, not there." in told


def test_f81_f82_f83_a_remembered_yes_is_confirmed_counts_and_can_be_revoked(
    talker: Talker,
) -> None:
    again = turn("Again.", write("hello.txt", "hello again\n"))
    talker.script(WRITES, again, turn("I did."))
    terminal = typed(talker, "Greet me", "--mode", "ask")
    terminal.wait_for(HINT)
    terminal.type(b"3\n")
    terminal.wait_for(b"Confirm?")
    terminal.wait_for(CONFIRM)
    terminal.type(b"y\n")
    terminal.wait_for(b"I did.")
    assert terminal.end().code == 0
    assert terminal.screen.count(b"Allow edit to hello.txt?") == 1
    assert greeted(talker) == b"hello again\n"
    [row] = talker.world.ok("questions", "list", "--all")["questions"]
    talker.world.ok("rules", "revoke", row["grant"])
    talker.script(turn("May I?", write("hello.txt", "bye\n")), turn("Done."))
    terminal = typed(talker, "Once more", "--mode", "ask")
    terminal.wait_for(HINT)
    terminal.type(b"\n")
    assert terminal.end().code == 4
    assert greeted(talker) == b"hello again\n"


def test_f95_an_answer_from_elsewhere_lets_a_session_go_on(talker: Talker) -> None:
    """The person walks away from the terminal, and answers in another one."""
    world = talker.world
    talker.script(WRITES, turn("I did."))
    terminal = typed(talker, "Greet me", "--mode", "ask")
    terminal.wait_for(HINT)
    [row] = world.ok("questions", "list")["questions"]
    world.ok("questions", "answer", row["question"], "yes", "--digest", row["digest"])
    terminal.wait_for(b"(digest): Yes.")
    assert b"Answered elsewhere by " in terminal.screen
    terminal.wait_for(b"I did.")
    assert terminal.end().code == 0
    assert greeted(talker) == b"hello\n"


def test_f95_a_question_of_a_killed_session_is_answered_and_gone_on_with(talker: Talker) -> None:
    world = talker.world
    talker.script(WRITES, turn("I did."))
    terminal = typed(talker, "Greet me", "--mode", "ask")
    terminal.wait_for(HINT)
    os.kill(terminal.pid, signal.SIGKILL)
    terminal.end()
    [row] = world.ok("questions", "list")["questions"]
    assert row["standing"] == "open"
    answer = world.ok("questions", "answer", row["question"], "yes", "--digest", row["digest"])
    assert answer["next"] == "assent -r greet-me"
    done = world.run("-c", "-p", "", *MODEL, "--json")
    assert done.code == 0, done
    assert json.loads(done.out)["result"] == "I did."
    assert greeted(talker) == b"hello\n"
    [known] = world.ok("questions", "list", "--all")["questions"]
    assert known["question"] == row["question"]


def test_f94_without_a_person_a_question_is_a_no_or_waits(talker: Talker) -> None:
    world = talker.world
    talker.script(WRITES, turn("I may not."))
    done = world.run("-p", "Greet me", "--mode", "ask", *MODEL, "--json")
    assert json.loads(done.out)["result"] == "I may not."
    assert (greeted(talker), world.ok("questions", "list")["questions"]) == (None, [])
    talker.script(WRITES, turn("I did."))
    world.run("-p", "Greet me again", "--mode", "ask", "--ask-later", *MODEL, "--json")
    [row] = world.ok("questions", "list")["questions"]
    assert (greeted(talker), row["slug"]) == (None, "greet-me-again")
    world.ok("questions", "answer", row["question"], "yes", "--digest", row["digest"])
    done = world.run("-r", "greet-me-again", "-p", "", *MODEL, "--json")
    assert json.loads(done.out)["result"] == "I did."
    assert greeted(talker) == b"hello\n"
