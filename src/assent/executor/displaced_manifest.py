"""The manifest of a folder of displaced files: what a run left there; anything else is not ours.

A process that had a displaced file or folder open can go on writing there. Such late work is never
removed.
"""

import hashlib
import os
import time
from collections.abc import Container, Mapping
from contextlib import suppress
from stat import S_ISLNK, S_ISREG

import msgspec

from assent.executor.disk import Disk
from assent.executor.file_states import CHUNK, OPEN_READ

_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_ENDING = b".list"
_LONE = 3600  # seconds; a list is written a moment before the folder beside it appears

_decode = msgspec.msgpack.Decoder(dict[bytes, str]).decode


def manifest_name(run: bytes) -> bytes:
    """Returns the name of a run's list."""
    return run + _ENDING


def write_manifest(disk: Disk, at: int, run: bytes, left: Mapping[bytes, str]) -> None:
    """Writes the list of a run: the digest of each file that it leaves, by its way there."""
    content = memoryview(msgspec.msgpack.encode(left))
    fd = disk.open(manifest_name(run), _WRITE, 0o600, at)
    try:
        while content:
            content = content[disk.write(fd, content) :]
    finally:
        disk.close(fd)


def remove_stale_manifests(root: bytes, runs: Container[bytes]) -> None:
    """Removes old lists of other runs than these: a crash came before their folders did."""
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            run = entry.name.removesuffix(_ENDING)
            is_list = run != entry.name and run not in runs
            if is_list and entry.stat(follow_symlinks=False).st_mtime < time.time() - _LONE:
                os.unlink(entry.path)


class DisplacedManifest:
    """A list that was written; a lost or damaged one names nothing."""

    def __init__(self, disk: Disk, path: bytes) -> None:
        self._disk = disk
        self.path = path
        self._digests: dict[bytes, str] = {}
        with suppress(OSError, ValueError, msgspec.MsgspecError):
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(fd, "rb") as file:
                self._digests = _decode(file.read())

    def holds(self, way: bytes, name: bytes, at: int) -> bool:
        """Tells whether a file is one that the run left, and still what it was then.

        It is read: no time tells of everything that was written to it since it was displaced.
        """
        digest = self._digests.get(way)
        try:
            return digest is not None and self._digest(name, at) == digest
        except OSError:
            return False  # who knows

    def _digest(self, name: bytes, at: int) -> str:
        found = self._disk.lstat(name, at)
        if S_ISLNK(found.st_mode):
            return hashlib.sha256(self._disk.readlink(name, at)).hexdigest()
        if not S_ISREG(found.st_mode):
            return ""
        hashed = hashlib.sha256()
        fd = self._disk.open(name, OPEN_READ, 0, at)
        try:
            while chunk := self._disk.read(fd, CHUNK):
                hashed.update(chunk)
        finally:
            self._disk.close(fd)
        return hashed.hexdigest()


def remove_displaced(disk: Disk, top: bytes, left: DisplacedManifest) -> bool:
    """Removes what a run left in a folder, and the folder; tells whether that is gone."""
    for path, folders, files, at in os.fwalk(top, topdown=False):
        prefix = path[len(top) + 1 :] + b"/" if path != top else b""
        with suppress(OSError):
            disk.chmod(at, 0o700)  # one that the person had made read-only
        links = [one for one in folders if S_ISLNK(disk.lstat(one, at).st_mode)]
        for one in (*files, *links):
            _unlink(disk, one, at, ours=left.holds(prefix + one, one, at))
        for one in folders:
            with suppress(OSError):  # it holds late work
                disk.rmdir(one, at)
    try:
        os.rmdir(top)
    except FileNotFoundError:
        pass
    except OSError:
        return False
    with suppress(OSError):
        os.unlink(left.path)
    return True


def _unlink(disk: Disk, name: bytes, at: int, *, ours: bool) -> None:
    if ours:
        with suppress(OSError):
            disk.unlink(name, at)
