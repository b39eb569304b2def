"""`assent "goal"` on a terminal rings when a decision waits, and nowhere else."""

import pytest
from tests.cli.scripts import PLANS, Talker, turn
from tests.cli.terminal import Terminal

SCREEN = ("stdin", "stdout", "stderr")
HINT = b"(Enter: no"
COLOUR = {"header": "Colour", "question": "Which one?", "options": [{"label": "Red"}]}
ASKS = turn("Hm.", ("question", {"questions": [COLOUR]}))
PRESENTED = b"\x1b]9;A plan is waiting for your approval.\x07"
ASKED = b"\x1b]9;The model asks: Which one?\x07"
MODEL = ("--model", "scripted:script.json")
KITTY = {"TERM": "xterm-kitty"}


def screen(talker: Talker, *line: str, shared: tuple[str, ...] = SCREEN, **env: str) -> bytes:
    terminal = Terminal(talker.world, *line, *MODEL, shared=shared, env={**KITTY, **env})
    answer = terminal.end()
    return terminal.screen + answer.err


def test_f150_a_plan_that_waits_is_told_on_the_terminal(talker: Talker) -> None:
    talker.script(*PLANS)
    assert screen(talker, "Greet me").count(PRESENTED) == 1


def test_f150_a_question_is_told_before_it_is_answered(talker: Talker) -> None:
    talker.script(ASKS, turn("Thank you."))
    terminal = Terminal(talker.world, "Paint it", *MODEL, shared=SCREEN, env=KITTY)
    terminal.wait_for(HINT)
    assert terminal.screen.count(ASKED) == 1
    terminal.type(b"1\n")
    assert terminal.end().code == 0
    assert terminal.screen.count(b"\x1b]9;") == 1  # the turn was short


def test_f150_inside_tmux_it_is_a_bell(talker: Talker) -> None:
    talker.script(*PLANS)
    shown = screen(talker, "Greet me", TERM="tmux-256color")
    assert (shown.count(b"\x07"), b"\x1b]9;" in shown) == (1, False)


def test_f150_a_long_turn_is_told_when_it_ends(talker: Talker) -> None:
    talker.world.config.write_text("[notify]\nafter_s = 0\n", encoding="utf-8")
    talker.script(turn("Done."))
    assert b"\x1b]9;Turn finished.\x07" in screen(talker, "Look around")


@pytest.mark.parametrize(
    ("line", "shared", "config"),
    [
        (("Greet me",), SCREEN, '[notify]\nway = "off"\n'),
        (("Greet me",), ("stdin", "stdout"), ""),
        (("-p", "Greet me"), SCREEN, ""),
    ],
    ids=["off", "stderr is no terminal", "headless"],
)
def test_f150_nobody_is_rung_who_does_not_want_it(
    talker: Talker, line: tuple[str, ...], shared: tuple[str, ...], config: str
) -> None:
    talker.world.config.write_text(config, encoding="utf-8")
    talker.script(*PLANS)
    shown = screen(talker, *line, shared=shared)
    assert b"\x07" not in shown
    assert b"Here it is." in shown or "stdout" in shared


def test_f150_a_project_cannot_say_how_the_person_is_told(talker: Talker) -> None:
    talker.world.put(".opencode/assent.toml", b'[notify]\nway = "off"\n')
    talker.script(*PLANS)
    shown = screen(talker, "Greet me")
    assert PRESENTED in shown
    assert b"notify" in shown  # it says that this is ignored
