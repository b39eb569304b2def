"""Text that is still streaming, shown as far as no secret can be in it."""

from typing import Final

from assent.core.text.secrets import redact
from assent.render.redaction import StreamRedactor

_BEGIN: Final = "-----BEGIN "


class StreamingText:
    """Takes pieces. The shown text is masked as it grows, up to its last whole word.

    A secret is one word, or a key of many lines: neither is shown before all of it is known.
    """

    def __init__(self) -> None:
        self._settled: list[str] = []  # masked
        self._speech = StreamRedactor()

    def take(self, piece: str) -> None:
        """Takes one more piece."""
        if ready := self._speech.take(piece):
            self._settled.append(ready)

    def shown(self) -> str:
        """Returns what can be shown now."""
        if len(self._settled) > 1:
            self._settled = ["".join(self._settled)]
        settled, pending = "".join(self._settled), self._speech.buffered
        blank = 0 if _BEGIN in pending else pending.rfind(" ") + 1
        return settled + redact(pending[:blank]) if blank else settled
