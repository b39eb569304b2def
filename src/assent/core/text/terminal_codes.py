"""Removes what a program printed for a terminal alone: colours, cursor moves, overwritten lines."""

import re
from typing import Final

MAX_STRING_CHARS: Final = 4096  # of a title or a link; a longer one is not taken for one
# An escape sequence as ECMA-48 has them: with parameters, with a string up to its end, or short.
# One without an end loses only its beginning: what follows is not hidden. A string contains no
# beginning of another, so that a search is linear on any text.
_CODES: Final = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    rf"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]{{0,{MAX_STRING_CHARS}}}"
    r"(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)


def without_terminal_codes(text: str) -> str:
    """Returns a program's output as plain lines, without colours and what was written over.

    A progress bar writes its line again and again; only the last of it counts.
    """
    if text.isprintable():
        return text
    plain = re.sub(_CODES, "", text)
    if "\r" not in plain and "\b" not in plain:
        return plain
    return "\n".join([_last_written(line) for line in plain.split("\n")])


def _last_written(line: str) -> str:
    last = next((part for part in reversed(line.split("\r")) if part), "")
    if "\b" not in last:
        return last
    written, at = list[str](), 0
    for char in last:
        if char == "\b":  # it moves the cursor, and removes nothing
            at = max(0, at - 1)
        else:
            written[at : at + 1] = [char]
            at += 1
    return "".join(written)
