"""Records the workspace before a command, and works out what changed after it.

Every content that an undo may need is stored before the command starts, whether git tracks it or
not. What is too large, ignored or not a regular file is only listed, so that a change is noticed.
A folder in which nothing changed since an earlier snapshot is neither read nor stored again.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from stat import S_IRGRP, S_IROTH, S_IRUSR, S_ISLNK, S_ISREG
from typing import Final

import msgspec
from msgspec.structs import replace

from assent.core.errors import AssentError, StoreError
from assent.core.file_times import is_settled
from assent.core.paths import ancestors, parent
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
    MEMORY_VERSION,
    NO_MEMORY,
    SnapshotFile,
    SnapshotFolder,
    SnapshotMemory,
    SnapshotPart,
    SnapshotSection,
    SnapshotStamp,
    WorkspaceSnapshot,
    decode_memory,
    decode_rows,
    decode_snapshot,
    encode_memory,
    encode_rows,
    encode_snapshot,
)
from assent.planning.snapshot.walker import (
    FolderListing,
    RecordedPaths,
    WalkResult,
    WorkspaceWalker,
)
from assent.ports import BlobStore, CacheFile, NoCacheFile, WorkspaceFiles

CHUNK_BYTES: Final = 1 << 20

SnapshotChange = FileOperation | SkippedFile

_SIZE, _INODE, _MODE, _WHOLE = 2, 3, 4, 5
MAX_READ_CHECKS: Final = 2000  # files that only some may read, and that a review tries to open
_FOR_ALL: Final = S_IRUSR | S_IRGRP | S_IROTH


class SnapshotRecorder:
    """Takes snapshots of one workspace. Unchanged files are not read again, as `cache` remembers.

    A removed empty folder is not a change; a new one is listed among the created folders.
    """

    def __init__(
        self,
        files: WorkspaceFiles,
        blobs: BlobStore,
        config: WorkspaceConfig,
        clock: Callable[[], int] = time.time_ns,
        cache: Callable[[], CacheFile] = NoCacheFile,
    ) -> None:
        self._files = files
        self._blobs = blobs
        self._config = config
        self._bounds: SnapshotLimits = config.snapshot_limits
        self._clock = clock
        self._cache = cache
        self._walk = WorkspaceWalker(files, blobs, config)
        self._memory: SnapshotMemory | None = None
        self._rows: dict[str, tuple[SnapshotFile, ...]] = {}  # by the part that they are
        # What was read after a command, and so is in no section yet.
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
        memory = self._remembered(began)
        found = self._walk.go(
            lambda stamp: _is_older(stamp, began), remembered=self._stored(memory)
        )
        if found.same and not self._bounds.has_room(self._size(found)):
            found = self._walk.go(lambda stamp: _is_older(stamp, began))  # their order decides
        known = self._known_digests(memory, found)
        room = _SnapshotBudget(self._bounds, sum(each.size for each in found.same.values()))
        rows: dict[bytes, SnapshotFile] = {}
        for path, stamp in sorted(found.files.items()):
            why = self._why(path, stamp, found, room)
            rows[path] = (
                SnapshotFile(path, stamp, "", why)
                if why
                else self._row(path, stamp, began, known.get(path, ""))
            )
        taken, sizes = self._taken(found, rows)
        self._blobs.flush()
        self._remember(found, taken, sizes, began)
        unseen = found.unseen
        folders = [
            SnapshotFolder(path, mode, unseen.get(path)) for path, mode in found.folders.items()
        ]
        parts = [SnapshotPart(path, s.key, s.part) for path, s in taken.items() if s.part]
        return WorkspaceSnapshot(
            tuple([row for part in parts for row in self._rows.get(part.digest, ())]),
            found.known,
            tuple(sorted(folders, key=lambda f: f.path)),
            tuple(sorted(parts, key=lambda part: part.path)),
        )

    def changes(self, before: WorkspaceSnapshot) -> WorkspaceChanges:
        """Returns what changed since a snapshot; current contents are stored, too, for a redo."""
        if not before.known and not before.folders:
            return WorkspaceChanges(known=False)  # none of it is recorded
        began = self._clock()
        recorded = _RecordedRows(before, self._part)
        sections = self._remembered(began).sections
        same = {
            part.path: sections[part.path]
            for part in before.parts
            if part.path in sections
            and (part.key, part.digest) == (sections[part.path].key, sections[part.path].part)
        }
        known = RecordedPaths(recorded, before.there)
        found = self._walk.go(lambda stamp: _is_older(stamp, began), known, same)
        rows = recorded.outside(found.same)
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

    def _remembered(self, now: int) -> SnapshotMemory:
        """Returns what earlier snapshots know; nothing if the clock was set back since."""
        if self._memory is None:
            content = self._cache().read()
            self._memory = decode_memory(content, self._about(), now) if content else NO_MEMORY
        if self._memory.at > now:
            self._memory, self._digests, self._rows = NO_MEMORY, {}, {}
        return self._memory

    def _about(self) -> bytes:
        """Identifies what decides which files are recorded, and how."""
        config = self._config
        chosen = (config.root, config.plan_dir, config.private, self._bounds.file)
        return sha256(repr(chosen).encode()).digest()

    def _stored(self, memory: SnapshotMemory) -> dict[bytes, SnapshotSection]:
        """Returns the sections of which every content is still stored; many share some."""
        sections = memory.sections
        named = dict.fromkeys(chain.from_iterable(each.holders for each in sections.values()))
        lost = frozenset(self._blobs.lost(named))
        return {path: each for path, each in sections.items() if lost.isdisjoint(each.holders)}

    def _size(self, found: WalkResult) -> int:
        """Returns how many bytes would be kept if there were no limit for all together."""
        fits = self._bounds.may_keep
        new = (
            stamp[_SIZE]
            for path, stamp in found.files.items()
            if _why(stamp, ignored=path in found.ignored) is None and fits(stamp[_SIZE])
        )
        return sum(new) + sum(each.size for each in found.same.values())

    def _known_digests(self, memory: SnapshotMemory, found: WalkResult) -> dict[bytes, str]:
        """Returns the digests of files that are unchanged, in folders of which others changed."""
        known: dict[bytes, str] = {}
        for folder in found.listings:
            section = memory.sections.get(folder)
            for row in self._recalled(section.part) if section and section.part else ():
                if row.digest and row.sure and row.stamp == found.files.get(row.path):
                    known[row.path] = row.digest
        for path, (stamp, digest) in self._digests.items():
            if stamp == found.files.get(path):
                known[path] = digest
        sizes = {digest: found.files[path][_SIZE] for path, digest in known.items()}
        stored = self._blobs.holders(sizes)
        return {path: digest for path, digest in known.items() if digest in stored}

    def _recalled(self, part: str) -> tuple[SnapshotFile, ...]:
        """Returns the files of a part; none if it is no longer stored."""
        try:
            return self._part(part)
        except (AssentError, msgspec.MsgspecError):
            return ()

    def _part(self, digest: str) -> tuple[SnapshotFile, ...]:
        at_hand = self._rows.get(digest)
        return decode_rows(self._blobs.read(digest)) if at_hand is None else at_hand

    def _taken(
        self, found: WalkResult, rows: Mapping[bytes, SnapshotFile]
    ) -> tuple[dict[bytes, SnapshotSection], dict[str, int]]:
        """Returns all folders as sections; the files of those that are new are kept as parts.

        With them it returns the sizes of all contents that are new, or were found to be stored.
        """
        taken, sizes = dict(found.same), dict[str, int]()
        at_hand = {each.part: self._rows.get(each.part, ()) for each in found.same.values()}
        for folder, listing in found.listings.items():
            own = tuple([rows[path] for path in sorted(listing.files)])
            part, size = self._blobs.keep([encode_rows(own)]) if own else ("", 0)
            taken[folder] = _section(listing, own, part)
            at_hand[part], sizes[part] = own, size
            sizes |= {row.digest: row.stamp[_SIZE] for row in own if row.digest}
        self._rows = {part: own for part, own in at_hand.items() if own}
        sizes.pop("", None)
        return taken, sizes

    def _remember(
        self,
        found: WalkResult,
        taken: Mapping[bytes, SnapshotSection],
        sizes: Mapping[str, int],
        began: int,
    ) -> None:
        """Remembers the folders as they are now, here and for other processes."""
        self._digests = {}
        holders = {"": "", **self._blobs.holders(sizes)}  # nothing holds what is not kept
        sections = dict(found.same)
        for path in found.listings:
            part = taken[path].part
            names = {part, *(row.digest for row in self._rows.get(part, ()))}
            if holders.keys() >= names:
                held = tuple(sorted({holders[each] for each in names} - {""}))
                sections[path] = replace(taken[path], holders=held)
        before = self._memory or NO_MEMORY
        if sections == before.sections:
            return
        self._memory = SnapshotMemory(MEMORY_VERSION, self._about(), began, sections)
        self._cache().write(encode_memory(self._memory))

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
                if row.digest and row.sure:
                    self._digests[path] = (stamp, row.digest)
                return row.state if row.digest else None
        try:
            seen = self._files.read_states((path,))[path]
        except AssentError:
            return None
        return seen if isinstance(seen, FileState) else None

    def _row(self, path: bytes, stamp: SnapshotStamp, began: int, known: str = "") -> SnapshotFile:
        """Keeps one file's content, unless that is done."""
        if known:
            return SnapshotFile(path, stamp, known)
        try:
            with self._files.open(path) as content:
                digest, size = self._blobs.keep(iter(lambda: content.read(CHUNK_BYTES), b""))
        except StoreError:
            raise  # nothing starts that could not be undone
        except (AssentError, OSError):
            return SnapshotFile(path, stamp, "", "odd")
        if size != stamp[_SIZE]:  # it grew or shrank meanwhile: its times prove nothing
            return SnapshotFile(path, _resized(stamp, size), digest, None, sure=False)
        return SnapshotFile(path, stamp, digest, None, _is_older(stamp, began))

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

    def __init__(self, bounds: SnapshotLimits, taken: int = 0) -> None:
        self._bounds = bounds
        self._taken = taken

    def why(self, size: int) -> SkipReason | None:
        """Says why a file of this size cannot be kept, too; None if it can."""
        if not self._bounds.may_keep(size):
            return "large"
        if not self._bounds.has_room(self._taken + size):
            return "too many"
        self._taken += size
        return None


class _RecordedRows:
    """The files of a snapshot, by folder; only those are read that are asked for."""

    def __init__(
        self, before: WorkspaceSnapshot, read: Callable[[str], tuple[SnapshotFile, ...]]
    ) -> None:
        self._before = before
        self._read = read
        self._parts = {part.path: part.digest for part in before.parts}
        self._found: dict[bytes, dict[bytes, SnapshotFile]] = {}
        self._at_hand: dict[bytes, dict[bytes, SnapshotFile]] | None = None

    def __contains__(self, path: object) -> bool:
        return isinstance(path, bytes) and path in self.of(parent(path))

    def of(self, folder: bytes) -> dict[bytes, SnapshotFile]:
        """Returns the files of one folder."""
        if folder not in self._found:
            self._found[folder] = self._rows(folder)
        return self._found[folder]

    def outside(self, same: Mapping[bytes, object]) -> dict[bytes, SnapshotFile]:
        """Returns the files of all folders except these."""
        folders = self._parts.keys() if self._parts else self._given().keys()
        return {
            path: row
            for folder in folders
            if folder not in same
            for path, row in self.of(folder).items()
        }

    def _rows(self, folder: bytes) -> dict[bytes, SnapshotFile]:
        if self._parts and folder not in self._parts:
            return {}
        if digest := self._parts.get(folder):
            try:
                return {row.path: row for row in self._read(digest)}
            except StoreError:
                if folder not in self._given():
                    raise
        return self._given().get(folder, {})

    def _given(self) -> dict[bytes, dict[bytes, SnapshotFile]]:
        """Returns the files that the snapshot has with it."""
        if self._at_hand is None:
            self._at_hand = {}
            for row in self._before.rows:
                self._at_hand.setdefault(parent(row.path), {})[row.path] = row
        return self._at_hand


def _section(listing: FolderListing, rows: tuple[SnapshotFile, ...], part: str) -> SnapshotSection:
    counted = [row for row in rows if len(row.stamp) >= _WHOLE]
    ignored = sum(1 for row in counted if row.why == "ignored")
    return SnapshotSection(
        listing.key,
        part,
        tuple(listing.folders),
        tuple(listing.ignored),
        (len(counted) - ignored, ignored),
        sum(row.stamp[_SIZE] for row in rows if row.digest),
        sure=_is_sure(listing, rows),
    )


def _is_sure(listing: FolderListing, rows: Iterable[SnapshotFile]) -> bool:
    """Tells whether a folder would be recorded in the same way again, as long as it lists alike."""
    return bool(listing.key) and not listing.left_out and all(map(_is_settled, rows))


def _is_settled(row: SnapshotFile) -> bool:
    """Tells whether a file's properties say all of it; what could not be read is tried again."""
    if row.why == "odd":
        return not _is_content(row.stamp[_MODE])
    return row.sure and row.why != "too many"


def _is_content(mode: int) -> bool:
    return S_ISREG(mode) or S_ISLNK(mode)


def _why(stamp: SnapshotStamp, *, ignored: bool) -> SkipReason | None:
    """Returns why a file is not kept, whatever its size."""
    if len(stamp) < _WHOLE:
        return "git"
    if not _is_content(stamp[_MODE]):
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
    return is_settled(stamp[:_SIZE], now)


def _resized(stamp: SnapshotStamp, size: int) -> SnapshotStamp:
    return (*stamp[:_SIZE], size, *stamp[_SIZE + 1 :])
