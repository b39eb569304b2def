"""The lines that a diff adds to a file: their text and their numbers."""

import re

_FILE_HEADER = "\ndiff --git "
_NOT_ADDED = ("\n-", "\n ", "\n\\", "\n@")  # starts of lines that are not added
_HUNK = re.compile(r"@@ -[\d,]+ \+(\d+)")


def added_text(diff: str) -> str:
    """Returns the added lines of an operation's diff."""
    body = _hunk_text(diff)
    lines = body.partition("\n")[2]
    if lines.startswith("+") and not any(sign in lines for sign in _NOT_ADDED):
        return lines[1:].replace("\n+", "\n")  # all of a new file
    _, *added = body.split("\n+")  # it begins with a header
    return "".join([line.partition("\n")[0] + "\n" for line in added])


def added_numbers(diff: str) -> list[int]:
    """Returns which lines of the new file were added, counted from 1."""
    numbers: list[int] = []
    number = 0
    for line in _hunk_text(diff).split("\n"):
        header = _HUNK.match(line)
        if header:
            number = int(header[1])
        elif line[:1] in ("+", " "):
            numbers += [number] if line[0] == "+" else []
            number += 1
    return numbers


def _hunk_text(diff: str) -> str:
    """Returns the hunks. A file that becomes a link, or the reverse, has two parts: the first only
    removes. Content has a sign before it and so can look like no header.
    """
    part = diff.rpartition(_FILE_HEADER)[2]
    start = part.find("\n@@ ")
    return part[start + 1 :] if start >= 0 else ""
