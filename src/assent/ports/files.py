"""Ports to the workspace: the user's files for reading, and Assent's own files among them."""

from collections.abc import Callable, Iterable, Mapping
from typing import BinaryIO, Final, Literal, Protocol, TypeAlias

import msgspec

from assent.core.run.journal import JournalEntry
from assent.core.run.slot_move import PathState

FolderEntryKind: TypeAlias = Literal["file", "link", "folder", "other"]


class ReplacementLoss(msgspec.Struct, frozen=True):
    """What replacing a file would cost besides its content."""

    links: int = 1
    lost: tuple[str, ...] = ()


# Tells where the symlink of a workspace path points to; None if it is none.
LinkTarget: TypeAlias = Callable[[bytes], bytes | None]


class PathStateReader(Protocol):
    """Anything that can tell what stands under a name."""

    def read_states(self, paths: Iterable[bytes]) -> dict[bytes, PathState]:
        """Returns what stands under each name.

        Paths may come as a mapping to what should stand there: that it does is told sooner.
        """


class WorkspaceFiles(PathStateReader, Protocol):
    """The person's files, for reading, by workspace path; no symlink is ever followed."""

    def locate(self, argument: bytes, target: LinkTarget | None = None) -> bytes:
        """Turns what a person typed into a workspace path: its real parent and its name.

        Where symlinks of the workspace lead to, `target` tells, if there is one, instead of disk.
        """

    def open(self, path: bytes) -> BinaryIO:
        """Opens a file's content; of a symlink, its target."""

    def below(self, folder: bytes) -> list[bytes]:
        """Lists the files and symlinks below a folder; nothing if it is no folder."""

    def is_file(self, path: bytes) -> bool:
        """Tells whether a file or symlink stands there, without reading it."""

    def link_target(self, path: bytes) -> bytes | None:
        """Returns where a symlink points to; None if it is none, or nothing is there."""

    def names(self, folder: bytes) -> list[bytes]:
        """Lists the names in a folder; nothing if it is no folder."""

    def size(self, path: bytes) -> int:
        """Returns how many bytes a file has, without reading it; 0 if it is none."""

    def slots(self, beside: Iterable[bytes] = (), *, everywhere: bool = False) -> list[bytes]:
        """Lists the files in slots of runs: in the folder of slots, and beside these folders.

        `everywhere` looks for the latter in the whole workspace, as far as a bounded walk comes.
        """

    def replacement_losses(self, paths: Iterable[bytes]) -> dict[bytes, ReplacementLoss]:
        """Tells what replacing files would cost besides their contents; only where it costs."""

    def stamps(self, folder: bytes) -> dict[bytes, tuple[int, ...]] | None:
        """Returns what a change of each name in a folder would show in; None: nobody can tell.

        That is mtime, ctime, size, inode and mode.
        """


DETACHED_HEAD: Final = "HEAD"  # no branch can have this name


class GitState(msgspec.Struct, frozen=True):
    """What git has checked out in the workspace, and what it is in the middle of there."""

    branch: str = ""  # DETACHED where none is checked out; empty where that is not known
    under_way: tuple[str, ...] = ()  # merge, rebase, cherry-pick, revert, bisect, am


class SourceFolder(PathStateReader, Protocol):
    """A folder elsewhere that the workspace is compared with; no symlink is ever followed."""

    def entries(self, folder: bytes) -> dict[bytes, FolderEntryKind]:
        """Lists the names in a folder, sorted, and what each is."""

    def open(self, path: bytes) -> BinaryIO:
        """Opens a file's content; of a symlink, its target."""


class DisplacedFiles(Protocol):
    """Files that runs displaced, kept besides their contents so that an undo is quick.

    To remove some never fails. It returns the folders that stay, because somebody who had a file
    or a folder open wrote there after it was displaced.
    """

    def trim(self, limit: int) -> list[str]:
        """Removes the oldest until all together have at most so many bytes."""

    def drop(self, runs: Iterable[str]) -> list[str]:
        """Removes what these runs left."""


class Journal(Protocol):
    """Where a run writes what it is about to do and what it did."""

    def read(self, run: str) -> list[JournalEntry]: ...

    def write(self, run: str, entry: JournalEntry) -> None:
        """Durable when it returns."""


class PlanFile(msgspec.Struct, frozen=True):
    """A plan's Markdown as found in the workspace."""

    session: str
    name: str
    path: bytes
    changed: float


class Projection(Protocol):
    """Assent's own files in the workspace: plans, readable copies, one line of .gitignore."""

    def prepare(self) -> None:
        """Makes the tree and the .gitignore line if they are missing."""

    def plan_path(self, session: str, name: str) -> bytes: ...

    def find_plans(self) -> list[PlanFile]:
        """Lists the plan files, newest first."""

    def skipped(self) -> list[str]:
        """Says which plan files could not be used at the last look, and why."""

    def read_plan(self, path: bytes) -> bytes | None:
        """Returns a plan file's bytes, or None if it is gone."""

    def write_plan(self, path: bytes, text: bytes) -> None: ...

    def delete_plan(self, path: bytes) -> None:
        """Removes a plan file, and its session's folder if that is left empty."""

    def write_state(self, plan_id: str, files: Mapping[str, bytes]) -> None:
        """Writes readable copies under the state folder; they give nobody any power."""

    def remove_state(self, plan_id: str, name: str) -> None:
        """Removes one of those copies, if it is there."""

    def read_agent(self) -> bytes | None:
        """Returns the plan agent's definition as it stands in the workspace, if it does."""

    def write_agent(self, text: bytes) -> None:
        """Writes the plan agent's definition."""

    def write_output(self, name: str, content: bytes) -> bytes:
        """Keeps the whole output of a call for later reading; returns its path. Old ones go."""

    def marker(self) -> str:
        """Returns the workspace id that the tree carries, or an empty string."""

    def write_marker(self, workspace: str) -> None: ...
