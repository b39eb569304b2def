"""Leaving: what is at work is named first, stopped in good order, and told afterwards."""

import os
import select
import signal
from pathlib import Path

import pytest
from tests.cli.harness import World
from tests.cli.scripts import turn
from tests.tui.harness import Seat, Stage
from tests.tui.test_run import approved
from tests.tui.tmux import OPEN, PATIENCE_S, Terminal, Tmux, needs_tmux, scripted, tmux

TOCK = "while true; do echo tock; sleep 1; done"
KINDS = {"unknown": b"nope = 3\n", "bytes": b'model = "\xff"\n', "folder": None}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_leaving_stops_the_command_of_a_run_and_finishes_its_files(stage: Stage) -> None:
    plan = approved(stage, "echo tock; while true; do sleep 1; done")

    async def act(seat: Seat) -> None:
        seat.app.build_plan(plan)
        await seat.shows("│ tock")
        await seat.press("ctrl+c")
        await seat.press("ctrl+c")
        assert seat.app.is_running
        await seat.shows("Run in progress. Ctrl+C again to stop it and exit")
        assert seat.app.run_controller.at_work
        await seat.press("ctrl+c")
        assert seat.app.return_value == 0

    stage.show(act)
    assert stage.files()[b"a.txt"][2] == b"a\n"
    assert halted(stage)


def test_other_ways_to_leave_only_say_what_is_at_work(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        app = seat.app
        app.run_shell("echo ti''ck; sleep 600")  # so that only its output has the word
        await seat.shows("tick")
        await seat.press("ctrl+d")
        await seat.shows("Your command is running. Esc stops it.")
        app.run_slash("/exit")
        assert app.is_running
        assert app.return_value is None
        await seat.press("escape")
        await seat.until(lambda: not app.shell_controller.at_work)
        await seat.press("ctrl+d")
        assert app.return_value == 0

    stage.show(act)


def run_forever(server: Tmux, world: World) -> Terminal:
    """Opens the screen, and builds a plan there whose command never ends."""
    approved(world, TOCK)
    scripted(world, turn("Hello."))
    screen = server.open(world, "assent; echo left: $?")
    screen.shows(OPEN)
    screen.enter("/build work_a")
    screen.shows("│ tock")
    return screen


def program(screen: Terminal) -> int:
    """Returns the process that runs in the shell of a terminal."""
    shell = screen.value("pane_pid")
    children = Path(f"/proc/{shell}/task/{shell}/children").read_text(encoding="ascii")
    return int(children.split()[0])


def halted(world: World) -> bool:
    """Tells whether the run stands still, which only a workspace that nobody holds can say."""
    return bool(world.run("recover", "--json").json["outcome"] == "needs_you")


@needs_tmux
def test_a_screen_that_is_told_to_end_stops_its_run_and_says_so(server: Tmux, world: World) -> None:
    screen = run_forever(server, world)
    os.kill(program(screen), signal.SIGTERM)
    screen.shows("left: 143", "The run stopped and needs your decision: assent recover")
    assert halted(world)


@needs_tmux
def test_a_terminal_that_is_closed_takes_its_run_along(world: World) -> None:
    with tmux() as server:
        screen = run_forever(server, world)
        alive = os.pidfd_open(program(screen))
    try:
        gone, _, _ = select.select([alive], [], [], PATIENCE_S)
    finally:
        os.close(alive)
    assert gone
    assert halted(world)


@needs_tmux
@pytest.mark.parametrize("kind", KINDS)
def test_a_configuration_that_cannot_be_used_is_one_line_with_its_next_step(
    server: Tmux, world: World, kind: str
) -> None:
    world.config.unlink(missing_ok=True)
    content = KINDS[kind]
    if content is None:
        world.config.mkdir()
    else:
        world.config.write_bytes(content)
    screen = server.open(world, "clear; assent; echo left: $?")
    shown = screen.shows("left: 2", "Nothing was changed.", "next: ")
    assert "Traceback" not in shown
    assert "The terminal UI crashed" not in shown
