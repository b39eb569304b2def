"""The real program in a real terminal: modes, interrupts, sizes, colours, and how it is left."""

import os
import re
import signal
from pathlib import Path

import pytest
from tests.cli.harness import World
from tests.cli.scripts import turn
from tests.tui.tmux import AGAIN_S, OPEN, PROMPT, Tmux, needs_tmux, rested, scripted

from assent.cli.tui import CONTINUE_LAST

pytestmark = needs_tmux

LONG_MS = 600_000
SETTINGS = "stty -a"
COLOUR = re.compile(r"\x1b\[[0-9;:]*?\b(3[0-8]|4[0-8]|9[0-7]|10[0-7])\b[0-9;:]*m")
OVERVIEW = "Usage: assent"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def mode_of(world: World) -> str:
    (session,) = world.ok("sessions", "list")["sessions"]
    return str(session["mode"])


def test_f2_f3_f4_f5_the_mode_is_chosen_by_flag_key_and_command_and_always_seen(
    server: Tmux, world: World
) -> None:
    scripted(world, turn("Hello."))
    screen = server.open(world, "assent --mode ask")
    screen.shows(OPEN, "script.json")
    screen.mode("ask")
    screen.press("BTab")
    screen.mode("auto-edit")
    screen.press("BTab")
    screen.mode("plan")
    screen.enter("/plan off")
    screen.mode("ask")
    screen.enter("Say hello")
    screen.shows("> Say hello", "Hello.", OPEN)
    assert mode_of(world) == "ask"
    screen.press("BTab")
    screen.mode("auto-edit")
    assert mode_of(world) == "auto-edit"


def test_esc_interrupts_goes_back_and_ctrl_c_leaves_the_terminal_as_it_was(
    server: Tmux, world: World
) -> None:
    scripted(world, turn("Hello."), turn("Never.", delay_ms=LONG_MS))
    screen = server.open(world, f"{SETTINGS} > ../before")
    screen.rests()
    screen.enter("assent")
    screen.shows(OPEN)
    screen.enter("Say hello")
    screen.shows("Hello.", OPEN)
    screen.hides("working")
    screen.enter("Say more")
    screen.shows("> Say more", "The model is working")
    screen.press("Escape")
    screen.shows("You interrupted the turn.")
    screen.hides("working")
    back = ("Rewind to an earlier message", "Say more", "Say hello")
    screen.twice("Escape", "Esc again to rewind", lambda seen: all(w in seen for w in back))
    screen.answer("Escape", OPEN)
    assert (screen.value("alternate_on"), screen.value("mouse_any_flag")) == ("1", "1")
    assert f"{CONTINUE_LAST} assent -r say-hello" in screen.leave()
    screen.enter(f"{SETTINGS} > ../after; echo seen")
    screen.shows(f"{PROMPT}{SETTINGS} > ../after; echo seen", "\nseen\n")
    assert (world.base / "after").read_bytes() == (world.base / "before").read_bytes()
    flags = ("alternate_on", "mouse_any_flag", "cursor_flag", "keypad_cursor_flag")
    assert [screen.value(flag) for flag in flags] == ["0", "0", "1", "0"]


def test_what_is_typed_before_the_screen_is_there_is_in_the_prompt(
    server: Tmux, world: World
) -> None:
    scripted(world, turn("", ("shell", {"command": "touch made"})), turn("Done."))
    screen = server.open(world)
    screen.type("assent --mode ask\rMake is\x7ft")
    screen.shows("> Make it", "ask │")
    screen.press("Enter")
    screen.shows("Allow running", "y once")
    screen.answer("Escape", "Tab answer")
    screen.answer("C-d", PROMPT)
    screen.type("clear; assent -c\ry\r")  # the Enter comes too early, too, and sends nothing
    screen.shows("> y", "Allow running", "Tab answer")
    assert not (world.root / "made").exists()
    screen.press("C-c")
    screen.shows(OPEN)
    screen.leave()


def test_without_any_key_it_says_what_was_found_and_offers_the_demo(
    server: Tmux, world: World
) -> None:
    screen = server.open(world, "assent", (100, 40))
    screen.shows("No model available yet.", "export ANTHROPIC_API_KEY", "F9 or /demo", "no model")
    screen.press("F9")
    screen.shows("This is a demo", "Let people order tea in several sizes")
    screen.press("C-c")
    screen.shows(OPEN)  # what was typed for the person is gone, and nothing else
    unusable = "No model available yet."
    screen.twice("C-c", "Ctrl+C again to exit", lambda seen: unusable in seen)
    assert world.files() == {}


def test_a_window_of_any_size_is_filled_or_said_to_be_too_small(server: Tmux, world: World) -> None:
    scripted(world, turn("Hello."))
    screen = server.open(world, "assent", (80, 24))
    for typed, words in (("", OPEN), ("?", "Esc close"), ("/sessions", "Esc close")):
        screen.shows(OPEN, "script.json")
        (screen.enter if typed.startswith("/") else screen.type)(typed)
        screen.shows(words)
        for width, height in ((200, 50), (40, 10), (39, 30), (80, 24)):
            screen.resize(width, height)
            small = width < 40 or height < 12
            screen.shows(f"{width}x{height} is too small" if small else words)
        if typed:  # else nothing tells when it was read, and what follows it would be one key
            screen.press("Escape")
    screen.shows(OPEN)
    screen.resize(8, 3)
    screen.shows("8x3 is")
    screen.press("C-c", "C-c")
    screen.until(rested, "the shell", lambda: screen.press("C-c", "C-c"), 2 * AGAIN_S)


def test_an_editor_that_fails_leaves_the_screen_as_it_was(server: Tmux, world: World) -> None:
    scripted(world, turn("Hello."))
    world.ok("plan", "new", "work", "--goal", "A goal")
    editor = world.base / "ed"
    editor.write_text("#!/bin/sh\nkill -INT $PPID\nexit 3\n", encoding="utf-8")
    editor.chmod(0o755)
    screen = server.open(world, "assent", env={"EDITOR": str(editor)})
    screen.shows(OPEN, "script.json")
    screen.press("C-g")
    screen.shows("imported.", OPEN)  # where the line breaks depends on the path before it
    screen.type("typed on")
    screen.shows("> typed on", "script.json")
    screen.press("C-c")
    screen.shows(OPEN)
    screen.leave()


def test_a_review_closes_when_the_plan_is_approved_in_another_terminal(
    server: Tmux, world: World
) -> None:
    scripted(world, turn("Hello."))
    world.plan()
    world.write("a.txt", b"a\n")
    digest = world.propose()
    screen = server.open(world, "assent", size=(200, 50))
    screen.shows(OPEN, "script.json")
    screen.press("C-t")
    screen.shows(digest[:12], "Waiting for approval")
    other = server.open(world, "assent approve", size=(100, 50))
    other.shows("Type the first 8 characters")
    other.type(digest[:8])
    other.shows(f"approve: {digest[:8]}")
    other.press("Enter")
    other.shows("Next: assent build")
    screen.shows(
        "In another terminal, plan work was approved by", "(terminal); /build work builds it.", OPEN
    )
    screen.leave()


@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGSTOP])
def test_a_screen_that_was_stopped_is_there_again_in_the_foreground(
    server: Tmux, world: World, number: int
) -> None:
    scripted(world, turn("Hello."))
    screen = server.open(world, "sh -c 'echo $$ > ../pid; exec assent'")
    screen.shows(OPEN, "script.json")
    screen.type("half a")
    screen.shows("half a")
    os.kill(int((world.base / "pid").read_text(encoding="utf-8")), number)
    screen.shows("Stopped", PROMPT)
    screen.enter("clear; fg")
    # Stopped without a word, it is still on the terminal: only what is there after `clear` is new.
    screen.until(lambda shown: "> half a" in shown and "Stopped" not in shown)
    screen.shows("script.json")
    screen.type(" sentence")
    screen.shows("> half a sentence")
    screen.press("C-c")
    screen.shows(OPEN)
    screen.leave()


def test_g33_no_color_means_none_and_colours_are_there_without_it(
    server: Tmux, world: World
) -> None:
    scripted(world, turn("Hello."))
    screen = server.open(world, "assent")
    screen.mode("plan")
    assert COLOUR.search(screen.screen(styled=True))
    plain = server.open(world, "assent", env={"NO_COLOR": "1"})
    plain.mode("plan")
    assert COLOUR.search(plain.screen(styled=True)) is None
    plain.type("?")
    plain.shows("Esc close")
    assert COLOUR.search(plain.screen(styled=True)) is None


def test_what_cannot_be_painted_gets_the_overview(server: Tmux, world: World) -> None:
    for typed in ("assent < /dev/null", "assent | cat", "TERM=dumb assent", "env -u TERM assent"):
        screen = server.open(world, f"clear; {typed}", (100, 160))
        assert OVERVIEW in screen.rests()
