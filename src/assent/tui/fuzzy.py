"""Fuzzy matching of list entries by a few letters."""

from collections.abc import Sequence
from typing import Final

from assent.core.text.file_match import is_subsequence

NO_MATCH_RANK: Final = (5, 0)  # of what does not have the letters
_APART: Final = 4  # the rank of a text that has the letters with gaps between them


def fuzzy_matches(
    query: str, texts: Sequence[str], names: Sequence[str] = (), *, abbreviates: bool = False
) -> list[int]:
    """Returns the indexes of the texts that contain all words of a query.

    If no text contains a word, its letters in order are enough. With names, which are parts of the
    texts, the best names come first; else all keep their order. If names are abbreviated, their
    letters in order are always enough, and the best texts come next.
    """
    words = query.casefold().split()
    folded = [text.casefold() for text in texts]
    called = [name.casefold() for name in names] or [""] * len(folded)
    both = list(enumerate(zip(folded, called, strict=True)))
    found = [
        at
        for at, (text, name) in both
        if all(word in text or (abbreviates and is_subsequence(word, name)) for word in words)
    ]
    loose = abbreviates or not found
    if not found:
        found = [
            at for at, text in enumerate(folded) if all(is_subsequence(w, text) for w in words)
        ]
    if not names or not words:
        return found
    whole, first = " ".join(words), words[0]

    def near(word: str, text: str) -> tuple[int, int]:
        rank = match_rank(word, text)
        return rank if loose or rank[0] < _APART else NO_MATCH_RANK

    return sorted(
        found,
        key=lambda at: (
            near(whole, called[at]),
            near(first, called[at]),
            near(first, folded[at]) if abbreviates else NO_MATCH_RANK,
        ),
    )


def match_rank(word: str, text: str) -> tuple[int, int]:
    """Returns the distance of a text from a word; lower is better.

    In this order: the text or its first word is it, the text begins with it, a word in the text
    does, the text contains it, or the text has its letters with gaps between them.
    """
    plain = text.lstrip("/")
    if f"{plain} ".startswith(f"{word} "):
        return 0, 0
    if plain.startswith(word):
        return 1, 0
    if any(f"{edge}{word}" in plain for edge in " /-"):
        return 2, 0
    if word in plain:
        return 3, 0
    return (_APART, _gaps(word, plain)) if is_subsequence(word, plain) else NO_MATCH_RANK


def _gaps(word: str, text: str) -> int:
    """Counts the letters of a word that do not directly follow the one before."""
    gaps, at = 0, -1
    for letter in word:
        found = text.find(letter, at + 1)
        gaps += found != at + 1
        at = found
    return gaps
