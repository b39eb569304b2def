"""Reads Markdown files with front matter, and words the warning about an unusable one."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from assent.config.agent_file import UnusableFile, split_front_matter
from assent.core.errors import UsageError
from assent.core.paths import one_line

T = TypeVar("T")

# Turns front matter into plain values; made when the first file needs it, because it loads slowly.
Reader: TypeAlias = Callable[[str], Any]


def read_front_matter(text: bytes, kind: type[T], reader: Callable[[], Reader]) -> tuple[T, str]:
    """Returns the members of a file's front matter, and the text below; raises Bad."""
    front, body = split_front_matter(text)
    try:
        return msgspec.convert(reader()(front) if front.strip() else {}, kind), body
    except msgspec.ValidationError as error:
        raise UnusableFile(str(error)) from None


def one_line_path(path: Path) -> str:
    """Returns a path on one line."""
    return one_line(os.fsencode(path))


def ignored_warning(
    path: Path, error: UnusableFile | UsageError | FileNotFoundError, out: str
) -> str:
    """Says why a file is of no use, and what follows from that."""
    match error:
        case UsageError():
            return f"{error.message} {out}"
        case FileNotFoundError():
            return f"{one_line_path(path)} leads nowhere. {out}"
        case _:
            return f"{one_line_path(path)} cannot be used: {error}. {out}"
