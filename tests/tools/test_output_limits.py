"""Output limits, paging and the size of what models are told about these tools."""

import msgspec
import pytest

from assent.tools.command_tools import GIT, SHELL
from assent.tools.fetch import FETCH
from assent.tools.find_tools import GLOB, GREP, LIST
from assent.tools.outcome import BYTES, KEPT_BYTES, LINES, limited_outcome, truncated
from assent.tools.read import READ, read_page
from assent.tools.search import SEARCH
from assent.tools.text_search import regex_reach
from assent.tools.tool import tool_definition

MOST_CHARACTERS = 2350


def test_every_user_pays_for_the_descriptions_so_they_are_short() -> None:
    offers = [tool_definition(t) for t in (READ, LIST, GLOB, GREP, SEARCH, GIT, SHELL, FETCH)]
    assert sum(len(msgspec.json.encode(each)) for each in offers) <= MOST_CHARACTERS


def test_f122_what_fits_is_left_alone() -> None:
    for text in ("", "one", "a\n" * LINES, "x" * BYTES):
        assert (limited_outcome(text).text, limited_outcome(text).rest) == (text, b"")


def test_f122_too_many_lines_are_cut_and_counted() -> None:
    outcome = limited_outcome("line\n" * 2500)
    assert outcome.text.endswith(
        "line\n[Truncated: 2000 of 2500 lines, 9999 of 12500 bytes shown.]"
    )
    assert outcome.text.count("line\n") == LINES
    assert outcome.rest == b"line\n" * 2500


def test_f122_too_many_bytes_are_cut_at_a_line_or_in_one_that_is_endless() -> None:
    wide = limited_outcome("é" * 999 + "\n" + "é" * 30_000)
    assert wide.text.startswith("é" * 999 + "\n[Truncated: 1 of 2 lines")
    endless = limited_outcome("é" * 3_000_000)
    assert len(endless.text.encode()) < BYTES + 100
    assert len(endless.rest) == KEPT_BYTES
    assert truncated("a\nb\nc", lines=2) == "a\nb"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_pages_do_not_depend_on_where_chunks_end(size: int) -> None:
    content = "eins\nzwei äöü\n\nvier".encode()
    chunks = [content[at : at + size] for at in range(0, len(content), size)]
    assert read_page(chunks, 1, 10).lines == ("1: eins", "2: zwei äöü", "3: ", "4: vier")
    assert read_page(chunks, 2, 1).lines == ("2: zwei äöü",)
    assert read_page(chunks, 2, 1).more


@pytest.mark.parametrize(
    "pattern",
    ["foo", r"\bfoo\b", r"def \w+\(.*", "(foo|bar)baz", "[*+(]+", r"a\+b\*", "x{2,4}", "a?b?",
     r"(?i)foo.*bar", r"(?:ab)+c", r"\s*=\s*", "(?P<n>x)", "a{}", "{", r"(?<=x)y"],
)  # fmt: skip
def test_expressions_that_people_use_are_fine(pattern: str) -> None:
    assert regex_reach(pattern) > 100


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+", "(a*)*", "(a|b)*", "(a?){30}", "a?" * 30, "(a{1,9}){1,9}", ".*" * 4, r"(a)\1",
     "((a+))+", "(?:a+b?)*", "a{,}" * 4, "(a", "a)", "(?x) a", "(?P=n)", "(a|b)" * 25,
     "(?i:a+)+", "[a]+" * 4],
)  # fmt: skip
def test_expressions_that_may_explode_are_not(pattern: str) -> None:
    assert regex_reach(pattern) == 0
