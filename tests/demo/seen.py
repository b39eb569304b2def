"""What was seen: looks for words in the order in which a story tells them."""

from collections.abc import Iterable


def found_in_order(text: str, story: Iterable[str]) -> list[str]:
    """Returns those words of a story that stand in the text, each behind the one before."""
    found, at = [], 0
    for words in story:
        position = text.find(words, at)
        if position >= 0:
            found.append(words)
            at = position + len(words)
    return found
