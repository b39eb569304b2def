"""Live speech: as much of a text that still comes as can be shown without telling a secret."""

from typing import Final

from assent.core.masking import masked

LONGEST_KEY: Final = 20_000
_BEGIN, _END = "-----BEGIN ", "-----END "


class LiveSpeech:
    """Takes pieces. What is shown is masked anew as it grows, up to its last whole word.

    A secret is one word, or a key of many lines: neither is shown before all of it is known.
    """

    def __init__(self) -> None:
        self._settled: list[str] = []  # whole lines, masked
        self._pending = ""

    def take(self, piece: str) -> None:
        """Takes one more piece."""
        self._pending += piece
        at = self._end_of_lines()
        if at:
            self._settled.append(masked(self._pending[:at]))
            self._pending = self._pending[at:]

    def shown(self) -> str:
        """Returns what can be shown now."""
        if len(self._settled) > 1:
            self._settled = ["".join(self._settled)]
        settled = "".join(self._settled)
        if _BEGIN in self._pending:
            return settled
        blank = self._pending.rfind(" ") + 1
        return settled + masked(self._pending[:blank]) if blank else settled

    def _end_of_lines(self) -> int:
        text = self._pending
        at = text.rfind("\n") + 1
        begin = text.rfind(_BEGIN)
        if begin < 0 or len(text) - begin > LONGEST_KEY:
            return at
        end = text.find(_END, begin)
        return at if end >= 0 and "\n" in text[end:] else text.rfind("\n", 0, begin) + 1
