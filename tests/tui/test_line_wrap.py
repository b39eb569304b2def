"""Wrapping: nothing is lost, everything fits, and no piece passes for a line of its own."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from assent.core.text.hidden_chars import CONTINUATION_MARK
from assent.render.lines import GUTTER, Line, Style
from assent.tui.sections import (
    CODE_STYLES,
    MIN_WIDTH,
    TEXT_STYLES,
    _split,
    _split_long,
    wrapped_line,
)

STYLES: tuple[Style, ...] = (
    "plain",
    "heading",
    "added",
    "removed",
    "hunk",
    "code",
    "said",
    "dim",
    "prose",
)
SIGN = CONTINUATION_MARK[0]
# Letters of one cell, of two, of none, and blanks; the sign for what goes on never comes in.
LETTERS = st.text(st.sampled_from("ab-+.  界語é́\u0301😀│"), max_size=120)
TEXTS = st.one_of(LETTERS, LETTERS.map(GUTTER.__add__), LETTERS.map("    ".__add__))


def pieces(style: Style, text: str, width: int) -> list[str]:
    found = wrapped_line(Line(style, text), width)
    assert {line.style for line in found} == {style}
    return [line.text for line in found]


def letters(text: str) -> str:
    return text.replace(SIGN, "").replace(" ", "")


@given(st.sampled_from(STYLES), TEXTS, st.integers(1, 200))
@example("plain", "界" * 50, 2)
@example("added", "+" + "x" * 50, 3)
@example("plain", GUTTER + "word " * 30, 20)
def test_nothing_is_lost_whatever_the_width(style: Style, text: str, width: int) -> None:
    found = pieces(style, text, width)
    if text.startswith(GUTTER) and width >= MIN_WIDTH:
        found = [found[0], *[piece.removeprefix(GUTTER[0]) for piece in found[1:]]]
    assert letters("".join(found)) == letters(text)


@given(st.sampled_from(STYLES), TEXTS, st.integers(1, 200))
@example("plain", "a" + "\u0301" * 90, 5)
def test_every_piece_fits(style: Style, text: str, width: int) -> None:
    widest = 2 if width == 1 else width  # of a letter with two cells, there is no half
    assert all(cell_len(piece) <= widest for piece in pieces(style, text, width))


@given(st.sampled_from(STYLES), TEXTS, st.integers(1, 200))
def test_a_piece_that_goes_on_is_marked_or_deeper(style: Style, text: str, width: int) -> None:
    first, *others = pieces(style, text, width)
    lead = len(text) - len(text.lstrip(" "))
    if not others:
        assert text in (first, first + " ")  # a blank at a break is the break
    elif width < MIN_WIDTH:
        assert set(others[::2]) == {SIGN}
    elif text.startswith(GUTTER):
        assert all(piece.startswith(GUTTER[0] + SIGN) for piece in others)
    elif style in CODE_STYLES:
        assert all(piece.startswith(SIGN) for piece in others)
    else:
        deeper = " " * (lead if style in TEXT_STYLES and lead else lead + 1)
        assert all(piece.startswith((deeper, SIGN)) for piece in others)


@given(st.sampled_from(sorted(CODE_STYLES)), LETTERS, st.integers(MIN_WIDTH, 200))
def test_what_others_wrote_is_not_changed_by_a_break(style: Style, text: str, width: int) -> None:
    first, *others = pieces(style, f"+{text}", width)
    assert first + "".join(piece.removeprefix(CONTINUATION_MARK) for piece in others) == f"+{text}"


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("one two three", 9, ["one two", "  three"]),
        ("one two", 7, ["one two"]),
        ("onetwothree", 8, ["onetwoth", "  ree"]),
        ("a onetwothree", 8, ["a onetwo", "  three"]),
        ("  - one two three", 11, ["  - one two", "    three"]),
        (GUTTER + "one two three", 9, ["│ one two", "│↪three"]),
        ("\tone", 20, ["    one"]),
        ("界界界", 4, ["界界", "  界"]),
        ("abc", 1, ["a", "↪", "b", "↪", "c"]),
    ],
)
def test_prose_breaks_between_words(text: str, width: int, expected: list[str]) -> None:
    assert pieces("plain", text, width) == expected


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("  one two three", 11, ["  one two", "  three"]),
        ("  - one two three", 11, ["  - one two", "    three"]),
        ("  12. one two three", 14, ["  12. one two", "      three"]),
        ("  * one two three", 11, ["  * one two", "    three"]),
        ("  *one* two three", 11, ["  *one* two", "  three"]),
    ],
)
def test_what_a_model_says_hangs_only_in_lists(text: str, width: int, expected: list[str]) -> None:
    assert pieces("prose", text, width) == expected


def test_what_a_person_says_stands_behind_its_sign() -> None:
    assert pieces("said", "> one two three", 9) == ["> one two", "  three"]
    assert pieces("said", "  one two three", 9) == ["  one two", "  three"]


def test_a_diff_breaks_anywhere_and_says_so() -> None:
    assert pieces("added", "+ab cd ef", 6) == ["+ab cd", "↪  ef"]


@given(st.text("abc é↪│Жß\u0301\u00ad界👍", max_size=60), st.integers(4, 30))
def test_a_text_of_narrow_letters_is_split_as_any_other(text: str, width: int) -> None:
    head, rest = _split(text, width)
    assert head + rest == text
    assert (head, rest) == _split_long(text, width)
