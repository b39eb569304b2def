"""Recording: what stands in a workspace before a command, and what is other after it.

Every content that an undo may need is kept before the command starts, whoever ignores git. What is
too large, ignored or no file is only listed, so that a change of it is noticed and named.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from stat import S_ISLNK, S_ISREG
from typing import Final

import msgspec

from assent.core.changes import Bounds, Changes, How, Skipped, Why
from assent.core.errors import AssentError, StoreError
from assent.core.operation import DeleteFile, FileOperation, FileState, WriteFile
from assent.core.paths import OWN, STATE, ancestors
from assent.engine.doors import Place
from assent.engine.run.ignoring import Ignoring
from assent.ports import Blobs, Files

CHUNK: Final = 1 << 20
SETTLED_NS: Final = 2_000_000_000  # some file systems keep times in steps of two seconds
UNLIMITED: Final = 1 << 62

Stamp = tuple[int, ...]  # mtime, ctime, size, inode, mode; of a repository only its inode
Listing = Mapping[bytes, Stamp]
Change = FileOperation | Skipped

_SIZE, _MODE, _WHOLE = 2, 4, 5
_LINK_MODE: Final = 0o777


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One file: what a change of it shows in, and its content or why that was not kept.

    A file that is not `sure` was so young that it can change without its times changing.
    """

    path: bytes
    stamp: Stamp
    digest: str = ""
    why: Why | None = None
    sure: bool = True

    @property
    def state(self) -> FileState:
        return _state(self.stamp, self.digest)


class Snapshot(msgspec.Struct, frozen=True, array_like=True):
    """What stood in a workspace; not `known` where there were too many files."""

    rows: tuple[Row, ...] = ()
    known: bool = True


_decode = msgspec.json.Decoder(Snapshot).decode


class Recorder:
    """Takes snapshots of one workspace. Keep it for later: what has not changed is not read again.

    Folders are not tracked: an empty one that came or went is no change.
    """

    def __init__(
        self,
        files: Files,
        blobs: Blobs,
        place: Place,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._files = files
        self._blobs = blobs
        self._bounds: Bounds = place.bounds
        ours = (STATE, place.plan_dir, *OWN, *place.private)
        self._ours = tuple(path for path in ours if path)
        self._clock = clock
        self._ignoring = Ignoring(files, blobs)
        self._digests: dict[bytes, tuple[Stamp, str]] = {}

    def keep(self, snapshot: Snapshot) -> str:
        """Keeps a snapshot as a blob, flushed."""
        digest, _ = self._blobs.keep([msgspec.json.encode(snapshot)])
        self._blobs.flush()
        return digest

    def kept(self, digest: str) -> Snapshot:
        """Reads a snapshot that was kept."""
        return _decode(self._blobs.read(digest))

    def take(self) -> Snapshot:
        """Keeps what stands in the workspace now; all contents are durable when it returns."""
        began = self._clock()
        found = self._listing()
        if found is None:
            return Snapshot(known=False)
        ignored = self._ignoring.among(found, settled=lambda stamp: _settled(stamp, began))
        room = _Room(self._bounds)
        rows = []
        for path, stamp in sorted(found.items()):
            why = _why(stamp, ignored=path in ignored) or room.why(stamp[_SIZE])
            rows.append(Row(path, stamp, "", why) if why else self._row(path, stamp, began))
        self._blobs.flush()
        return Snapshot(tuple(rows))

    def changes(self, before: Snapshot) -> Changes:
        """Returns what is other than before; what is there now is kept, too, for a redo."""
        began = self._clock()
        found = self._listing()
        if found is None or not before.known:
            return Changes(known=False)
        rows = {row.path: row for row in before.rows}
        ignored = self._ignoring.among(found, settled=lambda stamp: _settled(stamp, began))
        room = _Room(self._bounds)
        changes: list[Change] = []
        for path in sorted(_suspects(rows, found)):
            row, stamp = rows.get(path), found.get(path)
            why = _why(stamp, ignored=path in ignored and row is None) if stamp else None
            if change := self._change(path, row, stamp, why, room):
                changes.append(change)
        self._blobs.flush()
        return _sorted(changes, rows)

    def _change(
        self, path: bytes, row: Row | None, stamp: Stamp | None, why: Why | None, room: "_Room"
    ) -> Change | None:
        if row is not None and not row.digest:
            return Skipped(path, "changed" if stamp else "gone", row.why or "odd")
        if stamp is None:
            return DeleteFile(path, row.state) if row else None
        how: How = "changed" if row else "new"
        if row is None:
            why = why or room.why(stamp[_SIZE])
        after = None if why else self._after(path, stamp)
        if after is None:
            return Skipped(path, how, why or "odd")
        before = row.state if row else None
        return None if before == after else WriteFile(path, before, after)

    def _after(self, path: bytes, stamp: Stamp) -> FileState | None:
        """Returns what stands there now; None if it cannot be read."""
        if self._bounds.may_keep(stamp[_SIZE]):
            row = self._row(path, stamp, self._clock())
            return row.state if row.digest else None
        try:
            seen = self._files.look((path,))[path]
        except AssentError:
            return None
        return seen if isinstance(seen, FileState) else None

    def _row(self, path: bytes, stamp: Stamp, began: int) -> Row:
        """Keeps one file's content, unless that is done."""
        known = self._digests.get(path)
        if known is not None and known[0] == stamp and self._blobs.has(known[1]):
            return Row(path, stamp, known[1])
        try:
            with self._files.open(path) as content:
                digest, size = self._blobs.keep(iter(lambda: content.read(CHUNK), b""))
        except StoreError:
            raise  # nothing begins that could not be taken back
        except (AssentError, OSError):
            return Row(path, stamp, "", "odd")
        if size != stamp[_SIZE]:  # it grew or shrank meanwhile: its times tell nothing
            return Row(path, _resized(stamp, size), digest, None, sure=False)
        sure = _settled(stamp, began)
        if sure:
            self._digests[path] = (stamp, digest)
        return Row(path, stamp, digest, None, sure)

    def _listing(self) -> Listing | None:
        found = self._files.listing(self._bounds.files or UNLIMITED)
        if found is None:
            return None
        below = tuple(path + b"/" for path in self._ours)
        return {
            path: stamp
            for path, stamp in found.items()
            if stamp and path not in self._ours and not path.startswith(below)
        }


class _Room:
    """Counts the bytes of what is kept for one snapshot."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._taken = 0

    def why(self, size: int) -> Why | None:
        """Says why a file of this size cannot be kept, too; None if it can."""
        if not self._bounds.may_keep(size):
            return "large"
        if not self._bounds.has_room(self._taken + size):
            return "too many"
        self._taken += size
        return None


def _why(stamp: Stamp, *, ignored: bool) -> Why | None:
    """Says why a file is none that is kept, whatever its size."""
    if len(stamp) < _WHOLE:
        return "git"
    if not S_ISREG(stamp[_MODE]) and not S_ISLNK(stamp[_MODE]):
        return "odd"
    return "ignored" if ignored else None


def _suspects(rows: Mapping[bytes, Row], found: Listing) -> Iterable[bytes]:
    """Returns the files that are not certainly as they were."""
    gone = (path for path in rows if path not in found)
    for path in chain(gone, found):
        row = rows.get(path)
        if row is None or row.stamp != found.get(path) or not row.sure:
            yield path


def _sorted(changes: Iterable[Change], rows: Mapping[bytes, Row]) -> Changes:
    """Sorts changes; what is taken away comes first, so that a folder can take a file's place."""
    found = tuple(changes)
    gone = tuple(change for change in found if isinstance(change, DeleteFile))
    put = tuple(change for change in found if isinstance(change, WriteFile))
    skipped = tuple(change for change in found if isinstance(change, Skipped))
    new = {folder for op in put if op.before is None for folder in ancestors(op.path)}
    old = {folder for path in rows for folder in ancestors(path)} if new else set()
    return Changes((*gone, *put), skipped, made=tuple(sorted(new - old)))


def _settled(stamp: Stamp, now: int) -> bool:
    return now - max(stamp[:_SIZE]) > SETTLED_NS


def _state(stamp: Stamp, digest: str) -> FileState:
    mode = stamp[_MODE]
    if S_ISLNK(mode):
        return FileState(digest, stamp[_SIZE], _LINK_MODE, "link")
    return FileState(digest, stamp[_SIZE], mode & 0o7777)


def _resized(stamp: Stamp, size: int) -> Stamp:
    return (*stamp[:_SIZE], size, *stamp[_SIZE + 1 :])
