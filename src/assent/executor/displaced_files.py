"""Displaced files: what runs replaced or removed, kept elsewhere for a quick undo.

Nothing relies on them: their content is kept as blobs anyway. A displaced file is restored only if
it is, to the byte, what the undo has to restore; otherwise the undo writes the content again.
"""

import hashlib
import os
import re
import time
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from stat import S_IFREG, S_ISLNK, S_ISREG

import msgspec

from assent.core.decoding import msgpack_decoder
from assent.core.paths import STAGE
from assent.core.plan.operation import FileState
from assent.core.run.slot_move import SlotContent
from assent.executor.disk import Disk
from assent.executor.file_states import CHUNK, OPEN_READ, attributes_of
from assent.executor.folder_handles import OPEN_FOLDER

# The manifest of a folder of displaced files: what a run left there; anything else is not ours.
#
# A process that had a displaced file or folder open can go on writing there. Such late work is
# never removed.


_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_ENDING = b".list"
_LONE = 3600  # seconds; a list is written a moment before the folder next to it appears

_decode = msgpack_decoder(dict[bytes, str]).decode


def manifest_name(run: bytes) -> bytes:
    """Returns the name of a run's manifest."""
    return run + _ENDING


def write_manifest(disk: Disk, at: int, run: bytes, left: Mapping[bytes, str]) -> None:
    """Writes the manifest of a run: the digest of each file that it leaves, by its path."""
    content = memoryview(msgspec.msgpack.encode(left))
    fd = disk.open(manifest_name(run), _WRITE, 0o600, at)
    try:
        while content:
            content = content[disk.write(fd, content) :]
    finally:
        disk.close(fd)


def remove_stale_manifests(root: bytes, runs: Container[bytes]) -> None:
    """Removes old manifests of other runs whose folders were never created, due to a crash."""
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            run = entry.name.removesuffix(_ENDING)
            is_list = run != entry.name and run not in runs
            if is_list and entry.stat(follow_symlinks=False).st_mtime < time.time() - _LONE:
                os.unlink(entry.path)


class DisplacedManifest:
    """A manifest that was written; a lost or damaged one names nothing."""

    def __init__(self, disk: Disk, path: bytes) -> None:
        self._disk = disk
        self.path = path
        self._digests: dict[bytes, str] = {}
        with suppress(OSError, ValueError, msgspec.MsgspecError):
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(fd, "rb") as file:
                self._digests = _decode(file.read())

    def holds(self, way: bytes, name: bytes, at: int) -> bool:
        """Tells whether a file is one that the run left, and is unchanged since.

        The file is read: no timestamp shows every write since it was displaced.
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
    """Removes what a run left in a folder, and the folder; tells whether it is gone."""
    for path, folders, files, at in os.fwalk(top, topdown=False):
        prefix = path[len(top) + 1 :] + b"/" if path != top else b""
        with suppress(OSError):
            disk.chmod(at, 0o700)  # the user may have made it read-only
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


BLOCK = 4096  # bytes that a file takes at least
HARD_LIMIT_FACTOR = 2  # times the limit: so much there may be before a run removes some itself

# A folder for each segment of a run, named after it and what it takes; next to it a list of what
# the run put there.
_NAME = rb"(?P<run>(?P<base>[^.+]+)[^+]*)\+(?P<size>\d+)"


class LocalDisplacedFiles:
    """Implements DisplacedFiles in one of Assent's own folders."""

    def __init__(self, root: bytes, limit: int, disk: Disk | None = None) -> None:
        self._root = root
        self._limit = limit  # bytes; 0: none are kept
        self._disk = disk or Disk()
        self._open: tuple[bytes, int] | None = None  # the folder that the last spare was in
        self._names: dict[bytes, bytes] | None = None  # the folders by the runs that left them
        self._used: set[bytes] = set()  # runs of which some were given back
        self._late: list[str] = []  # folders that stay, and were not reported yet

    def take(self, run: str, old: Mapping[bytes, FileState], at: int) -> bool:
        """Moves the folder of a run out of the folder of all slots; False if it stays there."""
        size = sum(-(-state.size // BLOCK) * BLOCK or BLOCK for state in old.values())
        if not old or size > self._limit:
            return False
        name = run.encode()
        start = len(STAGE) + len(name) + 2
        left = {slot[start:]: state.digest for slot, state in old.items()}
        try:
            self._disk.lstat(name, at)  # or it was taken before a crash, and has its list
            self._late += self._trimmed(HARD_LIMIT_FACTOR * self._limit - size)
            home = self._home()
            try:
                write_manifest(self._disk, home, name, left)
                self._disk.rename_noreplace(name, at, b"%b+%d" % (name, size), home)
            except OSError:
                self._disk.unlink(manifest_name(name), home)
                raise
            finally:
                self._disk.close(home)
        except OSError:
            return False  # most often, they are on two file systems
        self._tidy()
        return True

    def give(self, slot: bytes, fill: SlotContent, owner: tuple[int, int] | None, at: int) -> bool:
        """Moves the file displaced from a slot to another slot, if it fits.

        `owner`, user and group, must be the file's where it replaces another file.
        """
        folder, _, spare = slot.rpartition(b"/")
        try:
            home = self._folder(folder)
            if home is None or not self._fits(spare, home, fill.after, owner):
                return False
            self._disk.rename_noreplace(spare, home, fill.slot.rpartition(b"/")[2], at)
        except OSError:
            return False  # whatever is wrong with it, there is another way
        return True

    def trim(self, limit: int) -> list[str]:
        """Removes the oldest files until the rest takes at most so many bytes."""
        self._tidy()
        remove_stale_manifests(self._root, {match["run"] for match in self._all().values()})
        late, self._late = self._late, []
        return late + self._trimmed(limit)

    def drop(self, runs: Iterable[str]) -> list[str]:
        """Removes what these runs left."""
        given_up = {run.encode() for run in runs}
        found = [name for name, match in self._all().items() if match["base"] in given_up]
        return [late for name in found for late in self._remove(name)]

    def _trimmed(self, limit: int) -> list[str]:
        found = dict(sorted(self._all().items()))  # names of runs are in the order of their times
        total = sum(int(match["size"]) for match in found.values())
        late: list[str] = []
        for name, match in found.items():
            if total <= limit:
                break
            total -= int(match["size"])
            late += self._remove(name)
        return late

    def _fits(self, name: bytes, at: int, state: FileState, owner: tuple[int, int] | None) -> bool:
        """Tells whether a file's content and attributes match; then its time is set to now.

        With its old time, a build that compares times would take the result of the new content
        for up to date. If a file has a second name, others could change the content.
        """
        disk, size = self._disk, state.size
        found = disk.lstat(name, at)
        if found.st_mode != S_IFREG | state.mode or found.st_size != size or found.st_nlink != 1:
            return False
        if owner is not None and (found.st_uid, found.st_gid) != owner:
            return False
        fd = disk.open(name, OPEN_READ, 0, at)
        try:
            content = disk.read(fd, size + 1 if size < CHUNK else CHUNK)
            whole = len(content) == size
            digest = hashlib.sha256(content).hexdigest() if whole else self._digest(fd, content)
            if digest != state.digest or (owner is not None and attributes_of(disk, fd)):
                return False
            disk.touch(fd)
        finally:
            disk.close(fd)
        return True

    def _digest(self, fd: int, content: bytes) -> str:
        """Reads on after a first piece."""
        hashed = hashlib.sha256()
        while content:
            hashed.update(content)
            content = self._disk.read(fd, CHUNK)
        return hashed.hexdigest()

    def _folder(self, folder: bytes) -> int | None:
        """Returns a descriptor of the folder where the spares of a folder of slots are now."""
        if self._open is not None and self._open[0] == folder:
            return self._open[1]
        self._close()
        run, *rest = folder[len(STAGE) + 1 :].split(b"/")
        if not {b"", b".", b".."}.isdisjoint(rest):
            return None  # no run of ours names a slot so
        if self._names is None:
            self._names = {match["run"]: name for name, match in self._all().items()}
        if run not in self._names:
            return None
        self._used.add(run)
        fd = self._home()
        for part in (self._names[run], *rest):  # none of them may have become a symlink
            try:
                below = self._disk.open(part, OPEN_FOLDER, 0, fd)
            finally:
                self._disk.close(fd)
            fd = below
        self._open = folder, fd
        return fd

    def _home(self) -> int:
        try:
            return self._disk.open(self._root, OPEN_FOLDER)
        except FileNotFoundError:
            self._disk.mkdir(self._root, 0o700)
            return self._disk.open(self._root, OPEN_FOLDER)

    def _all(self) -> dict[bytes, re.Match[bytes]]:
        """Returns the folders that runs left, by name."""
        try:
            matches = map(re.compile(_NAME).fullmatch, os.listdir(self._root))
        except OSError:
            return {}
        return {match[0]: match for match in matches if match}

    def _tidy(self) -> None:
        """Removes folders out of which everything was given back."""
        self._close()
        names, self._names = self._names or {}, None
        for run in self._used & names.keys():
            with suppress(OSError):  # some are left in it
                os.rmdir(os.path.join(self._root, names[run]))
                os.unlink(os.path.join(self._root, manifest_name(run)))
        self._used.clear()

    def _remove(self, name: bytes) -> list[str]:
        """Removes a folder; returns where it stays if it holds what the run did not put there."""
        self._close()
        self._names = None
        run = name.partition(b"+")[0]
        top, stays = os.path.join(self._root, name), os.path.join(self._root, run + b".late")
        try:
            if remove_displaced(
                self._disk,
                top,
                DisplacedManifest(self._disk, os.path.join(self._root, manifest_name(run))),
            ):
                return []
            os.rename(top, stays)
        except OSError:
            return []  # another process is at it
        return [os.fsdecode(stays)]

    def _close(self) -> None:
        if self._open is not None:
            fd, self._open = self._open[1], None
            with suppress(OSError):
                self._disk.close(fd)

    def __del__(self) -> None:
        with suppress(BaseException):  # it could not be caught here
            self._close()
