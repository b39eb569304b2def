"""A terminal that goes away: the screen ends by itself, at every moment of its start, too."""

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.harness import World
from tests.cli.scripts import ALONE, QUICK

PATIENCE_S = 30.0
# Opens the screen on a terminal of its own, and has that go away at a moment of the start.
PROGRAM = """
import os, pty, sys

moment, master = sys.argv[1], -1
master, slave = pty.openpty()
for number in (0, 1, 2):
    os.dup2(slave, number)
os.close(slave)

from assent.cli.tui import LocalScreenHost
from assent.tui.app import TerminalApp
from assent.tui.textual_internals import TerminalDriver


def gone():
    global master
    if master >= 0:
        os.close(master)
        master = -1


class Driver(TerminalDriver):
    def start_application_mode(self):
        if moment == "before it is taken":
            gone()
        super().start_application_mode()
        if moment == "once it is taken":
            gone()
            for _ in range(200):  # more than waits to be written
                self.write("x" * 100)


class App(TerminalApp):
    def get_driver_class(self):
        return Driver

    def on_mount(self):
        super().on_mount()
        if moment == "at the first paint":
            gone()
            for _ in range(200):
                self.terminal_driver.write("x" * 100)

    def deliver(self):
        if moment == "while it opens":
            gone()
        super().deliver()


app = App(LocalScreenHost(os.getcwd()))
app.run()
app.leave()
os._exit(app.return_code or app.return_value or 0)
"""
MOMENTS = (
    "before it is taken", "once it is taken", "at the first paint", "while it opens",
)  # fmt: skip


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_screen_whose_terminal_goes_away_ends(tmp_path: Path, moment: str) -> None:
    world = World(tmp_path)
    world.config.write_text(QUICK, encoding="utf-8")
    program = tmp_path / "opened.py"
    program.write_text(PROGRAM, encoding="utf-8")
    env = {**world.env, **ALONE, "TERM": "xterm-256color"}
    started = subprocess.Popen(
        [sys.executable, str(program), moment], cwd=world.root, env=env, start_new_session=True
    )
    alive = os.pidfd_open(started.pid)
    try:
        ended, _, _ = select.select([alive], [], [], PATIENCE_S)
    finally:
        os.close(alive)
        started.kill()
        code = started.wait()
    assert ended, "it is still there"
    assert code != 0
