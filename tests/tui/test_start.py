"""The real program on a terminal: when the screen opens, and what it leaves behind."""

import os
import re
import signal
import sys
from pathlib import Path

import pytest
from tests.cli.harness import Answer, World
from tests.cli.scripts import ALONE, MODEL, Talker, turn, write
from tests.cli.terminal import Terminal

SCREEN = ("stdin", "stdout", "stderr")
OPENED, CLOSED = b"\x1b[?1049h", b"\x1b[?1049l"  # the terminal's second screen
LEAVE = b"\x03\x03"
HEARD = (
    *("assent.agent", "assent.app", "assent.executor", "assent.permissions", "assent.planning"),
    *("assent.runs", "assent.store", "assent.tools", "sqlite3"),
)


@pytest.fixture
def talker(tmp_path: Path) -> Talker:
    talker = Talker(World(tmp_path))
    talker.script(turn("Hello."), turn("Again."))
    return talker


def opened(talker: Talker, *line: str) -> Terminal:
    terminal = Terminal(talker.world, *line, shared=SCREEN, env={"TERM": "xterm-256color", **ALONE})
    terminal.wait_for(OPENED)
    return terminal


def text(terminal: Terminal) -> str:
    """What was ever on the screen, without the sequences that put it there."""
    return re.sub(rb"\x1b\][^\x07]*\x07|\x1b\[[0-9;?<>=$]*[a-zA-Z]", b"", terminal.screen).decode(
        "utf-8", "replace"
    )


def left(terminal: Terminal) -> Answer:
    """Leaves by the keys that do so."""
    terminal.wait_for(b"\xe2\x94\x82")  # of the status line
    terminal.type(b"\x03")
    terminal.wait_for(b"again to exit")
    terminal.type(b"\x03")
    terminal.insist(CLOSED, LEAVE)  # the second may have come too late to be one
    return terminal.end()


# Lines, and what they bring onto the screen.
LINES: dict[str, tuple[tuple[str, ...], bytes]] = {
    "nothing": ((), b" plan "),
    "a mode": (("--mode", "ask"), b" ask "),
    "a model": (("--model", MODEL), MODEL.encode()),
    "a folder": (("-C", "."), b" plan "),
    "the last session": (("-c",), b"> Say hello"),
    "a session": (("-r", "say-hello"), b"> Say hello"),
}


@pytest.mark.parametrize("case", LINES)
def test_a_line_without_words_opens_the_screen_and_leaves_a_usable_terminal(
    talker: Talker, case: str
) -> None:
    talker.say("Say hello")
    line, shown = LINES[case]
    terminal = opened(talker, *line)
    terminal.wait_for(shown)
    answer = left(terminal)
    assert answer.code == 0
    assert terminal.screen.rindex(CLOSED) > terminal.screen.rindex(OPENED)
    told = text(terminal).endswith("Continue with: assent -c, or later: assent -r say-hello\r\n")
    assert told == (case in ("the last session", "a session"))


WAYS = 'Use assent "GOAL" or assent -p "TEXT" instead.'
DUMB = f"The terminal UI cannot open: TERM is dumb or not set. {WAYS}\n".encode()


def test_without_a_terminal_or_on_a_dumb_one_the_overview_is_printed_and_why(
    talker: Talker,
) -> None:
    overview = talker.world.process("--help").out
    why = f"The terminal UI cannot open: stdin and stdout and stderr are not a terminal. {WAYS}\n"
    assert talker.world.process() == (0, overview, why.encode())
    dumb = Terminal(talker.world, shared=SCREEN, env={"TERM": "dumb"})
    dumb.end()
    assert dumb.screen.replace(b"\r\n", b"\n") == overview + DUMB
    piped = Terminal(talker.world, shared=("stdin", "stderr"), env={"TERM": "xterm"})
    assert piped.end().out == overview
    assert b"cannot open: stdout is not a terminal." in piped.screen


def test_what_is_painted_on_is_a_terminal_or_no_screen_opens(talker: Talker) -> None:
    overview = talker.world.process("--help").out
    elsewhere = Terminal(talker.world, shared=("stdin", "stdout"), env={"TERM": "xterm"})
    why = f"The terminal UI cannot open: stderr is not a terminal. {WAYS}\n".encode()
    assert elsewhere.end().err == why
    assert elsewhere.screen.replace(b"\r\n", b"\n") == overview


def test_going_on_without_a_screen_says_why_unless_words_are_piped_in(talker: Talker) -> None:
    talker.say("Say hello")
    dumb = Terminal(talker.world, "-c", "--model", MODEL, shared=SCREEN, env={"TERM": "dumb"})
    assert dumb.end().code == 2
    told = DUMB + b"assent: Session say-hello has nothing to continue"
    assert dumb.screen.replace(b"\r\n", b"\n").startswith(told)
    assert (
        b"The terminal UI cannot open"
        not in talker.world.process("-c", "--model", MODEL, stdin=b"Again").err
    )


def test_a_folder_that_is_not_there_is_told_before_anything_opens(talker: Talker) -> None:
    env = {"TERM": "xterm"}
    terminal = Terminal(talker.world, "-C", "nowhere", shared=SCREEN, env=env)
    assert terminal.end().code == 2
    assert terminal.screen.startswith(b"assent: nowhere is not a folder.")
    assert OPENED not in terminal.screen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_screen_that_is_told_to_end_gives_the_terminal_back(
    talker: Talker, number: signal.Signals
) -> None:
    talker.say("Say hello")
    terminal = opened(talker, "-c", "--model", MODEL)
    terminal.wait_for(b"Hello.")
    os.kill(terminal.pid, number)
    answer = terminal.end()
    assert answer.code == 128 + number
    assert terminal.screen.rindex(CLOSED) > terminal.screen.rindex(OPENED)
    assert talker.json("-c", "And now?")["result"] == "Again."


def test_a_question_survives_the_screen_and_is_asked_again(talker: Talker) -> None:
    talker.script(turn("I write.", write("a.txt", "a\n")), turn("Written."))
    terminal = opened(talker, "--mode", "ask", "--model", MODEL)
    terminal.wait_for(b" ask ")
    terminal.enter(b"Write it")
    terminal.wait_for(b"a.txt")
    terminal.wait_for(b"y once")
    seen = terminal.screen.count(b"Tab answer")
    terminal.type(b"\x1b")
    while terminal.screen.count(b"Tab answer") == seen:
        assert terminal._read()
    terminal.type(b"\x04")  # Ctrl+C would interrupt the turn
    terminal.wait_for(CLOSED)
    assert terminal.end().code == 0
    assert [row["tool"] for row in talker.world.ok("questions", "list")["questions"]] == ["write"]
    again = opened(talker, "-c", "--model", MODEL)
    again.wait_for(b"y once")
    assert left(again).code == 0
    assert talker.world.files().keys() == {b"script.json"}


def test_the_first_paint_waits_for_no_engine(talker: Talker) -> None:
    code = f"""
import sys
from assent.cli.tui import LocalScreenHost
from assent.tui.app import TerminalApp
class Painted(TerminalApp):
    def _begin(self):
        print([name for name in sys.modules if name.startswith({HEARD!r})])
        self.exit(0)
Painted(LocalScreenHost()).run(headless=True)
"""
    answer = talker.world.start([sys.executable, "-c", code], env={"TERM": "xterm"})
    assert answer == (0, b"[]\n", b""), answer


def test_a_screen_that_fails_says_so_on_a_usable_terminal_and_the_session_is_kept(
    talker: Talker,
) -> None:
    talker.say("Say hello")
    code = """
import sys
from assent.cli import main
from assent.tui.app import TerminalApp
from assent.tui.key_actions import KEY_ACTIONS
KEY_ACTIONS["fold"] = lambda app: 1 / 0
sys.argv = ["assent", "-c"]
main()
"""
    terminal = Terminal(
        talker.world, shared=SCREEN, env={"TERM": "xterm-256color", **ALONE}, program=code
    )
    terminal.wait_for(b"Hello.")
    terminal.type(b"\x0f")  # Ctrl+O
    answer = terminal.end()
    assert answer.code == 1
    told = text(terminal)[text(terminal).rindex("Traceback") :]
    assert terminal.screen.rindex(CLOSED) < terminal.screen.rindex(b"Traceback")
    assert "ZeroDivisionError" in told
    assert "assent: The terminal UI crashed. Your session is saved" in told
    assert "next: assent -r say-hello" in told
    assert talker.json("-c", "And now?", "--model", MODEL)["result"] == "Again."
