"""Separates pasted text from typed keys, whatever the paste contains."""

from typing import Final

import msgspec

# Textual's own parser reads an escape sequence inside of a paste as the paste's end, and hands the
# rest on as keys: a log with a colour in it could then send, approve or run something. So pastes
# are cut out of what is read before that parser sees them.


START: Final = "\x1b[200~"
END: Final = "\x1b[201~"
MAX_PASTE_CHARS: Final = 4_000_000  # characters of one paste that are kept
PASTE_TIMEOUT_S: Final = 5.0  # after which an unterminated paste is over

# A control character would act on the screen that shows it; its sign is only displayed.
CONTROL_PICTURES: Final = {
    **{code: 0x2400 + code for code in range(1, 32) if chr(code) not in "\t\n\r"},
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
    0: None,
    0x7F: 0x2421,
}


class TypedText(msgspec.Struct, frozen=True):
    """Text that was typed, or sent by the terminal itself."""

    text: str


class PastedText(msgspec.Struct, frozen=True):
    """One paste, complete or truncated."""

    text: str
    cut: bool = False  # whether there was more than is kept


TerminalInput = TypedText | PastedText


class BracketedPasteParser:
    """Separates pastes from typed text, in chunks of any size; `now` is in seconds."""

    def __init__(self, most: int = MAX_PASTE_CHARS) -> None:
        self._most = most
        self._last = ""  # the end of what was read, in which a mark may have begun
        self._parts: list[str] | None = None  # of the paste that is under way
        self._size = 0
        self._heard = 0.0

    def take(self, text: str, now: float) -> list[TerminalInput]:
        """Returns what is complete now; typed text is never held back."""
        self._heard = now
        pieces: list[TerminalInput] = []
        while text:
            text = self._type(text, pieces) if self._parts is None else self._paste(text, pieces)
        return pieces

    def tick(self, now: float) -> list[TerminalInput]:
        """Ends a paste that has been silent for too long, so that keys count again."""
        if self._parts is None or now - self._heard < PASTE_TIMEOUT_S:
            return []
        self._keep(self._last)
        return [self._over()]

    def _type(self, text: str, pieces: list[TerminalInput]) -> str:
        """Takes the text before a paste; returns the rest."""
        before = len(self._last)
        known = self._last + text
        at = known.find(START)
        end = len(known) if at < 0 else at + len(START)
        # The mark goes to the parser, too: it may have its beginning already.
        pieces.append(TypedText(known[before:end]))
        self._last = known[max(end - len(START) + 1, 0) : end] if at < 0 else ""
        if at >= 0:
            self._parts, self._size = [], 0
        return known[end:]

    def _paste(self, text: str, pieces: list[TerminalInput]) -> str:
        """Takes the text of a paste; returns the rest."""
        known = self._last + text
        at = known.find(END)
        end = max(len(known) - len(END) + 1, 0) if at < 0 else at
        self._keep(known[:end])
        if at < 0:
            self._last = known[end:]
            return ""
        pieces.append(self._over())
        return known[at + len(END) :]

    def _keep(self, text: str) -> None:
        assert self._parts is not None, "only what is pasted is kept"
        self._parts.append(text[: max(self._most - self._size, 0)])
        self._size += len(text)

    def _over(self) -> PastedText:
        text, cut = "".join(self._parts or ()), self._size > self._most
        self._parts, self._last = None, ""
        return PastedText(text.translate(CONTROL_PICTURES), cut)
