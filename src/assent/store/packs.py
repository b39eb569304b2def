"""Writes blobs durably, one by one as files, or many small ones in a pack with an index at its end.

A pack is the contents one after another, then for each its digest, offset and size, then the
number of entries, the SHA-256 of the index, and a mark. It is named by the SHA-256 of its index.
"""

import errno
import hashlib
import os
import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import accumulate, count
from threading import RLock
from typing import TypeAlias

from assent.core.errors import StoreError
from assent.store.files import system_error

# Writes a blob durably: temporary file, sync, rename, sync again.
#
# The disk calls are separate, so that a test can make them fail.


# The disk calls of the blob store, in one object that a test can make fail.


class BlobDisk:
    """The real disk; every call raises OSError on failure."""

    open = staticmethod(os.open)
    read = staticmethod(os.read)
    pread = staticmethod(os.pread)
    write = staticmethod(os.write)
    pwrite = staticmethod(os.pwrite)
    truncate = staticmethod(os.ftruncate)
    close = staticmethod(os.close)
    fsync = staticmethod(os.fsync)
    rename = staticmethod(os.rename)
    mkdir = staticmethod(os.mkdir)
    stat = staticmethod(os.stat)
    fstat = staticmethod(os.fstat)
    utime = staticmethod(os.utime)
    unlink = staticmethod(os.unlink)
    listdir = staticmethod(os.listdir)

    def syncfs(self, fd: int) -> None:
        """Returns when everything on the file system of a descriptor is on disk."""
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        call = getattr(libc, "syncfs", None)
        if call is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        if call(fd) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


# Names of temporary files, and when one counts as abandoned.


DAY = 24 * 60 * 60


class TempNames:
    """New names in one folder; each contains the process that made it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._token = os.urandom(4).hex()
        self._counted = count(1)

    def fresh(self) -> str:
        """Returns a path that is not in use."""
        number = next(self._counted)
        return f"{self._folder}/{_space()}-{os.getpid()}-{self._token}-{number}"


def is_abandoned(name: str, age: float) -> bool:
    """Tells whether the process that made a file is gone; elsewhere only its age tells."""
    space, _, rest = name.partition("-")
    pid = rest.partition("-")[0]
    ours = space == _space() != "0" and pid.isdecimal()
    return age > DAY or (ours and not os.path.exists(f"/proc/{pid}"))


@cache
def _space() -> str:
    """Returns the name of our process id namespace: a container has another than its host."""
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return "0"


SYNCFS_THRESHOLD = 16  # with more files than this, one sync of the file system beats a sync of each

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_NO_SYNCFS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EPERM)


class BlobWriter:
    """Writes below one folder; only `write` explains its errors, the rest raises OSError."""

    def __init__(self, root: str, disk: BlobDisk) -> None:
        self._root = root
        self._disk = disk
        self._temporary = f"{root}/tmp"
        self._names = TempNames(self._temporary)
        self._unsynced: set[str] = set()
        self._swept = False

    def write(self, chunks: Iterable[bytes]) -> str:
        """Writes a temporary file and returns its path; errors of the chunks pass unchanged."""
        path = self._names.fresh()
        try:
            fd = self._created(path)
            try:
                for chunk in chunks:
                    self._write(fd, chunk)
            finally:
                self._close(fd)
        except BaseException:
            self.discard(path)
            raise
        return path

    def sync(self, paths: Sequence[str]) -> None:
        """Returns when the bytes of files, or the names in folders, are on disk."""
        if len(paths) > SYNCFS_THRESHOLD and self._sync_everything():
            return
        for path in paths:
            fd = self._disk.open(path, _OPEN)
            try:
                self._disk.fsync(fd)
            finally:
                self._disk.close(fd)

    def publish(self, path: str, target: str) -> None:
        """Renames a temporary file to its final name; that is durable after `sync_names`."""
        try:
            self._disk.rename(path, target)
        except FileNotFoundError:
            self.make_folder(os.path.dirname(target))
            self._disk.rename(path, target)
        self.mark_unsynced(target)

    def mark_unsynced(self, target: str) -> None:
        """Records that a name may not be durable yet."""
        self._unsynced.add(os.path.dirname(target))

    def sync_names(self) -> None:
        """Returns when all names are on disk, and removes leftovers of processes that died."""
        folders, self._unsynced = self._unsynced, set()
        try:
            self.sync(tuple(folders))
        except OSError:
            self._unsynced |= folders
            raise
        if not self._swept:
            self._swept = True
            self._sweep()

    def discard(self, path: str) -> None:
        """Removes a temporary file, if that is possible."""
        with suppress(OSError):
            self._disk.unlink(path)

    def write_error(self, error: OSError) -> StoreError:
        return system_error("store content in", self._root, error)

    def _created(self, path: str) -> int:
        try:
            try:
                return self._disk.open(path, _CREATE, 0o600)
            except FileNotFoundError:
                self.make_folder(self._temporary)
                return self._disk.open(path, _CREATE, 0o600)
        except OSError as error:
            raise self.write_error(error) from error

    def _write(self, fd: int, chunk: bytes) -> None:
        try:
            written = self._disk.write(fd, chunk)
            while written < len(chunk):
                written += self._disk.write(fd, memoryview(chunk)[written:])
        except OSError as error:
            raise self.write_error(error) from error

    def _close(self, fd: int) -> None:
        try:
            self._disk.close(fd)
        except OSError as error:
            raise self.write_error(error) from error

    def make_folder(self, path: str) -> None:
        """Creates a folder and its parents; their names are durable after `sync_names`."""
        try:
            self._disk.mkdir(path, 0o700)
        except FileExistsError:
            pass
        except FileNotFoundError:
            self.make_folder(os.path.dirname(path))
            self._disk.mkdir(path, 0o700)
        self.mark_unsynced(path)

    def _sync_everything(self) -> bool:
        fd = self._disk.open(self._root, _OPEN)
        try:
            self._disk.syncfs(fd)
        except OSError as error:
            if error.errno in _NO_SYNCFS:
                return False
            raise
        finally:
            self._disk.close(fd)
        return True

    def _sweep(self) -> None:
        with suppress(OSError):
            for name in self._disk.listdir(self._temporary):
                path = f"{self._temporary}/{name}"
                if is_abandoned(name, time.time() - self._disk.stat(path).st_mtime):
                    self.discard(path)


WINDOW = 1 << 20  # read ahead if contents are requested in stored order, or in reverse
OPEN = 4  # packs that are read at the same time, as old and new contents are

FEW = 32  # blobs that are searched for in an index; with more, all of it is noted

PackLocation: TypeAlias = tuple[str, int, int]  # the pack's path, offset and size
Window: TypeAlias = tuple[int, bytes]  # where some bytes of a pack begin, and the bytes

NOTHING: Window = (-1, b"")

_MARK = b"assent.pack.1\n"
_ENTRY = struct.Struct(">32sQQ")
_END = struct.Struct(f">Q32s{len(_MARK)}s")
_LENGTH = 64  # of a name
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class Packs:
    """Finds and reads blobs in the packs of one folder; a pack never changes."""

    def __init__(self, folder: str, disk: BlobDisk) -> None:
        self.folder = folder
        self._disk = disk
        self.places: dict[
            str, PackLocation
        ] = {}  # of contents, as far as packs have been looked at
        self._loaded: frozenset[str] = frozenset()
        self._indexes: dict[str, bytes] = {}  # of packs, as they are stored, until many are asked
        self._asked = 0
        self._windows: dict[str, Window] = {}  # what was read last, by pack
        self._alone = RLock()  # several threads may look for packs at the same time

    def find(self, digest: str) -> PackLocation | None:
        """Returns where a blob is, after checking for new packs."""
        with self._alone:
            self._refresh()
            self._asked += 1
            if self._asked > FEW:
                self._unfold()
            return self.places.get(digest) or self._searched(digest)

    def load(self) -> None:
        """Looks at all packs, where very many blobs are asked for."""
        with self._alone:
            self._refresh()
            self._unfold()

    def read(self, location: PackLocation) -> bytes:
        """Returns the bytes at a location, unchecked; fewer if the pack was cut off."""
        path, offset, size = location
        start, held = self._windows.get(path, NOTHING)
        at = offset - start
        if at < 0 or at + size > len(held):
            start, held = self._moved(location, start, held)
            at = offset - start
        return held[at : at + size]

    def _moved(self, location: PackLocation, start: int, held: bytes) -> Window:
        """Reads a location, and more if it is next to what was read before."""
        path, offset, size = location
        end = offset + size
        if start <= offset <= start + len(held):
            end = offset + max(size, WINDOW)
        elif offset < start <= end:  # what is undone is read from the end to the start
            offset = max(0, end - max(size, WINDOW))
        if path not in self._windows and len(self._windows) >= OPEN:
            self._windows.clear()
        window = self._windows[path] = offset, self._read_at(path, offset, end - offset)
        return window

    def all(self) -> dict[str, list[tuple[str, int]]]:
        """Lists each pack's blobs with their sizes."""
        with self._alone:
            self._refresh()
            self._unfold()
            found: dict[str, list[tuple[str, int]]] = {path: [] for path in self._loaded}
            for digest, (path, _, size) in self.places.items():
                found[path].append((digest, size))
            return found

    def forget(self, path: str) -> None:
        """Forgets a pack that was removed."""
        with self._alone:
            self._loaded -= {path}
            self._indexes.pop(path, None)
            self.places = {
                d: location for d, location in self.places.items() if location[0] != path
            }

    def _refresh(self) -> None:
        try:
            names = self._disk.listdir(self.folder)
        except FileNotFoundError:
            names = []
        paths = {f"{self.folder}/{name}" for name in names if _is_name(name)}
        for path in sorted(paths - self._loaded):
            self._indexes[path] = self._index(path)
            self._loaded |= {path}
        for path in self._loaded - paths:
            self.forget(path)

    def _unfold(self) -> None:
        """Notes where every blob is: that takes longer than to search for a few."""
        for path, index in self._indexes.items():
            self.places |= {
                raw.hex(): (path, at, length) for raw, at, length in _ENTRY.iter_unpack(index)
            }
        self._indexes.clear()

    def _searched(self, digest: str) -> PackLocation | None:
        """Searches the indexes as they are stored for one blob."""
        try:
            raw = bytes.fromhex(digest)
        except ValueError:
            return None
        for path, index in self._indexes.items():
            at = index.find(raw)
            while at >= 0 and at % _ENTRY.size:
                at = index.find(raw, at + 1)
            if at >= 0:
                _, offset, length = _ENTRY.unpack_from(index, at)
                location = self.places[digest] = (path, offset, length)
                return location
        return None

    def _index(self, path: str) -> bytes:
        """Returns the entries of a pack's blobs; empty if its index is damaged."""
        size = self._disk.stat(path).st_size
        count, hashed, mark = 0, b"", b""
        if size >= _END.size:
            end = self._read_at(path, size - _END.size, _END.size)
            count, hashed, mark = _END.unpack(end) if len(end) == _END.size else (0, b"", b"")
        length = count * _ENTRY.size
        if mark != _MARK or length > size - _END.size:
            return b""
        index = self._read_at(path, size - _END.size - length, length)
        if hashlib.sha256(index).digest() != hashed or hashed.hex() != os.path.basename(path):
            return b""
        return index

    def _read_at(self, path: str, offset: int, size: int) -> bytes:
        pieces = []
        fd = self._disk.open(path, _READ)
        try:
            while size and (piece := self._disk.pread(fd, size, offset)):
                pieces.append(piece)
                size -= len(piece)
                offset += len(piece)
        finally:
            self._disk.close(fd)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def build_pack(contents: Mapping[str, bytes]) -> tuple[str, Sequence[bytes]]:
    """Returns the name of a pack with these contents, and its bytes."""
    offsets = accumulate(map(len, contents.values()), initial=0)
    places = zip(contents.items(), offsets, strict=False)
    index = b"".join(
        [_ENTRY.pack(bytes.fromhex(name), at, len(content)) for (name, content), at in places]
    )
    hashed = hashlib.sha256(index)
    end = _END.pack(len(contents), hashed.digest(), _MARK)
    return hashed.hexdigest(), (b"".join(contents.values()), index, end)


def _is_name(name: str) -> bool:
    return len(name) == _LENGTH and name.isalnum()
