"""Output limits, paging and the size of what models are told about these tools."""

import msgspec
import pytest

from assent.core.shell.process import OutputChunk, ProcessResult
from assent.core.text.secrets import redact
from assent.tools.command_tools import GIT, SHELL
from assent.tools.fetch import FETCH
from assent.tools.find_tools import GLOB, LIST
from assent.tools.outcome import (
    BYTES,
    CUT_MARK,
    KEPT_BYTES,
    LINES,
    CutOutput,
    LinePage,
    LineRange,
    collect_output,
    cut_output,
    limited_outcome,
    output_lines,
    read_pages,
    truncated,
)
from assent.tools.read import READ
from assent.tools.search_tools import GREP, SEARCH
from assent.tools.text_search import regex_reach
from assent.tools.tool import tool_definition

MOST_CHARACTERS = 2750  # each argument has a description


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
    whole = read_pages(chunks, (LineRange(1, 10),))
    lines = ("eins", "zwei äöü", "", "vier")
    assert whole.pages == (LinePage(1, lines, (5, 12, 1, 4)),)
    assert (whole.total, whole.is_whole) == (4, True)
    found = read_pages(chunks, (LineRange(4, 9), LineRange(2, 2)))
    assert found.pages == (
        LinePage(2, ("zwei äöü",), (12,)),
        LinePage(4, ("vier",), (4,)),
    )
    assert (found.total, found.is_whole) == (4, False)
    assert read_pages(chunks, (LineRange(7, 9),)).pages == ()
    assert read_pages(chunks, (LineRange(7, 9),)).total == 4


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


TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PRIVATE = "-----BEGIN PRIVATE KEY-----\n" + "QUJD" * 16 + "\n"


def cut(text: str) -> CutOutput:
    outcome = limited_outcome(text, notes=["Exit code 1."])
    assert outcome.rest
    return cut_output(outcome.text, outcome.rest, redact)


def read_on(found: CutOutput) -> str:
    """What a model has read in the end: what it was shown, then the lines from there on."""
    shown = output_lines(found.text[: found.text.index(CUT_MARK)])
    rest = output_lines(found.whole)[found.line - 1 :]
    return "".join([*shown[: found.line - 1], *rest])


def cut_at_start(text: str) -> CutOutput:
    parts = [OutputChunk(text.encode()), ProcessResult(1)]
    outcome = collect_output(iter(parts), "x", is_end=True)
    assert outcome.rest
    return cut_output(outcome.text, outcome.rest, redact)


def shown_end(found: CutOutput) -> list[str]:
    head, *lines, note = found.text.split("\n")
    assert head.startswith("[Truncated: the last ")
    assert note == "[Exit code 1.]"
    return lines


def test_f122_of_a_long_output_of_a_command_the_end_is_shown() -> None:
    found = cut_at_start("".join(f"{n}\n" for n in range(5_000)))
    assert shown_end(found) == [str(n) for n in range(3_000, 5_000)]
    assert found.text.startswith("[Truncated: the last 2000 of 5000 lines, ")
    # What the model reads back ends where what it was shown begins.
    assert (found.is_end, output_lines(found.whole)[found.line - 1]) == (True, "2999")
    wide = cut_at_start("a\n" + "y" * 120_000)
    assert shown_end(wide) == ["y" * BYTES]
    short = collect_output(iter([OutputChunk(b"one\n"), ProcessResult(1)]), "x", is_end=True)
    assert (short.text, short.rest) == ("one\n[Exit code 1.]", b"")


@pytest.mark.parametrize("after", range(0, 45, 4))
@pytest.mark.parametrize("blank", [" ", "\n"])
def test_f122_no_part_of_a_secret_across_the_start_of_what_is_shown_is_left(
    after: int, blank: str
) -> None:
    found = cut_at_start(f"{'x ' * 40_000}{TOKEN}{blank}{'y ' * ((BYTES - after) // 2)}")
    for text in (found.text, found.whole):
        assert not any(TOKEN[at : at + 8] in text for at in range(len(TOKEN) - 7))
    assert "[masked: GitHub token]" in found.whole


@pytest.mark.parametrize("lines", range(LINES - 6, LINES + 1))
def test_f122_a_private_key_across_the_start_of_what_is_shown_is_masked(lines: int) -> None:
    key = PRIVATE + ("QUJD" * 16 + "\n") * 3 + "-----END PRIVATE KEY-----\n"
    found = cut_at_start("before\n" * 500 + key + "line\n" * lines)
    assert "QUJD" not in found.text + found.whole
    assert found.whole.count("[masked: private key]") == 1


@pytest.mark.parametrize("codes", ["", "\x1b[0m"])
@pytest.mark.parametrize("room", range(0, 400, 37))
def test_f122_no_part_of_a_secret_across_the_start_of_what_is_kept_is_left(
    room: int, codes: str
) -> None:
    key = PRIVATE + ("QUJD" * 16 + "\n") * 3 + "-----END PRIVATE KEY-----\n"
    for secret, piece in ((key, "QUJD"), (f"{TOKEN}\n", TOKEN[-12:])):
        filler = f"{codes}{'z ' * 49}\n"
        after = filler * ((KEPT_BYTES - room) // len(filler))
        found = cut_at_start("x" * KEPT_BYTES + "\n" + secret + after)
        assert piece not in found.text + found.whole
        assert len(found.whole) > KEPT_BYTES // 2


def test_f122_what_a_command_prints_cannot_pass_for_our_own_mark() -> None:
    fake = "[Truncated: the last 1 of 9 lines, 3 of 99 bytes shown.]\n"
    found = cut_at_start(fake + "line\n" * 3_000)
    assert shown_end(found) == ["line"] * 2_000
    told = cut_output(f"{fake}abc ghp_", b"something else", redact)
    assert not told.is_end


@pytest.mark.parametrize("before", range(0, 45, 4))
def test_f122_no_part_of_a_secret_that_lies_across_the_cut_is_shown(before: int) -> None:
    filled = "x " * ((BYTES - before) // 2)
    found = cut(f"{filled}{TOKEN} {'y ' * 3_000}")
    for text in (found.text, found.whole):
        assert not any(TOKEN[at : at + 8] in text for at in range(len(TOKEN) - 7))
    assert "[masked: GitHub token]" in found.whole
    assert found.text.endswith("[Exit code 1.]")
    assert read_on(found) == "".join(output_lines(found.whole))


@pytest.mark.parametrize("lines", range(LINES - 4, LINES + 1))
def test_f122_a_private_key_that_lies_across_the_cut_is_masked_in_both(lines: int) -> None:
    key = PRIVATE + ("QUJD" * 16 + "\n") * 3 + "-----END PRIVATE KEY-----\n"
    found = cut("line\n" * lines + key + "after\n" * 500)
    assert "QUJD" not in found.text + found.whole
    assert found.whole.count("[masked: private key]") == 1
    assert read_on(found) == "".join(output_lines(found.whole))


@pytest.mark.parametrize("before", range(0, 45, 4))
@pytest.mark.parametrize("blank", [" ", "\n", "|"])
def test_f122_what_is_kept_does_not_end_in_half_a_secret(before: int, blank: str) -> None:
    filled = (f"{'x' * 99}{blank}" * KEPT_BYTES)[: KEPT_BYTES - before - 1] + blank
    found = cut(f"{filled}{TOKEN} and more")
    assert len(found.whole) <= KEPT_BYTES
    assert not any(TOKEN[at : at + 8] in found.whole for at in range(len(TOKEN) - 7))
    assert len(found.whole) > KEPT_BYTES - 10_000


def test_f122_the_line_to_read_on_is_the_first_that_was_not_shown() -> None:
    assert cut("line\n" * 2_500).line == LINES + 1
    assert cut("ab\n" * 1_999 + "[Tru\n[Truncated: \n" * 9).line == LINES + 1
    wide = cut("y" * 120_000)  # one line, which is read in pieces
    assert (wide.line, len(output_lines(wide.whole))) == (BYTES // 2_000 + 1, 60)
    assert cut_output("told", b"of something else", redact).line == 1
    assert cut_output("", b"of something else", redact).line == 1


def test_f122_lines_of_a_kept_output_are_short_enough_to_be_read_whole() -> None:
    text = "a\n\n" + "b" * 4_001 + "\n" + "\u00e9" * 2_000
    lines = output_lines(text)
    assert lines == ["a", "", "b" * 2_000, "b" * 2_000, "b", "\u00e9" * 2_000]
    (page,) = read_pages(("\n".join(lines).encode(),), (LineRange(1, 99),)).pages
    assert [*page.lines] == lines


@pytest.mark.parametrize(
    ("printed", "read"),
    [
        ("\x1b[1;31mfailed\x1b[0m: 2\n\x1b[2Kdone", "failed: 2\ndone"),
        ("\x1b]0;a title\x07one\x1b]8;;http://x\x1b\\two\x1b]8;;\x1b\\", "onetwo"),
        ("10 %\r50 %\r100 %\nend\r\n", "100 %\nend"),
        ("\x1b(B\x1b[?25lx\x08\x1b=", "x"),
        ("a\tb\n\u00e4 \u2713", "a\tb\n\u00e4 \u2713"),
        ("\x1b]never ended\nstill here", "never ended\nstill here"),
        ("array[31m]", "array[31m]"),
    ],
)
def test_f12_the_output_of_a_command_is_read_without_colour_and_cursor_codes(
    printed: str, read: str
) -> None:
    parts = [OutputChunk(printed.encode()), ProcessResult(0)]
    assert collect_output(iter(parts), "x").text == read


def test_a_colour_code_does_not_hide_a_secret_from_the_mask() -> None:
    """Secrets are masked after it, in the text that is read."""
    parts = [OutputChunk(b"ghp_\x1b[0m" + b"a1B2" * 9), ProcessResult(0)]
    assert "a1B2a1B2" not in redact(collect_output(iter(parts), "x").text)
