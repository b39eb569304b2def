"""Workspace changes: what a command did to files, as operations that can be undone."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from assent.core.decoding import json_decoder
from assent.core.plan.operation import FileOperation, FileState, footprint

ChangeKind: TypeAlias = Literal["new", "changed", "gone", "unknown"]
SkipReason: TypeAlias = Literal["ignored", "large", "too many", "odd", "git", "folder"]
FileStateChange: TypeAlias = tuple[FileState | None, FileState | None]
FileStateChanges: TypeAlias = Mapping[
    bytes, FileStateChange
]  # files that a run changed, as it met and as it left them
NO_FILES: Final[FileStateChanges] = {}


class SkippedFile(msgspec.Struct, frozen=True):
    """A file that a command changed and whose current content is not recorded, and why.

    If its old content is `kept`, an operation records it as deleted, so it is restored as soon as
    nothing unreadable is in its place.
    """

    path: bytes
    how: ChangeKind
    why: SkipReason
    kept: bool = False


class WorkspaceChanges(msgspec.Struct, frozen=True):
    """The files that changed. Not `known`: there may be more; they were too many."""

    operations: tuple[FileOperation, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    known: bool = True
    made: tuple[bytes, ...] = ()  # folders that were not there before


class SnapshotLimits(msgspec.Struct, frozen=True):
    """How much is kept so that what a command does can be undone; 0: no limit."""

    file: int = 16 << 20  # bytes of one file
    total: int = 1 << 30  # and of all
    files: int = 100_000  # not counting ignored ones

    def may_keep(self, size: int) -> bool:
        """Tells whether a file of this size is kept."""
        return not self.file or size <= self.file

    def has_room(self, taken: int) -> bool:
        """Tells whether so many bytes may be kept together."""
        return not self.total or taken <= self.total


class SnapshotGaps(msgspec.Struct, frozen=True):
    """How much of a workspace would be on record before a command."""

    kept: int = 0  # files with their contents
    beyond: int = 0  # files that do not fit into undo.total_mb
    whole: bool = True  # not: there are more files than undo.files
    closed: tuple[bytes, ...] = ()  # folders that cannot be read
    unread: tuple[bytes, ...] = ()  # files that cannot be read


def state_changes(operations: Iterable[FileOperation]) -> FileStateChanges:
    """Returns the net effect of operations; after a foreign change, it starts from that."""
    found: dict[bytes, FileStateChange] = {}
    for path, before, after in [step for op in operations for step in footprint(op)]:
        met, left = found.get(path, (before, before))
        found[path] = (met if left == before else before, after)
    return found


_decode = json_decoder(WorkspaceChanges).decode


def encode_changes(changes: WorkspaceChanges) -> bytes:
    """Returns the blob that a journal, or a command's record, names as its changes."""
    return msgspec.json.encode(changes)


def decode_changes(content: bytes) -> WorkspaceChanges:
    """Decodes the blob of a command's changes."""
    return _decode(content)
