"""What a model wrote is rendered: signs go, words stay, and nothing is hidden."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.text.hidden_chars import visible_text
from assent.render.lines import Span, spans_text
from assent.render.rendered_markdown import MAX_TABLE_WIDTH, MarkdownRenderer

TEXT = """# Title
Some **bold** and *soft* words
> quoted
- one
  1. two
- [x] done
```python
def f(): ...
```
See [the docs](https://example.org) <!-- hidden -->
***
| A | Long |
|---|:---|
| `1` | 2 |
| a\\|b | |"""


def texts(text: str) -> list[str]:
    return [line.text for line in MarkdownRenderer("").lines(text)]


def test_signs_go_and_words_stay() -> None:
    assert texts(TEXT) == [
        "Title",
        "Some bold and soft words",
        "▎ quoted",
        "• one",
        "  1. two",
        "☑ done",
        "  python",
        "  def f(): ...",
        "See the docs (https://example.org) <!-- hidden -->",
        "─" * 40,
        "A   │ Long",
        "────┼─────",
        "1   │ 2",
        "a|b │ ",
    ]


def test_a_bar_splits_a_row_of_a_table_unless_it_is_escaped_also_within_code() -> None:
    assert texts("| A | B |\n|---|---|\n| `x \\| y` | 1 |\n| `x | y` |\n| 2 | z\\|") == [
        "A     │ B",
        "──────┼───",
        "x | y │ 1",
        "`x    │ y`",
        "2     │ z|",
    ]


def test_lines_have_styles_and_parts_have_roles() -> None:
    lines = MarkdownRenderer("").lines(TEXT)
    assert [line.style for line in lines[:8]] == ["heading", *["prose"] * 5, "code", "code"]
    assert Span("bold", "strong") in lines[1].spans
    assert Span("def", "keyword") in lines[7].spans
    assert Span("https://example.org", "target") in lines[8].spans
    assert Span("<!-- hidden -->", "comment") in lines[8].spans
    assert Span("Long", "strong") in lines[10].spans


def test_a_table_that_is_too_wide_is_shown_row_by_row() -> None:
    wide = "x" * MAX_TABLE_WIDTH
    assert texts(f"| A | B |\n|---|---|\n| 1 | {wide} |") == ["• A: 1", f"  B: {wide}"]


def test_numbers_of_a_table_stand_to_the_right_if_it_says_so() -> None:
    shown = texts("| File | Lines |\n|:--|--:|\n| a.py | 6 |\n| b.py | 120 |")
    assert shown == ["File │ Lines", "─────┼──────", "a.py │     6", "b.py │   120"]


def test_a_row_without_a_delimiter_below_is_a_line_as_any_other() -> None:
    assert texts("| a | b |\nmore") == ["| a | b |", "more"]


WORDS = st.text("ab *_`~#<>![](\\:\n1.-\u200b", max_size=120)


@given(st.one_of(WORDS, st.text(max_size=60).map(lambda text: text.replace("|", ""))))
def test_no_word_is_lost_or_moved(text: str) -> None:
    shown = iter("".join(texts(text)))
    wanted = [char for char in visible_text(text) if char.isalnum()]
    assert all(char in shown for char in wanted)


@given(st.one_of(WORDS, st.text("a|-:\n `*", max_size=80)), st.data())
def test_a_growing_text_ends_as_one_that_came_at_once(text: str, data: st.DataObject) -> None:
    growing = MarkdownRenderer()
    for at in sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6))):
        growing.lines(text[:at])
    lines = growing.lines(text)
    assert lines == MarkdownRenderer().lines(text)
    assert all(not line.spans or spans_text(line.spans) == line.text for line in lines)


@pytest.mark.parametrize("piece", ["word ", "line\n", "| a | b |\n", "```py\nx = 1\n```\n"])
def test_what_is_final_is_rendered_once(piece: str) -> None:
    growing, text = MarkdownRenderer(), "| a | b |\n|---|---|\n"
    for _ in range(50):
        text += piece
        growing.lines(text)
    kept = [id(line) for line in growing._lines]
    growing.lines(text + piece)
    assert [id(line) for line in growing._lines][: len(kept)] == kept
