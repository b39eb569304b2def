"""A cache file of the state directory: checked as a whole, bounded, and never needed."""

import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256

from assent.core.errors import StoreError
from assent.store.files import make_folder, refuse_shared, write_atomically

MAX_BYTES = 64 << 20
MAX_FILES = 32  # in one folder; the ones that were written longest ago are removed

_MARK = b"assent.cache.1\n"
_HASHED = 32
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class LocalCacheFile:
    """Implements ports.CacheFile: a mark, the SHA-256 of what it is about and holds, the content.

    A file that others could have written, that is cut off or damaged, or that is about something
    else than `about` says now, counts as missing.
    """

    def __init__(self, path: str, about: Callable[[], bytes]) -> None:
        self._path = path
        self._about = about

    def read(self) -> bytes:
        try:
            refuse_shared("The folder", os.path.dirname(self._path))
            refuse_shared("The cache", self._path)
            found, about = self._found(), self._about()
        except (OSError, StoreError):
            return b""
        start = len(_MARK) + _HASHED
        content = found[start:]
        good = found[:start] == _head(about, content) and len(found) <= MAX_BYTES
        return content if good else b""

    def write(self, content: bytes) -> None:
        if len(_MARK) + _HASHED + len(content) > MAX_BYTES:
            return
        with suppress(OSError, StoreError):
            folder = os.path.dirname(self._path)
            make_folder(folder)
            refuse_shared("The folder", folder)
            write_atomically(self._path, _head(self._about(), content) + content)
            _trim(folder)

    def _found(self) -> bytes:
        fd = os.open(self._path, _READ)
        with os.fdopen(fd, "rb") as file:
            return file.read(MAX_BYTES + 1)


def _head(about: bytes, content: bytes) -> bytes:
    hashed = sha256(len(about).to_bytes(8, "big") + about)
    hashed.update(content)
    return _MARK + hashed.digest()


def _trim(folder: str) -> None:
    """Removes the oldest files beyond the limit, among them leftovers of a writer that died."""
    with os.scandir(folder) as entries:
        aged = sorted((entry.stat(follow_symlinks=False).st_mtime, entry.path) for entry in entries)
    for _, path in aged[:-MAX_FILES]:
        with suppress(OSError):
            os.unlink(path)
