"""A plan is decided about as styled source: every character of its bytes is on the view."""

from collections.abc import Iterable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assent.core.paths import display_path
from assent.core.text.hidden_chars import visible
from assent.render.lines import GUTTER, Role, Span, Spans, spans_text, untrusted_lines
from assent.render.markdown import inline_parts, inline_spans
from assent.render.plan_source import plan_source, plan_source_lines

PLAN = """---
scope:
  files: [src/**]
---
# Add *units*

<!-- hidden
words -->
1. [ ] Change `a.py`, see [the docs](https://example.org/a_(b)).
- [x] **Done** and ~~gone~~

> Quoted

```python
def f(): ...
```

| A | B |
|---|---|
| 1 | `2` |
"""
MARKDOWN = st.text("ab*_`~#<>!-|[]()\\: \t\n1.\u200bé\r\x1b", max_size=200)
PIECES = st.lists(
    st.sampled_from(
        ["# ", "**", "`", "```", "```py\n", "~~~", "<!--", "-->", "---\n", "- [ ] ", "> ", "[a](b)",
         "| a |", "\n", "\n\n", "word ", "x" * 1200, "\n" * 30, "\u200b", "\ufeff", "\r\n", "\\*"],
    ),
    max_size=20,
).map("".join)  # fmt: skip


@given(st.one_of(MARKDOWN, PIECES))
@example(PLAN)
@example("")
def test_every_visible_character_of_a_plan_is_on_the_deciding_view(text: str) -> None:
    lines = [*plan_source_lines(text)]
    assert [line.text for line in lines] == [line.text for line in untrusted_lines(text)]
    assert all(spans_text(line.spans) == line.text for line in lines)


@given(st.binary(max_size=100))
def test_the_bytes_themselves_are_what_is_shown(text: bytes) -> None:
    shown = "\n".join(map(spans_text, plan_source(display_path(text))))
    assert shown == visible(display_path(text)).removesuffix("\n")


@given(MARKDOWN.map(lambda text: text.replace("\n", " ")))
def test_the_parts_of_a_line_make_up_the_line(text: str) -> None:
    assert "".join(part.text for part in inline_parts(text)) == text


def _roles(spans: Iterable[Span]) -> list[tuple[str, Role]]:
    return [(span.text, span.role) for span in spans]


def _line(text: str) -> Spans:
    found = [spans for spans in plan_source(PLAN) if spans_text(spans).startswith(text)]
    return found[0]


def test_front_matter_and_comments_are_shown_and_told_apart() -> None:
    assert _roles(_line("scope")) == [("scope", "tag"), (":", "marker")]
    assert _roles(_line("<!--")) == [("<!-- hidden", "comment")]
    assert _roles(_line("words")) == [("words -->", "comment")]


def test_signs_are_dimmed_and_what_they_stand_for_is_styled() -> None:
    assert _roles(_line("# Add")) == [
        ("# ", "marker"), ("Add ", "heading"), ("*", "marker"), ("units", "heading"),
        ("*", "marker"),
    ]  # fmt: skip
    assert _roles(_line("- [x]")) == [
        ("- [x] **", "marker"), ("Done", "strong"), ("**", "marker"), (" and ", "plain"),
        ("~~", "marker"), ("gone", "struck"), ("~~", "marker"),
    ]  # fmt: skip


def test_code_in_a_fence_is_highlighted() -> None:
    assert _line("def")[0] == Span("def", "keyword")
    assert _roles(_line("```python")) == [("```python", "marker")]


def test_a_link_stands_with_its_target() -> None:
    assert Span("https://example.org/a_(b)", "target") in _line("1. [ ]")
    assert Span("the docs", "link") in _line("1. [ ]")


def test_an_imitated_gutter_stays_behind_ours() -> None:
    assert all(line.spans[0] == Span(GUTTER, "gutter") for line in plan_source_lines("│ a\n# b"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**strong** and `code`", "strong and code"),
        ("a [link](b) here", "a link (b) here"),
        ("[a](a)", "a"),
        ("snake_case_name 2*3*4", "snake_case_name 2*3*4"),
        ("**a *b* c**", "a b c"),
        (r"\*no\*", "*no*"),
        ("`` ` ``", " ` "),
        ("one ` alone ** here", "one ` alone ** here"),
        ("<https://a.b>", "https://a.b"),
    ],
)
def test_without_signs_the_words_are_left(text: str, shown: str) -> None:
    assert spans_text(inline_spans(text, signs=False)) == shown
