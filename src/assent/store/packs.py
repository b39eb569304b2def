"""Packs: many small blobs in one file, with an index at its end.

A pack is the contents one after another, then for each its digest, offset and size, then the
number of entries, the SHA-256 of the index, and a mark. It is named by the SHA-256 of its index.
"""

import hashlib
import os
import struct
from collections.abc import Mapping, Sequence
from itertools import accumulate
from threading import RLock
from typing import TypeAlias

from assent.store.blob_writer import BlobDisk

WINDOW = 1 << 20  # read ahead where contents are asked for in the order they lie in, or against it
OPEN = 4  # packs that are read at the same time, as old and new contents are

PackLocation: TypeAlias = tuple[str, int, int]  # the pack's path, offset and size
Window: TypeAlias = tuple[int, bytes]  # where some bytes of a pack begin, and the bytes

NOTHING: Window = (-1, b"")

_MARK = b"assent.pack.1\n"
_ENTRY = struct.Struct(">32sQQ")
_END = struct.Struct(f">Q32s{len(_MARK)}s")
_LENGTH = 64  # of a name
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class Packs:
    """Finds and reads contents in the packs of one folder; a pack never changes."""

    def __init__(self, folder: str, disk: BlobDisk) -> None:
        self.folder = folder
        self._disk = disk
        self.places: dict[
            str, PackLocation
        ] = {}  # of contents, as far as packs have been looked at
        self._loaded: frozenset[str] = frozenset()
        self._windows: dict[str, Window] = {}  # what was read last, by pack
        self._alone = RLock()  # several threads may look for packs at the same time

    def find(self, digest: str) -> PackLocation | None:
        """Returns where a content is, after a look at packs that are new."""
        with self._alone:
            self._refresh()
            return self.places.get(digest)

    def read(self, place: PackLocation) -> bytes:
        """Returns the bytes of a place, unchecked; fewer if the pack was cut off."""
        path, offset, size = place
        start, held = self._windows.get(path, NOTHING)
        at = offset - start
        if at < 0 or at + size > len(held):
            start, held = self._moved(place, start, held)
            at = offset - start
        return held[at : at + size]

    def _moved(self, place: PackLocation, start: int, held: bytes) -> Window:
        """Reads a place, and more where it is next to what was read before."""
        path, offset, size = place
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
        """Lists each pack's contents with their sizes."""
        with self._alone:
            self._refresh()
            found: dict[str, list[tuple[str, int]]] = {path: [] for path in self._loaded}
            for digest, (path, _, size) in self.places.items():
                found[path].append((digest, size))
            return found

    def forget(self, path: str) -> None:
        """Forgets a pack that was removed."""
        with self._alone:
            self._loaded -= {path}
            self.places = {d: place for d, place in self.places.items() if place[0] != path}

    def _refresh(self) -> None:
        try:
            names = self._disk.listdir(self.folder)
        except FileNotFoundError:
            names = []
        paths = {f"{self.folder}/{name}" for name in names if _is_name(name)}
        for path in sorted(paths - self._loaded):
            self.places |= self._index(path)
            self._loaded |= {path}
        for path in self._loaded - paths:
            self.forget(path)

    def _index(self, path: str) -> dict[str, PackLocation]:
        """Reads where a pack's contents are; nothing of a pack that is damaged there."""
        size = self._disk.stat(path).st_size
        count, hashed, mark = 0, b"", b""
        if size >= _END.size:
            end = self._read_at(path, size - _END.size, _END.size)
            count, hashed, mark = _END.unpack(end) if len(end) == _END.size else (0, b"", b"")
        length = count * _ENTRY.size
        if mark != _MARK or length > size - _END.size:
            return {}
        index = self._read_at(path, size - _END.size - length, length)
        if hashlib.sha256(index).digest() != hashed or hashed.hex() != os.path.basename(path):
            return {}
        return {raw.hex(): (path, at, length) for raw, at, length in _ENTRY.iter_unpack(index)}

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
