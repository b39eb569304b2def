"""Code is highlighted without a character lost, as far as it is asked for, within bounds."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.text.hidden_chars import LONG_LINE, visible
from assent.render.lines import (
    Role,
    Span,
    merged_spans,
    overlaid_spans,
    spans_text,
    with_hidden_marked,
)
from assent.render.syntax import (
    LANGUAGES,
    LIMIT,
    MOST,
    HighlightedCode,
    HighlightTime,
    code_spans,
    language_named,
    language_of_file,
)

LETTERS = st.text("ab \t\"'/*#<>{}()[]$\\`:=-0é界\n", max_size=200)


def roles(line: str, language: str) -> list[tuple[str, Role]]:
    return [(span.text, span.role) for span in code_spans([line], language)[0]]


@given(st.sampled_from(("", *LANGUAGES)), LETTERS)
def test_spans_make_up_every_line(language: str, text: str) -> None:
    lines = text.split("\n")
    assert [spans_text(spans) for spans in code_spans(lines, language)] == lines


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_is_known_to_the_highlighter(language: str) -> None:
    assert code_spans(["a = 1"], language)


def test_parts_have_their_roles() -> None:
    assert roles("def f(a): return 'b'  # c", "python") == [
        ("def", "keyword"), (" ", "plain"), ("f", "function"), ("(a): ", "plain"),
        ("return", "keyword"), (" ", "plain"), ("'b'", "string"), ("  ", "plain"),
        ("# c", "comment"),
    ]  # fmt: skip


def test_what_goes_over_lines_is_one_thing() -> None:
    lines = code_spans(['"""One', "def two", '"""', "x = 1"], "python")
    assert {span.role for line in lines[:3] for span in line} == {"string"}
    assert lines[3][-1] == Span("1", "constant")


def test_a_notation_of_a_hidden_character_stands_out() -> None:
    [line] = code_spans([visible("a = 'b\u200bc'")], "python")
    assert Span("<U+200B>", "hidden") in line
    [line] = code_spans([visible("a\u200b")], "")
    assert line == (Span("a"), Span("<U+200B>", "hidden"))


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/a.py", "python"),
        ("A.TSX", "tsx"),
        ("docker/Dockerfile", "docker"),
        ("Makefile", "make"),
        ("a.unknown", ""),
        ("README", ""),
        ("", ""),
    ],
)
def test_the_language_is_told_by_the_name_of_the_file(path: str, language: str) -> None:
    assert language_of_file(path) == language


@pytest.mark.parametrize(
    ("info", "language"),
    [("python", "python"), ("py title=a", "python"), ("{.rust}", "rust"), ("", ""), ("?", "")],
)
def test_a_fence_names_its_language(info: str, language: str) -> None:
    assert language_named(info) == language


def test_only_what_is_asked_for_is_worked_out_and_never_more_than_the_limit() -> None:
    lines = ["x = 1"] * LIMIT
    ticks = count()
    code = HighlightedCode(lines, "python", HighlightTime(clock=lambda: next(ticks) * 1e-9))
    assert code.spans(0)[-1].role == "constant"
    assert next(ticks) <= 3
    assert code.spans(len(lines) - 1) == (Span("x = 1"),)
    assert next(ticks) <= 2 * LIMIT // len("x = 1\n") + 20


def test_a_text_that_takes_too_long_is_plain_from_there_on() -> None:
    ticks = count()
    time = HighlightTime(clock=lambda: next(ticks) * MOST / 4)
    code = HighlightedCode(["x = 1"] * 100, "python", time)
    assert code.spans(0)[-1].role == "constant"
    assert code.spans(99) == (Span("x = 1"),)


def test_after_a_very_long_line_everything_is_plain() -> None:
    lines = ["x = 1", "y" * (LONG_LINE + 1), "x = 1"]
    found = code_spans(lines, "python")
    assert found[0][-1].role == "constant"
    assert found[1:] == [(Span(line),) for line in lines[1:]]


PARTS = st.lists(st.text("ab", max_size=4), max_size=6)


@given(PARTS, st.lists(st.integers(0, 20), unique=True, max_size=8))
def test_an_overlay_changes_exactly_its_ranges(texts: list[str], edges: list[int]) -> None:
    spans = merged_spans(Span(text, "code" if at % 2 else "plain") for at, text in enumerate(texts))
    text = spans_text(spans)
    cuts = sorted(edge for edge in edges if edge <= len(text))
    ranges = [*zip(cuts[::2], cuts[1::2], strict=False)]
    found = overlaid_spans(spans, ranges, lambda span: Span(span.text, span.role, True))
    assert spans_text(found) == text
    changed = [span.changed for span in found for _ in span.text]
    assert changed == [any(a <= at < b for a, b in ranges) for at in range(len(text))]


def test_safe_text_without_notations_is_left_as_it_is() -> None:
    spans = (Span("a", "code"),)
    assert with_hidden_marked(spans) is spans
