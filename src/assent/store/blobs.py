"""The blob store on disk: one file per large content; small ones share files.

A blob is durable before it is visible, and its time of last use is recorded.
"""

import os
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import chain
from threading import RLock

from assent.core.errors import StoreError
from assent.store.files import SAFE, system_error
from assent.store.locks import TIMEOUT_S
from assent.store.packs import (
    FEW,
    SYNCFS_THRESHOLD,
    BlobDisk,
    BlobWriter,
    PackLocation,
    Packs,
    build_pack,
)
from assent.store.small_blobs import REFRESH_AFTER_S, SmallBlobs

# Timestamps on stored blobs: when each was last stored or found to be stored.


class BlobTimestamps:
    """Sets the timestamp of blob files that are needed from now on."""

    def __init__(self, disk: BlobDisk) -> None:
        self._disk = disk
        self._set: dict[str, float] = {}

    def set(self, path: str, marked: float | None = None) -> bool:
        """Updates a file's timestamp unless it is recent; tells whether the file exists."""
        if marked is None:
            if time.monotonic() - self._set.get(path, -REFRESH_AFTER_S) < REFRESH_AFTER_S:
                return True
        elif 0 <= time.time() - marked < REFRESH_AFTER_S:
            return True
        try:
            self._disk.utime(path)
        except FileNotFoundError:
            return False
        except OSError:
            return True  # a store that cannot be written is not collected either
        if marked is None:
            self._set[path] = time.monotonic()
        return True


CHUNK = 1024 * 1024
DAMAGED = "damaged: it does not match its digest. Nothing was changed."
STAGE_AGAIN = "Stage the same content again to restore it."
MAX_PACKED_BLOB_BYTES = 512 * 1024  # a content up to this size may share a file with others
MAX_APPENDED_BYTES = 64 * 1024  # of the few small contents that are appended to the file of such
MAX_PENDING_BYTES = 8 * 1024 * 1024  # bytes of small contents that wait in memory to be packed

_FIRST = 64 * 1024  # most contents are read in one go
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_LENGTH = 64
_SMALL = "small/"  # begins the name of a holder that is a record in the file of small contents


class FileBlobStore:
    """Implements ports.BlobStore below one folder; safe for several threads and processes."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        disk: BlobDisk | None = None,
        patience: float = TIMEOUT_S,
    ) -> None:
        self._root = os.path.abspath(root)
        self._below = f"{self._root}/"
        self._disk = disk or BlobDisk()
        self._writer = BlobWriter(self._root, self._disk)
        self._packs = Packs(f"{self._root}/packs", self._disk)
        self._small = SmallBlobs(self._root, self._disk, self._writer, patience)
        self._marks = BlobTimestamps(self._disk)
        self._pending: dict[str, str] = {}
        self._crowd: dict[str, bytes] = {}  # small contents that wait to be stored together
        self._weight = 0
        self._turn = RLock()

    def keep(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        """Writes content to a temporary file, unless it is stored; returns digest and size."""
        source = iter(chunks)
        held, size = [], 0
        for chunk in source:
            held.append(chunk)
            size += len(chunk)
            if size > MAX_PACKED_BLOB_BYTES and len(held) > 1:
                break
        else:
            whole = held[0] if len(held) == 1 else b"".join(held)
            digest = sha256(whole).hexdigest()
            if not self._stored(digest, size):
                self._admit(digest, whole)
            return digest, size
        content = _DigestedChunks(chain(held, source))
        path = self._writer.write(content)
        self._register(content.digest, content.size, path)
        return content.digest, content.size

    def flush(self) -> None:
        """Makes everything kept so far durable, and then visible under its digest."""
        with self._turn:
            try:
                if self._are_few() and self._small.add(self._crowd):
                    self._crowd, self._weight = {}, 0
                self._small.sync()
                packs = self._packed_crowd()
                self._writer.sync((*self._pending.values(), *packs))
                for digest, path in tuple(self._pending.items()):
                    self._writer.publish(path, self._path(digest))
                    del self._pending[digest]
                self._publish(packs)
                self._writer.sync_names()
            except OSError as error:
                self._abandon()
                raise self._writer.write_error(error) from error

    def close(self) -> None:
        """Removes what was kept and never flushed; nothing refers to it."""
        with self._turn:
            self._abandon()

    def has(self, digest: str) -> bool:
        location = self._packs.places.get(digest)
        if location is not None and self._marks.set(location[0]):
            return True  # so nearly always, where there are many
        if digest in self._crowd or digest in self._pending or self._place(digest):
            return True
        return _is_name(digest) and (
            self._size(digest) is not None
            or self._is_small(digest)
            or bool(self._place(digest, look=True))
        )

    def is_stored(self, digest: str) -> bool:
        """Tells whether a blob is stored, and leaves its time as it is."""
        if not _is_name(digest):
            return False
        if digest in self._crowd or digest in self._pending:
            return True
        try:
            self._disk.stat(self._path(digest))
            return True
        except FileNotFoundError:
            pass
        except OSError as error:
            raise self._unreadable(digest, error) from error
        with self._reading_small():
            small = self._small.size(digest) is not None
        return small or self._found(digest) is not None  # in this order: one becomes the other

    def missing(self, digests: Iterable[str]) -> list[str]:
        """Returns the blobs that are not stored; each pack is checked once."""
        asked = tuple(digests)
        found = [*map(self._packs.places.get, asked)]
        there = {
            path
            for path in {location[0] for location in found if location}
            if self._marks.set(path)
        }
        return [
            digest
            for digest, location in zip(asked, found, strict=True)
            if (location is None or location[0] not in there) and not self.has(digest)
        ]

    def holders(self, sizes: Mapping[str, int]) -> dict[str, str]:
        """Returns the file of each blob that is stored, below the root, with the file's size."""
        if len(sizes) > FEW:
            self._all_packs()
        absent = {*self.missing(sizes), *self._crowd, *self._pending}
        names: dict[str, str] = {}  # of packs
        found: dict[str, str] = {}
        for digest in sizes.keys() - absent:
            location = self._packs.places.get(digest)
            if location is None:
                alone = self._holder(self._path(digest)) or self._small_holder(digest)
                name = alone if alone.endswith(f":{sizes[digest]}") else ""
            else:
                path = location[0]
                name = names[path] = names[path] if path in names else self._holder(path)
                name = name if location[2] == sizes[digest] else ""
            if name:
                found[digest] = name
        return found

    def lost(self, holders: Iterable[str]) -> list[str]:
        """Returns the files that do not exist, or are of another size and so damaged."""
        found = {name: self._held_by(name) for name in holders}
        return [name for name, there in found.items() if not name or there != name]

    def _held_by(self, name: str) -> str:
        """Returns the name of a holder as it is now; a small content may be in a pack since."""
        digest, _, size = name.removeprefix(_SMALL).partition(":")
        if not name.startswith(_SMALL):
            return self._holder(self._holder_path(name))
        if not _is_name(digest):
            return ""
        if self._is_small(digest):
            return self._small_holder(digest)
        location = self._place(digest, look=True)
        there = location is not None and size == str(location[2]) and self._holder(location[0])
        return name if there else ""

    def _small_holder(self, digest: str) -> str:
        """Returns the name of a small content as its own holder; empty if it is not there."""
        with self._reading_small():
            size = self._small.size(digest)
            self._small.needs_sync()
        return "" if size is None else f"{_SMALL}{digest}:{size}"

    def _holder(self, path: str) -> str:
        """Returns the name of a file as a holder, and marks it as used; empty if it is gone."""
        try:
            found = self._disk.stat(path)
            if not self._marks.set(path, found.st_mtime):
                return ""
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise system_error("read", path, error) from error
        self._writer.mark_unsynced(path)  # its writer may have died before it was durable
        return f"{path.removeprefix(self._below)}:{found.st_size}"

    def _holder_path(self, name: str) -> str:
        folder, _, last = name.partition(":")[0].partition("/")
        whole = last if folder == "packs" else folder + last
        return f"{self._below}{folder}/{last}" if _is_name(whole) else f"{self._below}packs/none"

    def _all_packs(self) -> None:
        try:
            self._packs.load()
        except OSError as error:
            raise system_error("read", self._packs.folder, error) from error

    def read(self, digest: str) -> bytes:
        location = self._packs.places.get(digest)
        content = (
            self._packed(location, digest) if location is not None else self._crowd.get(digest)
        )
        if content is not None:
            return content
        try:
            content = self._alone(digest)
        except FileNotFoundError as error:
            return self._elsewhere(digest, error)
        except OSError as error:
            raise self._unreadable(digest, error) from error
        if sha256(content).hexdigest() != digest:
            return self._stored_again(digest)
        return content

    def chunks(self, digest: str) -> Iterator[bytes]:
        """Streams the content; raises StoreError at the end if it does not match its name."""
        if digest in self._packs.places:  # then it is small
            yield self.read(digest)
            return
        size = None if digest in self._pending else self._size(digest)
        if digest not in self._pending and (size is None or size <= MAX_PACKED_BLOB_BYTES):
            yield self.read(digest)
            return
        hashed = sha256()
        try:
            fd = self._opened(digest)
            try:
                while chunk := self._disk.read(fd, CHUNK):
                    hashed.update(chunk)
                    yield chunk
            finally:
                self._disk.close(fd)
        except OSError as error:
            raise self._unreadable(digest, error) from error
        if hashed.hexdigest() != digest:
            raise self._damaged(digest, self._path(digest))

    def _packed(self, location: PackLocation, digest: str) -> bytes | None:
        """Returns a blob that is intact in a pack."""
        try:
            content = self._packs.read(location)
        except FileNotFoundError:
            return None  # what is still needed was packed again
        except OSError as error:
            raise system_error("read", location[0], error) from error
        return content if sha256(content).hexdigest() == digest else None

    def _alone(self, digest: str) -> bytes:
        disk = self._disk
        fd = self._opened(digest)
        try:
            content = disk.read(fd, _FIRST)
            if len(content) == _FIRST:
                content = b"".join((content, *iter(lambda: disk.read(fd, CHUNK), b"")))
        finally:
            disk.close(fd)
        return content

    def _elsewhere(self, digest: str, error: OSError) -> bytes:
        """Returns a blob that is not in a separate file."""
        with self._reading_small():
            small = self._small.read(digest)
        if small is not None and sha256(small).hexdigest() == digest:
            return small
        location = self._found(digest)
        if location is None and small is None:
            raise self._unreadable(digest, error) from error
        content = self._packed(location, digest) if location else None
        if content is not None:
            return content
        raise self._damaged(digest, location[0] if location else self._small.path)

    def _stored_again(self, digest: str) -> bytes:
        """Returns a blob whose separate file is damaged; a small one may be elsewhere since."""
        with suppress(StoreError):
            return self._elsewhere(digest, FileNotFoundError())
        raise self._damaged(digest, self._path(digest))

    def _is_small(self, digest: str) -> bool:
        """Tells whether a blob is in the file of small ones, and marks it as used."""
        with self._reading_small():
            return self._small.mark(digest)

    @contextmanager
    def _reading_small(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise system_error("read", self._small.path, error) from error

    def _found(self, digest: str) -> PackLocation | None:
        try:
            return self._packs.find(digest)
        except OSError as error:
            raise system_error("read", self._packs.folder, error) from error

    def _path(self, digest: str) -> str:
        if not _is_name(digest):
            raise StoreError(f"{digest!a} is not a valid name for stored content. {SAFE}")
        return f"{self._below}{digest[:2]}/{digest[2:]}"

    def _opened(self, digest: str) -> int:
        pending = self._pending.get(digest)
        if pending is not None:
            with suppress(FileNotFoundError):  # another thread has just published it
                return self._disk.open(pending, _READ)
        return self._disk.open(self._path(digest), _READ)

    def _size(self, digest: str) -> int | None:
        try:
            path = self._path(digest)
            found = self._disk.stat(path)
            return found.st_size if self._marks.set(path, found.st_mtime) else None
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(digest, error) from error

    def _place(self, digest: str, *, look: bool = False) -> PackLocation | None:
        """Returns where a blob is in a pack, and marks it so that no collection removes it."""
        location = self._found(digest) if look else self._packs.places.get(digest)
        if location is None or self._marks.set(location[0]):
            return location
        self._packs.forget(location[0])
        return None

    def _stored(self, digest: str, size: int) -> bool:
        """Tells whether a blob need not be written; one of another size is damaged."""
        if digest in self._pending or digest in self._crowd:
            return True
        path = self._path(digest)
        if self._size(digest) != size:
            if self._is_whole_small(digest):
                self._small.needs_sync()  # its writer may have died before it was durable
                return True
            location = self._place(digest) or self._place(digest, look=True)
            if location is None or self._packed(location, digest) is None:
                return False
            path = location[0]
        self._writer.mark_unsynced(path)  # its writer may have died before it was durable
        return True

    def _is_whole_small(self, digest: str) -> bool:
        with self._reading_small():
            content = self._small.read(digest)
        return (
            content is not None and sha256(content).hexdigest() == digest and self._is_small(digest)
        )

    def _are_few(self) -> bool:
        """Tells whether what waits in memory is so little that it is appended, not packed."""
        few = 0 < len(self._crowd) <= SYNCFS_THRESHOLD
        return few and self._weight <= MAX_APPENDED_BYTES

    def _admit(self, digest: str, content: bytes) -> None:
        """Writes a blob, unless it is small: then it waits to be stored with others."""
        if len(content) > MAX_PACKED_BLOB_BYTES:
            self._register(digest, len(content), self._writer.write((content,)))
            return
        with self._turn:
            self._crowd[digest] = content
            self._weight += len(content)
            if self._weight > MAX_PENDING_BYTES:
                self._relieve()

    def _relieve(self) -> None:
        """Packs what waits in memory; it does no harm if that is visible before the flush."""
        try:
            packs = self._packed_crowd()
            self._writer.sync(tuple(packs))
            self._publish(packs)
        except OSError as error:
            self._abandon()
            raise self._writer.write_error(error) from error

    def _packed_crowd(self) -> dict[str, str]:
        """Writes what waits in memory to a temporary pack; returns its name by its path."""
        if not self._crowd:
            return {}
        name, pieces = build_pack(self._crowd)
        return {self._writer.write(pieces): name}

    def _publish(self, packs: dict[str, str]) -> None:
        for path, name in packs.items():
            target = f"{self._packs.folder}/{name}"
            self._writer.publish(path, target)
            self._packs.forget(target)  # one of this name was damaged, if it was known
            self._crowd, self._weight = {}, 0

    def _register(self, digest: str, size: int, path: str) -> None:
        with self._turn:
            if self._stored(digest, size):
                self._writer.discard(path)
            else:
                self._pending[digest] = path

    def _abandon(self) -> None:
        """Forgets pending blobs: after a failed sync the kernel may have dropped their bytes."""
        for path in self._pending.values():
            self._writer.discard(path)
        self._pending.clear()
        self._crowd, self._weight = {}, 0

    def _unreadable(self, digest: str, error: OSError) -> StoreError:
        path = self._path(digest)
        if not isinstance(error, FileNotFoundError):
            return system_error("read", path, error)
        return StoreError(
            f"The stored content {path} is missing. Nothing was changed. {STAGE_AGAIN}",
            f"ls -l {shlex.quote(path)}",
        )

    def _damaged(self, digest: str, path: str) -> StoreError:
        quoted = shlex.quote(path)
        if path != self._path(digest):
            return StoreError(damaged_text(digest, path), f"ls -l {quoted}")
        return StoreError(
            f"The stored content {path} is {DAMAGED} Move it away, then "
            f"{STAGE_AGAIN[0].lower()}{STAGE_AGAIN[1:]}",
            f"mv {quoted} {quoted}.damaged",
        )


def damaged_text(digest: str, path: object) -> str:
    """Returns that a content is damaged that shares a file with others."""
    return f"The stored content {digest} in {path} is {DAMAGED} {STAGE_AGAIN}"


def _is_name(digest: str) -> bool:
    return len(digest) == _LENGTH and digest.isalnum()  # so it leads nowhere else


class _DigestedChunks:
    """Passes chunks on and computes their digest and size."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks
        self._hashed = sha256()
        self.size = 0

    @property
    def digest(self) -> str:
        return self._hashed.hexdigest()

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            self._hashed.update(chunk)
            self.size += len(chunk)
            yield chunk
