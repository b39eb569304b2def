"""Redacts secrets in rows and in text that comes in pieces (F92).

What a user decides on, such as a review, a diff or a question on a terminal, stays exact.
"""

from typing import Any, Final, TypeVar

import msgspec

from assent.core.text.secrets import redact

Value = TypeVar("Value")

MAX_HELD: Final = 200  # characters of a line that is waited for before it is shown in pieces
KEEP_BACK: Final = 100  # characters at its end that may be the beginning of a secret
CONTEXT_CHARS: Final = 400  # characters on both sides of a cut that are looked at
MAX_KEY_CHARS: Final = 20_000
SMALL: Final = 4096  # characters that may be searched with every piece
FULL: Final = 1 << 20  # characters of a line that is cut although it has no blank
_BEGIN, _END = "-----BEGIN ", "-----END "


def redacted_row(value: Value) -> Value:
    """Returns a value, such as a row for JSON, with masks in every text that is in it."""
    found: Value = _walked(value)
    return found


class StreamRedactor:
    """Text that comes in pieces, let go without secrets: by lines, and long ones at blanks."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size, self._enough = 0, 0

    @property
    def buffered(self) -> str:
        """What was taken and not let go, as it came."""
        return "".join(self._pieces)

    def take(self, piece: str) -> str:
        """Returns what can be shown after one more piece."""
        self._pieces.append(piece)
        self._size += len(piece)
        # What is long and could not be let go is looked at again when there is twice as much of
        # it: else every piece of a line without an end would have all of it searched once more.
        if self._size < self._enough and "\n" not in piece:
            return ""
        text = "".join(self._pieces)
        at = _end(text)
        self._hold(text[at:])
        return redact(text[:at]) if at else ""

    def rest(self) -> str:
        """Returns what is left, because nothing more comes."""
        ready = "".join(self._pieces)
        self._hold("")
        return redact(ready)

    def _hold(self, text: str) -> None:
        self._pieces, self._size = [text], len(text)
        self._enough = 2 * self._size if self._size > SMALL else 0


def _end(text: str) -> int:
    """Returns how much of a text can be let go, and no secret is cut by it."""
    begin = text.rfind(_BEGIN)
    end = text.find(_END, max(begin, 0))
    whole = end >= 0 and "\n" in text[end:]
    if begin >= 0 and not whole and len(text) - begin < MAX_KEY_CHARS:
        return begin  # a key goes over many lines
    line = text.rfind("\n") + 1
    if len(text) - line <= MAX_HELD:
        return line
    blank = text.rfind(" ", line, len(text) - KEEP_BACK) + 1
    if blank and _is_between(text, line, blank, CONTEXT_CHARS):
        return blank
    middle = len(text) - MAX_KEY_CHARS
    full = len(text) - line > FULL and _is_between(text, line, middle, MAX_KEY_CHARS)
    return middle if full else line


def _is_between(text: str, line: int, at: int, around: int) -> bool:
    """Tells whether a text can be cut at a place, and no secret around it with it."""
    before, after = text[max(line, at - around) : at], text[at : at + around]
    return redact(before) + redact(after) == redact(before + after)


def _walked(value: Any) -> Any:
    match value:
        case str():
            return redact(value)
        case dict():
            return {_walked(key): _walked(each) for key, each in value.items()}
        case list():
            return [_walked(each) for each in value]
        case tuple():
            return tuple([_walked(each) for each in value])
        case msgspec.Struct():
            found = {name: _walked(getattr(value, name)) for name in value.__struct_fields__}
            return msgspec.structs.replace(value, **found)
        case _:
            return value
