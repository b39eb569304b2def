"""Path patterns: globs, and the rules of `.gitignore` and `.ignore` files.

Globs such as `src/**/*.{ts,tsx}` are matched in bounded time.
"""

import re
from collections.abc import Container, Iterator, Sequence
from itertools import islice
from typing import Protocol

import msgspec

from assent.core.errors import AssentError, UsageError
from assent.core.paths import base_name, parent
from assent.core.text.glob_pattern import GLOB_FLAGS, SHELL_NAME, compile_glob

# Path globs: which files a pattern such as `src/**/*.{ts,tsx}` matches, in bounded time.


MAX_ALTERNATIVES = 64  # alternatives that braces may expand to
MAX_PATTERN_CHARS = 1000

_BRACES = r"\{([^{}]*,[^{}]*)\}"


class PathGlob:
    """A glob; without a slash it matches names in any folder, else paths from the top."""

    def __init__(self, glob: str, *, anchored: bool = False) -> None:
        if not glob or len(glob) > MAX_PATTERN_CHARS or "\0" in glob:
            raise UsageError("A pattern must be 1 to 1000 characters long, such as `**/*.py`.")
        plain = glob.removeprefix("./").lstrip("/")
        wide = plain if anchored or "/" in plain else f"**/{plain}"
        found = list(islice(_alternatives(wide), MAX_ALTERNATIVES + 1))
        if len(found) > MAX_ALTERNATIVES:
            raise UsageError(f"The braces in {glob!a} expand to too many patterns; use fewer.")
        # What each name has to match; None stands for any number of folders.
        self._parts = [
            [None if part == "**" else compile_glob(part, SHELL_NAME) for part in each.split("/")]
            for each in found
        ]

    def matches(self, path: bytes) -> bool:
        """Tells whether a path, relative to the folder in question, matches."""
        names = path.decode("utf-8", "surrogateescape").split("/")
        return any(_fits(names, parts) for parts in self._parts)

    def reaches(self, folder: bytes) -> bool:
        """Tells whether something in a folder, at any depth, may match."""
        names = folder.decode("utf-8", "surrogateescape").split("/")
        return any(at < len(parts) for parts in self._parts for at in _next_parts(names, parts))

    @property
    def last(self) -> str | None:
        """The expression that the last name of a path must match; None if any may."""
        ends = [parts[-1] for parts in self._parts]
        found = [end.pattern for end in ends if end is not None]
        return "|".join(f"(?:{one})" for one in found) if len(found) == len(ends) else None

    def covers(self, path: bytes) -> bool:
        """Tells whether a path or a folder above it matches."""
        names = path.split(b"/")
        return any(self.matches(b"/".join(names[:end])) for end in range(1, len(names) + 1))


def _alternatives(glob: str) -> Iterator[str]:
    braces = re.search(_BRACES, glob)
    if braces is None:
        yield glob
        return
    for inner in braces[1].split(","):
        yield from _alternatives(glob[: braces.start()] + inner + glob[braces.end() :])


def _fits(names: Sequence[str], parts: Sequence[re.Pattern[str] | None]) -> bool:
    return len(parts) in _next_parts(names, parts)


def _next_parts(names: Sequence[str], parts: Sequence[re.Pattern[str] | None]) -> set[int]:
    """Matches the names in one pass; returns which parts may come next."""
    open_at = _skipping({0}, parts)
    for name in names:
        following: set[int] = set()
        for at in open_at:
            part = parts[at] if at < len(parts) else None
            if part is not None and part.fullmatch(name):
                following.add(at + 1)
            elif part is None and at < len(parts):
                following.add(at)
        open_at = _skipping(following, parts)
    return open_at


def _skipping(places: set[int], parts: Sequence[re.Pattern[str] | None]) -> set[int]:
    """Adds the positions after each `**`, which may match nothing."""
    found = set(places)
    for at in sorted(places):
        while at < len(parts) and parts[at] is None:
            at += 1
            found.add(at)
    return found


# Ignore files: what `.gitignore` and `.ignore` leave out, where no program can tell us.


IGNORE_FILE_NAMES = (b".gitignore", b".ignore")
EXCLUDE = b".git/info/exclude"  # of one user
MAX_FILE_BYTES = 1 << 18  # bytes of a file with rules


class IgnoreRule(msgspec.Struct, frozen=True):
    """One line: what it matches, and whether that is excluded or included again."""

    pattern: PathGlob
    out: bool
    only_folders: bool


class FolderIgnoreRules(msgspec.Struct, frozen=True):
    """The rules of one folder, the last first; `names` is a quick test that none matches."""

    rows: list[IgnoreRule]
    names: re.Pattern[str] | None = None

    def may_fit(self, name: str) -> bool:
        return bool(self.rows) and (self.names is None or self.names.fullmatch(name) is not None)


class ContentReader(Protocol):
    """Reads files of a workspace, such as an `Overlay`."""

    def content(self, path: bytes, limit: int = ...) -> bytes:
        """Returns a whole file; raises AssentError if there is none, or it is larger."""


class IgnoreMatcher:
    """The rules from the root down to a folder; those nearer to a file take precedence."""

    def __init__(self, overlay: ContentReader, present: Container[bytes] | None = None) -> None:
        """`present` are the known files, if any, so that folders need not be searched for rules."""
        self._overlay = overlay
        self._present = present
        self._rules: dict[bytes, FolderIgnoreRules] = {}

    def covers(self, path: bytes, *, folder: bool) -> bool:
        """Tells whether a name is excluded; an excluded folder above it does not count."""
        if base_name(path) == b".git":
            return True
        above = parent(path)
        last = base_name(path).decode("utf-8", "surrogateescape")
        while True:
            rules = self._of(above)
            below = path[len(above) + 1 :] if above else path
            for rule in rules.rows if rules.may_fit(last) else ():
                if (folder or not rule.only_folders) and rule.pattern.matches(below):
                    return rule.out
            if not above:
                return False
            above = parent(above)

    def _of(self, folder: bytes) -> FolderIgnoreRules:
        if folder not in self._rules:
            self._rules[folder] = _rules([*self._read(folder)][::-1])
        return self._rules[folder]

    def _read(self, folder: bytes) -> Iterator[IgnoreRule]:
        found = [folder + b"/" + file if folder else file for file in IGNORE_FILE_NAMES]
        present = [path for path in found if self._present is None or path in self._present]
        for path in present if folder else (EXCLUDE, *present):
            try:
                text = self._overlay.content(path, MAX_FILE_BYTES)
            except AssentError:
                continue  # there is none, or none that can be read
            for line in text.decode("utf-8", "surrogateescape").splitlines():
                if rule := _rule(line.rstrip()):
                    yield rule


def _rules(rows: list[IgnoreRule]) -> FolderIgnoreRules:
    lasts = [row.pattern.last for row in rows]
    known = [last for last in lasts if last is not None]
    whole = len(known) == len(rows)
    return FolderIgnoreRules(
        rows, re.compile("|".join(known), GLOB_FLAGS) if whole and rows else None
    )


def _rule(line: str) -> IgnoreRule | None:
    if not line or line.startswith("#"):
        return None
    taken_back = line.startswith("!")
    glob = line.removeprefix("!").removeprefix("\\")
    only_folders = glob.endswith("/")
    glob = glob.rstrip("/")
    try:
        return IgnoreRule(
            PathGlob(glob, anchored=glob.startswith("/")), not taken_back, only_folders
        )
    except UsageError:
        return None
