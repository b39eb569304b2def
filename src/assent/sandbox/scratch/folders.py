"""Where copies are kept: made, found, locked, listed and removed, whatever was interrupted.

A folder of a copy is complete from the moment it has its name. It is made under another name, and
gets another one before it is removed; a folder with such a name that no process has locked is a
leftover. So is a copy whose record is missing or says that it was never finished.
"""

import fcntl
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from stat import S_IMODE
from typing import Final

import msgspec

from assent.core.decoding import decode_json
from assent.core.errors import Busy, NotFound, Refused, UsageError
from assent.core.scratch import (
    TEMPORARY_PREFIX,
    ScratchBackendName,
    ScratchInfo,
    ScratchLimits,
)
from assent.sandbox.scratch.choice import CACHE
from assent.sandbox.scratch.folder_tree import take_out_of_copy
from assent.sandbox.scratch.quota import disk_usage

LOCK, RECORD, DRAFTED = b"lock", b"about.json", b"drafted.json"
_NEW, _GONE = b".new-", b".gone-"
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_DAY: Final = 86_400
_YOUNG: Final = 60  # seconds
_LARGEST: Final = 1 << 16
_OPEN: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Flags of a folder on Linux, and the one that says: what is in here is not used together.
_GET_FLAGS, _SET_FLAGS, _TOP_FOLDER = 0x80086601, 0x40086602, 0x00020000


def make_private_folder(place: bytes) -> None:
    """Makes a folder for copies, and the one above it, that only their owner can enter."""
    above = os.path.dirname(place)
    os.makedirs(os.path.dirname(above), 0o700, exist_ok=True)
    for folder in (above, place):
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        close_to_others(folder)
    _spread(place)


def close_to_others(folder: bytes) -> None:
    """Sets a folder of this user back to its private mode, if someone opened it to others."""
    with suppress(FileNotFoundError):
        at = os.open(folder, _FOLDER)
        try:
            seen = os.fstat(at)
            if seen.st_uid == os.geteuid() and S_IMODE(seen.st_mode) & 0o077:
                os.fchmod(at, 0o700)
        finally:
            os.close(at)


def _spread(folder: bytes) -> None:
    """Asks ext4 to give each copy a neighbourhood of its own.

    It avoids, slowly, the places of files that were removed minutes ago, and copies are removed.
    """
    at = os.open(folder, _FOLDER)
    try:
        with suppress(OSError):  # a file system without such flags
            flags = int.from_bytes(fcntl.ioctl(at, _GET_FLAGS, bytes(8)), "little")
            if not flags & _TOP_FOLDER:
                fcntl.ioctl(at, _SET_FLAGS, (flags | _TOP_FOLDER).to_bytes(8, "little"))
    finally:
        os.close(at)


class CopyRecord(msgspec.Struct, frozen=True):
    """What is known about a copy. Not `complete`: the files were not all copied yet."""

    root: bytes
    inode: int
    backend: ScratchBackendName
    made: float
    complete: bool = True


class LockedFolder(msgspec.Struct, frozen=True):
    """The folder of a copy that this process alone uses; `fresh` if nothing was in it."""

    path: bytes
    lock: int
    record: CopyRecord
    fresh: bool

    def completed(self) -> None:
        """Records that all files are in the copy."""
        _write_record(self.path, msgspec.structs.replace(self.record, complete=True))

    def drafted(self) -> list[bytes]:
        """Returns the ignored paths that an earlier process gave the states of a draft."""
        try:
            with open(self.path + b"/" + DRAFTED, "rb") as file:
                return decode_json(file.read(), list[bytes])
        except (OSError, ValueError, msgspec.MsgspecError):
            return []

    def record_drafted(self, paths: Sequence[bytes]) -> None:
        """Records ignored paths of a draft before they change: nothing else takes them out."""
        _replace(self.path + b"/" + DRAFTED, msgspec.json.encode(list(paths)))

    def used(self) -> None:
        """Records that the copy was used just now."""
        with suppress(OSError):
            os.utime(self.path + b"/" + RECORD)

    def let_go(self) -> None:
        os.close(self.lock)


class CopyFolders:
    """The copies of one workspace, each in a folder of its own."""

    def __init__(self, place: bytes) -> None:
        self._place = place

    def acquire(
        self, name: str, root: bytes, backend: ScratchBackendName, *, complete: bool
    ) -> LockedFolder:
        """Returns a locked folder, a new one unless there is one of the same kind.

        Raises Busy if another process uses it.
        """
        path = self._path(name)
        inode = os.stat(root).st_ino
        found = self._opened(path)
        if found is not None:
            lock, record = found
            about = record and (record.root, record.inode, record.backend, record.complete)
            if record is not None and about == (root, inode, backend, True):
                close_to_others(path)
                return LockedFolder(path, lock, record, fresh=False)
            self._discard(path, lock)
        return self._made(path, CopyRecord(root, inode, backend, time.time(), complete))

    def remove(self, name: str) -> None:
        """Removes a copy; raises NotFound if there is none, Busy if a process uses it."""
        path = self._path(name)
        found = self._opened(path)
        if found is None:
            raise self.unknown(name)
        self._discard(path, found[0])

    def unknown(self, name: str) -> NotFound:
        """Returns the error for a name without a copy; raises UsageError if it can be none."""
        self._path(name)
        return NotFound(f"No scratch copy named {name}. None was removed.", "assent scratch list")

    def discard(self, folder: LockedFolder) -> None:
        """Removes a copy that this process has locked."""
        self._discard(folder.path, folder.lock)

    def infos(self, *, sizes: bool = True) -> list[ScratchInfo]:
        """Lists the copies, those used last first."""
        found = [self._info(name, sizes=sizes) for name in self._names()]
        return sorted((one for one in found if one), key=lambda one: -one.used)

    def sweep(self, limits: ScratchLimits, now: float) -> list[str]:
        """Removes leftovers, and copies that were not used for too long; returns their names."""
        removed: list[str] = []
        for name in self._entries():
            path = self._place + b"/" + name
            with suppress(Busy, OSError):
                changed = os.stat(path).st_mtime
                found = self._opened(path)
                if found is None:
                    self._discard(path, None)
                    continue
                lock, record = found
                aside = name.startswith((_NEW, _GONE))
                if name.startswith(_NEW) and now - changed < _YOUNG:
                    os.close(lock)  # its maker may be about to lock it
                    continue
                lasting = not aside and not name.startswith(TEMPORARY_PREFIX.encode())
                if lasting and record is not None and record.complete:
                    used = _used(path)
                    if not limits.keep_days or now - used < limits.keep_days * _DAY:
                        os.close(lock)
                        continue
                self._discard(path, lock)
                removed += [] if aside else [os.fsdecode(name)]
        self._sweep_files(now)
        return removed

    def _sweep_files(self, now: float) -> None:
        """Removes files of a process that was killed before it gave them their names."""
        with suppress(OSError), os.scandir(self._place) as found:
            for one in found:
                old = one.name.startswith(CACHE + b".") and one.is_file(follow_symlinks=False)
                if old and now - one.stat(follow_symlinks=False).st_mtime > _YOUNG:
                    os.unlink(one.path)

    def _path(self, name: str) -> bytes:
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!a} is not the name of a scratch copy.", "assent scratch list")
        return self._place + b"/" + name.encode()

    def _entries(self) -> list[bytes]:
        try:
            with os.scandir(self._place) as found:
                return sorted(one.name for one in found if one.is_dir(follow_symlinks=False))
        except OSError:
            return []

    def _names(self) -> Iterator[str]:
        names = (os.fsdecode(name) for name in self._entries())
        yield from (name for name in names if _NAME.fullmatch(name))

    def _info(self, name: str, *, sizes: bool) -> ScratchInfo | None:
        path = self._place + b"/" + name.encode()
        record = _read_record(path)
        if record is None:
            return None
        size = disk_usage(path).size if sizes else 0
        used = _used(path)
        return ScratchInfo(
            name, record.root, record.backend, record.made, used, size, _is_busy(path)
        )

    def _made(self, path: bytes, record: CopyRecord) -> LockedFolder:
        new = self._place + b"/" + _NEW + os.urandom(8).hex().encode()
        lock: int | None = None
        try:
            make_private_folder(self._place)
            os.mkdir(new, 0o700)
            lock = os.open(new + b"/" + LOCK, _OPEN, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            _write_record(new, record)
            os.rename(new, path)  # never over another one: that is not empty
        except OSError as error:
            with suppress(OSError):  # or the next start removes it
                self._discard(new, lock)
            raise not_made(error) from error
        return LockedFolder(path, lock, record, fresh=True)

    def _opened(self, path: bytes) -> tuple[int, CopyRecord | None] | None:
        """Locks the folder of a copy; None if there is none, Busy if another process has it."""
        try:
            lock = os.open(path + b"/" + LOCK, _OPEN, 0o600)
        except (FileNotFoundError, NotADirectoryError):  # a file, such as the kept choice
            return None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(lock), os.stat(path + b"/" + LOCK)):
                raise BlockingIOError  # another process removed it, and made it again
        except OSError as error:
            os.close(lock)
            raise Busy(
                "The scratch copy is in use by another process.", "assent scratch list"
            ) from error
        return lock, _read_record(path)

    def _discard(self, path: bytes, lock: int | None) -> None:
        """Removes a folder: from its first step on, it counts as gone."""
        gone = path
        try:
            if not os.path.basename(path).startswith(_GONE):
                gone = self._place + b"/" + _GONE + os.urandom(8).hex().encode()
                os.rename(path, gone)
            at = os.open(self._place, _FOLDER)
            try:
                take_out_of_copy(os.path.basename(gone), at)
            finally:
                os.close(at)
        finally:
            if lock is not None:
                os.close(lock)


def not_made(error: OSError) -> Refused:
    """Returns the refusal of a copy for whose folders there is no room, or no right."""
    return Refused(
        f"The scratch copy could not be made ({error.strerror}). Nothing was changed.",
        "assent doctor",
    )


def _used(path: bytes) -> float:
    try:
        return os.stat(path + b"/" + RECORD).st_mtime
    except OSError:
        return 0.0


def _is_busy(path: bytes) -> bool:
    try:
        lock = os.open(path + b"/" + LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def _read_record(path: bytes) -> CopyRecord | None:
    try:
        with open(path + b"/" + RECORD, "rb") as file:
            return decode_json(file.read(_LARGEST), CopyRecord)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None


def _write_record(path: bytes, record: CopyRecord) -> None:
    _replace(path + b"/" + RECORD, msgspec.json.encode(record))


def _replace(path: bytes, content: bytes) -> None:
    young = path + b".new"
    with suppress(FileNotFoundError):
        os.unlink(young)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(young, flags, 0o600), "wb") as file:
        file.write(content)
    os.replace(young, path)
