"""Ports to the workspace: the user's files for reading, and Assent's own files among them."""

from collections.abc import Callable, Iterable, Mapping
from typing import BinaryIO, Final, Literal, Protocol, TypeAlias

import msgspec

from assent.core.run.journal import JournalEntry
from assent.core.run.slot_move import PathState

FolderEntryKind: TypeAlias = Literal["file", "link", "folder", "other"]


class ReplacementLoss(msgspec.Struct, frozen=True):
    """What replacing a file would lose in addition to its content."""

    links: int = 1
    lost: tuple[str, ...] = ()


# Tells where the symlink of a workspace path points to; None if it is none.
LinkTarget: TypeAlias = Callable[[bytes], bytes | None]


class PathStateReader(Protocol):
    """Anything that can read the state of a path."""

    def read_states(self, paths: Iterable[bytes]) -> dict[bytes, PathState]:
        """Returns the state of each path.

        Paths may be given as a mapping to their expected states: a match is then found sooner.
        """


class WorkspaceFiles(PathStateReader, Protocol):
    """The user's files, read-only, by workspace path; no symlink is ever followed."""

    def locate(self, argument: bytes, target: LinkTarget | None = None) -> bytes:
        """Turns what a user typed into a workspace path: its real parent and its name.

        `target`, if given, returns where symlinks of the workspace point to, instead of the disk.
        """

    def open(self, path: bytes) -> BinaryIO:
        """Opens a file's content; for a symlink, its target."""

    def below(self, folder: bytes) -> list[bytes]:
        """Lists the files and symlinks below a folder; empty if it is not a folder."""

    def is_file(self, path: bytes) -> bool:
        """Tells whether a path is a file or symlink, without reading it."""

    def link_target(self, path: bytes) -> bytes | None:
        """Returns the target of a symlink; None if it is not one, or does not exist."""

    def names(self, folder: bytes) -> list[bytes]:
        """Lists the names in a folder; empty if it is not a folder."""

    def size(self, path: bytes) -> int:
        """Returns the size of a file in bytes, without reading it; 0 if it is not a file."""

    def slots(self, beside: Iterable[bytes] = (), *, everywhere: bool = False) -> list[bytes]:
        """Lists the files in slots of runs: in the slot folder, and in these folders.

        `everywhere` searches the whole workspace for the latter, as far as a bounded walk gets.
        """

    def replacement_losses(self, paths: Iterable[bytes]) -> dict[bytes, ReplacementLoss]:
        """Returns what replacing files would lose in addition to their contents, if anything."""

    def stamps(self, folder: bytes) -> dict[bytes, tuple[int, ...]] | None:
        """Returns what shows a change of each name in a folder; None if unknown.

        That is mtime, ctime, size, inode and mode, and the device unless it is the workspace's.
        """


DETACHED_HEAD: Final = "HEAD"  # no branch can have this name


class GitState(msgspec.Struct, frozen=True):
    """What git has checked out in the workspace, and its operation in progress."""

    branch: str = ""  # DETACHED where none is checked out; empty where that is not known
    under_way: tuple[str, ...] = ()  # merge, rebase, cherry-pick, revert, bisect, am


class SourceFolder(PathStateReader, Protocol):
    """A folder elsewhere that the workspace is compared with; no symlink is ever followed."""

    def entries(self, folder: bytes) -> dict[bytes, FolderEntryKind]:
        """Lists the names in a folder, sorted, and the kind of each."""

    def open(self, path: bytes) -> BinaryIO:
        """Opens a file's content; for a symlink, its target."""


class DisplacedFiles(Protocol):
    """Files that runs displaced, kept in addition to their contents to make undo fast.

    Removing some never fails. It returns the folders that stay, because a program that had a file
    or a folder open wrote there after it was displaced.
    """

    def trim(self, limit: int) -> list[str]:
        """Removes the oldest until all of them together have at most `limit` bytes."""

    def drop(self, runs: Iterable[str]) -> list[str]:
        """Removes the displaced files of these runs."""


class Journal(Protocol):
    """Where a run writes what it is about to do and what it did."""

    def read(self, run: str) -> list[JournalEntry]: ...

    def write(self, run: str, entry: JournalEntry) -> None:
        """Writes an entry; it is durable when this returns."""


class PlanFile(msgspec.Struct, frozen=True):
    """A plan's Markdown as found in the workspace."""

    session: str
    name: str
    path: bytes
    changed: float


class Projection(Protocol):
    """Assent's own files in the workspace: plans, readable copies, one line of .gitignore."""

    def prepare(self) -> None:
        """Creates the tree and the .gitignore line if they are missing."""

    def plan_path(self, session: str, name: str) -> bytes: ...

    def find_plans(self, session: str = "") -> list[PlanFile]:
        """Lists the plan files, newest first; with a session, only those in its folder."""

    def skipped(self) -> list[str]:
        """Returns which plan files could not be used at the last read, and why."""

    def read_plan(self, path: bytes) -> bytes | None:
        """Returns a plan file's bytes, or None if it is gone."""

    def write_plan(self, path: bytes, text: bytes) -> None: ...

    def delete_plan(self, path: bytes) -> None:
        """Removes a plan file, and its session's folder if that is then empty."""

    def write_state(self, plan_id: str, files: Mapping[str, bytes]) -> None:
        """Writes readable copies under the state folder; nothing relies on them."""

    def remove_state(self, plan_id: str, name: str) -> None:
        """Removes one of those copies, if it exists."""

    def remove_all_state(self, plan_id: str) -> None:
        """Removes all of a plan's copies."""

    def tidy(self) -> bool:
        """Removes the tree if it contains no plan, no copy and nothing of anyone else's."""

    def read_agent(self) -> bytes | None:
        """Returns the plan agent's definition in the workspace, if there is one."""

    def write_agent(self, text: bytes) -> None:
        """Writes the plan agent's definition."""

    def marker(self) -> str:
        """Returns the workspace id in the tree, or an empty string."""

    def write_marker(self, workspace: str) -> None: ...
