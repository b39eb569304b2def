"""The commands of plans: what runs them is loaded with the first one, as most builds have none."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from assent.core.changes import Changes, Left
from assent.core.operation import RunCommand
from assent.core.process import Chunk, Ended
from assent.ports import Commander


class LateCommander:
    """Implements ports.Commander; loads the sandbox with the first command of a plan."""

    def __init__(self, make: Callable[[], Commander]) -> None:
        self._make = make

    def check(self, command: RunCommand, paths: Sequence[bytes] = ()) -> None:
        self._real.check(command, paths)

    def check_at_rest(self) -> None:
        self._real.check_at_rest()

    def record(self) -> str:
        return self._real.record()

    def run(self, command: RunCommand, digest: str, left: Left) -> Iterator[Chunk | Ended]:
        return self._real.run(command, digest, left)

    def changes(self, before: str) -> Changes:
        return self._real.changes(before)

    @cached_property
    def _real(self) -> Commander:
        return self._make()
