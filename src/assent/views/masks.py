"""Masks: values as faces that only tell show them, with words in the place of secrets (F92).

What a person decides on, a review, a diff or the question on a terminal, stays exact.
"""

from typing import Any, Final, TypeVar

import msgspec

from assent.core.masking import masked

Value = TypeVar("Value")

HELD: Final = 200  # characters of a line that is waited for before it is shown in pieces
KEPT: Final = 100  # characters at its end that may be the beginning of a secret
AROUND: Final = 400  # characters on both sides of a cut that are looked at
LONGEST_KEY: Final = 20_000
_BEGIN, _END = "-----BEGIN ", "-----END "


def masked_row(value: Value) -> Value:
    """Returns a value, such as a row for JSON, with masks in every text that is in it."""
    found: Value = _walked(value)
    return found


class MaskedSpeech:
    """Text that comes in pieces, let go without secrets: by lines, and long ones at blanks."""

    def __init__(self) -> None:
        self._held = ""

    def take(self, piece: str) -> str:
        """Returns what can be shown after one more piece."""
        self._held += piece
        at = self._end()
        if not at:
            return ""
        ready, self._held = self._held[:at], self._held[at:]
        return masked(ready)

    def rest(self) -> str:
        """Returns what is left, because nothing more comes."""
        ready, self._held = self._held, ""
        return masked(ready)

    def _end(self) -> int:
        text = self._held
        begin = text.rfind(_BEGIN)
        end = text.find(_END, max(begin, 0))
        whole = end >= 0 and "\n" in text[end:]
        if begin >= 0 and not whole and len(text) - begin < LONGEST_KEY:
            return begin  # a key goes over many lines
        line = text.rfind("\n") + 1
        if len(text) - line <= HELD:
            return line
        blank = text.rfind(" ", line, len(text) - KEPT) + 1
        return blank if blank and _is_between(text, line, blank) else line


def _is_between(text: str, line: int, blank: int) -> bool:
    """Tells whether a text can be cut at a blank, and no secret with it."""
    before, after = text[max(line, blank - AROUND) : blank], text[blank : blank + AROUND]
    return masked(before) + masked(after) == masked(before + after)


def _walked(value: Any) -> Any:
    match value:
        case str():
            return masked(value)
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
