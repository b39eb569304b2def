"""The snapshot value: files, folders, and what was not recorded, with its encoding."""

from collections.abc import Mapping
from stat import S_ISLNK

import msgspec

from assent.core.paths import ancestors
from assent.core.plan.operation import FileState
from assent.core.run.workspace_changes import SkipReason

SnapshotStamp = tuple[int, ...]  # mtime, ctime, size, inode, mode; of a repository only its inode

_SIZE, _MODE = 2, 4
_LINK_MODE = 0o777


class SnapshotFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One file: the properties that show a change, and its content or why that was not kept.

    A file that is not `sure` was so new that it can change without its times changing.
    """

    path: bytes
    stamp: SnapshotStamp
    digest: str = ""
    why: SkipReason | None = None
    sure: bool = True

    @property
    def state(self) -> FileState:
        mode = self.stamp[_MODE]
        if S_ISLNK(mode):
            return FileState(self.digest, self.stamp[_SIZE], _LINK_MODE, "link")
        return FileState(self.digest, self.stamp[_SIZE], mode & 0o7777)


class SnapshotFolder(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One folder, and why not everything in it is recorded."""

    path: bytes
    mode: int
    unseen: SkipReason | None = None


class WorkspaceSnapshot(msgspec.Struct, frozen=True, array_like=True):
    """The files of a workspace; not `known`: there were too many to record all."""

    rows: tuple[SnapshotFile, ...] = ()
    known: bool = True
    folders: tuple[SnapshotFolder, ...] = ()

    @property
    def unseen(self) -> Mapping[bytes, SkipReason]:
        return {folder.path: folder.unseen for folder in self.folders if folder.unseen}

    @property
    def there(self) -> frozenset[bytes]:
        """All folders that are known to have existed."""
        if self.folders:
            return frozenset(folder.path for folder in self.folders)
        return frozenset(above for row in self.rows for above in ancestors(row.path))


_decode = msgspec.json.Decoder(WorkspaceSnapshot).decode


def encode_snapshot(snapshot: WorkspaceSnapshot) -> bytes:
    """Returns the blob that a journal names as the state before a command."""
    return msgspec.json.encode(snapshot)


def decode_snapshot(content: bytes) -> WorkspaceSnapshot:
    """Decodes the blob of a snapshot."""
    return _decode(content)
