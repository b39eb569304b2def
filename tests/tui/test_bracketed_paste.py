"""What is pasted is never a key, whatever stands in it and however it is read."""

import os
import pty
from collections.abc import Iterable
from pathlib import Path
from threading import Event
from time import monotonic
from typing import cast

import pytest
from tests.cli.harness import World
from tests.cli.scripts import turn
from tests.tui.tmux import OPEN, Tmux, needs_tmux, scripted
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.events import Key, Paste
from textual.message import Message

from assent.tui.bracketed_paste import END, PASTE_TIMEOUT_S, START, BracketedPasteParser, PastedText
from assent.tui.textual_internals import PasteTruncated, TerminalDriver, messages

NASTY = "log \x1b[0m ok\n!touch pwned.txt\n"
SHOWN = "log ␛[0m ok\n!touch pwned.txt\n"
MIDDLES = {
    "": "",
    "plain": "plain",
    NASTY: SHOWN,
    "\x1b": "␛",
    "a\x1b[20": "a␛[20",
    f"twice {START}": "twice ␛[200~",
    "\x1b[A\x1b[3~\x1bOP": "␛[A␛[3~␛OP",
    "\x1b[I\x1b[O\x1b[<0;3;3M": "␛[I␛[O␛[<0;3;3M",
    "\x00bell\x07 del\x7f c1\x9b": "bell␇ del␡ c1�",
    "tab\tline\r\nünïcode 漢字": "tab\tline\r\nünïcode 漢字",
}


def told(heard: Iterable[Message]) -> list[str]:
    """Returns keys by name and pastes by their text."""
    found = []
    for message in heard:
        match message:
            case Key(key=key):
                found.append(key)
            case Paste(text=text):
                found.append(f"paste: {text}")
            case _:
                found.append(type(message).__name__)
    return found


def read(*portions: str, most: int = 1000) -> list[str]:
    """Returns what the screen hears of portions that were read one after the other."""
    parser, pasting = XTermParser(), BracketedPasteParser(most)
    heard: list[Message] = []
    for portion in portions:
        heard += messages(pasting.take(portion, 0.0), parser)
    return told(heard)


@pytest.mark.parametrize("middle", MIDDLES)
def test_what_is_pasted_is_one_paste_wherever_it_is_split(middle: str) -> None:
    whole = f"a{START}{middle}{END}b\x1b[A"
    wanted = ["a", f"paste: {MIDDLES[middle]}", "b", "up"]
    for at in range(len(whole) + 1):
        assert read(whole[:at], whole[at:]) == wanted, at
    assert read(*whole) == wanted


def test_two_pastes_are_two_and_keys_between_them_are_keys() -> None:
    line = f"{START}\x1b[1m{END}x{START}two{END}{END}y"
    assert read(line) == read(*line) == ["paste: ␛[1m", "x", "paste: two", "y"]


def test_what_is_typed_is_never_held_back() -> None:
    pasting = BracketedPasteParser()
    for typed in ("\x1b", "[", "2", "0", "0", "x"):
        assert [piece.text for piece in pasting.take(typed, 0.0)] == [typed]


def test_a_paste_that_is_too_long_is_cut_and_that_is_said() -> None:
    line = f"{START}{'x' * 12}{END}k"
    assert (
        read(line, most=10) == read(*line, most=10) == ["paste: " + "x" * 10, "PasteTruncated", "k"]
    )
    assert read(line, most=12) == ["paste: " + "x" * 12, "k"]
    assert PasteTruncated.handler_name == "on_paste_truncated"


def test_a_paste_without_an_end_is_over_after_a_silence() -> None:
    parser, pasting = XTermParser(), BracketedPasteParser()
    assert told(messages(pasting.take(f"{START}half \x1b[2", 10.0), parser)) == []
    assert told(messages(pasting.take("x", 12.0), parser)) == []
    assert pasting.tick(12.0 + PASTE_TIMEOUT_S - 0.1) == []
    over = pasting.tick(12.0 + PASTE_TIMEOUT_S)
    assert over == [PastedText("half ␛[2x")]
    assert told(messages(over, parser)) == ["paste: half ␛[2x"]
    assert pasting.tick(100.0) == []
    late = messages(pasting.take(f"y{END}\x1b[B", 100.0), parser)
    assert told(late) == ["y", "down"]


def test_a_long_coloured_log_is_one_paste_at_once() -> None:
    line = "\x1b[31mred\x1b[0m and more of it\n"
    log = line * (1_200_000 // len(line))
    whole = f"{START}{log}{END}"
    portions = [whole[at : at + 4096] for at in range(0, len(whole), 4096)]
    began = monotonic()
    assert read(*portions, most=len(log)) == [f"paste: {log.replace(chr(27), '␛')}"]
    assert monotonic() - began < 10  # it took minutes as keys


class Leaving:
    """Stands for the screen: notes what it is asked to do."""

    exit = "exit"

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    def call_later(self, *what: object) -> None:
        self.asked.append(what)


@pytest.mark.parametrize("way", ["closed", "hung up"])
def test_a_terminal_that_is_gone_ends_the_screen_instead_of_being_read_for_ever(way: str) -> None:
    ours, theirs = os.pipe() if way == "closed" else pty.openpty()[::-1]
    driver = TerminalDriver.__new__(TerminalDriver)
    driver.fileno, driver.exit_event = ours, Event()
    screen = Leaving()
    driver.owner = cast("App[int]", screen)
    os.close(theirs)
    try:
        driver.run_input_thread()  # never comes back where it spins
    finally:
        os.close(ours)
    assert screen.asked == [("exit", 129)]


@needs_tmux
def test_a_paste_with_a_colour_in_it_runs_and_says_nothing(tmp_path: Path, server: Tmux) -> None:
    world = World(tmp_path)
    scripted(world, turn("I was asked."))
    screen = server.open(world, "assent")
    screen.shows(OPEN)
    screen.type(f"{START}{NASTY}{END}")
    shown = screen.shows("log ␛[0m ok", "!touch pwned.txt")
    assert "I was asked." not in shown
    screen.type("typed")
    screen.shows("typed")
    assert not (world.root / "pwned.txt").exists()
