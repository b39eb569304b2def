"""Hidden characters: finds those that hide, reorder or imitate, and writes them out in ASCII."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import takewhile
from typing import Final, Literal, TypeAlias, get_args

HiddenKind = Literal[
    "control",
    "line ending",
    "separator",
    "bidi",
    "invisible",
    "selector",
    "tag",
    "space",
    "private",
    "unassigned",
    "surrogate",
    "stacked marks",
    "empty lines",
    "padding",
    "long line",
]
Ranges: TypeAlias = tuple[tuple[int, int], ...]

LONG_LINE: Final = 1000  # a longer line is flagged, and folded when shown
WIDTH: Final = 200
CONTINUATION_MARK: Final = "↪ "
RETURN: Final = "␍"
EMPTY_LINES_MARK: Final = "␤ "  # before the number of empty lines that are not shown one by one
MAX_EMPTY_LINES: Final = 20  # empty lines in a row that are shown; more are counted
MAX_COMBINING_MARKS: Final = 4  # marks on one letter; no script that is written today needs more
BOM: Final = "\ufeff"

# What the general category would let through, or name too vaguely.
_RANGES: dict[HiddenKind, Ranges] = {
    "bidi": ((0x061C, 0x061C), (0x200E, 0x200F), (0x202A, 0x202E), (0x2066, 0x2069)),
    "selector": ((0x180B, 0x180D), (0x180F, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF)),
    "tag": ((0xE0000, 0xE007F),),
    "space": ((0x2800, 0x2800),),  # a braille cell without dots
    "invisible": (
        (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x2065, 0x2065), (0x3164, 0x3164),
        (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFC), (0x16FE4, 0x16FE4), (0x1D159, 0x1D159),
        (0xE0080, 0xE00FF), (0xE01F0, 0xE0FFF),
    ),
}  # fmt: skip
_CATEGORIES: dict[str, HiddenKind] = {
    "Cc": "control",
    "Cf": "invisible",
    "Cs": "surrogate",
    "Co": "private",
    "Cn": "unassigned",
    "Zl": "separator",
    "Zp": "separator",
    "Zs": "space",
}
_KINDS: tuple[HiddenKind, ...] = get_args(HiddenKind)
_PLAIN = bytes([*b"\n\t", *range(0x20, 0x7F)])
_PADDINGS = (" " * WIDTH, "\t" * (WIDTH // 4))

# Real text that looks like our notation has its first character written out: no imitation.
_NOTATION = re.compile(r"<(?=U\+[0-9A-F]{4,6}>)")
_BYTE_NOTATION = re.compile(r"\\(?=x[0-9a-f]{2})")
_OUR_MARKS = frozenset(RETURN + CONTINUATION_MARK[0] + EMPTY_LINES_MARK[0])
_EDGE_SPACE = re.compile(r"(?<![^/]) | (?![^/])")

_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u231a-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
# A selector after an emoji, a joiner between two: everybody writes them. Shown, not flagged.
_EMOJI_GLUE = (
    f"(?<=[{_EMOJI}])\ufe0f|(?<=[0-9#*])\ufe0f(?=\u20e3)|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
)

# A line of these alone looks empty. Tags and selectors are not among them: they can spell words.
_BLANK = (
    "[ \t\r\x0c\x85\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180e"
    "\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufeff\uffa0\ufff0-\ufff8]*+"
)
# Patterns as texts, compiled when first needed: that takes milliseconds, and few texts need them.
# Each begins with a line feed, which is found fast, and takes nothing back: a search is linear.
_RUN: Final = rf"\n(?:{_BLANK}\n){{{MAX_EMPTY_LINES + 1},}}"
_FIRST_RUN: Final = rf"(?:{_BLANK}\n){{{MAX_EMPTY_LINES + 1},}}"
_SIGNED_RUN: Final = rf"\n([+\- ]){_BLANK}(?=\n|\Z)(?:\n\1{_BLANK}(?=\n|\Z)){{{MAX_EMPTY_LINES},}}"
_EMPTY_LINES: Final = rf"(?m)^(?:{_BLANK}\n)+"
_EVERYDAY: Final = f"({_EMOJI_GLUE}|[\u00a0\u202f])"
_BLANK_BYTES = b" \t\r\x0c"
_PURE_RUNS = tuple([f"\n{sign}" * (MAX_EMPTY_LINES + 1) for sign in ("", "+", "-", " ")])
_BARE_RUNS = tuple([run.encode() for run in _PURE_RUNS[:3]])
_COUNTED = re.compile(rf"([+\- ]?){EMPTY_LINES_MARK}(\d+) ")


class _EscapeTable(dict[int, str]):
    """How each character is shown, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        written_out = hidden_kind(char) is not None or char in _OUR_MARKS
        self[code] = shown = _notation(code) if written_out else char
        return shown


@cache
def hidden_kind(char: str) -> HiddenKind | None:
    """Returns how a character hides, or None if it is visible."""
    if char in "\n\t ":
        return None
    code = ord(char)
    for found, ranges in _RANGES.items():
        if any(low <= code <= high for low, high in ranges):
            return found
    return _CATEGORIES.get(unicodedata.category(char))


@cache
def is_combining_mark(char: str) -> bool:
    """Tells whether a character is drawn onto the one before it and takes up no space itself."""
    return unicodedata.category(char) in ("Mn", "Me")


def visible(text: str) -> str:
    """Escapes hidden characters. Line feeds and tabs stay; the CR of a CR LF becomes a mark.

    Of many empty lines in a row only the number is shown, after a mark.
    """
    return _counted(text, _RUN, _written_out)


def visible_diff(text: str) -> str:
    """Escapes hidden characters in a diff, where a line with nothing after its sign is empty."""
    return _counted(text, _SIGNED_RUN, _written_out)


def visible_text(text: str) -> str:
    """Escapes hidden characters except everyday ones: joined emoji, non-breaking spaces."""
    return _counted(text, _RUN, _spoken_out)


def collapse_empty_lines(lines: Sequence[str], *, signed: bool = False) -> list[str]:
    """Returns lines that are already escaped, with many empty lines in a row only counted."""
    text = _counted("\n".join([*lines, ""]), _RUN, str)
    text = _counted(text, _SIGNED_RUN, str) if signed else text
    return text.split("\n")[:-1]


def source_line_count(line: str) -> int:
    """Returns how many lines of a text a shown line stands for."""
    found = _COUNTED.match(line)
    return int(found[2]) if found else 1


def source_lines(line: str) -> list[str]:
    """Returns the lines that a shown line stands for; empty ones have their sign, if any."""
    found = _COUNTED.match(line)
    return [found[1]] * int(found[2]) if found else [line]


def visible_line(text: str) -> str:
    """Escapes hidden characters, line feeds and tabs too, so that the text stays on one line."""
    if _plain(text) and "\n" not in text and "\t" not in text:
        return text
    text = _NOTATION.sub(_notation(ord("<")), text)
    return _unstacked(text, set(text)).translate(_IN_LINE)


def visible_path(path: bytes) -> str:
    """Shows a file name on one line; bytes that are not UTF-8 become `\\xNN`."""
    text = path.decode("utf-8", "surrogateescape")
    if text.isascii() and text.isprintable() and not _doubtful_in_path(text):
        return text
    text = _NOTATION.sub(_notation(ord("<")), text)
    text = _BYTE_NOTATION.sub(_notation(ord("\\")), text)
    text = _unstacked(text, set(text))
    return _EDGE_SPACE.sub(_notation(ord(" ")), text).translate(_IN_PATH)


def visible_word(word: bytes) -> str:
    """Shows a word of a command on one line; quotes show where it ends."""
    text = word.decode("utf-8", "surrogateescape")
    if text.isascii() and text.isprintable() and "<U+" not in text and "\\x" not in text:
        return text
    text = _NOTATION.sub(_notation(ord("<")), text)
    text = _BYTE_NOTATION.sub(_notation(ord("\\")), text)
    return _unstacked(text, set(text)).translate(_IN_PATH)


def hidden_kinds(text: str, *, whole: bool = True) -> tuple[HiddenKind, ...]:
    """Returns how a text hides something; `whole` if it begins where its file does."""
    found: set[HiddenKind | None] = set()
    if not _plain(text):
        chars = set(_glueless(text, whole=whole))
        found = {hidden_kind(char) for char in chars - {"\r"}}
        if mixed_endings(text):
            found.add("line ending")
        if _has_stack(text, chars):
            found.add("stacked marks")
    if _may_have_run(text) and (_compiled(_RUN).search(text) or _compiled(_FIRST_RUN).match(text)):
        found.add("empty lines")
    if len(text) > WIDTH and any(padding in text for padding in _PADDINGS):
        found.add("padding")
    if has_long_line(text):
        found.add("long line")
    return tuple([way for way in _KINDS if way in found]) if found else ()


def has_hidden_path_chars(path: bytes) -> bool:
    """Tells whether a path has anything in it that a reader would not see or not expect."""
    text = path.decode("utf-8", "surrogateescape")
    if not (text.isascii() and text.isprintable()) and (
        hidden_kinds(text, whole=False) or _BREAK.search(text)
    ):
        return True
    return " " in text and _EDGE_SPACE.search(text) is not None


def mixed_endings(text: str) -> bool:
    """Tells whether a text has carriage returns other than one at the end of every line."""
    returns = text.count("\r")
    return returns > 0 and not returns == text.count("\r\n") == text.count("\n")


def has_long_line(text: str) -> bool:
    """Tells whether a line is longer than `LONG_LINE`, without splitting the text."""
    start, most = 0, len(text) - LONG_LINE
    while start < most:
        feed = text.rfind("\n", start, start + LONG_LINE + 1)
        if feed < 0:
            return True
        start = feed + 1
    return False


def fold_long(line: str) -> list[str]:
    """Breaks a very long line into marked pieces, so that padding pushes nothing out of view."""
    if len(line) <= LONG_LINE:
        return [line]
    step = WIDTH - len(CONTINUATION_MARK)
    rest = [CONTINUATION_MARK + line[at : at + step] for at in range(WIDTH, len(line), step)]
    return [line[:WIDTH], *rest]


def fold_at_words(line: str) -> list[str]:
    """Breaks a very long line like `fold_long`, but between words where there are any."""
    if len(line) <= LONG_LINE:
        return [line]
    pieces, rest = [], line
    while len(rest) > WIDTH:
        blank = rest.rfind(" ", WIDTH // 2, WIDTH)
        at = blank + 1 if blank >= 0 else WIDTH
        pieces.append(rest[:at])
        rest = CONTINUATION_MARK + rest[at:]
    return [*pieces, rest]


class VisibleStream:
    """Text that arrives in pieces, escaped so that nothing hides between two pieces.

    Up to `MAX_EMPTY_LINES` empty lines are passed on; the number of further ones is shown when they
    end.
    """

    def __init__(self, show: Callable[[str], str] = visible) -> None:
        self._show = show
        self._held = ""  # the begin of a line that may be empty
        self._marks = ""  # at the end of what was shown
        self._fresh = True  # a line begins
        self._empty = 0  # lines in a row so far
        self._more = ""  # of these, all that were not shown

    def take(self, piece: str) -> str:
        """Adds a piece, and returns what can be shown now."""
        text, self._held = self._held + piece, ""
        at = text.rfind("\n") + 1
        if (
            (at or self._fresh)
            and len(text) - at < LONG_LINE
            and _compiled(_BLANK).fullmatch(text, at)
        ):
            text, self._held = text[:at], text[at:]
        return "".join(self._parts(text)) if text else ""

    def rest(self) -> str:
        """Returns what remains at the end of the input."""
        held, self._held = self._held, ""
        shown = self._told() + (self._shown(held) if held else "")
        self._fresh, self._marks = True, ""
        return shown

    def _parts(self, text: str) -> Iterator[str]:
        if not self._fresh:  # the rest of a line that was begun
            at = text.find("\n") + 1 or len(text)
            yield self._shown(text[:at])
            text = text[at:]
        at = 0
        for run in _compiled(_EMPTY_LINES).finditer(text):
            if run.start() > at:
                yield self._told() + self._shown(text[at : run.start()])
            yield from self._lines(run[0])
            at = run.end()
        if at < len(text):
            yield self._told() + self._shown(text[at:])

    def _lines(self, run: str) -> Iterator[str]:
        count = run.count("\n")
        room = max(MAX_EMPTY_LINES - self._empty, 0)
        self._empty += count
        if count <= room:
            yield self._shown(run)
            return
        lines = run.split("\n")
        if room:
            yield self._shown("\n".join(lines[:room]) + "\n")
        self._more = _fewest(self._more, "\n".join(lines[room:]))

    def _told(self) -> str:
        """Ends a row of empty lines, and says how many of them were not shown."""
        unseen, more = self._empty - MAX_EMPTY_LINES, self._more
        self._empty, self._more = 0, ""
        return f"{_count_of(more, number=unseen, word='more ')}\n" if unseen > 0 else ""

    def _shown(self, text: str) -> str:
        self._fresh = text.endswith("\n")
        before, whole = self._show(self._marks), self._marks + text
        self._marks = "".join(takewhile(is_combining_mark, reversed(whole[-MAX_COMBINING_MARKS:])))[
            ::-1
        ]
        return self._show(whole)[len(before) :]


def _fewest(known: str, more: str) -> str:
    """Returns a text with every character that is in either; how often does not matter."""
    return "".join(sorted({*known, *more}))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _plain(text: str) -> bool:
    """Tells quickly of most text that nothing in it needs to be written out."""
    if not text.isascii() or text.encode().translate(None, _PLAIN):
        return False
    return "<" not in text or "<U+" not in text  # one character is found much faster


def _counted(text: str, runs: str, show: Callable[[str], str]) -> str:
    """Shows a text, and of empty lines in a row, where they are many, the number."""
    if not _may_have_run(text):
        return show(text)
    pieces: list[str] = []
    end = 0
    first = _compiled(_FIRST_RUN).match(text) if runs == _RUN else None
    if first:
        pieces, end = [_count_of(first[0]), "\n"], first.end()
    for run in _compiled(runs).finditer(text, end):
        sign = run[1] if runs == _SIGNED_RUN else ""
        last = "\n" if run[0].endswith("\n") else ""
        told = _count_of(run[0].removeprefix("\n"), sign)
        pieces += [show(text[end : run.start() + 1]), sign, told, last]
        end = run.end()
    return "".join([*pieces, show(text[end:])]) if end else show(text)


def _may_have_run(text: str) -> bool:
    """Rules out quickly that most texts have empty lines in a row to be counted."""
    if not text.isascii():
        return len(text) > MAX_EMPTY_LINES
    for run in _PURE_RUNS:
        if run in text:
            return True
    if " \n" not in text and "\r" not in text and "\t" not in text and "\f" not in text:
        return False  # no line ends with a space, so none consists of spaces alone
    bare = text.encode().translate(None, _BLANK_BYTES)
    for bare_run in _BARE_RUNS:  # noqa: SIM110 - any() takes longer
        if bare_run in bare:
            return True
    return False


def _count_of(lines: str, sign: str = "", number: int = 0, word: str = "") -> str:
    """Says how many lines there are, and of which characters, if any."""
    count = number or lines.count("\n") + (not lines.endswith("\n"))
    rest = lines.replace(f"\n{sign}", "\n").removeprefix(sign) if sign else lines
    chars = sorted(set(rest) - {"\n"})
    noun = "line" if count == 1 else "lines"
    if not chars:
        return f"{EMPTY_LINES_MARK}{count} {word}empty {noun}"
    codes = ", ".join([f"U+{ord(char):04X}" for char in chars])
    return f"{EMPTY_LINES_MARK}{count} {word}blank {noun} ({codes})"


def _written_out(text: str) -> str:
    if _plain(text):
        return text
    text = _NOTATION.sub(_notation(ord("<")), text)
    chars = set(text)
    text = _unstacked(text, chars)
    if all(_IN_TEXT[ord(char)] == char for char in chars):
        return text  # as most texts in other alphabets, and found out much faster
    return f"{RETURN}\n".join([line.translate(_IN_TEXT) for line in text.split("\r\n")])


def _spoken_out(text: str) -> str:
    if _plain(text):
        return text
    pieces = _compiled(_EVERYDAY).split(text)
    pieces[::2] = [_written_out(piece) for piece in pieces[::2]]
    return "".join(pieces)


def _unstacked(text: str, chars: set[str]) -> str:
    """Writes out the marks on a letter that are too many."""
    marks = _marks(chars)
    return _stack(marks).sub(_each_notation, text) if marks else text


def _has_stack(text: str, chars: set[str]) -> bool:
    marks = _marks(chars)
    return bool(marks) and _stack(marks).search(text) is not None


def _marks(chars: set[str]) -> str:
    return "".join(sorted(filter(is_combining_mark, chars)))


def _each_notation(found: re.Match[str]) -> str:
    return "".join([_notation(ord(char)) for char in found[0]])


@lru_cache(maxsize=64)  # for the marks of a text, because all there are would be a long list
def _stack(marks: str) -> re.Pattern[str]:
    return re.compile(f"(?<=[{marks}]{{{MAX_COMBINING_MARKS}}})[{marks}]+")


def _doubtful_in_path(text: str) -> bool:
    """Tells whether anything in a printable name could be taken for something else."""
    marks = "<" in text or "\\" in text or " " in text
    return marks and _DOUBTFUL_IN_PATH.search(text) is not None


def _glueless(text: str, *, whole: bool) -> str:
    text = text.removeprefix(BOM) if whole else text
    return re.sub(_EMOJI_GLUE, "", text) if "\ufe0f" in text or "\u200d" in text else text


def _notation(code: int) -> str:
    return f"<U+{code:04X}>"


_DOUBTFUL_IN_PATH = re.compile(rf"<U\+|\\x|{_EDGE_SPACE.pattern}")
_BREAK = re.compile(r"[\n\t]")
_BREAKS = {ord(char): _notation(ord(char)) for char in "\n\t"}
_RAW_BYTES = {0xDC00 + byte: f"\\x{byte:02x}" for byte in range(0x80, 0x100)}
_IN_TEXT = _EscapeTable()
_IN_LINE = _EscapeTable(_BREAKS)
_IN_PATH = _EscapeTable({**_BREAKS, **_RAW_BYTES})
