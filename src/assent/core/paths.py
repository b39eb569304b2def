"""Paths inside a workspace: bytes, relative, with `/`, and never outside it."""

import unicodedata
from collections.abc import Iterable

from assent.core.errors import Refused

GIT = b".git"
GIT_ON_NTFS = b"git~1"  # its short name; dots and blanks at the end do not count there either
TREE = b".opencode"
STATE = b".opencode/assent"
STAGE = b".opencode/assent/stage"
MAX_FOLDERS = 200  # folders above a file
OWN_FILES = (b".opencode/.gitignore", b".opencode/agents/plan.md")

# Some file systems drop these when they compare names: `.g<U+200C>it` would be `.git` there.
_IGNORED = dict.fromkeys(
    [0x200C, 0x200D, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)


def normalize(path: bytes) -> bytes:
    """Returns the path without `.`, `..` and `//`; refuses one that leaves the workspace."""
    parts: list[bytes] = []
    for part in path.split(b"/"):
        if part in (b"", b"."):
            continue
        if part == b"..":
            if not parts:
                raise Refused(f"{display_path(path)} is outside the workspace.")
            parts.pop()
        else:
            parts.append(part)
    if path.startswith(b"/") or b"\0" in path:
        raise Refused(f"{display_path(path)} is not a path inside the workspace.")
    return b"/".join(parts)


MAX_PATH = 4095  # bytes that Linux takes
MAX_NAME = 255  # bytes of one name in it


def is_too_long(path: bytes) -> bool:
    """Tells whether no file can have this path."""
    return len(path) > MAX_PATH or max(map(len, path.split(b"/"))) > MAX_NAME


def parent(path: bytes) -> bytes:
    """Returns the folder of a path; the workspace's root is the empty path."""
    return path.rpartition(b"/")[0]


def base_name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]


def ancestors(path: bytes) -> list[bytes]:
    """Returns the folders above a path, nearest first, without the root."""
    found = []
    while (end := path.rfind(b"/")) > 0:
        path = path[:end]
        found.append(path)
    return found


def folders_above(paths: Iterable[bytes]) -> set[bytes]:
    """Returns every folder above any of these paths, without the root."""
    parents = {path[:end] for path in paths if (end := path.rfind(b"/")) > 0}
    return parents.union(*map(ancestors, parents))


def is_inside(path: bytes, folder: bytes) -> bool:
    """Tells whether a path is the folder or is below it."""
    return not folder or path == folder or path.startswith(folder + b"/")


def casefolded(path: bytes) -> bytes:
    """Returns the path as a case-insensitive file system would compare it."""
    if path.isascii():
        return path.lower()
    text = path.decode("utf-8", "surrogateescape").translate(_IGNORED).casefold()
    return text.encode("utf-8", "surrogateescape")


def similarity_key(path: bytes) -> bytes:
    """Returns what all paths share that differ only in case or in the form of their Unicode."""
    if path.isascii():
        return path.lower()
    text = unicodedata.normalize("NFD", path.decode("utf-8", "surrogateescape"))
    low = casefolded(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
    return unicodedata.normalize("NFC", low).encode("utf-8", "surrogateescape")


def display_path(path: bytes) -> str:
    """Returns a path for messages and JSON: bytes that are not UTF-8 become visible escapes."""
    return path.decode("utf-8", "backslashreplace")


def typed_line(text: str) -> str:
    """Returns a text that a user typed, on one line; what cannot be encoded becomes an escape."""
    try:
        return one_line(text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:  # half of a pair, which no file name has
        return one_line(text.encode("utf-8", "backslashreplace"))


def one_line(path: bytes) -> str:
    """Returns a path for generated text: unprintable characters are escaped."""
    text = display_path(path)
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def refuse_deep_paths(path: bytes) -> None:
    """Refuses a path that is nested too deeply; each folder costs time in every run."""
    if path.count(b"/") > MAX_FOLDERS:
        start = display_path(path[:60])
        raise Refused(
            f"{start}… is nested more than {MAX_FOLDERS} folders deep. Nothing was staged."
        )


def refuse_own_paths(path: bytes, plan_dir: bytes, private: tuple[bytes, ...] = ()) -> None:
    """Refuses what no plan may touch: git's data, the plans, and Assent's own state."""
    refuse_deep_paths(path)
    low = casefolded(path)
    if any(part.rstrip(b". ") == GIT or part == GIT_ON_NTFS for part in low.split(b"/")):
        raise Refused(f"{display_path(path)} belongs to Git; plans cannot change it.")
    if is_inside(low, STATE) or any(is_inside(low, casefolded(own)) for own in private):
        raise Refused(f"{display_path(path)} belongs to Assent; plans cannot change it.")
    if low in OWN_FILES:
        raise Refused(f"Only Assent writes {display_path(path)}; plans cannot change it.")
    if is_inside(low, casefolded(plan_dir)):
        raise Refused(
            f"{display_path(path)} is in the plan folder; operations cannot change it.",
            "assent plan write FILE",
        )
    if low in (b"", TREE):
        raise Refused(f"{display_path(path) or '.'} is a folder that plans cannot replace.")
