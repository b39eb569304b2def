"""Decodes the stored fold of a stream; a damaged one is ignored and folded again."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

Fold = TypeVar("Fold")


def decoded_head(head: tuple[int, bytes] | None, decode: Callable[[bytes], Fold]) -> Fold | None:
    """Returns a kept fold, or None if there is none or it is damaged: events can be folded anew."""
    if head is None:
        return None
    try:
        return decode(head[1])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
