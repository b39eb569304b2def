"""The screen as people start it, whose terminal goes away at many moments of its first seconds."""

import os
import select
from pathlib import Path

import pytest
from tests.cli.harness import World
from tests.cli.scripts import ALONE, QUICK
from tests.cli.terminal import PROGRAM, Terminal

# Is told to go on, as by a terminal that goes away, while it holds the lock of what it writes to.
TOLD_WHILE_WRITING = f"""
from textual.drivers._writer_thread import WriterThread
put, told = WriterThread.write, []
def write(self, text):
    told.append(text)
    if len(told) in (3, 20):
        with self._queue.mutex:
            signal.raise_signal(signal.SIGCONT)
    put(self, text)
WriterThread.write = write
{PROGRAM}
"""
SCREEN = ("stdin", "stdout", "stderr")
PATIENCE_S = 20.0
FRESH = f"{PROGRAM}\n"  # in an interpreter that has loaded nothing yet
WRITTEN = (0, 1, 40, 400, 2000, 6000)  # bytes on the terminal when it goes away
AFTER_S = (0.05, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0)


@pytest.fixture
def started(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.config.write_text(QUICK, encoding="utf-8")
    world.env |= {**ALONE, "TERM": "xterm-256color"}
    return world


def relatives(session: int) -> list[str]:
    """Returns the command lines of what still runs in a session."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.getsid(int(name)) == session:
                line = Path(f"/proc/{name}/cmdline").read_bytes()
                found += [line.replace(b"\0", b" ").decode("utf-8", "replace")] if line else []
        except (ProcessLookupError, FileNotFoundError):
            continue  # it ended while it was looked at
    return found


def ends_with_its_children(terminal: Terminal) -> None:
    alive = os.pidfd_open(terminal.pid)
    try:
        terminal.hang_up_only()
        ended, _, _ = select.select([alive], [], [], PATIENCE_S)
        assert ended, relatives(terminal.pid)
        terminal.reap()
        # What it started is told to end before it ends itself, and may take a moment.
        for _ in range(100):
            if not relatives(terminal.pid):
                return
            select.select([], [], [], 0.1)
        raise AssertionError(relatives(terminal.pid))
    finally:
        os.close(alive)
        terminal.kill()


@pytest.mark.parametrize("hangup", ["SIG_DFL", "SIG_IGN"])
@pytest.mark.parametrize("written", WRITTEN)
def test_a_screen_ends_when_its_terminal_goes_away(
    started: World, written: int, hangup: str
) -> None:
    terminal = Terminal(started, shared=SCREEN, hangup=hangup, program=FRESH)
    terminal.wait_for_bytes(written)
    assert len(terminal.screen) >= written
    ends_with_its_children(terminal)


def test_a_signal_while_the_screen_writes_does_not_stop_it(started: World) -> None:
    terminal = Terminal(started, shared=SCREEN, program=TOLD_WHILE_WRITING)
    terminal.wait_for_bytes(4000)
    assert len(terminal.screen) >= 4000
    ends_with_its_children(terminal)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", AFTER_S)
def test_a_screen_ends_at_any_time_after_its_start(started: World, seconds: float) -> None:
    terminal = Terminal(started, shared=SCREEN, program=FRESH)
    terminal.read_for(seconds)
    ends_with_its_children(terminal)
