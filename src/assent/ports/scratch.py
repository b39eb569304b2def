"""The port to the scratch copy: the workspace with the draft on top, where anything may run."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Protocol

from assent.core.permission.rule import PathLimits
from assent.core.plan.operation import FileState
from assent.core.scratch import (
    ScratchBackend,
    ScratchChange,
    ScratchConflict,
    ScratchDraft,
    ScratchResult,
)
from assent.core.shell.process import CommandSpec, OutputChunk, ProcessLimits, ProcessResult


class ScratchCopy(Protocol):
    """A copy of one session. Commands in it change nothing real."""

    def describe(self) -> ScratchBackend:
        """Returns how the copy is made, and why not in a better way."""

    def apply(
        self,
        draft: ScratchDraft,
        content: Callable[[str], Iterable[bytes]],
        include: Sequence[str] = (),
    ) -> None:
        """Sets the draft for commands that begin from now on; `content` reads a digest.

        Ignored files that match a glob of `include` count like those that are not ignored.
        While a command runs in the copy, others join it as it is; the draft counts for the first
        one after them.
        """

    def run(
        self,
        command: CommandSpec,
        folder: bytes,
        limits: ProcessLimits,
        searched: Callable[[], object] = lambda: None,
    ) -> Generator[OutputChunk | ProcessResult, None, None]:
        """Runs a command in the copy and streams its output; `ProcessResult` comes last.

        Changes of earlier commands are taken out first, except ignored ones. Closing it ends the
        command. Raises Refused before anything has run. `searched` is called when it is known what
        has to be hidden from the command.
        """

    def run_read_only(
        self, command: CommandSpec, folder: bytes, limits: ProcessLimits
    ) -> Generator[OutputChunk | ProcessResult, None, None]:
        """Runs a command that sees the workspace itself, without the draft, and can only read.

        It may run beside others, and in another thread; what is hidden from it was searched for
        the last command in the copy. Raises Refused before anything has run.
        """

    def changes(self) -> ScratchResult:
        """Returns what is different in the copy from the workspace with the draft."""

    def state(self, path: bytes) -> FileState | None:
        """Returns the state of a path that a command changed, also of an ignored one."""

    def content(self, path: bytes) -> Iterator[bytes]:
        """Yields what a command left at a path, to be kept; Refused while a command runs."""

    def conflict(self, change: ScratchChange) -> ScratchConflict | None:
        """Compares the real file with what it was when the change was read."""

    def reset(self) -> None:
        """Takes out what is not ignored; Refused while a command runs."""

    def clear(self) -> None:
        """Removes the copy from the disk; Refused while a command runs."""

    def close(self) -> None:
        """Lets other processes use the copy; it stays on disk."""


class ScratchOpener(Protocol):
    """Opens the copy of a name, and makes it if there is none."""

    def __call__(self, name: str, hidden: PathLimits | None = None, /) -> ScratchCopy:
        """Raises Refused where no copy is possible; `hidden` None: what rules for plans hide."""
