"""Approval at a real terminal: the right eight characters, or no (law 9)."""

import os
import signal

import pytest
from tests.cli.harness import Answer, World
from tests.cli.terminal import QUESTION, Terminal

WRONG = {
    "empty": b"\n",
    "blank": b"   \n",
    "yes": b"yes\n",
    "one letter": b"y\n",
    "end of file": b"\x04",
    "interrupt": b"\x03",
    "typed and interrupted": b"12345678\x03",
}


def asking(world: World) -> str:
    """A proposed plan, and a user who only approves at the terminal."""
    world.put("old.txt", b"old\n")
    world.plan(goal="Ask a person")
    world.write("new.txt", b"new\n")
    world.ok("stage", "delete", "old.txt")
    world.config.unlink()
    return world.propose()


def approvals(world: World) -> int:
    return [event["kind"] for event in world.ok("log")["events"]].count("plan_approved")


def declined(world: World, answer: Answer) -> None:
    assert (answer.code, answer.error["error"]) == (4, "declined"), answer
    assert approvals(world) == 0
    assert world.ok("plan", "show")["approved"] is False


def test_g3_the_first_eight_characters_approve(world: World) -> None:
    digest = asking(world)
    terminal = Terminal(world, "approve", "--json", "--note", "Looked at it")
    answer = terminal.answer(digest[:8].encode() + b"\n")
    assert answer == (0, answer.out, b"")
    assert answer.json["approved"] is True
    (event,) = [e for e in world.ok("log")["events"] if e["kind"] == "plan_approved"]
    approval = event["body"]["approval"]
    assert (approval["digest"], approval["note"]) == (digest, "Looked at it")
    assert approval["approver"]["channel"] == "terminal"


def test_the_review_goes_to_the_terminal_and_never_to_stdout(world: World) -> None:
    digest = asking(world)
    terminal = Terminal(world, "approve")
    answer = terminal.answer(digest[:8].encode() + b"\n")
    before, _, _ = terminal.screen.partition(QUESTION)
    for part in (b"Risks: 1 of 2 operations", b"Ask a person", b"+new", b"-old", digest.encode()):
        assert part in before
    assert b"+new" not in answer.out
    assert b"Risks" not in answer.out
    assert QUESTION not in answer.out + answer.err
    assert answer.out.startswith(b"plan     work\n")


@pytest.mark.parametrize("keys", WRONG.values(), ids=WRONG)
def test_anything_else_is_no(world: World, keys: bytes) -> None:
    asking(world)
    declined(world, Terminal(world, "approve", "--json").answer(keys))


def test_only_exactly_eight_characters_count(world: World) -> None:
    digest = asking(world).encode()
    for keys in (digest[:7], digest[:9], digest, digest[:8].upper() + b"!", b" " + digest[:8]):
        declined(world, Terminal(world, "approve", "--json").answer(keys + b"\n"))


def test_a_full_digest_does_not_answer_for_the_person(world: World) -> None:
    digest = asking(world)
    declined(world, Terminal(world, "approve", "--digest", digest, "--json").answer(b"\n"))
    ended = Terminal(world, "approve", "--digest", digest[:12], "--json")
    assert ended.answer(digest[:8].encode() + b"\n").code == 0


def test_part_of_a_digest_asks_even_if_a_full_one_would_not(world: World) -> None:
    world.plan()
    world.write("a", b"a")
    digest = world.propose()
    declined(world, Terminal(world, "approve", "--digest", digest[:63], "--json").answer(b"\n"))


def test_no_input_does_not_ask(world: World) -> None:
    asking(world)
    terminal = Terminal(world, "approve", "--no-input", "--json")
    declined(world, terminal.end())
    assert terminal.screen == b""


def test_what_was_typed_before_the_question_is_no_answer(world: World) -> None:
    digest = asking(world)
    early = digest[:8].encode() + b"\n"
    declined(world, Terminal(world, "approve", "--json", typed=early * 3).answer(b"\n"))


def test_a_pipe_cannot_answer(world: World) -> None:
    digest = asking(world)
    line = ("approve", "--json")
    declined(world, world.process(*line, stdin=digest[:8].encode() + b"\n"))


def test_a_hang_up_is_no(world: World) -> None:
    asking(world)
    killed = Terminal(world, "approve", "--json")
    killed.wait_for(QUESTION)
    assert killed.hang_up().code == -signal.SIGHUP
    assert approvals(world) == 0
    ignoring = Terminal(world, "approve", "--json", hangup="SIG_IGN")
    ignoring.wait_for(QUESTION)
    declined(world, ignoring.hang_up())


def test_f46_the_plan_file_edited_during_the_question_makes_it_stale(world: World) -> None:
    digest = asking(world)
    terminal = Terminal(world, "approve", "--json")
    terminal.wait_for(QUESTION)
    with world.text().open("ab") as text:
        text.write(b"one more line\n")
    answer = terminal.answer(digest[:8].encode() + b"\n")
    assert (answer.code, answer.error["error"]) == (5, "live_differs")
    assert approvals(world) == 0


def test_f46_a_touched_file_edited_during_the_question_makes_it_stale(world: World) -> None:
    digest = asking(world)
    terminal = Terminal(world, "approve", "--json")
    terminal.wait_for(QUESTION)
    world.put("old.txt", b"changed\n")
    answer = terminal.answer(digest[:8].encode() + b"\n")
    assert (answer.code, answer.error["error"]) == (5, "drift")
    assert approvals(world) == 0


@pytest.mark.parametrize("again", [False, True], ids=["staged", "staged and proposed"])
def test_f46_a_plan_changed_during_the_question_makes_it_stale(world: World, again: bool) -> None:
    digest = asking(world)
    terminal = Terminal(world, "approve", "--json")
    terminal.wait_for(QUESTION)
    world.write("new.txt", b"something else\n")
    if again:
        world.propose()
    answer = terminal.answer(digest[:8].encode() + b"\n")
    assert (answer.code, answer.error["error"]) == (5, "other_digest")
    assert approvals(world) == 0


def test_f46_a_plan_rejected_or_deleted_during_the_question(world: World) -> None:
    digest = asking(world)
    terminal = Terminal(world, "approve", "--json")
    terminal.wait_for(QUESTION)
    world.ok("reject", "--note", "No")
    answer = terminal.answer(digest[:8].encode() + b"\n")
    assert (answer.code, answer.error["error"]) == (5, "other_digest")
    assert approvals(world) == 0


def test_a_stale_file_is_not_even_asked_about(world: World) -> None:
    asking(world)
    text = world.text()
    text.write_bytes(text.read_bytes() + b"more\n")
    terminal = Terminal(world, "approve", "--json")
    answer = terminal.end()
    assert (answer.code, terminal.screen) == (5, b"")


def test_approve_and_build_in_one_go(world: World) -> None:
    digest = asking(world)
    answer = Terminal(world, "approve", "--build", "--json").answer(digest[:8].encode() + b"\n")
    assert (answer.code, answer.json["outcome"]) == (0, "done")
    assert world.files() == {b"new.txt": ("file", 0o644, b"new\n")}


def test_colour_on_the_terminal_unless_nobody_wants_it(world: World) -> None:
    asking(world)
    for env, colored in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        terminal = Terminal(world, "approve", "--json", env=env)
        declined(world, terminal.answer(b"\n"))
        assert (b"\x1b[" in terminal.screen) is colored


def test_other_descriptors_of_the_terminal_do_not_matter(world: World) -> None:
    """A program that has the person's stdin cannot answer through it; the terminal is asked."""
    digest = asking(world)
    everything = ("stdin", "stdout", "stderr")
    terminal = Terminal(world, "approve", shared=everything, env={"PAGER": "cat"})
    assert terminal.answer(digest[:8].encode() + b"\n").code == 0
    assert terminal.screen.count(b"+new") == 1
    assert os.path.exists(world.at("old.txt"))
