"""Ignore rules: what `.gitignore` and `.ignore` leave out, where no program can tell us."""

from collections.abc import Iterator

import msgspec

from assent.core.errors import AssentError, UsageError
from assent.core.paths import name, parent
from assent.tools.looking.overlay import Overlay
from assent.tools.looking.patterns import Pattern

FILES = (b".gitignore", b".ignore")
LARGEST = 1 << 18  # bytes of a file with rules


class Rule(msgspec.Struct, frozen=True):
    """One line: what it matches, and whether that is left out or taken back."""

    pattern: Pattern
    out: bool
    only_folders: bool


class Ignored:
    """The rules on the way from the root to a folder; those nearer to a file count more."""

    def __init__(self, overlay: Overlay) -> None:
        self._overlay = overlay
        self._rules: dict[bytes, list[Rule]] = {}

    def covers(self, path: bytes, *, folder: bool) -> bool:
        """Tells whether a name is left out; a folder above it that is left out does not count."""
        if name(path) == b".git":
            return True
        above = parent(path)
        while True:
            below = path[len(above) + 1 :] if above else path
            for rule in reversed(self._of(above)):
                if (folder or not rule.only_folders) and rule.pattern.matches(below):
                    return rule.out
            if not above:
                return False
            above = parent(above)

    def _of(self, folder: bytes) -> list[Rule]:
        if folder not in self._rules:
            self._rules[folder] = [*self._read(folder)]
        return self._rules[folder]

    def _read(self, folder: bytes) -> Iterator[Rule]:
        for file in FILES:
            path = folder + b"/" + file if folder else file
            try:
                text = self._overlay.content(path, LARGEST)
            except AssentError:
                continue  # there is none, or none that can be read
            for line in text.decode("utf-8", "surrogateescape").splitlines():
                if rule := _rule(line.rstrip()):
                    yield rule


def _rule(line: str) -> Rule | None:
    if not line or line.startswith("#"):
        return None
    taken_back = line.startswith("!")
    glob = line.removeprefix("!").removeprefix("\\")
    only_folders = glob.endswith("/")
    glob = glob.rstrip("/")
    try:
        return Rule(Pattern(glob, anchored=glob.startswith("/")), not taken_back, only_folders)
    except UsageError:
        return None
