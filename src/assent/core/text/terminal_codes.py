"""Removes what a program printed for a terminal alone: colours, cursor moves, overwritten lines."""

import re
from typing import Final

_CODES: Final = re.compile(
    r"\x1b\][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # titles and links
    r"|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)?"  # strings to the terminal itself
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colours, and moves of the cursor
    r"|\x1b[ -/]*[0-~]?"
)


def without_terminal_codes(text: str) -> str:
    """Returns what stays readable of output: of a line that was overwritten, its last state."""
    if "\x1b" in text or "\x9b" in text:
        text = _CODES.sub("", text)
    if "\r" in text or "\b" in text:
        text = "\n".join([_last_state(line) for line in text.split("\n")])
    return text


def _last_state(line: str) -> str:
    last = next((part for part in reversed(line.split("\r")) if part), "")
    if "\b" not in last:
        return last
    kept: list[str] = []
    for char in last:
        if char != "\b":
            kept.append(char)
        elif kept:
            kept.pop()
    return "".join(kept)
