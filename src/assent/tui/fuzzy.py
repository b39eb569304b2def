"""Fuzzy matching of list entries by a few letters."""

from collections.abc import Sequence
from typing import Final

from assent.core.text.file_match import is_subsequence

NO_MATCH_RANK: Final = (4, 0)  # of what does not have the letters


def fuzzy_matches(query: str, texts: Sequence[str], names: Sequence[str] = ()) -> list[int]:
    """Returns the indexes of the texts that contain all words of a query.

    If no text contains a word, its letters in order are enough. With names, which are parts of the
    texts, letters in order are always enough there, and the best names come first, then the best
    texts; else all keep their order.
    """
    words = query.casefold().split()
    folded = [text.casefold() for text in texts]
    called = [name.casefold() for name in names] or [""] * len(folded)
    both = list(enumerate(zip(folded, called, strict=True)))
    found = [
        at for at, (text, name) in both if all(w in text or is_subsequence(w, name) for w in words)
    ]
    if not found:
        found = [
            at for at, text in enumerate(folded) if all(is_subsequence(w, text) for w in words)
        ]
    if not names or not words:
        return found
    first = words[0]
    return sorted(
        found, key=lambda at: (match_rank(first, called[at]), match_rank(first, folded[at]))
    )


def match_rank(word: str, text: str) -> tuple[int, int]:
    """Returns the distance of a text from a word; lower is better.

    In this order: the text begins with it, a word in the text does, the text contains it, or the
    text has its letters with gaps between them.
    """
    plain = text.lstrip("/")
    if plain.startswith(word):
        return 0, 0
    if any(f"{edge}{word}" in plain for edge in " /-"):
        return 1, 0
    if word in plain:
        return 2, 0
    return (3, _gaps(word, plain)) if is_subsequence(word, plain) else NO_MATCH_RANK


def _gaps(word: str, text: str) -> int:
    """Counts the letters of a word that do not directly follow the one before."""
    gaps, at = 0, -1
    for letter in word:
        found = text.find(letter, at + 1)
        gaps += found != at + 1
        at = found
    return gaps
