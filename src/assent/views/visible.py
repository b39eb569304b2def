"""Visible text: characters that hide, reorder or imitate are found and written out in ASCII."""

import re
import unicodedata
from functools import cache
from typing import Final, Literal, TypeAlias, get_args

Kind = Literal[
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
    "padding",
    "long line",
]
Ranges: TypeAlias = tuple[tuple[int, int], ...]

LONG: Final = 1000  # a longer line is flagged, and folded when shown
WIDTH: Final = 200
CONTINUED: Final = "↪ "
RETURN: Final = "␍"
BOM: Final = "\ufeff"

# What the general category would let through, or name too vaguely.
_RANGES: dict[Kind, Ranges] = {
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
_CATEGORIES: dict[str, Kind] = {
    "Cc": "control",
    "Cf": "invisible",
    "Cs": "surrogate",
    "Co": "private",
    "Cn": "unassigned",
    "Zl": "separator",
    "Zp": "separator",
    "Zs": "space",
}
_KINDS: tuple[Kind, ...] = get_args(Kind)
_PLAIN = bytes([*b"\n\t", *range(0x20, 0x7F)])
_PADDINGS = (" " * WIDTH, "\t" * (WIDTH // 4))

# Real text that looks like our notation has its first character written out: no imitation.
_NOTATION = re.compile(r"<(?=U\+[0-9A-F]{4,6}>)")
_BYTE_NOTATION = re.compile(r"\\(?=x[0-9a-f]{2})")
_OUR_MARKS = frozenset(RETURN + CONTINUED[0])
_EDGE_SPACE = re.compile(r"(?<![^/]) | (?![^/])")

_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u231a-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
# A selector after an emoji, a joiner between two: everybody writes them. Shown, not flagged.
_EMOJI_GLUE = (
    f"(?<=[{_EMOJI}])\ufe0f|(?<=[0-9#*])\ufe0f(?=\u20e3)|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
)


class _Shown(dict[int, str]):
    """How each character is shown, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        written_out = kind(char) is not None or char in _OUR_MARKS
        self[code] = shown = _notation(code) if written_out else char
        return shown


@cache
def kind(char: str) -> Kind | None:
    """Says in which way a character hides, or None if it shows itself."""
    if char in "\n\t ":
        return None
    code = ord(char)
    for found, ranges in _RANGES.items():
        if any(low <= code <= high for low, high in ranges):
            return found
    return _CATEGORIES.get(unicodedata.category(char))


def visible(text: str) -> str:
    """Writes out what hides. Line feeds and tabs stay; the CR of a CR LF becomes a mark."""
    if _plain(text):
        return text
    lines = _NOTATION.sub(_notation(ord("<")), text).split("\r\n")
    return f"{RETURN}\n".join([line.translate(_IN_TEXT) for line in lines])


def visible_speech(text: str) -> str:
    """Writes out what hides, but for what people write every day: joined emoji, hard spaces."""
    if _plain(text):
        return text
    pieces = _EVERYDAY.split(text)
    pieces[::2] = [visible(piece) for piece in pieces[::2]]
    return "".join(pieces)


def visible_line(text: str) -> str:
    """Writes out what hides, line feeds and tabs too, so that the text stays on one line."""
    if _plain(text) and "\n" not in text and "\t" not in text:
        return text
    return _NOTATION.sub(_notation(ord("<")), text).translate(_IN_LINE)


def visible_path(path: bytes) -> str:
    """Shows a file name on one line; bytes that are not UTF-8 become `\\xNN`."""
    text = path.decode("utf-8", "surrogateescape")
    if text.isascii() and text.isprintable() and not _doubtful_in_path(text):
        return text
    text = _NOTATION.sub(_notation(ord("<")), text)
    text = _BYTE_NOTATION.sub(_notation(ord("\\")), text)
    return _EDGE_SPACE.sub(_notation(ord(" ")), text).translate(_IN_PATH)


def visible_word(word: bytes) -> str:
    """Shows a word of a command on one line; where it ends, the quotes around it say."""
    text = word.decode("utf-8", "surrogateescape")
    if text.isascii() and text.isprintable() and "<U+" not in text and "\\x" not in text:
        return text
    text = _NOTATION.sub(_notation(ord("<")), text)
    return _BYTE_NOTATION.sub(_notation(ord("\\")), text).translate(_IN_PATH)


def hidden(text: str, *, whole: bool = True) -> tuple[Kind, ...]:
    """Returns in which ways a text hides something; `whole` if it begins where its file does."""
    found: set[Kind | None] = set()
    if not _plain(text):
        found = {kind(char) for char in set(_glueless(text, whole=whole)) - {"\r"}}
        if mixed_endings(text):
            found.add("line ending")
    if len(text) > WIDTH and any(padding in text for padding in _PADDINGS):
        found.add("padding")
    if has_long_line(text):
        found.add("long line")
    return tuple([way for way in _KINDS if way in found]) if found else ()


def hidden_path(path: bytes) -> bool:
    """Tells whether a path has anything in it that a reader would not see or not expect."""
    text = path.decode("utf-8", "surrogateescape")
    if not (text.isascii() and text.isprintable()) and (
        hidden(text, whole=False) or _BREAK.search(text)
    ):
        return True
    return " " in text and _EDGE_SPACE.search(text) is not None


def mixed_endings(text: str) -> bool:
    """Tells whether a text has carriage returns other than one at the end of every line."""
    returns = text.count("\r")
    return returns > 0 and not returns == text.count("\r\n") == text.count("\n")


def has_long_line(text: str) -> bool:
    """Tells whether a line is longer than `LONG`, by leaps from line feed to line feed."""
    start, most = 0, len(text) - LONG
    while start < most:
        feed = text.rfind("\n", start, start + LONG + 1)
        if feed < 0:
            return True
        start = feed + 1
    return False


def fold_long(line: str) -> list[str]:
    """Breaks a very long line into marked pieces, so that padding pushes nothing out of view."""
    if len(line) <= LONG:
        return [line]
    step = WIDTH - len(CONTINUED)
    rest = [CONTINUED + line[at : at + step] for at in range(WIDTH, len(line), step)]
    return [line[:WIDTH], *rest]


def fold_words(line: str) -> list[str]:
    """Breaks a very long line like `fold_long`, but between words where there are any."""
    if len(line) <= LONG:
        return [line]
    pieces, rest = [], line
    while len(rest) > WIDTH:
        blank = rest.rfind(" ", WIDTH // 2, WIDTH)
        at = blank + 1 if blank >= 0 else WIDTH
        pieces.append(rest[:at])
        rest = CONTINUED + rest[at:]
    return [*pieces, rest]


def _plain(text: str) -> bool:
    """Tells quickly of most text that nothing in it needs to be written out."""
    if not text.isascii() or text.encode().translate(None, _PLAIN):
        return False
    return "<" not in text or "<U+" not in text  # one character is found much faster


def _doubtful_in_path(text: str) -> bool:
    """Tells whether anything in a printable name could be taken for something else."""
    marks = "<" in text or "\\" in text or " " in text
    return marks and _DOUBTFUL_IN_PATH.search(text) is not None


def _glueless(text: str, *, whole: bool) -> str:
    text = text.removeprefix(BOM) if whole else text
    return re.sub(_EMOJI_GLUE, "", text) if "\ufe0f" in text or "\u200d" in text else text


def _notation(code: int) -> str:
    return f"<U+{code:04X}>"


_EVERYDAY = re.compile(f"({_EMOJI_GLUE}|[\u00a0\u202f])")
_DOUBTFUL_IN_PATH = re.compile(rf"<U\+|\\x|{_EDGE_SPACE.pattern}")
_BREAK = re.compile(r"[\n\t]")
_BREAKS = {ord(char): _notation(ord(char)) for char in "\n\t"}
_RAW_BYTES = {0xDC00 + byte: f"\\x{byte:02x}" for byte in range(0x80, 0x100)}
_IN_TEXT = _Shown()
_IN_LINE = _Shown(_BREAKS)
_IN_PATH = _Shown({**_BREAKS, **_RAW_BYTES})
