"""Output without what was for a terminal alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.text.secrets import redact
from assent.core.text.terminal_codes import without_terminal_codes

PIECES = ["\x1b", "[", "]", "0;31m", "\x07", "\r", "\n", "\b", "\x9b", "\\", "P", "a", "word", "K"]


@pytest.mark.parametrize(
    ("printed", "read"),
    [
        ("plain\n", "plain\n"),
        ("\x1b[1;31mred\x1b[0m\n", "red\n"),
        ("\x1b[38;5;196mmany\x1b[m", "many"),
        ("\x9b31mred", "red"),
        ("\x1b[2J\x1b[H\x1b[?25lgone", "gone"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;https://a.example/\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPstring\x1b\\text", "text"),
        ("\x1b(Btext\x1b=", "text"),
        ("10%\r50%\r100%\ndone\n", "100%\ndone\n"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("10%\r", "10%"),
        ("abc\b\b\bxyz", "xyz"),
        ("\b\bstart", "start"),
        ("seen\b\b", "seen"),
        ("cut \x1b[31", "cut 31"),
        ("\x1b]0;no end\nnext", "0;no end\nnext"),
        ("cut \x1b", "cut "),
    ],
)  # fmt: skip
def test_what_stays_readable(printed: str, read: str) -> None:
    assert without_terminal_codes(printed) == read


def test_a_secret_is_recognized_behind_a_colour() -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLZ"
    assert key in redact(f"\x1b[31m{key}\x1b[0m")
    assert key not in redact(without_terminal_codes(f"\x1b[31m{key}\x1b[0m"))


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_nothing_is_left_that_moves_a_cursor(printed: str) -> None:
    assert set("\x1b\x9b\r\b").isdisjoint(without_terminal_codes(printed))


def test_long_output_takes_time_in_proportion() -> None:
    for piece in ("\x1b", "\x1b]", "\x1b[", "\r", "a\b", "ab\r", "\x1bP", "\b", "\x90", "\x9b0"):
        assert len(without_terminal_codes(piece * 200_000)) <= 400_000
