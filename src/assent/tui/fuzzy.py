"""Fuzzy: which lines of a list a person means by a few letters."""

from collections.abc import Sequence


def fitting(query: str, texts: Sequence[str], *, ranked: bool = False) -> list[int]:
    """Returns the places of the texts that have all words of a query in them.

    Where no text has a word as it is, its letters in their order will do. Ranked, texts that begin
    with the query come first; else all stay in their order.
    """
    words = query.casefold().split()
    folded = [text.casefold() for text in texts]
    found = [at for at, text in enumerate(folded) if all(word in text for word in words)]
    if not found:
        found = [at for at, text in enumerate(folded) if all(_spread(w, text) for w in words)]
    if not ranked or not words:
        return found
    return sorted(found, key=lambda at: _distance(words[0], folded[at]))


def _spread(word: str, text: str) -> bool:
    letters = iter(text)
    return all(letter in letters for letter in word)


def _distance(word: str, text: str) -> int:
    """Returns 0 for a text that begins with a word, 1 where one in it does, else 2."""
    plain = text.lstrip("/")
    if plain.startswith(word):
        return 0
    return 1 if f" {word}" in plain else 2
