"""Markdown files with front matter: what one says, and what is said of one that is no use."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from assent.config.agent_file import Bad, parted
from assent.core.errors import UsageError
from assent.core.paths import one_line

T = TypeVar("T")

# Turns front matter into plain values; made when the first file needs it, because it loads slowly.
Reader: TypeAlias = Callable[[str], Any]


def read_front(text: bytes, kind: type[T], reader: Callable[[], Reader]) -> tuple[T, str]:
    """Returns the members of a file's front matter, and the text below; raises Bad."""
    front, body = parted(text)
    try:
        return msgspec.convert(reader()(front) if front.strip() else {}, kind), body
    except msgspec.ValidationError as error:
        raise Bad(str(error)) from None


def spelled(path: Path) -> str:
    """Returns a path on one line."""
    return one_line(os.fsencode(path))


def ignored(path: Path, error: Bad | UsageError | FileNotFoundError, out: str) -> str:
    """Says why a file is of no use, and what follows from that."""
    match error:
        case UsageError():
            return f"{error.message} {out}"
        case FileNotFoundError():
            return f"{spelled(path)} leads nowhere. {out}"
        case _:
            return f"{spelled(path)} cannot be used: {error}. {out}"
