"""Mount points: empty folders that stand in for missing paths while a command runs.

A mount needs an existing path, in the user's own workspace. The process that creates it may be
killed at any moment, so each folder is recorded before it is created, and the next process removes
it.
"""

import fcntl
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

import msgspec

from assent.core.decoding import decode_json
from assent.core.errors import Refused
from assent.sandbox.runner.resource_limits import is_alive

_MODE: Final = 0o755
_PATIENCE: Final = 5.0  # seconds
_PAUSE: Final = 0.01
_NEAR: Final = 2_000_000_000  # nanoseconds: as coarse as some disks keep time


class MountPointFolder(msgspec.Struct, frozen=True):
    """An empty folder, and when it was created; None if that was not recorded.

    The time tells it from a folder of the same name that a user created later: anything that
    happens in a folder changes its time.
    """

    path: bytes
    mtime: int | None = None


class MountPointRecord(msgspec.Struct, frozen=True):
    """What was created for one call, when the call began, and by which process."""

    at: int
    pid: int
    made: tuple[MountPointFolder, ...]


class ActiveMountPoints(msgspec.Struct, frozen=True):
    """The mount points of one call, and the file that records them, if anything is recorded."""

    record: MountPointRecord
    path: str = ""
    lock: int | None = None

    @property
    def inherited_descriptors(self) -> tuple[int, ...]:
        """The descriptors for a process that may outlive this one, and the command with it."""
        return () if self.lock is None else (self.lock,)


class MountPoints:
    """Creates and removes the mount points of one workspace.

    Each call has a file in the state folder, locked for as long as the call may run. While two
    calls use one folder, it stays: a mount whose folder is removed is gone. Without a state folder
    nothing is recorded; that is for temporary workspaces.
    """

    def __init__(self, folder: str = "") -> None:
        self._folder = folder

    @contextmanager
    def active(self, wanted: Sequence[bytes]) -> Iterator[tuple[int, ...]]:
        """Creates the missing folders, for the duration of the call.

        Yields the descriptors for the process that stops the command if this process is killed.
        """
        try:
            with self._alone():
                self._sweep()
                stand = self._begun(wanted)
        except OSError as error:
            raise Refused(
                "The command did not run: what it needs in the workspace could not be recorded "
                f"({error.strerror}). Nothing was changed.",
                "assent doctor",
            ) from error
        try:
            yield stand.inherited_descriptors
        finally:
            with suppress(OSError), self._alone():  # otherwise the next call removes them
                self._end(stand)
            if stand.lock is not None:
                os.close(stand.lock)

    def sweep(self) -> tuple[bytes, ...]:
        """Removes what killed calls left, and returns it; what others created stays."""
        try:
            with self._alone():
                return tuple(sorted(self._sweep()))
        except OSError:
            return ()

    def _begun(self, wanted: Sequence[bytes]) -> ActiveMountPoints:
        """Records what is missing, makes it, and records when it was made."""
        shared = [one for one in self._live() if one.path in wanted and _is_unchanged(one)]
        missing = [path for path in wanted if not os.path.lexists(path)]
        first = MountPointRecord(
            time.time_ns(), os.getpid(), (*shared, *map(MountPointFolder, missing))
        )
        stand = self._recorded(first)
        made = (*shared, *(one for path in missing for one in _make(path)))
        stand = msgspec.structs.replace(stand, record=msgspec.structs.replace(first, made=made))
        with suppress(OSError):  # then the time of the record has to do
            if stand.lock is not None:
                _write(stand.lock, stand.record)
        return stand

    def _recorded(self, record: MountPointRecord) -> ActiveMountPoints:
        if not self._folder or not record.made:
            return ActiveMountPoints(record)
        path = os.path.join(self._folder, os.urandom(16).hex())
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _write(lock, record)
            os.fsync(lock)
        except BaseException:
            os.close(lock)
            raise
        return ActiveMountPoints(record, path, lock)

    def _end(self, stand: ActiveMountPoints) -> None:
        used = {one.path for one in self._live(but=stand.path)}
        _remove(stand.record, used)
        if stand.path:
            os.unlink(stand.path)

    def _sweep(self) -> list[bytes]:
        used = {one.path for one in self._live()}
        gone: list[bytes] = []
        for path in self._paths():
            if (record := _left(path)) is not None:
                gone += _remove(record, used)
                os.unlink(path)
        return gone

    def _live(self, but: str = "") -> list[MountPointFolder]:
        """Returns the mount points of calls that still run, or that could not be checked."""
        others = [path for path in self._paths() if path != but and _left(path) is None]
        return [one for path in others for one in _read(path).made]

    def _paths(self) -> list[str]:
        if not self._folder:
            return []
        return [os.path.join(self._folder, name) for name in sorted(os.listdir(self._folder))]

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keeps everybody else from making or removing any, for a moment."""
        if not self._folder:
            yield
            return
        os.makedirs(self._folder, 0o700, exist_ok=True)
        lock = os.open(f"{self._folder}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def _make(path: bytes) -> Iterator[MountPointFolder]:
    """Makes a folder; where that is not allowed, bubblewrap says so, and nothing runs."""
    with suppress(OSError):
        os.mkdir(path, _MODE)
        yield MountPointFolder(path, os.lstat(path).st_mtime_ns)


def _remove(record: MountPointRecord, used: Iterable[bytes]) -> list[bytes]:
    """Removes the folders of a record, but not those in use, with content, or made since."""
    gone: list[bytes] = []
    for one in record.made:
        if one.path in used or not _is_unchanged(one, record.at):
            continue
        with suppress(OSError):
            os.rmdir(one.path)
            gone.append(one.path)
    return gone


def _is_unchanged(one: MountPointFolder, at: int | None = None) -> bool:
    try:
        found = os.lstat(one.path)
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    if one.mtime is None:  # killed before it was looked at
        return at is not None and abs(found.st_mtime_ns - at) <= _NEAR
    return found.st_mtime_ns == one.mtime


def _left(path: str) -> MountPointRecord | None:
    """Returns the record of a call that is over; None if it goes on, or belongs to others."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _read(path) if _is_let_go(file, path) else None
    finally:
        os.close(file)


def _is_let_go(file: int, path: str) -> bool:
    """Tells whether a record is unlocked; waits while a killed call's command is being ended."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return True
        if is_alive(_read(path).pid) or time.monotonic() >= deadline:
            return False
        time.sleep(_PAUSE)


def _read(path: str) -> MountPointRecord:
    with suppress(OSError, msgspec.MsgspecError), open(path, "rb") as file:
        return decode_json(file.read(), MountPointRecord)
    return MountPointRecord(0, 0, ())


def _write(lock: int, record: MountPointRecord) -> None:
    content = msgspec.json.encode(record)
    os.pwrite(lock, content, 0)
    os.ftruncate(lock, len(content))
