"""What a terminal is told while a model is waited for; stdout and pipes never get it."""

import io
import sys
from contextlib import redirect_stderr
from typing import Any

import pytest
from tests.cli.harness import World
from tests.cli.scripts import MODEL, Talker, turn
from tests.cli.terminal import Terminal

from assent.cli.goal.waiting import MOST_CHARS, WaitingTurnOutput
from assent.cli.terminal import ScreenLock
from assent.core.event import EventBody, StoredEvent
from assent.core.llm import StreamDelta
from assent.core.session.event import StepRetried, StepStarted

CLEAR = "\r\x1b[K"


class Quiet:
    """An output that shows a mark for everything it hears."""

    def begin(self, record: Any, *, fresh: bool) -> None:
        pass

    def hear(self, heard: Any) -> None:
        sys.stderr.write("!")

    def end(self, ending: Any) -> None:
        pass


def stored(event: EventBody) -> StoredEvent:
    return StoredEvent(1, "session", 1, "", event)


def shown(*steps: Any, model: str = "a/b") -> str:
    """Returns what stderr gets: numbers pass time, the rest is heard; a look after each."""
    now = [0.0]
    screen = ScreenLock()
    output = WaitingTurnOutput(Quiet(), screen, lambda: now[0])
    with redirect_stderr(io.StringIO()) as err:
        for step in steps:
            if isinstance(step, float):
                now[0] += step
                screen.show_now(output.show)
            elif step == "ask":
                with screen.asking():
                    now[0] += 9
                    screen.show_now(output.show)
                    err.write("?")
            else:
                output.hear(step)
    return err.getvalue()


STARTED = stored(StepStarted(step=1, agent="plan", model="a/b", mode="plan"))
RETRIED = stored(StepRetried(attempt=1, wait=4.0, reason="busy"))


def test_a_short_wait_shows_nothing() -> None:
    assert shown(STARTED, 1.0) == "!"


def test_a_wait_is_counted_and_gone_before_anything_else() -> None:
    text = StreamDelta("text", "Hi")
    counted = f"{CLEAR}Waiting for a/b (2 s){CLEAR}Waiting for a/b (3 s)"
    assert shown(STARTED, 2.0, 1.0, text, 9.0) == f"!{counted}{CLEAR}!"


def test_reasoning_and_calls_are_waited_for_and_a_retry_is_named() -> None:
    piece = StreamDelta("reasoning", "hm")
    found = shown(STARTED, piece, 2.0, RETRIED, 2.0)
    assert found == f"!!{CLEAR}Waiting for a/b (2 s){CLEAR}!{CLEAR}Retrying, attempt 2 (2 s)"


def test_a_question_takes_the_line_away_and_no_other_comes() -> None:
    assert shown(STARTED, 2.0, "ask") == f"!{CLEAR}Waiting for a/b (2 s){CLEAR}?"


def test_a_long_or_hostile_name_stays_on_one_safe_line() -> None:
    name = "x\x1b[2J\n" + "y" * 500
    event = stored(StepStarted(step=1, agent="plan", model=name, mode="plan"))
    found = shown(event, 2.0).removeprefix("!" + CLEAR)
    assert found.isprintable()
    assert len(found) < MOST_CHARS + 10


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_a_terminal_on_stderr_is_told_and_stdout_is_not(world: World, form: str) -> None:
    talker = Talker(world)
    talker.script(turn("Done.", delay_ms=4000))
    line = ("-p", "--model", MODEL, "--output-format", form, "Say something")
    terminal = Terminal(world, *line, shared=("stderr",))
    terminal.wait_for(f"Waiting for {MODEL}".encode())
    answer = terminal.end()
    assert answer.code == 0
    assert b"Waiting" not in answer.out
    assert b"Done." in answer.out
    waits = terminal.screen.rpartition(b"Waiting for")[2]
    assert CLEAR.encode() in waits


def test_a_pipe_on_stderr_is_told_nothing(world: World) -> None:
    talker = Talker(world)
    talker.script(turn("Done.", delay_ms=4000))
    answer = world.process("-p", "--model", MODEL, "Say something")
    assert answer.code == 0
    assert b"Waiting" not in answer.err + answer.out


def test_pieces_of_calls_name_their_call_and_tool(world: World) -> None:
    talker = Talker(world)
    talker.script(turn("Look.", ("glob", {"pattern": "*"}), ("list", {"path": "."})), turn("Done."))
    rows = talker.stream("Look around")
    pieces = [
        row["body"] for row in rows if row["kind"] == "delta" and row["body"]["kind"] == "call"
    ]
    assert [piece["tool"] for piece in pieces if piece["text"].startswith("{")] == ["glob", "list"]
    ids = [row["body"]["call"] for row in rows if row["kind"] == "call_started"]
    assert list(dict.fromkeys(piece["call"] for piece in pieces)) == ids
