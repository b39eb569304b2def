"""Path globs: which files a pattern such as `src/**/*.{ts,tsx}` matches, in bounded time."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from assent.core.errors import UsageError
from assent.core.shell.glob import glob_regex

MAX_ALTERNATIVES = 64  # alternatives that braces may stand for
MAX_PATTERN_CHARS = 1000

_BRACES = r"\{([^{}]*,[^{}]*)\}"


class PathGlob:
    """A glob. Without a slash it is about names in any folder, else about paths from the top."""

    def __init__(self, glob: str, *, anchored: bool = False) -> None:
        if not glob or len(glob) > MAX_PATTERN_CHARS or "\0" in glob:
            raise UsageError("A pattern is 1 to 1000 characters long, such as `**/*.py`.")
        plain = glob.removeprefix("./").lstrip("/")
        wide = plain if anchored or "/" in plain else f"**/{plain}"
        found = list(islice(_alternatives(wide), MAX_ALTERNATIVES + 1))
        if len(found) > MAX_ALTERNATIVES:
            raise UsageError(f"The braces of {glob!a} stand for too many patterns; use fewer.")
        self._parts = [[_part(part) for part in each.split("/")] for each in found]

    def matches(self, path: bytes) -> bool:
        """Tells whether a path, seen from the folder that was asked about, is meant."""
        names = path.decode("utf-8", "surrogateescape").split("/")
        return any(_fits(names, parts) for parts in self._parts)

    @property
    def last(self) -> str | None:
        """The expression that the last name of a path has to match; None if any may."""
        ends = [parts[-1] for parts in self._parts]
        found = [end.pattern for end in ends if end is not None]
        return "|".join(f"(?:{one})" for one in found) if len(found) == len(ends) else None

    def covers(self, path: bytes) -> bool:
        """Tells whether a path or a folder above it is meant."""
        names = path.split(b"/")
        return any(self.matches(b"/".join(names[:end])) for end in range(1, len(names) + 1))


def _alternatives(glob: str) -> Iterator[str]:
    braces = re.search(_BRACES, glob)
    if braces is None:
        yield glob
        return
    for inner in braces[1].split(","):
        yield from _alternatives(glob[: braces.start()] + inner + glob[braces.end() :])


def _part(part: str) -> re.Pattern[str] | None:
    """Returns what one name has to match; None stands for any number of folders."""
    return None if part == "**" else glob_regex(part)


def _fits(names: Sequence[str], parts: Sequence[re.Pattern[str] | None]) -> bool:
    """Goes through the names once, with the set of parts that may come next."""
    open_at = _skipping({0}, parts)
    for name in names:
        following = {at for at in open_at if at < len(parts) and parts[at] is None}
        following |= {at + 1 for at in open_at if at < len(parts) and _is(parts[at], name)}
        open_at = _skipping(following, parts)
    return len(parts) in open_at


def _is(part: re.Pattern[str] | None, name: str) -> bool:
    return part is not None and part.fullmatch(name) is not None


def _skipping(places: set[int], parts: Sequence[re.Pattern[str] | None]) -> set[int]:
    """Adds the places behind each `**`, which may stand for nothing."""
    found = set(places)
    for at in sorted(places):
        while at < len(parts) and parts[at] is None:
            at += 1
            found.add(at)
    return found
