"""Shows a long paste as a short placeholder in the prompt; it is sent in full."""

import re
from typing import Final

LINES: Final = 10  # a paste with more lines than this, or more characters, is shown as a sign
CHARACTERS: Final = 1000


class PastePlaceholders:
    """The paste behind each placeholder. A placeholder that was typed stands for itself."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def take(self, text: str) -> str:
        """Returns what a paste looks like in the prompt: itself, or a sign of its own."""
        lines = text.removesuffix("\n").count("\n") + 1
        if lines <= LINES and len(text) <= CHARACTERS:
            return text
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        number, sign = 1, f"[pasted: {size}]"
        while self._texts.get(sign, text) != text:
            number += 1
            sign = f"[pasted: {size}, {number}]"
        self._texts[sign] = text
        return sign

    def expanded(self, text: str) -> str:
        """Returns a text with everything that was pasted in the place of its signs."""
        if not self._texts:
            return text
        signs = re.compile("|".join(map(re.escape, self._texts)))
        return signs.sub(lambda found: self._texts[found[0]], text)

    def sign_before(self, text: str) -> str:
        """Returns the sign that a text ends with, if it does."""
        return next((sign for sign in self._texts if text.endswith(sign)), "")

    def holds(self, text: str) -> bool:
        """Tells whether a sign stands in a text."""
        return any(sign in text for sign in self._texts)

    def forget(self) -> None:
        """Forgets all pastes, because what they were part of was sent."""
        self._texts.clear()
