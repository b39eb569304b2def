"""The snapshot value: files, folders, and what was not recorded, with its encoding."""

from collections.abc import Mapping
from hashlib import sha256
from stat import S_ISLNK

import msgspec

from assent.core.decoding import json_decoder, msgpack_decoder
from assent.core.paths import folders_above
from assent.core.plan.operation import FileState
from assent.core.run.workspace_changes import SkipReason

# mtime, ctime, size, inode, mode, and the device where it is not that of the workspace; of a
# repository only its inode
SnapshotStamp = tuple[int, ...]

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


class SnapshotPart(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The files of one folder, which share a blob: while the folder stays the same, so does it.

    `key` is the fingerprint of everything that was listed in the folder.
    """

    path: bytes
    key: bytes
    digest: str


class WorkspaceSnapshot(msgspec.Struct, frozen=True, array_like=True):
    """The files of a workspace; not `known`: there were too many to record all.

    Its files are in `parts`. `rows` are those of them that are at hand, without reading; of a
    snapshot that was stored without parts, they are all of them.
    """

    rows: tuple[SnapshotFile, ...] = ()
    known: bool = True
    folders: tuple[SnapshotFolder, ...] = ()
    parts: tuple[SnapshotPart, ...] = ()

    @property
    def unseen(self) -> Mapping[bytes, SkipReason]:
        return {folder.path: folder.unseen for folder in self.folders if folder.unseen}

    @property
    def there(self) -> frozenset[bytes]:
        """All folders that are known to have existed."""
        if self.folders:
            return frozenset(folder.path for folder in self.folders)
        return frozenset(folders_above(row.path for row in self.rows))


class SnapshotSection(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What is remembered of one folder, so that it need not be recorded again while it is the same.

    If it is `sure`, all its files were read long enough after their last change, and it is taken
    as it is. If it is not, only its files that are sure are not read again.
    """

    key: bytes
    part: str  # the blob of its files; empty if it has none
    folders: tuple[tuple[bytes, int], ...]  # names of the folders in it, with their modes
    ignored: tuple[bytes, ...]  # names
    counts: tuple[int, int]  # files that are not ignored, and that are
    size: int  # bytes of the contents that are kept
    sure: bool
    holders: tuple[str, ...] = ()  # what its contents and its part are stored in


class SnapshotMemory(msgspec.Struct, frozen=True, array_like=True):
    """What is remembered of a workspace, and since when; see `SnapshotSection`."""

    version: int = 0
    about: bytes = b""  # settings by which its files were chosen
    at: int = 0  # when the last file of it was read
    sections: dict[bytes, SnapshotSection] = {}


MEMORY_VERSION = 1
NO_MEMORY = SnapshotMemory()

_decode = json_decoder(WorkspaceSnapshot).decode
_decode_rows = json_decoder(tuple[SnapshotFile, ...]).decode
_decode_memory = msgpack_decoder(SnapshotMemory).decode
_encode = msgspec.msgpack.Encoder().encode


def folder_key(*listed: object) -> bytes:
    """Returns the fingerprint of what is listed in a folder; empty if that is not settled."""
    try:
        return sha256(_encode(listed)).digest()
    except (TypeError, OverflowError):
        return b""


def encode_rows(rows: tuple[SnapshotFile, ...]) -> bytes:
    """Returns the blob of a part."""
    return msgspec.json.encode(rows)


def decode_rows(content: bytes) -> tuple[SnapshotFile, ...]:
    """Decodes the blob of a part."""
    return _decode_rows(content)


def encode_memory(memory: SnapshotMemory) -> bytes:
    return _encode(memory)


def decode_memory(content: bytes, about: bytes, now: int) -> SnapshotMemory:
    """Decodes what is remembered; nothing if it is foreign, or the clock was set back since."""
    try:
        memory = _decode_memory(content)
    except msgspec.MsgspecError:
        return NO_MEMORY
    fits = (memory.version, memory.about) == (MEMORY_VERSION, about) and memory.at <= now
    return memory if fits else NO_MEMORY


def encode_snapshot(snapshot: WorkspaceSnapshot) -> bytes:
    """Returns the blob that a journal names as the state before a command."""
    whole = snapshot if not snapshot.parts else msgspec.structs.replace(snapshot, rows=())
    return msgspec.json.encode(whole)


def decode_snapshot(content: bytes) -> WorkspaceSnapshot:
    """Decodes the blob of a snapshot."""
    return _decode(content)
