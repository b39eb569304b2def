"""What both kinds of copies have in common: where they are, and what a command needs to run."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from assent.core.plan.operation import FileState
from assent.core.scratch import ScratchBackendName, ScratchDraft, ScratchLimits
from assent.sandbox.scratch.changes import ContentOf, CopyRules, Touched
from assent.sandbox.scratch.quota import DiskUsage

Progress = Callable[[int, float], None]  # files so far, and seconds


class CopyMount(msgspec.Struct, frozen=True):
    """How a program gets to the copy: what enters its namespace, and where it is there."""

    source: bytes
    enter: tuple[bytes, ...] = ()


class CopyLayer(Protocol):
    """A writable copy on disk. One thread at a time changes it, while nothing runs in it."""

    name: ScratchBackendName

    def put_before(self, paths: Iterable[bytes]) -> None:
        """Names ignored paths that have the states of an earlier draft, by another process."""

    def prepare(self, draft: ScratchDraft, content: ContentOf, rules: CopyRules) -> None:
        """Takes out what is not ignored, and gives the draft's paths their states."""

    def mounted(self, prepare: Callable[[], None]) -> AbstractContextManager[CopyMount]:
        """Holds the copy ready for programs, once `prepare` has returned."""

    def touched(self, rules: CopyRules, limits: ScratchLimits) -> Touched:
        """Returns the paths that commands may have changed since `prepare`."""

    def state(self, path: bytes) -> FileState | None:
        """Returns what a touched path has become; None where nothing is."""

    def content(self, path: bytes) -> Iterator[bytes]:
        """Yields the content of a touched path."""

    def size(self) -> DiskUsage:
        """Counts what is on disk; it looks at every file of the copy."""

    def places(self) -> tuple[bytes, ...]:
        """Returns folders on the disks that it fills."""

    def close(self) -> None: ...
