"""Ctrl-C: the first ends the turn in good order, the second the program; the session goes on."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest
from tests.cli.harness import PROGRAM
from tests.cli.scripts import Talker, turn
from tests.llm.server import Server, Turn, serving
from tests.llm.wire_responses import Reply
from tests.support import forked_python

PATIENCE = 60
READ = (("c1", "read", '{"path": "script.json"}'),)


@pytest.fixture
def server(talker: Talker) -> Iterator[Server]:
    """A server that looks at a file first and then says half of something."""
    talker.script(turn())
    turns = (Turn(Reply("Looking.", calls=READ)), Turn(Reply("Half of it."), "stall"), Turn())
    with serving(*turns) as server:
        talker.world.env |= {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
        yield server


@contextmanager
def started(talker: Talker, server: Server, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """The program, up to the moment when the model has fallen silent."""
    process = forked_python.Popen(
        [*PROGRAM, "-p", "Look", "--model", "openai/m", *more],
        cwd=talker.world.root,
        env=talker.world.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    for _ in range(2):
        assert server.arrived.acquire(timeout=PATIENCE)
    yield process
    process.wait(PATIENCE)


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name
)
def test_f113_an_interrupted_turn_says_how_to_go_on_and_can(
    talker: Talker, server: Server, number: signal.Signals
) -> None:
    with started(talker, server) as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, b"Looking.\n")
    assert b"kept" in err
    assert b"next: assent -c" in err

    talker.world.env |= {"OPENAI_BASE_URL": f"{server.url}/v1"}
    answer = talker.world.run("-p", "-c", "--model", "openai/m", "Go on")
    assert (answer.code, answer.out) == (0, b"Hello there.\n")
    sent = server.heard[-1].json["messages"]
    calls = [call["id"] for message in sent for call in message.get("tool_calls", ())]
    assert calls == [message["tool_call_id"] for message in sent if message["role"] == "tool"]


def test_f113_the_object_says_that_it_was_interrupted(talker: Talker, server: Server) -> None:
    with started(talker, server, "--json") as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    row = msgspec.json.decode(out)
    told = {key: row[key] for key in ("exit", "why", "error", "result")}
    assert told == {"exit": 130, "why": "interrupted", "error": "interrupted", "result": "Looking."}
    assert (process.returncode, err) == (130, b"")


def test_f113_a_stream_ends_with_the_end_of_the_turn(talker: Talker, server: Server) -> None:
    with started(talker, server, "--output-format", "stream-json") as process:
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    rows = [msgspec.json.decode(line) for line in out.splitlines()]
    assert [row["kind"] for row in rows[-2:]] == ["turn_ended", "result"]
    assert rows[-2]["body"]["why"] == "interrupted"


def test_f113_what_was_interrupted_goes_on_without_a_word(talker: Talker, server: Server) -> None:
    with started(talker, server) as process:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    answer = talker.world.run("-p", "-c", "--model", "openai/m")
    assert (answer.code, answer.out) == (0, b"Hello there.\n")


LEAVING = """
import os, signal, sys
from assent.cli.terminal import interruptible
with interruptible():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        print("first", end="")
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        print("never")
"""


def test_f113_a_second_one_leaves_at_once(talker: Talker) -> None:
    answer = talker.world.start([PROGRAM[0], "-c", LEAVING])
    assert (answer.code, answer.out) == (130, b"first")


def test_f113_a_closed_terminal_is_told_twice_and_ends_in_good_order(talker: Talker) -> None:
    hung_up = LEAVING.replace("SIGINT", "SIGHUP")
    answer = talker.world.start([PROGRAM[0], "-c", hung_up])
    assert (answer.code, answer.out) == (0, b"firstnever\n")
