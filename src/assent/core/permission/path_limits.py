"""Path limits: which workspace paths rules hide from programs, or make read-only for them."""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

# Tells of a path, seen from the workspace, whether it is kept; of a folder (`True`), whether
# everything is that could ever lie in it.
PathPredicate: TypeAlias = Callable[[bytes, bool], bool]


class PathLimits(msgspec.Struct, frozen=True):
    """What no program reads, and what none changes; None: no rule speaks of it.

    The same rules make the same value, so that whoever looks through folders can remember them.
    """

    hides: PathPredicate | None = None
    keeps: PathPredicate | None = None
    named: tuple[bytes, ...] = ()  # folders kept as a whole by their name, there or not

    def hides_path(self, path: bytes) -> bool:
        """Tells whether a file or folder is hidden."""
        return self.hides is not None and (self.hides(path, False) or self.hides(path, True))
