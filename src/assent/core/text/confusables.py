"""Confusable names: those that look like another, by foreign letters or next to a sibling."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Final, TypeAlias

from assent.core.paths import base_name as last_name
from assent.core.paths import display_path
from assent.core.text.hidden_chars import hidden_kind

Siblings: TypeAlias = Mapping[str, tuple[bytes, ...]]

NO_SIBLINGS: Final[Siblings] = {}

# Code points, and the ASCII character that a reader takes each for.
_LOOKS: dict[int, str] = {
    # Cyrillic capitals, small letters and their extensions
    0x0405: "S", 0x0406: "I", 0x0408: "J", 0x0410: "A", 0x0412: "B", 0x0415: "E", 0x041A: "K",
    0x041C: "M", 0x041D: "H", 0x041E: "O", 0x0420: "P", 0x0421: "C", 0x0422: "T", 0x0423: "Y",
    0x0425: "X", 0x0430: "a", 0x0435: "e", 0x043A: "k", 0x043E: "o", 0x0440: "p", 0x0441: "c",
    0x0443: "y", 0x0445: "x", 0x0455: "s", 0x0456: "i", 0x0458: "j", 0x0474: "V", 0x0475: "v",
    0x04AE: "Y", 0x04AF: "y", 0x04BB: "h", 0x04C0: "I", 0x04CF: "l", 0x0501: "d", 0x050C: "G",
    0x051A: "Q", 0x051B: "q", 0x051C: "W", 0x051D: "w",
    # Greek
    0x0391: "A", 0x0392: "B", 0x0395: "E", 0x0396: "Z", 0x0397: "H", 0x0399: "I", 0x039A: "K",
    0x039C: "M", 0x039D: "N", 0x039F: "O", 0x03A1: "P", 0x03A4: "T", 0x03A5: "Y", 0x03A7: "X",
    0x03B1: "a", 0x03B3: "y", 0x03B9: "i", 0x03BA: "k", 0x03BD: "v", 0x03BF: "o", 0x03C1: "p",
    0x03C5: "u", 0x03F2: "c", 0x03F3: "j", 0x03F9: "C",
    # Armenian
    0x0555: "O", 0x0561: "w", 0x0563: "q", 0x0566: "q", 0x0570: "h", 0x0575: "j", 0x0578: "n",
    0x057D: "u", 0x0581: "g", 0x0584: "f", 0x0585: "o",
    # Cherokee
    0x13A0: "D", 0x13A1: "R", 0x13A2: "T", 0x13A9: "Y", 0x13AA: "A", 0x13AB: "J", 0x13AC: "E",
    0x13B3: "W", 0x13B7: "M", 0x13BB: "H", 0x13C0: "G", 0x13C3: "Z", 0x13CF: "b", 0x13D2: "R",
    0x13D4: "W", 0x13D5: "S", 0x13D9: "V", 0x13DA: "S", 0x13DE: "L", 0x13DF: "C", 0x13E2: "P",
    0x13E6: "K", 0x13F4: "B",
    # Latin letters that are not those of ASCII
    0x0131: "i", 0x01C0: "l", 0x0251: "a", 0x0261: "g", 0x0269: "i", 0x026A: "I", 0x0274: "N",
    0x028F: "Y", 0x0299: "B", 0x029C: "H", 0x029F: "L", 0x0237: "j", 0x0184: "b", 0x01BD: "s",
    0x1D00: "A", 0x1D04: "c", 0x1D0F: "o", 0x1D11: "o", 0x1D1C: "u", 0x1D20: "v", 0x1D21: "w",
    0x1D22: "z", 0xA731: "S", 0xA793: "c",
    # Lisu capitals
    0xA4D0: "B", 0xA4D1: "P", 0xA4D2: "d", 0xA4D3: "D", 0xA4D4: "T", 0xA4D6: "G", 0xA4D7: "K",
    0xA4D9: "J", 0xA4DA: "C", 0xA4DC: "Z", 0xA4DD: "F", 0xA4DF: "M", 0xA4E0: "N", 0xA4E1: "L",
    0xA4E2: "S", 0xA4E3: "R", 0xA4E6: "V", 0xA4E7: "H", 0xA4EA: "W", 0xA4EB: "X", 0xA4EC: "Y",
    0xA4EE: "A", 0xA4F0: "E", 0xA4F2: "I", 0xA4F3: "O", 0xA4F4: "U",
    # Dashes, dots and quotes
    0x2010: "-", 0x2011: "-", 0x2012: "-", 0x2013: "-", 0x2014: "-", 0x2015: "-", 0x2212: "-",
    0x02D7: "-", 0xFE58: "-", 0x0660: ".", 0x06D4: ".", 0xA4F8: ".", 0x201A: ",", 0x02BC: "'",
    0x2018: "'", 0x2019: "'", 0x00B4: "'",
}  # fmt: skip
# Only between siblings: alone, a digit is a digit.
_SHAPES = str.maketrans({"I": "l", "1": "l", "|": "l", "0": "o"})
_SLASHES = "\u2044\u2215\u29f8\u2571\uff0f"
_WORD = re.compile(r"[^\W\d_]+")
_SPAN: Final = r"`([^`\n]{1,200})`"  # what stands as code in a text is a name
_ADDRESS: Final = r"://([^\s/?#`'\"<>]{0,300})[^\s`'\"<>]*+"
_DOTTED: Final = r"(?<![\w-])[^\W_][\w-]*+(?:[./@][\w-]++)+"  # a file, host or package
_LATIN = re.compile("[A-Za-z]")
_LONGEST: Final = 300  # characters of a name
_SHORT: Final = 3  # letters: a formula has a Greek letter next to a Latin one

# Alphabets that share shapes. Han and Kana, for example, appear next to Latin every day.
_ALPHABETS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "FULLWIDTH")


def skeletons(names: Iterable[bytes]) -> Siblings:
    """Groups the names of a folder by what they look like."""
    found: dict[str, tuple[bytes, ...]] = {}
    for name in names:
        for skeleton in _skeletons(name):
            found[skeleton] = (*found.get(skeleton, ()), name)
    return found


def confusable_name(name: bytes, siblings: Siblings = NO_SIBLINGS) -> str | None:
    """Returns why a file name could be taken for another one, or None."""
    for skeleton in _skeletons(name) if siblings else ():
        for sibling in siblings.get(skeleton, ()):
            if sibling != name:
                return f"looks like {display_path(sibling)} in the same folder"
    return None if name.isascii() else confusable_letters(display_path(name))


def confusable_path(path: bytes, siblings: Siblings = NO_SIBLINGS, folders: str = "") -> str | None:
    """Returns why a path could be taken for another one.

    `siblings` are those of its last name; `folders` says the same of the folders above it.
    """
    reason = confusable_name(last_name(path), siblings) or folders or None
    if reason is not None or path.isascii():
        return reason
    return next(filter(None, map(confusable_letters, display_path(path).split("/"))), None)


def confusable_letters(name: str) -> str | None:
    """Returns why a name passes for another one by its letters alone, or None."""
    if name.isascii():
        return None
    if not set(_SLASHES).isdisjoint(name):
        return "has a character that looks like a slash"
    for word in _WORD.findall(name):
        scripts = sorted({script for char in word if (script := _alphabet(char))})
        if len(scripts) > 1:
            return f"mixes {' and '.join(script.title() for script in scripts)} letters"
    foreign = any(char.isalpha() and not char.isascii() for char in name)
    skeleton = _folded(name)
    return f"can be mistaken for {skeleton}" if foreign and skeleton.isascii() else None


def confusable_text(text: str) -> str | None:
    """Returns why a name or an address inside a text passes for another one, or None.

    Words in a single alphabet are ignored, unless they are where names are expected.
    """
    if text.isascii() or _foreign().search(text) is None:
        return None
    if _slashed().search(text):
        return "has a character that looks like a slash"
    for host in re.findall(_ADDRESS, text):
        if not host.isascii() and (reason := confusable_letters(host)):
            return reason
    words = dict.fromkeys(_mixed_word().findall(text)) if _touching().search(text) else ()
    mixed = filter(None, map(_mixed, words))
    names = [*re.findall(_SPAN, text), *re.findall(_DOTTED, re.sub(_ADDRESS, " ", text))]
    told = filter(None, map(_disguised_name, dict.fromkeys(names)))
    return next(mixed, None) or next(told, None)


def _mixed(word: str) -> str | None:
    """Says of a word that foreign letters in it pass for Latin ones; in formulas they are meant."""
    scripts = sorted({script for char in word if (script := _alphabet(char))})
    if len(scripts) == 1 or ("GREEK" in scripts and len(word) <= _SHORT):
        return None
    return f"mixes {' and '.join(script.title() for script in scripts)} letters"


def _disguised_name(name: str) -> str | None:
    """Says of a name in a text that a part of it, all of foreign letters, can be read as Latin."""
    if name.isascii() or len(name) > _LONGEST:
        return None
    parts = re.split(r"[\s/]", name)
    others = any(map(_LATIN.search, parts)) or len(parts) == 1
    for part in parts if others else ():
        letters = [char for char in part if char.isalpha()]
        foreign = any(_alphabet(char) not in (None, "LATIN") for char in letters)
        if foreign and len(letters) >= _SHORT and (reason := confusable_letters(part)):
            return reason
    return None


def looks_same(one: str, other: str) -> bool:
    """Tells whether a reader takes two short texts for the same, whatever their letters are."""
    return not set(_shapes(one)).isdisjoint(_shapes(other))


def is_confusable_program(name: str) -> bool:
    """Tells whether the name of a program passes for another one; those by name alone are ASCII."""
    if name.isascii():
        return False
    foreign = any(_alphabet(char) not in (None, "LATIN") for char in name)
    return confusable_letters(name) is not None or (foreign and "/" not in name)


@lru_cache(maxsize=1 << 12)  # a name is met in its folder and by itself
def _skeletons(name: bytes) -> tuple[str, ...]:
    """Returns a name regardless of case, and its shape; they differ where I, l and 1 matter."""
    return _shapes(name.decode("utf-8", "surrogateescape"))


def _shapes(text: str) -> tuple[str, ...]:
    letters = text if text.isascii() else _letters(text)
    folded, shape = letters.casefold().strip(), letters.translate(_SHAPES).casefold().strip()
    return (folded,) if folded == shape else (folded, shape)


def _folded(text: str) -> str:
    return _letters(text).casefold()


def _letters(text: str) -> str:
    """Replaces every character by the ASCII one that it looks like, and drops those that hide."""
    plain = unicodedata.normalize("NFKC", text.translate(_LOOKS)).translate(_LOOKS)
    return "".join([char for char in plain if hidden_kind(char) in (None, "surrogate")])


# Letters that pass for others, and slashes that are none: without one, a text has no disguise.
_FULLWIDTH = "\uff21-\uff3a\uff41-\uff5a"
_LETTERS = "".join(chr(code) for code in _LOOKS if chr(code).isalpha()) + _FULLWIDTH


# Made when first needed: it takes milliseconds, and most texts are ASCII.
@cache
def _foreign() -> re.Pattern[str]:
    return re.compile(f"[{_LETTERS}{_SLASHES}]")


@cache
def _slashed() -> re.Pattern[str]:
    return re.compile(f"[A-Za-z][{_SLASHES}][A-Za-z]")


@cache
def _touching() -> re.Pattern[str]:
    """Returns a pattern for a Latin letter next to one that passes for it; it is found fast."""
    return re.compile(f"[A-Za-z](?:(?<=[{_LETTERS}].)|(?=[{_LETTERS}]))")


@cache
def _mixed_word() -> re.Pattern[str]:
    """Returns a pattern for whole words of Latin letters and such that pass for them.

    A word with any other letter is none. A letter after a backslash or a percent sign is an escape,
    and no part of a word.
    """
    return re.compile(
        r"(?:(?<![^\W\d_])(?<![\\%])|(?<=[\\%][A-Za-z]))"
        rf"(?:[A-Za-z]++[{_LETTERS}]|[{_LETTERS}]++[A-Za-z])[A-Za-z{_LETTERS}]*+(?![^\W\d_])"
    )


@cache
def _alphabet(char: str) -> str | None:
    first = unicodedata.name(char, "").partition(" ")[0]
    return first if first in _ALPHABETS else None
