"""Finds the operation that a user means, by its number in a list or the start of its id."""

from collections.abc import Sequence
from typing import Final

MAX_NUMBER_DIGITS: Final = 7  # digits; fewer are a number, and no start of an id


def matching_operations(ids: Sequence[str], reference: str) -> list[int]:
    """Returns the indexes of the operations that a reference could mean; it is good if it is one.

    Numbers count from 1, as they are shown.
    """
    if reference.isascii() and reference.isdecimal() and len(reference) < MAX_NUMBER_DIGITS:
        index = int(reference) - 1
        return [index] if 0 <= index < len(ids) else []
    return [i for i, name in enumerate(ids) if reference and name.startswith(reference)]
