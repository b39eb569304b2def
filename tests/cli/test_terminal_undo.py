"""Undo asks like approve: its own digest, at the terminal, or not at all."""

import pytest
from tests.cli.harness import World
from tests.cli.terminal import PROGRAM, QUESTION, Terminal

AFTER = {b"a.txt": ("file", 0o644, b"a\n"), b"b.txt": ("file", 0o644, b"b\n")}

# The signal arrives in another thread, so that it does not end the read of the first one: as one
# does that comes right before the read.
PRESSED = """
import signal, sys, threading, time
def press(first):
    frame = None
    while frame is None or frame.f_code.co_name != "_line":
        time.sleep(0.01)
        frame = sys._current_frames().get(first)
    time.sleep(0.1)  # so that the read has most likely begun; if not, the outcome is the same
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
threading.Thread(target=press, args=[threading.get_ident()], daemon=True).start()
"""


@pytest.fixture
def built(world: World) -> World:
    """A run that wrote two files, and a user who only agrees at the terminal."""
    world.plan()
    world.write("a.txt", b"a\n")
    world.write("b.txt", b"b\n")
    world.build()
    world.config.unlink()
    return world


def digest_of(world: World) -> bytes:
    return str(world.ok("undo", "--dry-run")["digest"]).encode()


def events(world: World) -> int:
    return len(world.ok("log")["events"])


def runs(world: World) -> int:
    return [event["kind"] for event in world.ok("log")["events"]].count("run_started")


def test_the_right_characters_undo(built: World) -> None:
    digest = digest_of(built)
    terminal = Terminal(built, "undo", "--json", env={"NO_COLOR": "1"})
    answer = terminal.answer(digest[:8] + b"\n")
    assert (answer.code, answer.json["outcome"]) == (0, "done")
    assert built.files() == {}
    shown = terminal.screen.partition(QUESTION)[0]
    for part in (b"undo of work", b"-a\r\n", b"-b\r\n", b"deletes", digest):
        assert part in shown


@pytest.mark.parametrize("keys", [b"\n", b"yes\n", b"\x03", b"\x04", b"00000000\n"], ids=repr)
def test_anything_else_is_no(built: World, keys: bytes) -> None:
    before = events(built)
    answer = Terminal(built, "undo", "--json").answer(keys)
    assert (answer.code, answer.error["error"]) == (4, "declined")
    assert built.files() == AFTER
    assert events(built) == before


def test_an_interrupt_that_does_not_end_a_read_is_a_no(built: World) -> None:
    answer = Terminal(built, "undo", "--json", program=PRESSED + PROGRAM).end()
    assert (answer.code, answer.error["error"]) == (4, "declined")
    assert built.files() == AFTER


def test_no_terminal_and_no_input_is_no(built: World) -> None:
    before = events(built)
    digest = digest_of(built).decode()
    for options in ([], ["--no-input"], ["--digest", digest]):
        answer = built.process("undo", *options, "--json")
        assert (answer.code, answer.error["error"]) == (4, "declined")
    assert built.files() == AFTER
    assert events(built) == before


def test_what_was_typed_before_is_no_answer(built: World) -> None:
    early = digest_of(built)[:8] + b"\n"
    answer = Terminal(built, "undo", "--json", typed=early).answer(b"\n")
    assert answer.code == 4
    assert built.files() == AFTER


def test_the_digest_of_the_plan_itself_is_the_wrong_one(built: World) -> None:
    digest = built.ok("plan", "show")["digest"]
    answer = Terminal(built, "undo", "--digest", digest, "--json").end()
    assert (answer.code, answer.error["error"]) == (5, "other_digest")


def test_a_file_that_changes_during_the_question_makes_it_stale(built: World) -> None:
    digest = digest_of(built)
    terminal = Terminal(built, "undo", "--json")
    terminal.wait_for(QUESTION)
    built.put("a.txt", b"mine\n")
    answer = terminal.answer(digest[:8] + b"\n")
    assert (answer.code, answer.error["error"]) == (5, "drift")
    assert built.files() == {**AFTER, b"a.txt": ("file", 0o644, b"mine\n")}
    assert runs(built) == 1
