"""Emphasis shows what is strong and what is code, and takes no character away."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from assent.tui.line_view import emphasis_segments
from assent.tui.theme import style_in_theme

PLAIN = Style()
CODE = style_in_theme("dark", "code")
STRONG = Style(bold=True)


def shown(text: str) -> list[tuple[str, Style | None]]:
    return [(each.text, each.style) for each in emphasis_segments(text, "dark", PLAIN) if each.text]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain words", [("plain words", PLAIN)]),
        ("use `rg -n` here", [("use ", PLAIN), ("`rg -n`", CODE), (" here", PLAIN)]),
        ("**No** file", [("**No**", STRONG), (" file", PLAIN)]),
        ("`a`**b**", [("`a`", CODE), ("**b**", STRONG)]),
        ("2 ** 3 and 4 ** 5", [("2 ** 3 and 4 ** 5", PLAIN)]),
        ("one ` alone", [("one ` alone", PLAIN)]),
        ("`**not strong**`", [("`**not strong**`", CODE)]),
    ],
)
def test_code_and_strong_words_look_different(
    text: str, wanted: list[tuple[str, Style | None]]
) -> None:
    assert shown(text) == wanted


@given(st.text(alphabet="ab `*_"))
def test_every_character_stays(text: str) -> None:
    assert "".join(piece for piece, _ in shown(text)) == text
