"""Vim keys in the prompt: what a key of normal mode does to a text and its cursor."""

import re
from typing import Final, Literal, TypeAlias

import msgspec

VimMode: TypeAlias = Literal["insert", "normal"]

_WORDS: Final = re.compile(r"\w+|[^\w\s]+")
DOUBLED: Final = ("d", "c")  # keys that act on a line when pressed twice
MODE_NOTES: Final[dict[VimMode, str]] = {"insert": "INSERT", "normal": "NORMAL"}


class VimEdit(msgspec.Struct, frozen=True):
    """What a key does: replaces `start` to `end` by a text, and where the cursor is then."""

    cursor: int
    start: int = 0
    end: int = 0
    text: str = ""
    mode: VimMode = "normal"

    @property
    def changes(self) -> bool:
        """Whether it changes the text, and not only the cursor or the mode."""
        return self.end > self.start or bool(self.text)


def vim_edit(text: str, cursor: int, keys: str) -> VimEdit | None:
    """Returns what a key of normal mode does, or two for `dd` and `cc`; None if it does nothing."""
    first, last = _line(text, cursor)
    match keys:
        case "h" | "l" | "0" | "$" | "w" | "b" | "e" | "j" | "k":
            return VimEdit(_on_letter(text, _moved(text, cursor, keys)))
        case "i":
            return VimEdit(cursor, mode="insert")
        case "a":
            return VimEdit(min(cursor + 1, last), mode="insert")
        case "I":
            blank = len(text[first:last]) - len(text[first:last].lstrip())
            return VimEdit(first + blank, mode="insert")
        case "A":
            return VimEdit(last, mode="insert")
        case "o":
            return VimEdit(last + 1, last, last, "\n", "insert")
        case "x":
            end = min(cursor + 1, last)
            left = text[:cursor] + text[end:]
            return VimEdit(_on_letter(left, cursor), cursor, end)
        case "dd":
            return _without_line(text, first, last)
        case "cc":
            return VimEdit(first, first, last, mode="insert")
        case _:
            return None


def left_insert(text: str, cursor: int) -> int:
    """Returns where the cursor is once insert mode ends: on the letter before it."""
    first, _ = _line(text, cursor)
    return max(first, cursor - 1)


def is_edge(text: str, cursor: int, key: str) -> bool:
    """Tells whether there is no line where `j` or `k` would go."""
    first, last = _line(text, cursor)
    return first == 0 if key == "k" else last == len(text)


def _without_line(text: str, first: int, last: int) -> VimEdit:
    """Removes a line with its line break; of the last line, with the one before it."""
    start, end = first, min(last + 1, len(text))
    if last == len(text) and first:
        start = first - 1
    left = text[:start] + text[end:]
    begin = _line(left, min(start, len(left)))[0]
    return VimEdit(begin, start, end)


def _line(text: str, at: int) -> tuple[int, int]:
    """Returns where the line of a place begins and ends, without its line break."""
    first = text.rfind("\n", 0, at) + 1
    last = text.find("\n", at)
    return first, len(text) if last < 0 else last


def _on_letter(text: str, at: int) -> int:
    """Returns the place, or the last letter of its line if it is behind that."""
    first, last = _line(text, max(0, min(at, len(text))))
    return max(first, min(at, last - 1))


def _moved(text: str, cursor: int, key: str) -> int:
    first, last = _line(text, cursor)
    match key:
        case "h":
            return max(first, cursor - 1)
        case "l":
            return min(cursor + 1, last)
        case "0":
            return first
        case "$":
            return last
        case "j":
            return cursor if last == len(text) else _below(text, last + 1, cursor - first)
        case "k":
            return cursor if not first else _below(text, _line(text, first - 1)[0], cursor - first)
        case _:
            return _by_word(text, cursor, key)


def _below(text: str, first: int, column: int) -> int:
    return min(first + column, _line(text, first)[1])


def _by_word(text: str, cursor: int, key: str) -> int:
    words = [found.span() for found in _WORDS.finditer(text)]
    match key:
        case "w":
            return next((start for start, _ in words if start > cursor), len(text))
        case "b":
            return next((start for start, _ in reversed(words) if start < cursor), 0)
        case _:
            return next((end - 1 for _, end in words if end - 1 > cursor), len(text))
