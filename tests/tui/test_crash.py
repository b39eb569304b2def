"""What is left when the screen is killed: a shell that can be used, and everything on record."""

import os
import signal
from pathlib import Path

import pytest
from tests.cli.harness import World
from tests.cli.scripts import turn
from tests.tui.tmux import OPEN, PROMPT, Terminal, Tmux, needs_tmux, scripted

from assent.cli.tui import CONTINUE_LAST

pytestmark = needs_tmux

QUESTION = {"question": "Which colour?", "options": [{"label": "Red"}, {"label": "Blue"}]}
CHANGED = ("alternate_on", "cursor_flag", "mouse_any_flag")  # by the screen, while it is open


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def kill(screen: Terminal, number: signal.Signals = signal.SIGKILL) -> None:
    """Ends the program that runs in the shell of a terminal."""
    shell = screen.value("pane_pid")
    children = Path(f"/proc/{shell}/task/{shell}/children").read_text(encoding="ascii")
    os.kill(int(children.split()[0]), number)


def flags(screen: Terminal) -> list[str]:
    return [screen.value(flag) for flag in CHANGED]


def wipe(screen: Terminal, *words: str) -> None:
    """Clears what a killed screen left, so that only the next one can show these words."""
    screen.enter("clear")
    screen.hides(*words)
    screen.shows(PROMPT)


def test_f95_a_question_of_a_killed_screen_is_asked_again_and_answered(
    server: Tmux, world: World
) -> None:
    scripted(world, turn("", ("question", {"questions": [QUESTION]})), turn("Blue it is."))
    screen = server.open(world, "stty -a > ../before")
    screen.rests()
    screen.enter("assent")
    screen.shows(OPEN)
    screen.enter("Paint it")
    screen.shows("Which colour?", "Enter send")
    kill(screen)
    screen.shows(PROMPT)
    # Nothing can put a terminal back after this signal. The shell puts back what it needs itself,
    # lines and echo; the second screen, the hidden cursor and the mouse stay until the next start.
    screen.enter("stty -a > ../after; echo here: $((40 + 2))")
    screen.shows("here: 42")
    assert (world.base / "after").read_bytes() == (world.base / "before").read_bytes()
    assert flags(screen) == ["1", "0", "1"]
    (waiting,) = world.ok("questions", "list")["questions"]
    wipe(screen, "Which colour?", "Enter send")
    screen.enter("assent -c")
    screen.shows("Which colour?", "Enter send")
    screen.answer("2", "2 (•) Blue")
    screen.send("2 (•) Blue", "Enter", "Blue it is.", OPEN)
    assert world.ok("questions", "list")["questions"] == []
    assert waiting["id"] not in screen.screen()
    assert f"{CONTINUE_LAST} assent -r paint-it" in screen.leave()
    assert flags(screen) == ["0", "1", "0"]


def test_a_turn_of_a_killed_screen_is_gone_on_with(server: Tmux, world: World) -> None:
    scripted(world, turn("Hello."), turn("Never.", delay_ms=600_000))
    screen = server.open(world, "assent")
    screen.shows(OPEN)
    screen.enter("Say hello")
    screen.shows("Hello.", OPEN)
    screen.hides("working")
    screen.enter("Say more")
    screen.shows("> Say more", "The model is working", OPEN)
    kill(screen)
    screen.shows(PROMPT)
    again = turn("And more.")  # whether the request of the killed one was on record or not
    scripted(world, turn("Hello."), again, again)
    wipe(screen, "Say hello", "Say more")
    screen.enter("assent -c")
    screen.shows("> Say hello", "Hello.", "> Say more", OPEN)
    screen.enter("Go on")
    screen.shows("> Go on", "And more.")


def test_a_screen_that_is_told_to_end_leaves_everything_as_it_was(
    server: Tmux, world: World
) -> None:
    scripted(world, turn("Never.", delay_ms=600_000))
    screen = server.open(world, "stty -a > ../before")
    screen.rests()
    before = flags(screen)
    screen.enter("assent")
    screen.shows(OPEN)
    screen.enter("Say hello")
    screen.shows("The model is working")
    kill(screen, signal.SIGTERM)
    screen.rests()
    screen.enter("stty -a > ../after; echo here: $((40 + 2))")
    screen.shows("here: 42")
    assert (world.base / "after").read_bytes() == (world.base / "before").read_bytes()
    assert flags(screen) == before


def test_what_is_typed_before_the_session_is_read_goes_to_that_session(
    server: Tmux, world: World
) -> None:
    scripted(world, turn("Hello."), turn("Again."))
    screen = server.open(world, "assent -p 'Say hello' > ../said")
    screen.rests()
    screen.enter("assent -c")
    screen.shows(OPEN)
    screen.enter("Say it again")
    screen.shows("> Say hello", "> Say it again", "Again.")
    (session,) = world.ok("sessions", "list")["sessions"]
    assert session["turns"] == 2
