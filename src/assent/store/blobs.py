"""Blobs on disk: each content in a file named by its digest, durable before it is seen."""

import os
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from threading import RLock

from assent.core.errors import StoreError
from assent.store.blob_disk import BlobDisk
from assent.store.blob_writer import BlobWriter
from assent.store.faults import SAFE, system_fault

CHUNK = 1024 * 1024

_FIRST = 64 * 1024  # most contents are read in one go
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_LENGTH = 64


class FileBlobs:
    """Implements ports.Blobs below one folder; safe to call from several threads and processes."""

    def __init__(self, root: str | os.PathLike[str], disk: BlobDisk | None = None) -> None:
        self._root = os.path.abspath(root)
        self._below = f"{self._root}/"
        self._disk = disk or BlobDisk()
        self._writer = BlobWriter(self._root, self._disk)
        self._pending: dict[str, str] = {}
        self._turn = RLock()

    def keep(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        """Writes content to a temporary file, unless it is stored; returns digest and size."""
        source = iter(chunks)
        first = next(source, b"")
        second = next(source, None)
        if second is None:
            digest = sha256(first).hexdigest()
            if not self._stored(digest, len(first)):
                self._register(digest, len(first), self._writer.write((first,)))
            return digest, len(first)
        content = _Measured(chain((first, second), source))
        path = self._writer.write(content)
        self._register(content.digest, content.size, path)
        return content.digest, content.size

    def flush(self) -> None:
        """Makes everything kept so far durable, and then visible under its digest."""
        with self._turn:
            try:
                self._writer.sync(tuple(self._pending.values()))
                for digest, path in tuple(self._pending.items()):
                    self._writer.publish(path, self._path(digest))
                    del self._pending[digest]
                self._writer.settle()
            except OSError as error:
                self._abandon()
                raise self._writer.fault(error) from error

    def has(self, digest: str) -> bool:
        return digest in self._pending or (_is_name(digest) and self._size(digest) is not None)

    def read(self, digest: str) -> bytes:
        disk = self._disk
        try:
            fd = self._opened(digest)
            try:
                content = disk.read(fd, _FIRST)
                if len(content) == _FIRST:
                    content = b"".join((content, *iter(lambda: disk.read(fd, CHUNK), b"")))
            finally:
                disk.close(fd)
        except OSError as error:
            raise self._unreadable(digest, error) from error
        if sha256(content).hexdigest() != digest:
            raise self._damaged(digest)
        return content

    def chunks(self, digest: str) -> Iterator[bytes]:
        """Streams the content; raises StoreError at the end if it does not match its name."""
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
            raise self._damaged(digest)

    def _path(self, digest: str) -> str:
        if not _is_name(digest):
            raise StoreError(f"{digest!a} is not the name of a stored content. {SAFE}")
        return f"{self._below}{digest[:2]}/{digest[2:]}"

    def _opened(self, digest: str) -> int:
        pending = self._pending.get(digest)
        if pending is not None:
            with suppress(FileNotFoundError):  # another thread has just published it
                return self._disk.open(pending, _READ)
        return self._disk.open(self._path(digest), _READ)

    def _size(self, digest: str) -> int | None:
        try:
            return self._disk.stat(self._path(digest)).st_size
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(digest, error) from error

    def _stored(self, digest: str, size: int) -> bool:
        """Tells whether a content need not be written; one of another size is a torn one."""
        if digest in self._pending:
            return True
        if self._size(digest) != size:
            return False
        self._writer.doubt(self._path(digest))  # its writer may have died before it was durable
        return True

    def _register(self, digest: str, size: int, path: str) -> None:
        with self._turn:
            if self._stored(digest, size):
                self._writer.discard(path)
            else:
                self._pending[digest] = path

    def _abandon(self) -> None:
        """Forgets what is pending: after a failed sync the kernel may have dropped its bytes."""
        for path in self._pending.values():
            self._writer.discard(path)
        self._pending.clear()

    def _unreadable(self, digest: str, error: OSError) -> StoreError:
        path = self._path(digest)
        if not isinstance(error, FileNotFoundError):
            return system_fault("read", path, error)
        return StoreError(
            f"The stored content {path} is missing. Nothing was changed. Staging the same content "
            "again stores it anew.",
            f"ls -l {shlex.quote(path)}",
        )

    def _damaged(self, digest: str) -> StoreError:
        path = self._path(digest)
        quoted = shlex.quote(path)
        return StoreError(
            f"The stored content {path} is damaged: its bytes do not match its name. Nothing was "
            "changed. Set it aside; staging the same content again stores it anew.",
            f"mv {quoted} {quoted}.damaged",
        )


def _is_name(digest: str) -> bool:
    return len(digest) == _LENGTH and digest.isalnum()  # so it leads nowhere else


class _Measured:
    """Passes chunks on and knows in the end what they were."""

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
