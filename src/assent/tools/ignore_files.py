"""Ignore files: what `.gitignore` and `.ignore` leave out, where no program can tell us."""

import re
from collections.abc import Container, Iterator

import msgspec

from assent.core.errors import AssentError, UsageError
from assent.core.paths import base_name, parent
from assent.tools.overlay import Overlay
from assent.tools.path_glob import PathGlob

IGNORE_FILE_NAMES = (b".gitignore", b".ignore")
EXCLUDE = b".git/info/exclude"  # of one person's own
MAX_FILE_BYTES = 1 << 18  # bytes of a file with rules


class IgnoreRule(msgspec.Struct, frozen=True):
    """One line: what it matches, and whether that is excluded or included again."""

    pattern: PathGlob
    out: bool
    only_folders: bool


class FolderIgnoreRules(msgspec.Struct, frozen=True):
    """The rules of one folder, the last first; `names` says quickly that none of them fits."""

    rows: list[IgnoreRule]
    names: re.Pattern[str] | None = None

    def may_fit(self, name: str) -> bool:
        return bool(self.rows) and (self.names is None or self.names.fullmatch(name) is not None)


class IgnoreMatcher:
    """The rules on the way from the root to a folder; those nearer to a file count more."""

    def __init__(self, overlay: Overlay, present: Container[bytes] | None = None) -> None:
        """Whoever knows which files there are can spare it looking for rules in each folder."""
        self._overlay = overlay
        self._present = present
        self._rules: dict[bytes, FolderIgnoreRules] = {}

    def covers(self, path: bytes, *, folder: bool) -> bool:
        """Tells whether a name is left out; a folder above it that is left out does not count."""
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
        rows, re.compile("|".join(known), re.DOTALL) if whole and rows else None
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
