"""Removes blobs that nothing refers to any more, but none that was stored just now.

Storing a blob, or finding it stored, updates its file's time (`BlobTimestamps`). A file is removed
only if that time is older than the grace period: it is set aside first and checked once more, so
that an update in between restores it. A later writer finds it missing, and stores it again.
"""

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import chain

from assent.core.errors import StoreError
from assent.core.text import counted
from assent.ports import CollectionResult
from assent.store.files import SAFE, system_error
from assent.store.packs import BlobDisk, BlobWriter, Packs, build_pack
from assent.store.small_blobs import SmallBlobs

GRACE = 3600.0  # seconds between keeping a content and naming it, at the very most
SMALL_PACK_BYTES = 2 * 1024 * 1024  # of a pack that is rewritten for every content to remove
EVERY = 24 * 3600.0  # seconds between two automatic collections

_STAMP, _ASIDE, _PACK = "collected", "aside", "pack-"
_FOLDER = re.compile("[0-9a-f]{2}")
_DIGEST = re.compile("[0-9a-f]{64}")


class BlobGarbageCollector:
    """Implements ports.GarbageCollector below the folder of the blobs."""

    def __init__(
        self, root: str | os.PathLike[str], grace: float = GRACE, disk: BlobDisk | None = None
    ) -> None:
        self._root = os.path.abspath(root)
        self._grace = grace
        self._disk = disk or BlobDisk()
        self._packs = Packs(f"{self._root}/packs", self._disk)
        self._small = SmallBlobs(self._root, self._disk, BlobWriter(self._root, self._disk))

    def due(self) -> bool:
        """Tells whether the last collection was long ago; a new store is not due."""
        stamp = f"{self._root}/{_STAMP}"
        try:
            return time.time() - self._disk.stat(stamp).st_mtime > EVERY
        except OSError:
            self._stamp()
            return False

    def collect(self, needed: Callable[[str], bool]) -> CollectionResult:
        """Removes blobs that are neither needed nor recent; the caller blocks other collections."""
        freed: list[tuple[int, bool]] = []
        try:
            self._return_aside()
            for one in chain(self._alone(needed), self._appended(needed), self._packed(needed)):
                freed.append(one)  # one by one: a later failure reverts none of it
        except OSError as error:
            raise _halfway(
                system_error("remove unused content in", self._root, error), freed
            ) from error
        except StoreError as error:
            raise _halfway(error, freed) from error
        self._stamp()
        return CollectionResult(
            sum(1 for size, gone in freed if gone),
            sum(size for size, gone in freed if gone),
            sum(size for size, gone in freed if not gone),
        )

    def _alone(self, needed: Callable[[str], bool]) -> Iterator[tuple[int, bool]]:
        """Checks the blobs that have a file each."""
        for folder in self._names(self._root):
            for name in self._names(f"{self._root}/{folder}") if _FOLDER.fullmatch(folder) else ():
                digest = folder + name
                if _DIGEST.fullmatch(digest) and not needed(digest):
                    path = f"{self._root}/{folder}/{name}"
                    yield self._disk.stat(path).st_size, self._take(path, digest)

    def _appended(self, needed: Callable[[str], bool]) -> list[tuple[int, bool]]:
        """Checks the file of small blobs, which is replaced by one without those that go."""
        return self._small.collect(needed, self._is_past)

    def _packed(self, needed: Callable[[str], bool]) -> Iterator[tuple[int, bool]]:
        """Checks the packs: an unneeded one is removed, a mostly unneeded one is rewritten.

        A small one is rewritten even for one content: a full file of small contents became a
        pack, which holds what many runs keep, and each content goes when its run is pruned.
        """
        for path, members in self._packs.all().items():
            wanted = {digest: size for digest, size in members if needed(digest)}
            total = sum(size for _, size in members)
            useless = total - sum(wanted.values())
            if not members or not useless:
                continue  # one whose index is damaged cannot be judged
            worthwhile = not wanted or total <= SMALL_PACK_BYTES or 2 * useless > total
            if not self._is_old(path) or not worthwhile:
                yield useless, False
                continue
            if wanted:
                self._pack_anew(path, wanted)
            yield useless, self._take(path, _PACK + os.path.basename(path))
            self._packs.forget(path)

    def _pack_anew(self, path: str, wanted: dict[str, int]) -> None:
        contents: dict[str, bytes] = {}
        for digest in wanted:
            place = self._packs.find(digest)
            content = self._packs.read(place) if place else b""
            if sha256(content).hexdigest() != digest:
                raise StoreError(
                    f"Content in {path} is damaged. Nothing was removed from it.",
                    "assent log --verify",
                )
            contents[digest] = content
        writer = BlobWriter(self._root, self._disk)
        name, pieces = build_pack(contents)
        fresh = writer.write(pieces)
        writer.sync((fresh,))
        writer.publish(fresh, f"{self._packs.folder}/{name}")
        writer.sync_names()

    def _take(self, path: str, name: str) -> bool:
        """Removes an old file, unless it has been marked since."""
        if not self._is_old(path):
            return False
        aside = f"{self._root}/{_ASIDE}/{name}"
        with suppress(FileExistsError):
            self._disk.mkdir(os.path.dirname(aside), 0o700)
        self._disk.rename(path, aside)
        if not self._is_old(aside):
            self._disk.rename(aside, path)
            return False
        self._disk.unlink(aside)
        return True

    def _return_aside(self) -> None:
        """Restores what a collection that died had set aside; it is checked again."""
        for name in self._names(f"{self._root}/{_ASIDE}"):
            aside = f"{self._root}/{_ASIDE}/{name}"
            pack = name.startswith(_PACK)
            home = f"packs/{name[len(_PACK) :]}" if pack else f"{name[:2]}/{name[2:]}"
            if os.path.basename(home) in self._names(os.path.dirname(f"{self._root}/{home}")):
                self._disk.unlink(aside)  # it was stored again
            else:
                self._disk.rename(aside, f"{self._root}/{home}")

    def _is_old(self, path: str) -> bool:
        return self._is_past(self._disk.stat(path).st_mtime)

    def _is_past(self, at: float) -> bool:
        return time.time() - at > self._grace

    def _names(self, folder: str) -> list[str]:
        try:
            return sorted(self._disk.listdir(folder))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _stamp(self) -> None:
        with suppress(OSError):
            stamp = f"{self._root}/{_STAMP}"
            self._disk.close(self._disk.open(stamp, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._disk.utime(stamp)


def _halfway(error: StoreError, freed: Iterable[tuple[int, bool]]) -> StoreError:
    """Returns the error of a failed collection with what it removed, none of which is needed."""
    gone = sum(size for size, taken in freed if taken)
    some = f"Before that, {counted(gone, 'byte')} of unused content had been removed."
    before = some if gone else "Nothing was removed."
    told = error.message.removesuffix(SAFE).rstrip()
    return StoreError(f"{told} All content that is still needed is intact. {before}", error.next)
