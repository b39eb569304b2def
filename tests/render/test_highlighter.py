"""Colours in what a review prints: the same lines, with roles, within a bounded time."""

from itertools import count
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.paths import display_path
from assent.core.text.hidden_chars import LONG_LINE
from assent.render.diff import diff_lines, unified_diff
from assent.render.highlighter import MOST_IN_ALL, Highlighter
from assent.render.lines import Line, Span, spans_text, untrusted_lines
from assent.render.plan_source import plan_source
from assent.render.syntax import LANGUAGES, LIMIT, HighlightedCode, HighlightTime

CODE = st.text("ab \t\"'/*#<>{}()[]$\\`:=-+@é\u200b\n", max_size=200).map(str.encode)
LONG = st.sampled_from((b"", b"x" * (LONG_LINE + 5) + b"\n", b"\n" * 50))
NAMES = st.sampled_from((b"a.py", b"a.js", b"a b.html", b"a", b"x" * 1200 + b".c", b"\xff.go"))
# What makes lexers look back or ahead: openings without an end, and long runs of one kind.
OPENINGS = (
    "(", "[", "{", "<", "/*", "#", '"', "'", '"""', "`", "${", "<!--", "<a ", "<script>", "<<A\n",
    "\\", '\\"', "%q(", "[=", "=begin\n", "a ", "a.", "a: ", "0", " ", "@a(", "f(a ", "m{", "=~ /",
)  # fmt: skip
# Seconds of the processor for one token of a sixth of the longest text. The slowest takes a fifth
# of a second; what must be noticed grows with more than the square of a line.
MOST_OF_A_SIXTH = 1.5
SPARE = 3  # times what is allowed: what is not highlighted is rendered all the same


def patch(before: bytes, after: bytes, name: bytes = b"a.py") -> str:
    return unified_diff(before, after, name, name) or ""


@given(CODE, CODE, LONG, NAMES)
def test_a_diff_has_the_same_lines_with_and_without_colours(
    before: bytes, after: bytes, long: bytes, name: bytes
) -> None:
    diff = patch(before, after + long, name) + patch(after, long + before, b"other.ts")
    plain, colored = diff_lines(diff), Highlighter().diff_lines(diff)
    assert [Line(line.style, line.text) for line in colored] == plain
    assert all(spans_text(line.spans) == line.text for line in colored if line.spans)


@given(CODE, LONG)
def test_a_text_has_the_same_lines_with_and_without_colours(text: bytes, long: bytes) -> None:
    shown = display_path(b"# Title\n```python\n" + text + long)
    plain, colored = [*untrusted_lines(shown)], [*Highlighter().text_lines(shown)]
    assert [Line(line.style, line.text) for line in colored] == plain


def test_lines_of_a_diff_have_roles_a_sign_and_what_changed() -> None:
    found = Highlighter().diff_lines(patch(b"x = 'one'\n", b"x = 'two'\n"))
    removed, added = found[-2:]
    assert added.spans[0].text.startswith("+")
    assert Span("two", "string", changed=True) in added.spans
    assert Span("one", "string", changed=True) in removed.spans
    assert [line.spans for line in found[:3]] == [(), (), ()]


def test_the_files_of_a_diff_are_read_by_their_own_names() -> None:
    diff = patch(b"", b"def f(): pass\n", b"a.txt") + patch(b"", b"def f(): pass\n", b"a.py")
    titled = diff.replace("--- ", "diff --git a/x b/x\n--- ")
    plain, colored = (line for line in Highlighter().diff_lines(titled) if "def" in line.text)
    assert {span.role for span in plain.spans} == {"plain"}
    assert "keyword" in {span.role for span in colored.spans}


def test_once_its_time_is_spent_everything_else_is_plain() -> None:
    ticks = count()
    colors = Highlighter(HighlightTime(2, clock=lambda: next(ticks)))
    diff = patch(b"", b"x = 1\n" * 10)
    first, second = colors.diff_lines(diff), colors.diff_lines(diff)
    assert first[3].spans
    assert not any(line.spans for line in [*first[8:], *second])
    assert [line.text for line in first] == [line.text for line in second]


def test_many_fences_of_a_text_share_their_time() -> None:
    ticks = count()
    time = HighlightTime(10, clock=lambda: next(ticks))
    lines = plan_source("```python\nx = 1\n```\n" * 100, time)
    colored = [spans for spans in lines if any(span.role == "constant" for span in spans)]
    assert 0 < len(colored) <= 11


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_makes_a_language_slow(language: str) -> None:
    """Each opening again and again, in lines and in one.

    One token is not interrupted, so it must not take long. The slowest lexers need a time that
    grows with the square of a line, which is bounded.
    """
    slow = {}
    size = LIMIT // 6
    for opening in OPENINGS:
        for piece in (opening, opening + "\n"):
            body = (piece * size)[:size]
            lines = [
                line[at : at + LONG_LINE]
                for line in body.split("\n")
                for at in range(0, max(len(line), 1), LONG_LINE)
            ]
            start = thread_time()
            HighlightedCode(lines, language, HighlightTime(0.002)).spans(len(lines) - 1)
            if thread_time() - start > MOST_OF_A_SIXTH:
                slow[piece] = thread_time() - start
    assert slow == {}


def test_a_hostile_diff_of_many_files_and_hunks_is_bounded() -> None:
    lines = [b"x = '''%d\n" % number for number in range(2000)]
    changed = [line if number % 9 else b"y" + line for number, line in enumerate(lines)]
    diff = "".join(patch(b"".join(lines), b"".join(changed), b"%d.py" % n) for n in range(30))
    colors = Highlighter()
    start = thread_time()
    plain = diff_lines(diff)
    without = thread_time() - start
    start = thread_time()
    colored = colors.diff_lines(diff)
    assert thread_time() - start <= 6 * without + SPARE * MOST_IN_ALL
    assert [line.text for line in colored] == [line.text for line in plain]
