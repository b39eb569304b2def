"""The small contents of the store in one file, to which records are appended.

A record is a mark, the digest of a content, its size, when it was last needed, and the content.
The first one is the name of the file: random bytes, by which it differs from any file before it.
A record is complete or not there: what a process that died left of one is cut off by the next
writer. Nothing but the time is ever changed in place. A full file becomes a pack (`packs.py`); a
collection replaces the file by one without what nothing needs.
"""

import errno
import os
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from threading import RLock
from typing import TypeAlias

from assent.store.locks import TIMEOUT_S, acquired, release
from assent.store.packs import BlobDisk, BlobWriter, build_pack

MAX_FILE_BYTES = 512 * 1024  # a longer file becomes a pack
REFRESH_AFTER_S = 60.0  # seconds after which a time is set again

_MARK = b"\xa5blob\r\n\x01"
_RECORD = struct.Struct(f">{len(_MARK)}s32sIQ")  # mark, digest, size, time in seconds
_RANDOM_BYTES = 16
_NAME_BYTES = _RECORD.size + _RANDOM_BYTES
_TIME = struct.Struct(">Q")
_TIME_AT = _RECORD.size - _TIME.size
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_Entry: TypeAlias = tuple[int, int, int]  # where a record begins, its content's size, its time

_Identity: TypeAlias = tuple[int, int, int, int]  # device, inode, size, time of the last change

_NOTHING: _Identity = (0, 0, 0, 0)
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)


class SmallBlobs:
    """Reads and writes the file; safe for several threads and processes.

    Errors of the disk are raised as OSError, unless `BlobWriter` explains them.
    """

    def __init__(
        self, root: str, disk: BlobDisk, writer: BlobWriter, patience: float = TIMEOUT_S
    ) -> None:
        self.path = f"{root}/small"
        self._packs = f"{root}/packs"
        self._disk = disk
        self._writer = writer
        self._patience = patience
        self._seen = _NOTHING
        self._entries: dict[bytes, _Entry] = {}
        self._name = b""  # the first record of the file that this is about
        self._end = 0  # of the last complete record
        self._damaged = False  # something before the end is no record
        self._unsynced = False
        self._durable = (b"", 0)  # of which file, and up to where, is known to be on disk
        self._alone = RLock()

    def size(self, digest: str) -> int | None:
        """Returns the size of a content that the file has."""
        with self._alone:
            self._refresh()
            entry = self._entry(digest)
            return entry[1] if entry else None

    def read(self, digest: str) -> bytes | None:
        """Returns a content, unchecked; None if the file does not have it."""
        with self._alone, self._opened() as fd:
            entry = self._entry(digest)
            return self._content(fd, entry) if fd is not None and entry else None

    def mark(self, digest: str) -> bool:
        """Notes that a content is needed from now on; tells whether the file has it.

        If another process holds the file for too long, the content counts as missing: it may be
        about to be removed.
        """
        with self._alone:
            self._refresh()
            entry = self._entry(digest)
            if entry is not None and not self._is_durable(entry):
                self._unsynced = True  # its writer may have died before it was on disk
            if entry is None or self._is_recent(entry):
                return entry is not None
            try:
                with self._held() as fd:
                    entry = None if fd is None else self._entry(digest)
                    if fd is None or entry is None:
                        return False
                    at, size, _ = entry
                    now = int(time.time())
                    self._disk.pwrite(fd, _TIME.pack(now), at + _TIME_AT)
                    self._entries[bytes.fromhex(digest)] = at, size, now
            except OSError as error:
                return error.errno in _READ_ONLY  # what cannot be written is not collected either
            return True

    def needs_sync(self) -> None:
        """Records that a content in the file may not be durable: its writer may have died."""
        with self._alone:
            self._unsynced = True

    def sync(self) -> None:
        """Returns when everything in the file is on disk; its name is after `sync_names`."""
        with self._alone:
            if self._unsynced:
                with self._opened() as fd:
                    if fd is not None:  # or else it has become a pack, durably
                        self._disk.fsync(fd)
                        self._writer.mark_unsynced(self.path)
                        self._durable = self._name, self._end
                self._unsynced = False

    def add(self, contents: Mapping[str, bytes]) -> bool:
        """Appends contents durably; False if another process holds the file for too long."""
        now = int(time.time())
        records = b"".join(_record(bytes.fromhex(d), one, now) for d, one in contents.items())
        with self._alone, self._held(create=True) as fd:
            if fd is None:
                return False
            if self._end and self._end + len(records) > MAX_FILE_BYTES:
                self._seal(fd, records)
            else:
                self._append(fd, records)
            return True

    def collect(
        self, needed: Callable[[str], bool], is_old: Callable[[float], bool]
    ) -> list[tuple[int, bool]]:
        """Removes contents that are neither needed nor recent.

        Returns the size of each content that is not needed, and whether it is gone.
        """
        with self._alone, self._held() as fd:
            if fd is None:
                return []
            useless = {raw: entry for raw, entry in self._entries.items() if not needed(raw.hex())}
            gone = {raw for raw, entry in useless.items() if is_old(self._used(entry))}
            if self._damaged:
                gone = set()  # it cannot be judged
            if gone:
                self._replace(self._records(fd, gone))
            return [(entry[1], raw in gone) for raw, entry in useless.items()]

    def _append(self, fd: int, records: bytes) -> None:
        end = self._end
        if self._disk.fstat(fd).st_size > end:
            self._disk.truncate(fd, end)  # what a process that died has left of a record
        if not end:
            records = _named(records)
        name = self._name or records[:_NAME_BYTES]
        if self._durable[0] != name:
            self._writer.mark_unsynced(self.path)  # who made the file may have died before
        try:
            written = 0
            while written < len(records):
                rest = memoryview(records)[written:]
                written += self._disk.pwrite(fd, rest, end + written)
            self._disk.fsync(fd)
        except OSError:
            with suppress(OSError):  # after a failed sync the kernel may have dropped the bytes
                self._disk.truncate(fd, end)
            raise
        self._unsynced = False
        self._durable = name, end + len(records)

    def _records(self, fd: int, without: set[bytes]) -> bytes:
        """Returns the records as they are, without some."""
        held = self._read_at(fd, 0, self._end)
        return b"".join(
            held[at : at + _RECORD.size + size]
            for raw, (at, size, _) in self._entries.items()
            if raw not in without
        )

    def _seal(self, fd: int, records: bytes) -> None:
        """Turns what the file has into a pack, and begins it anew with these records."""
        held = {raw.hex(): self._content(fd, entry) for raw, entry in self._entries.items()}
        whole = {digest: one for digest, one in held.items() if sha256(one).hexdigest() == digest}
        if whole:
            name, pieces = build_pack(whole)
            path = self._writer.write(pieces)
            self._writer.sync((path,))
            self._writer.publish(path, f"{self._packs}/{name}")
            self._writer.sync_names()
        self._replace(records)

    def _replace(self, records: bytes) -> None:
        """Replaces the file in one step, durably; the caller holds it."""
        if records:
            path = self._writer.write((_named(records),))
            self._writer.sync((path,))
            self._writer.publish(path, self.path)
        else:
            self._disk.unlink(self.path)
            self._writer.mark_unsynced(self.path)
        self._writer.sync_names()
        self._forget()

    @contextmanager
    def _held(self, *, create: bool = False) -> Iterator[int | None]:
        """Keeps other writers out; None if one of them kept us out, or there is no file."""
        fd = self._locked(create=create)
        if fd is None:
            yield None
            return
        try:
            # All of it: what was noted while another wrote, and failed, may not be there any more.
            self._forget()
            self._refresh_from(fd)
            yield fd
        finally:
            release(fd)

    @contextmanager
    def _opened(self) -> Iterator[int | None]:
        """Opens the file to read what is known to be in it; None if there is no file."""
        try:
            fd = self._disk.open(self.path, _READ)
        except FileNotFoundError:
            self._forget()
            yield None
            return
        try:
            self._refresh_from(fd)
            yield fd
        finally:
            self._disk.close(fd)

    def _locked(self, *, create: bool) -> int | None:
        if not create:
            try:
                self._disk.stat(self.path)
            except FileNotFoundError:
                return None
        try:
            return acquired(self.path, self._patience)
        except FileNotFoundError:
            self._writer.make_folder(os.path.dirname(self.path))
            return acquired(self.path, self._patience)

    def _entry(self, digest: str) -> _Entry | None:
        try:
            return self._entries.get(bytes.fromhex(digest))
        except ValueError:
            return None

    def _used(self, entry: _Entry) -> float:
        """Returns when a content was last needed: not after the file was last changed."""
        return min(self._seen[3] / 1e9, entry[2])

    def _is_recent(self, entry: _Entry) -> bool:
        return 0 <= time.time() - self._used(entry) < REFRESH_AFTER_S

    def _is_durable(self, entry: _Entry) -> bool:
        name, end = self._durable
        return name == self._name and entry[0] + _RECORD.size + entry[1] <= end

    def _forget(self) -> None:
        self._seen, self._entries, self._name = _NOTHING, {}, b""
        self._end, self._damaged = 0, False

    def _refresh(self) -> None:
        """Reads what others appended since, or all of it if they replaced the file."""
        try:
            if _identity(self._disk.stat(self.path)) == self._seen:
                return
        except FileNotFoundError:
            self._forget()
            return
        with self._opened():
            pass

    def _refresh_from(self, fd: int) -> None:
        seen = _identity(self._disk.fstat(fd))
        if seen == self._seen:
            return
        if not self._continues(fd, seen):
            self._forget()
        if seen[2] > self._end:
            self._note(self._read_at(fd, self._end, seen[2] - self._end), self._end)
        self._seen = seen

    def _continues(self, fd: int, seen: "_Identity") -> bool:
        """Tells whether the file is still the one that was read, and at most longer.

        A new file may have the inode number of one that was removed, but never its name.
        """
        if not self._name or seen[:2] != self._seen[:2] or seen[2] < self._end:
            return False
        return self._read_at(fd, 0, len(self._name)) == self._name

    def _note(self, held: bytes, start: int) -> None:
        """Notes the records in the bytes from `start` on; the last one may be incomplete."""
        at, length = 0, len(held)
        while at + _RECORD.size <= length:
            mark, raw, size, used = _RECORD.unpack_from(held, at)
            end = at + _RECORD.size + size
            if mark != _MARK or end > length or not _is_followed(held, at, end):
                at = _next_whole(held, at + 1)
                if at < 0:
                    return  # an incomplete record, and nothing after it
                self._damaged = True
                continue
            if start + at:
                if raw not in self._entries or _is_whole(held, at):
                    self._entries[raw] = start + at, size, used
            else:
                self._name = held[:end]
            at = end
            self._end = start + end

    def _content(self, fd: int, entry: _Entry) -> bytes:
        return self._read_at(fd, entry[0] + _RECORD.size, entry[1])

    def _read_at(self, fd: int, offset: int, size: int) -> bytes:
        pieces = []
        while size and (piece := self._disk.pread(fd, size, offset)):
            pieces.append(piece)
            size -= len(piece)
            offset += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _identity(found: os.stat_result) -> "_Identity":
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _is_followed(held: bytes, at: int, end: int) -> bool:
    """Tells whether a record ends where it says: there is another, or its content is right."""
    return held[end : end + len(_MARK)] == _MARK or _is_whole(held, at)


def _is_whole(held: bytes, at: int) -> bool:
    _, raw, size, _ = _RECORD.unpack_from(held, at)
    content = held[at + _RECORD.size : at + _RECORD.size + size]
    return bool(len(content) == size and sha256(content).digest() == raw)


def _record(raw: bytes, content: bytes, used: int) -> bytes:
    return _RECORD.pack(_MARK, raw, len(content), used) + content


def _named(records: bytes) -> bytes:
    """Returns the records of a new file."""
    name = os.urandom(_RANDOM_BYTES)
    return _record(sha256(name).digest(), name, 0) + records


def _next_whole(held: bytes, at: int) -> int:
    """Returns where the next record begins whose content matches its digest; -1 if none does.

    What follows a damaged record is found by its mark, which a content may contain, too.
    """
    while (at := held.find(_MARK, at)) >= 0:
        if at + _RECORD.size <= len(held) and _is_whole(held, at):
            return at
        at += 1
    return -1
