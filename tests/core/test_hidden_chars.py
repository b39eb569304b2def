"""Nothing hides: what a reader would not see is written out, and nothing can imitate that."""

import re
import sys
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.text.hidden_chars import (
    CONTINUATION_MARK,
    LONG_LINE,
    MAX_COMBINING_MARKS,
    MAX_EMPTY_LINES,
    WIDTH,
    VisibleStream,
    fold_at_words,
    fold_long,
    has_hidden_path_chars,
    hidden_kind,
    hidden_kinds,
    is_combining_mark,
    mixed_endings,
    source_line_count,
    source_lines,
    visible,
    visible_diff,
    visible_line,
    visible_path,
    visible_text,
    visible_word,
)

ANY_TEXT = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("<U+0>\\x\r\n\t ␍↪\u202e\u200b\ufe0f\u2800\u3164\ufeff\x1b\x9b\udc80"),
    ),
    max_size=40,
)


@pytest.mark.parametrize(
    ("text", "shown", "kinds"),
    [
        ("plain\n\ttext ~", "plain\n\ttext ~", ()),
        ("Grüße, Жизнь, 漢字, שלום, 한글", "Grüße, Жизнь, 漢字, שלום, 한글", ()),
        ("a\x00b\x7f", "a<U+0000>b<U+007F>", ("control",)),
        ("\x1b[31mred\x1b[0m", "<U+001B>[31mred<U+001B>[0m", ("control",)),
        ("\x9b31m", "<U+009B>31m", ("control",)),
        ("a\x85b", "a<U+0085>b", ("control",)),
        ("a\u2028b\u2029", "a<U+2028>b<U+2029>", ("separator",)),
        ("if a\u202e:x\u2066", "if a<U+202E>:x<U+2066>", ("bidi",)),
        ("\u200e\u200f\u061c", "<U+200E><U+200F><U+061C>", ("bidi",)),
        ("pass\u200bword\u00ad", "pass<U+200B>word<U+00AD>", ("invisible",)),
        ("x\U000e0041\U000e007f", "x<U+E0041><U+E007F>", ("tag",)),
        ("a\ufe00\U000e0100", "a<U+FE00><U+E0100>", ("selector",)),
        ("\u3164\u115f\uffa0\u034f", "<U+3164><U+115F><U+FFA0><U+034F>", ("invisible",)),
        ("a\u00a0b\u2003\u3000\u2800", "a<U+00A0>b<U+2003><U+3000><U+2800>", ("space",)),
        ("\ue000", "<U+E000>", ("private",)),
        ("\u0378", "<U+0378>", ("unassigned",)),
        ("\udc80", "<U+DC80>", ("surrogate",)),
        ("\ufeffhead", "<U+FEFF>head", ()),
        ("he\ufeffad", "he<U+FEFF>ad", ("invisible",)),
        ("a\r\nb\r\n", "a␍\nb␍\n", ()),
        ("a\r\nb", "a␍\nb", ()),
        ("a\r\nb\n", "a␍\nb\n", ("line ending",)),
        ("good\rbad\n", "good<U+000D>bad\n", ("line ending",)),
        ("a\r\r\n", "a<U+000D>␍\n", ("line ending",)),
        ("a\r", "a<U+000D>", ("line ending",)),
        ("a \u26a0\ufe0f b", "a \u26a0<U+FE0F> b", ()),
        ("1\ufe0f\u20e3", "1<U+FE0F>\u20e3", ()),
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469<U+200D>\U0001f4bb", ()),
        ("a\ufe0f", "a<U+FE0F>", ("selector",)),
        ("\u26a0\ufe0f\ufe0f", "\u26a0<U+FE0F><U+FE0F>", ("selector",)),
        ("a\u200db", "a<U+200D>b", ("invisible",)),
        ("literal <U+202E> here", "literal <U+003C>U+202E> here", ()),
        ("<U+> <U+XY>", "<U+> <U+XY>", ()),
        ("a ␍ ↪", "a <U+240D> <U+21AA>", ()),
    ],
)
def test_what_hides_is_written_out_and_named(text: str, shown: str, kinds: tuple[str, ...]) -> None:
    assert (visible(text), hidden_kinds(text)) == (shown, kinds)


def test_every_character_that_does_not_show_itself_is_found() -> None:
    """All of Unicode by category; of the vast private and unassigned parts, every 97th."""
    few, vast = {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"}, {"Co", "Cn"}
    shapeless = [
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in (few | vast if code % 97 == 0 else few)
        and code != ord(" ")
    ]
    missed = [hex(n) for n in shapeless if visible_line(chr(n)) != f"<U+{n:04X}>"]
    assert missed == []


def test_default_ignorable_characters_are_found() -> None:
    ignorable = [
        0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810),
        *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x3164,
        *range(0xFE00, 0xFE10), 0xFEFF, 0xFFA0, *range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4),
        *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000),
    ]  # fmt: skip
    assert [hex(code) for code in ignorable if hidden_kind(chr(code)) is None] == []


@given(ANY_TEXT)
def test_the_text_can_be_told_from_what_is_shown(text: str) -> None:
    if "empty lines" not in hidden_kinds(text):
        assert _read_back(visible(text)) == text
    assert _read_back(visible_line(text)) == text


@given(ANY_TEXT)
def test_what_is_shown_hides_nothing(text: str) -> None:
    assert set(hidden_kinds(visible(text))) <= {"padding", "long line"}
    assert set(hidden_kinds(visible_line(text))) <= {"padding", "long line"}
    assert visible_line(text).isprintable()


@given(st.binary(max_size=30) | ANY_TEXT.map(lambda t: t.encode("utf-8", "surrogatepass")))
def test_a_path_can_be_told_from_what_is_shown(path: bytes) -> None:
    shown = visible_path(path)
    assert shown.isprintable()
    assert not hidden_kinds(shown)
    raw = re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(0xDC00 + int(m[1], 16)), shown)
    assert _read_back(raw).encode("utf-8", "surrogateescape") == path


@pytest.mark.parametrize(
    ("path", "shown", "odd"),
    [
        (b"src/a.py", "src/a.py", False),
        ("src/ä 漢.py".encode(), "src/ä 漢.py", False),
        (b"a\nb\tc", "a<U+000A>b<U+0009>c", True),
        (b"caf\xe9", "caf\\xe9", True),
        (b"a\\xe9", "a<U+005C>xe9", False),
        (b"a\\b", "a\\b", False),
        ("a\u202etxt.exe".encode(), "a<U+202E>txt.exe", True),
        (b"a.py ", "a.py<U+0020>", True),
        (b" a/b /c", "<U+0020>a/b<U+0020>/c", True),
        (b"<U+202E>", "<U+003C>U+202E>", False),
        (b"", "", False),
    ],
)
def test_paths_stay_on_one_line(path: bytes, shown: str, odd: bool) -> None:
    assert (visible_path(path), has_hidden_path_chars(path)) == (shown, odd)


def test_a_byte_order_mark_counts_where_the_file_does_not_begin() -> None:
    assert hidden_kinds("\ufeffx", whole=False) == ("invisible",)


def test_long_lines_and_padding_are_flagged() -> None:
    assert hidden_kinds("x" * LONG_LINE) == ()
    assert hidden_kinds("short\n" + "x" * (LONG_LINE + 1)) == ("long line",)
    assert hidden_kinds(f"{'x' * LONG_LINE}\n" * 3) == ()
    assert hidden_kinds(f"{'x' * LONG_LINE}\n\n{'x' * (LONG_LINE + 1)}\nshort\n") == ("long line",)
    assert hidden_kinds("x = 1" + " " * WIDTH + "evil()") == ("padding",)
    assert hidden_kinds("x = 1" + "\t" * WIDTH + "evil()") == ("padding",)


def test_long_lines_are_folded_and_nothing_is_lost() -> None:
    line = "".join(str(n % 10) for n in range(LONG_LINE + 1))
    first, *rest = fold_long(line)
    assert [len(piece) for piece in (first, *rest[:-1])] == [WIDTH] * (len(rest))
    assert all(piece.startswith("↪ ") for piece in rest)
    assert first + "".join(piece.removeprefix("↪ ") for piece in rest) == line
    assert fold_long("x" * LONG_LINE) == ["x" * LONG_LINE]


@pytest.mark.parametrize(
    ("text", "mixed"),
    [("", False), ("a\nb", False), ("a\r\nb\r\n", False), ("a\r\nb\n", True), ("a\rb", True)],
)
def test_line_endings_are_compared(text: str, mixed: bool) -> None:
    assert mixed_endings(text) is mixed


def _read_back(shown: str) -> str:
    text = shown.replace("␍\n", "<U+000D>\n")
    return re.sub(r"<U\+([0-9A-F]{4,6})>", lambda match: chr(int(match[1], 16)), text)


def test_speech_keeps_what_people_write_every_day() -> None:
    everyday = "⚠️ 👩\u200d💻 5\u202f000\u00a0km"
    assert visible_text(everyday) == everyday
    assert visible_text("a\ufe0f \u200d \x1b[2J") == "a<U+FE0F> <U+200D> <U+001B>[2J"


@given(ANY_TEXT)
def test_nothing_in_speech_steers(text: str) -> None:
    left = set(visible_text(text)) - set("\ufe0f\u200d\u00a0\u202f")
    assert {char for char in left if hidden_kind(char)} == set()


def test_long_sentences_are_folded_between_words_and_nothing_of_them_is_lost() -> None:
    words = "sentence " * 150
    pieces = fold_at_words(words)
    assert all(piece.endswith(" ") for piece in pieces)
    assert all(len(piece) <= WIDTH for piece in pieces)
    assert "".join(piece.removeprefix(CONTINUATION_MARK) for piece in pieces) == words
    unbroken = "x" * 1500
    assert (
        "".join(piece.removeprefix(CONTINUATION_MARK) for piece in fold_at_words(unbroken))
        == unbroken
    )
    assert fold_at_words("short enough") == ["short enough"]


ZALGO = "Z" + "\u0301" * 50 + "o\u0489\u0335\u0300\u0301\u0302\u0303"
SCRIPTS = {
    "Vietnamese": unicodedata.normalize("NFD", "Tiếng Việt được nghiễm"),
    "Thai": "น้ำที่นั่นก็ซื้อ",
    "Hindi": "हिन्दी ज़िन्दगी क़ुर्बानियाँ",
    "Hebrew": "בְּרֵאשִׁ֖ית בָּרָ֣א הַשָּׁמַ֖יִם",
    "Arabic": "بِسْمِ ٱللَّهِ ٱلرَّحْمَـٰنِ",
    "Burmese": "မြို့ လျှို့ဝှက်",
    "Tibetan": "བསྒྲུབས",
    "Greek": unicodedata.normalize("NFD", "ᾧ ᾗ ἄνθρωπος"),
}


def longest_stack(text: str) -> int:
    runs = re.findall("[x]+", "".join("x" if is_combining_mark(char) else " " for char in text))
    return max(map(len, runs), default=0)


@pytest.mark.parametrize("show", [visible, visible_line, visible_text, visible_diff])
def test_stacks_of_marks_are_bounded_and_named(show: Callable[[str], str]) -> None:
    shown = show(ZALGO)
    assert longest_stack(shown) == MAX_COMBINING_MARKS
    assert shown.count("<U+0301>") == 50 - MAX_COMBINING_MARKS
    assert _read_back(shown) == ZALGO
    assert hidden_kinds(ZALGO) == ("stacked marks",)


def test_stacks_of_marks_in_names_and_words_of_commands() -> None:
    name = ZALGO.encode()
    assert (
        longest_stack(visible_path(name))
        == longest_stack(visible_word(name))
        == MAX_COMBINING_MARKS
    )
    assert has_hidden_path_chars(name)


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_that_need_marks_are_left_alone(script: str) -> None:
    text = SCRIPTS[script]
    assert longest_stack(text) > 0
    assert (visible(text), hidden_kinds(text)) == (text, ())
    assert visible_path(text.encode()) == text


@pytest.mark.parametrize(
    ("text", "shown", "kinds"),
    [
        ("a\n" + "\n" * MAX_EMPTY_LINES + "b\n", "a\n" + "\n" * MAX_EMPTY_LINES + "b\n", ()),
        ("a\n" + "\n" * 21 + "b\n", "a\n␤ 21 empty lines\nb\n", ("empty lines",)),
        ("\n" * 30 + "b", "␤ 30 empty lines\nb", ("empty lines",)),
        ("b" + "\n" * 500, "b\n␤ 499 empty lines\n", ("empty lines",)),
        ("a\n" + " \t\n" * 40, "a\n␤ 40 blank lines (U+0009, U+0020)\n", ("empty lines",)),
        (
            "a\n" + "\u200b\n\n" * 11 + "b",
            "a\n␤ 22 blank lines (U+200B)\nb",
            ("invisible", "empty lines"),
        ),
        ("a\r\n" * 2 + "\r\n" * 21, "a␍\n" * 2 + "␤ 21 blank lines (U+000D)\n", ("empty lines",)),
        ("␤ 21 empty lines\n", "<U+2424> 21 empty lines\n", ()),
        # Tags can spell words, so they are written out each.
        ("\U000e0041\n" * 21, "<U+E0041>\n" * 21, ("tag",)),
    ],
)
def test_many_empty_lines_are_counted(text: str, shown: str, kinds: tuple[str, ...]) -> None:
    assert (visible(text), hidden_kinds(text)) == (shown, kinds)
    assert visible_text(text) == shown


@pytest.mark.parametrize("sign", "+- ")
def test_many_empty_lines_of_a_diff_are_counted_with_their_sign(sign: str) -> None:
    head = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n+a\n"
    diff = head + f"{sign}\n" * 20 + f"{sign}  \n" + "+b\n"
    assert visible_diff(diff) == head + f"{sign}␤ 21 blank lines (U+0020)\n+b\n"
    few = head + f"{sign}\n" * 20 + "+b\n"
    assert visible_diff(few) == few


def test_a_counted_line_says_what_it_stands_for() -> None:
    shown = visible("a\n" + "\n" * 25).split("\n")
    assert [source_line_count(line) for line in shown] == [1, 25, 1]
    assert source_lines(shown[1]) == [""] * 25
    assert source_lines("+␤ 3 empty lines") == ["+"] * 3
    assert (source_line_count("said ␤ 3 empty lines"), source_lines("x")) == (1, ["x"])


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_nothing_hides_between_two_pieces(size: int) -> None:
    text = "a\n" + "\n" * 60 + " \n" + ZALGO + "\n" + "b\n" * 3 + "\n" * 22
    flow = VisibleStream()
    pieces = [flow.take(text[at : at + size]) for at in range(0, len(text), size)]
    shown = "".join([*pieces, flow.rest()])
    assert longest_stack(shown) == MAX_COMBINING_MARKS
    assert shown.split("\n")[:23] == [
        "a",
        *[""] * 20,
        "␤ 41 more blank lines (U+0020)",
        visible(ZALGO),
    ]
    assert shown.endswith("b\n" + "\n" * 20 + "␤ 2 more empty lines\n")


@given(st.lists(ANY_TEXT.map(lambda text: text.replace("\r", "")), max_size=5))
def test_pieces_show_what_the_whole_shows(pieces: list[str]) -> None:
    flow, text = VisibleStream(), "".join(pieces)
    shown = "".join([*map(flow.take, pieces), flow.rest()])
    if "<U+" not in text and "empty lines" not in hidden_kinds(text):
        assert shown == visible(text)
