"""Records the workspace before a command, and works out what changed after it.

Every content that an undo may need is stored before the command starts, whether git tracks it or
not. What is too large, ignored or not a regular file is only listed, so that a change is noticed.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from stat import S_IRGRP, S_IROTH, S_IRUSR, S_ISLNK, S_ISREG
from typing import Final

from assent.core.errors import AssentError, StoreError
from assent.core.paths import ancestors
from assent.core.plan.operation import DeleteFile, FileOperation, FileState, Operation, WriteFile
from assent.core.run.workspace_changes import (
    ChangeKind,
    SkippedFile,
    SkipReason,
    SnapshotGaps,
    SnapshotLimits,
    WorkspaceChanges,
)
from assent.planning.ports import WorkspaceConfig
from assent.planning.snapshot.snapshot import (
    SnapshotFile,
    SnapshotFolder,
    SnapshotStamp,
    WorkspaceSnapshot,
    decode_snapshot,
    encode_snapshot,
)
from assent.planning.snapshot.walker import RecordedPaths, WalkResult, WorkspaceWalker
from assent.ports import BlobStore, WorkspaceFiles

CHUNK_BYTES: Final = 1 << 20
MTIME_GRANULARITY_NS: Final = 2_000_000_000  # some file systems keep times in steps of two seconds

SnapshotChange = FileOperation | SkippedFile

_SIZE, _INODE, _MODE, _WHOLE = 2, 3, 4, 5
MAX_READ_CHECKS: Final = 2000  # files that only some may read, and that a review tries to open
_FOR_ALL: Final = S_IRUSR | S_IRGRP | S_IROTH


class SnapshotRecorder:
    """Takes snapshots of one workspace. Keep it for later: unchanged files are not read again.

    A removed empty folder is not a change; a new one is listed among the created folders.
    """

    def __init__(
        self,
        files: WorkspaceFiles,
        blobs: BlobStore,
        config: WorkspaceConfig,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._files = files
        self._blobs = blobs
        self._config = config
        self._bounds: SnapshotLimits = config.snapshot_limits
        self._clock = clock
        self._walk = WorkspaceWalker(files, blobs, config)
        self._digests: dict[bytes, tuple[SnapshotStamp, str]] = {}

    def store(self, snapshot: WorkspaceSnapshot) -> str:
        """Stores a snapshot as a blob, flushed."""
        digest, _ = self._blobs.keep([encode_snapshot(snapshot)])
        self._blobs.flush()
        return digest

    def load(self, digest: str) -> WorkspaceSnapshot:
        """Reads a stored snapshot."""
        return decode_snapshot(self._blobs.read(digest))

    def gaps(self, before: Sequence[Operation] = ()) -> SnapshotGaps:
        """Tells how far a snapshot after operations would reach, without storing anything."""
        walk = WorkspaceWalker(self._files, self._blobs, self._config, before)
        found = walk.go(lambda stamp: False)
        room = _SnapshotBudget(self._bounds)
        rows = sorted(found.files.items())
        whys = [self._why(path, stamp, found, room) for path, stamp in rows]
        fit = [row for row, why in zip(rows, whys, strict=True) if why is None]
        unread = tuple(sorted(filter(self._is_unread, _doubtful(fit))))
        beyond, closed = whys.count("too many"), tuple(sorted(found.closed))
        return SnapshotGaps(len(fit) - len(unread), beyond, found.known, closed, unread)

    def take(self) -> WorkspaceSnapshot:
        """Records the current workspace; all contents are durable when it returns."""
        began = self._clock()
        found = self._walk.go(lambda stamp: _is_older(stamp, began))
        room = _SnapshotBudget(self._bounds)
        rows = []
        for path, stamp in sorted(found.files.items()):
            why = self._why(path, stamp, found, room)
            rows.append(
                SnapshotFile(path, stamp, "", why) if why else self._row(path, stamp, began)
            )
        self._blobs.flush()
        unseen = found.unseen
        folders = [
            SnapshotFolder(path, mode, unseen.get(path)) for path, mode in found.folders.items()
        ]
        return WorkspaceSnapshot(
            tuple(rows), found.known, tuple(sorted(folders, key=lambda f: f.path))
        )

    def changes(self, before: WorkspaceSnapshot) -> WorkspaceChanges:
        """Returns what changed since a snapshot; current contents are stored, too, for a redo."""
        if not before.known and not before.folders:
            return WorkspaceChanges(known=False)  # none of it is recorded
        began = self._clock()
        rows = {row.path: row for row in before.rows}
        known = RecordedPaths(rows, before.there)
        found = self._walk.go(lambda stamp: _is_older(stamp, began), known)
        room = _SnapshotBudget(self._bounds)
        changes: list[SnapshotChange] = [*_folders_changed(before, found)]
        unseen = before.unseen
        for path in sorted(_suspects(rows, found)):
            row, stamp = rows.get(path), found.files.get(path)
            if row is None and _lies_in(path, unseen):
                continue  # whether it was there is unknown
            why = _why(stamp, ignored=path in found.ignored and row is None) if stamp else None
            changes += self._change(path, row, stamp, why, room)
        for row in _out_of_sight(rows.values(), found):
            changes += _unread(row.path, row, "unknown", "odd")
        self._blobs.flush()
        return _sorted(changes, _made(before, found), known=before.known and found.known)

    def _change(
        self,
        path: bytes,
        row: SnapshotFile | None,
        stamp: SnapshotStamp | None,
        why: SkipReason | None,
        room: "_SnapshotBudget",
    ) -> Sequence[SnapshotChange]:
        if row is not None and not row.digest:
            return (SkippedFile(path, "changed" if stamp else "gone", row.why or "odd"),)
        if stamp is None:
            return (DeleteFile(path, row.state),) if row else ()
        how: ChangeKind = "changed" if row else "new"
        if row is None:
            why = why or room.why(stamp[_SIZE])
        after = None if why else self._after(path, stamp)
        if after is None:
            return _unread(path, row, how, why or "odd")
        before = row.state if row else None
        return () if before == after else (WriteFile(path, before, after),)

    def _after(self, path: bytes, stamp: SnapshotStamp) -> FileState | None:
        """Returns what is there now; None if it cannot be read."""
        if self._bounds.may_keep(stamp[_SIZE]):
            with suppress(StoreError):  # to take it back, what it is now need not be kept
                row = self._row(path, stamp, self._clock())
                return row.state if row.digest else None
        try:
            seen = self._files.read_states((path,))[path]
        except AssentError:
            return None
        return seen if isinstance(seen, FileState) else None

    def _row(self, path: bytes, stamp: SnapshotStamp, began: int) -> SnapshotFile:
        """Keeps one file's content, unless that is done."""
        known = self._digests.get(path)
        if known is not None and known[0] == stamp and self._blobs.has(known[1]):
            return SnapshotFile(path, stamp, known[1])
        try:
            with self._files.open(path) as content:
                digest, size = self._blobs.keep(iter(lambda: content.read(CHUNK_BYTES), b""))
        except StoreError:
            raise  # nothing starts that could not be undone
        except (AssentError, OSError):
            return SnapshotFile(path, stamp, "", "odd")
        if size != stamp[_SIZE]:  # it grew or shrank meanwhile: its times prove nothing
            return SnapshotFile(path, _resized(stamp, size), digest, None, sure=False)
        sure = _is_older(stamp, began)
        if sure:
            self._digests[path] = (stamp, digest)
        return SnapshotFile(path, stamp, digest, None, sure)

    def _is_unread(self, path: bytes) -> bool:
        try:
            self._files.open(path).close()
        except (AssentError, OSError):
            return True
        return False

    def _why(
        self, path: bytes, stamp: SnapshotStamp, found: WalkResult, room: "_SnapshotBudget"
    ) -> SkipReason | None:
        """Says why a file is not kept."""
        return _why(stamp, ignored=path in found.ignored) or room.why(stamp[_SIZE])


class _SnapshotBudget:
    """Counts the bytes of what is kept for one snapshot."""

    def __init__(self, bounds: SnapshotLimits) -> None:
        self._bounds = bounds
        self._taken = 0

    def why(self, size: int) -> SkipReason | None:
        """Says why a file of this size cannot be kept, too; None if it can."""
        if not self._bounds.may_keep(size):
            return "large"
        if not self._bounds.has_room(self._taken + size):
            return "too many"
        self._taken += size
        return None


def _why(stamp: SnapshotStamp, *, ignored: bool) -> SkipReason | None:
    """Returns why a file is not kept, whatever its size."""
    if len(stamp) < _WHOLE:
        return "git"
    if not S_ISREG(stamp[_MODE]) and not S_ISLNK(stamp[_MODE]):
        return "odd"
    return "ignored" if ignored else None


def _doubtful(files: Iterable[tuple[bytes, SnapshotStamp]]) -> Iterator[bytes]:
    """Yields the existing files that may not be readable, judging by their modes."""
    some = MAX_READ_CHECKS
    for path, stamp in files:
        mode = stamp[_MODE]
        if not stamp[_INODE] or S_ISLNK(mode) or mode & _FOR_ALL == _FOR_ALL:
            continue
        if not mode & S_IRUSR:
            yield path
        elif some:  # who shares nothing has many of these, and can read them
            some -= 1
            yield path


def _suspects(rows: Mapping[bytes, SnapshotFile], found: WalkResult) -> Iterable[bytes]:
    """Returns the files that are not certainly as they were."""
    closed = found.closed
    gone = (path for path in rows if path not in found.files and not _lies_in(path, closed))
    for path in chain(gone, found.files):
        row = rows.get(path)
        if row is None or row.stamp != found.files.get(path) or not row.sure:
            yield path


def _out_of_sight(rows: Iterable[SnapshotFile], found: WalkResult) -> Iterator[SnapshotFile]:
    """Yields the recorded files that are in folders that can no longer be read."""
    if closed := found.closed:
        for row in rows:
            if row.digest and row.path not in found.files and _lies_in(row.path, closed):
                yield row


def _unread(
    path: bytes, row: SnapshotFile | None, how: ChangeKind, why: SkipReason
) -> Sequence[SnapshotChange]:
    """Names what cannot be read now; the file that stood there is gone, as far as one can see."""
    named = SkippedFile(path, how, why, kept=row is not None)
    return (DeleteFile(path, row.state), named) if row else (named,)


def _folders_changed(before: WorkspaceSnapshot, found: WalkResult) -> Iterator[SkippedFile]:
    """Yields folders whose mode changed, and those whose content is unknown."""
    closed = found.closed
    for path, mode, unseen in ((f.path, f.mode, f.unseen) for f in before.folders):
        now = found.folders.get(path)
        if now is None and unseen == "odd":
            yield SkippedFile(path, "gone", "odd")
        elif now is not None and (unseen == "odd") != (path in closed):
            yield SkippedFile(path, "unknown", "odd")
        elif now not in (None, mode) and path not in found.ignored:
            yield SkippedFile(path, "changed", "folder")
    whys = {**before.unseen, **found.unseen}
    yield from (SkippedFile(path, "unknown", "ignored") for path in whys if whys[path] == "ignored")


def _lies_in(path: bytes, folders: Mapping[bytes, object] | frozenset[bytes]) -> bool:
    """Tells whether a file is in one of some folders, or in the root if that is one."""
    return bool(folders) and (
        b"" in folders or any(folder in folders for folder in ancestors(path))
    )


def _sorted(
    changes: Iterable[SnapshotChange], made: tuple[bytes, ...], *, known: bool
) -> WorkspaceChanges:
    """Sorts changes; what is taken away comes first, so that a folder can take a file's place."""
    found = tuple(changes)
    gone = tuple(change for change in found if isinstance(change, DeleteFile))
    put = tuple(change for change in found if isinstance(change, WriteFile))
    skipped = tuple(change for change in found if isinstance(change, SkippedFile))
    return WorkspaceChanges((*gone, *put), skipped, known, made)


def _made(before: WorkspaceSnapshot, found: WalkResult) -> tuple[bytes, ...]:
    """Returns the folders that were not there before, also empty ones: files may come later."""
    unseen, there = before.unseen, before.there
    new = found.folders.keys() - there - found.ignored - {b""}
    return tuple(sorted(path for path in new if not _lies_in(path, unseen)))


def _is_older(stamp: SnapshotStamp, now: int) -> bool:
    return now - max(stamp[:_SIZE]) > MTIME_GRANULARITY_NS


def _resized(stamp: SnapshotStamp, size: int) -> SnapshotStamp:
    return (*stamp[:_SIZE], size, *stamp[_SIZE + 1 :])
