"""`assent "goal"` on a terminal: answers appear as they come, and a person can be asked."""

import pytest
from tests.cli.scripts import Talker, turn, write
from tests.cli.terminal import Terminal
from tests.llm.server import Turn, serving
from tests.llm.wire_responses import Reply

SCREEN = ("stdin", "stdout", "stderr")
ESCAPE = bytes([27])
CLEAR = ESCAPE + b"[2J"
HINT = b"(Enter: no"
OPTIONS = [{"label": "Red", "description": "warm"}, {"label": "Blue"}]
COLOUR = {"header": "Colour", "question": "Which\x1b[2J one?", "options": OPTIONS}
ASKS = turn("Hm.", ("question", {"questions": [COLOUR]}))


def typed(talker: Talker, *line: str) -> Terminal:
    return Terminal(talker.world, *line, "--model", "scripted:script.json", shared=SCREEN)


@pytest.mark.parametrize(
    ("keys", "answer"),
    [(b"2\n", b"Blue"), (b"red\n", b"Red"), (b"green\n", b"green")],
    ids=["number", "label", "words"],
)
def test_f32_an_answer_reaches_the_model(talker: Talker, keys: bytes, answer: bytes) -> None:
    talker.script(ASKS, turn("Thank you."))
    terminal = typed(talker, "Paint it")
    terminal.wait_for(HINT)
    assert b"  1. Red: warm\r\n  2. Blue\r\n" in terminal.screen
    terminal.type(keys)
    terminal.wait_for(b"Thank you.")
    assert terminal.end().code == 0
    assert CLEAR not in terminal.screen
    export = talker.world.run("sessions", "export", "paint-it", "--json").out
    assert b'"answers":[["%b"]]' % answer in export.replace(b" ", b"")


@pytest.mark.parametrize(
    "keys", [b"\n", b"\x04", b"n\n", b"No\n", b"4\n"], ids=["enter", "end of file", "n", "no", "4"]
)
def test_f41_f86_no_answer_is_a_no_and_a_plain_no_stops(talker: Talker, keys: bytes) -> None:
    talker.script(turn("May I?", write("hello.txt", "hello\n")), turn("I may not."))
    terminal = typed(talker, "Greet me", "--mode", "ask")
    terminal.wait_for(HINT)
    terminal.type(keys)
    terminal.wait_for(b"You denied permission; nothing was done.")
    terminal.wait_for(b" -c 'WHAT INSTEAD'")
    assert terminal.end().code == 4
    assert b"I may not." not in terminal.screen
    assert not (talker.world.root / "hello.txt").exists()


@pytest.mark.parametrize("keys", [b"1\n", b"y\n", b"YES\n"], ids=["number", "y", "yes"])
def test_a_yes_lets_one_change_happen(talker: Talker, keys: bytes) -> None:
    talker.script(turn("May I?", write("hello.txt", "hello\n")), turn("I did."))
    terminal = typed(talker, "Greet me", "--mode", "ask")
    terminal.wait_for(HINT)
    assert b"+hello" in terminal.screen  # what a yes would do
    terminal.type(keys)
    terminal.wait_for(b"I did.")
    assert terminal.end().code == 0
    assert (talker.world.root / "hello.txt").read_bytes() == b"hello\n"


@pytest.mark.parametrize("line", [["-p", "Paint it"], ["--no-input", "Paint it"]], ids=" ".join)
def test_f41_nobody_is_asked_who_does_not_want_it(talker: Talker, line: list[str]) -> None:
    talker.script(ASKS, turn("I guess."))
    terminal = typed(talker, *line)
    assert terminal.end().code == 4  # its question is open
    assert HINT not in terminal.screen
    assert b"I guess." in terminal.screen


def test_the_session_and_what_the_model_does_are_shown_to_a_person(talker: Talker) -> None:
    talker.script(turn("Looking.", ("read", {"path": "script.json"})), turn("Seen."))
    terminal = typed(talker, "Look around")
    assert terminal.end().code == 0
    assert b"session look-around, mode plan" in terminal.screen
    assert b"\xc2\xb7 read: " in terminal.screen
    assert terminal.screen.index(b"Looking.") < terminal.screen.index(b"Seen.")


def test_an_answer_appears_once_and_what_was_cut_off_is_marked(talker: Talker) -> None:
    said = f"Hello {CLEAR.decode()}there, world."
    with serving(Turn(Reply(said), "cut"), Turn(Reply("All of it."))) as server:
        world = talker.world
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
        terminal = Terminal(world, "Say it", "--model", "openai/m", shared=SCREEN, env=env)
        assert terminal.end().code == 0
    assert b"The answer above was cut off and is discarded." in terminal.screen
    assert terminal.screen.count(b"All of it.") == 1
    assert CLEAR not in terminal.screen


def test_f113_ctrl_c_in_the_middle_of_a_call_ends_the_turn(talker: Talker) -> None:
    talker.script(ASKS, turn("Where were we?"))
    terminal = typed(talker, "Paint it")
    terminal.wait_for(HINT)
    terminal.type(b"\x03")
    assert terminal.end().code == 130
    assert b"kept" in terminal.screen
    rows = talker.stream("-c", "Go on")
    assert rows[-1]["body"]["result"] == "Where were we?"
    export = talker.world.ok("sessions", "export", "paint-it")["events"]
    ended = [row["body"]["result"] for row in export if row["kind"] == "call_ended"]
    assert [(result["failed"], "interrupted" in result["text"]) for result in ended] == [
        (True, True)
    ]
