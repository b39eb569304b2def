"""Shell globs: which names a wildcard pattern matches, given the entries of the folders."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from assent.core.errors import Refused
from assent.core.text.glob_pattern import SHELL_NAME, compile_glob, glob_chars

MAX_PATHS = 20_000
FolderEntries: TypeAlias = Callable[
    [bytes], Mapping[bytes, bool]
]  # of a folder: name, is it a folder


def expand_glob(pattern: str, entries: FolderEntries) -> list[bytes]:
    """Returns the paths that a pattern matches, sorted; raises Refused if they are too many.

    `entries` takes folders as the pattern spells them: empty means the current one.
    """
    *folders, name = pattern.replace("\\/", "/").split("/")
    found, sure = [b""], True  # folders before the first wildcard need not be listed
    for part in folders:
        if not part and not sure:
            continue  # after a wildcard, bash collapses several slashes into one
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
    for char in glob_chars(pattern, SHELL_NAME):
        wild = wild or char in ("*", "?", "[")
        text.append(char[-1])
    return None if wild else "".join(text)


def _few(paths: Iterator[bytes]) -> list[bytes]:
    found = list(islice(paths, MAX_PATHS + 1))
    if len(found) > MAX_PATHS:
        raise Refused(f"A wildcard matches more than {MAX_PATHS} files; name a folder.")
    return found


def _plain(part: str) -> list[bytes]:
    return [(literal_text(part) or "").encode()]


def _matching(part: str, names: Mapping[bytes, bool], *, folders: bool = False) -> list[bytes]:
    """Returns the names that a part of a pattern matches; `.` and `..` are always there."""
    if literal_text(part) in ("", ".", ".."):
        return _plain(part)
    wanted = compile_glob(part, SHELL_NAME)
    dotted = part.startswith((".", "\\."))
    return [
        name
        for name, is_folder in names.items()
        if (is_folder or not folders)
        and (dotted or not name.startswith(b"."))
        and wanted.fullmatch(name.decode("utf-8", "surrogateescape"))
    ]
