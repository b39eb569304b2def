"""Shell quoting: words written so that a shell reads them back, and a command as one line."""

import re
from collections.abc import Iterable
from typing import Final

from assent.core.paths import one_line

_PLAIN_WORD: Final = re.compile(r"[\w@%+=:,./-]+", re.ASCII)


def shell_quoted(word: str) -> str:
    """Returns a word as the shell reads it back, whatever is in it."""
    if _PLAIN_WORD.fullmatch(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def script_line(script: str) -> str:
    """Returns the first line of a script that says something, and how many there are if more."""
    lines = script.strip("\r\n").split("\n")
    first = next((line.rstrip("\r") for line in lines if line.strip()), "")
    return first if len(lines) == 1 else f"{first} ({len(lines)} lines)"


def shell_line(argv: Iterable[bytes]) -> str:
    """Returns the words of a command on one line; what does not print is escaped."""
    return " ".join([shell_quoted(one_line(word)) for word in argv])
