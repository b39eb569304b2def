"""Shell globs: which names a wildcard pattern stands for, given what the folders hold."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from assent.core.errors import Refused

MAX_PATHS = 20_000
FolderEntries: TypeAlias = Callable[
    [bytes], Mapping[bytes, bool]
]  # of a folder: name, is it a folder


def expand_glob(pattern: str, entries: FolderEntries) -> list[bytes]:
    """Returns the paths that a pattern matches, sorted; raises Refused if they are too many.

    `entries` takes folders as the pattern spells them: empty means the current one.
    """
    *folders, name = _parts(pattern)
    found, sure = [b""], True  # folders before the first wildcard need not be listed
    for part in folders:
        if not part and not sure:
            continue  # behind a wildcard, bash makes one slash of several
        sure = sure and literal_text(part) is not None
        found = _few(
            base + inner + b"/"
            for base in found
            for inner in (_plain(part) if sure else _matching(part, entries(base), folders=True))
        )
    return sorted(_few(base + inner for base in found for inner in _matching(name, entries(base))))


def literal_text(pattern: str) -> str | None:
    """Returns the text of a pattern that has no wildcard; else None."""
    text, wild = [], False
    for char in _characters(pattern):
        wild = wild or char in ("*", "?", "[")
        text.append(char[-1])
    return None if wild else "".join(text)


def _few(paths: Iterator[bytes]) -> list[bytes]:
    found = list(islice(paths, MAX_PATHS + 1))
    if len(found) > MAX_PATHS:
        raise Refused(f"A wildcard stands for more than {MAX_PATHS} files; name a folder.")
    return found


def _plain(part: str) -> list[bytes]:
    return [(literal_text(part) or "").encode()]


def _matching(part: str, names: Mapping[bytes, bool], *, folders: bool = False) -> list[bytes]:
    """Returns the names that a part of a pattern matches; `.` and `..` are always there."""
    if literal_text(part) in ("", ".", ".."):
        return _plain(part)
    wanted = glob_regex(part)
    dotted = part.startswith((".", "\\."))
    return [
        name
        for name, is_folder in names.items()
        if (is_folder or not folders)
        and (dotted or not name.startswith(b"."))
        and wanted.fullmatch(name.decode("utf-8", "surrogateescape"))
    ]


def _parts(pattern: str) -> list[str]:
    return pattern.replace("\\/", "/").split("/")


def _characters(pattern: str) -> list[str]:
    """Splits a pattern into characters, each with its backslash if it has one."""
    return re.findall(r"\\?.", pattern, re.DOTALL)


@lru_cache(maxsize=256)
def glob_regex(part: str) -> re.Pattern[str]:
    """Translates one part of a pattern; each `*` gives nothing back, so no name takes long."""
    chars = _characters(part)
    closed = max((at for at, char in enumerate(chars) if char == "]"), default=0)
    runs, at = [""], 0  # what stands between the stars
    while at < len(chars):
        end = _bracket_end(chars, at, closed)
        if chars[at] == "*":
            runs.append("")
        elif end:
            runs[-1] += _bracket(chars[at + 1 : end])
        else:
            runs[-1] += "." if chars[at] == "?" else re.escape(chars[at][-1])
        at = max(at, end) + 1
    first, *middle = runs
    last = f".*{middle.pop()}" if middle else ""
    return re.compile(first + "".join(f"(?>.*?{run})" for run in middle) + last, re.DOTALL)


def _bracket_end(chars: list[str], at: int, closed: int) -> int:
    """Returns where a bracket closes; 0 if none opens here, or it never closes."""
    first = at + 1 + (chars[at + 1 : at + 2] in (["!"], ["^"]))
    if chars[at] != "[" or closed <= first:
        return 0
    return chars.index("]", first + 1)


def _bracket(chars: list[str]) -> str:
    negated = chars[0] in ("!", "^")
    rest = chars[:0:-1] if negated else chars[::-1]
    members = ""
    while rest:
        low = high = rest.pop()[-1]
        if rest[-1:] == ["-"] and len(rest) > 1:
            rest.pop()
            high = rest.pop()[-1]
        members += f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""
    if not members:  # a range that runs backwards holds nothing
        return "." if negated else "(?!)"
    return f"[{'^' if negated else ''}{members}]"
