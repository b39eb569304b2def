"""A command that is ended while it starts ends at once and quietly, and the demo leaves nothing.

The moment is counted in calls of functions, and not in time, so that each run tries the same ones.
"""

import os
import signal
from pathlib import Path

import pytest
from tests.cli.harness import World
from tests.cli.scripts import ALONE, QUICK
from tests.cli.terminal import Terminal

# Sends a signal to itself when that many functions were called since its first line.
ENDED = """
import os, signal, sys
left = {calls}

def look(frame, event, arg):
    global left
    if event == "call":
        left -= 1
        if left == 0:
            sys.setprofile(None)
            {told}

from assent.cli import main
sys.setprofile(look)
main()
"""
TOLD = "os.kill(os.getpid(), signal.{name})"
# What Python calls when an object is freed has nobody to have an exception.
LOST = "import weakref; freed = weakref.finalize(lambda: 0, os.kill, os.getpid(), signal.{name})"
SCREEN = ("stdin", "stdout", "stderr")
INTERRUPTED = 130
# The first ones are before anything was loaded; the last ones after the screen has painted. Before
# them are some calls that decide what Ctrl-C does, and before those Python itself starts.
CALLS = (30, 100, 300, 1_000, 3_000, 10_000, 20_000, 40_000, 70_000, 100_000, 150_000, 300_000)
NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


@pytest.fixture
def starting(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.config.write_text(QUICK, encoding="utf-8")
    world.env |= {**ALONE, "TERM": "xterm-256color", "TMPDIR": str(tmp_path / "temporary")}
    (tmp_path / "temporary").mkdir()
    return world


def ended(
    world: World, name: str, calls: int, *arguments: str, told: str = TOLD
) -> tuple[int, bytes]:
    """Returns the exit code of a command that got a signal, and what it said."""
    program = ENDED.format(calls=calls, told=told.format(name=name))
    terminal = Terminal(world, *arguments, shared=SCREEN, program=program)
    try:
        return terminal.end().code, terminal.screen
    finally:
        terminal.kill()


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("name", NAMES)
def test_a_demo_that_is_ended_leaves_nothing(starting: World, name: str, calls: int) -> None:
    code, screen = ended(starting, name, calls, "demo")
    number = signal.Signals[name]
    # Before anything was made, and while the screen is open, others than Ctrl-C have codes of
    # their own; so has a screen that was told to close.
    assert code in {INTERRUPTED, -number, 128 + number, 0 if name == "SIGINT" else INTERRUPTED}
    assert b"Traceback" not in screen, screen
    assert b"Exception" not in screen, screen
    assert os.listdir(starting.env["TMPDIR"]) == []


@pytest.mark.parametrize("calls", [60_000, 80_000, 100_000])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_demo_is_ended_by_a_signal_that_python_lost(
    starting: World, name: str, calls: int
) -> None:
    code, _ = ended(starting, name, calls, "demo", told=LOST)
    assert code in {INTERRUPTED, 128 + signal.Signals[name]}
    assert os.listdir(starting.env["TMPDIR"]) == []


@pytest.mark.parametrize("calls", CALLS[:7])
@pytest.mark.parametrize("words", ["status", "--help", "config list", "-p Hello"])
def test_ctrl_c_while_a_command_starts_is_quiet(starting: World, words: str, calls: int) -> None:
    code, screen = ended(starting, "SIGINT", calls, *words.split())
    # Where the command was over before, it ended as without Ctrl-C.
    assert code in {INTERRUPTED, 0, 1, 2}
    if calls <= 300 and words != "--help":
        assert (code, screen) == (INTERRUPTED, b"")
    assert b"Traceback" not in screen, screen
    assert b"Exception" not in screen, screen


# Before it was started, the terminal is not yet the one that controls it.
STARTED = """
print("started", flush=True)
from assent.cli import main
main()
"""


@pytest.mark.parametrize("seconds", [0, 0.1, 0.3, 0.5, 0.8, 1.2])
def test_a_demo_whose_terminal_closes_leaves_nothing(starting: World, seconds: float) -> None:
    terminal = Terminal(starting, "demo", shared=SCREEN, program=STARTED)
    try:
        terminal.wait_for(b"started")
        terminal.read_for(seconds)
        terminal.hang_up_only()
        code = terminal.reap()
    finally:
        terminal.kill()
    assert code in {INTERRUPTED, -signal.SIGHUP, 128 + signal.SIGHUP}
    assert os.listdir(starting.env["TMPDIR"]) == []
