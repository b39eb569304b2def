"""Reads the user's files in a workspace, and finds slots and changed files there."""

import io
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby, islice
from stat import S_IFDIR, S_ISDIR, S_ISLNK, S_ISREG
from threading import Lock
from typing import Any, BinaryIO

from assent.core.paths import GIT, STAGE, STATE, base_name, parent
from assent.core.run.orphan_slot import SLOT_NAME_PATTERN, SLOTS
from assent.core.run.slot_move import PathState
from assent.executor.disk import Disk, EntryKind, readable_errors
from assent.executor.file_states import (
    CHUNK,
    OPEN_READ,
    DigestCache,
    FileStates,
    OwnershipRights,
    attributes_of,
    lost_attributes,
    process_rights,
    unsupported_file_type,
)
from assent.executor.folder_handles import FolderHandles
from assent.executor.slots import folders_with_own_slots, mounts_below
from assent.ports import LinkTarget, ReplacementLoss
from assent.workspace.root import locate

# Folder stamps: times, size and inode of each entry, to tell which files a command changed.


_ABSENT = (FileNotFoundError, NotADirectoryError)


def folder_stamps(folder: bytes, device: int) -> dict[bytes, tuple[int, ...]] | None:
    """Returns times, size, inode and mode of each name in a folder; None if unknown.

    What is on another device than `device` has that, too, since inodes count per device. Symlinks
    in it are not followed; a folder that no longer exists is empty.
    """
    try:
        with os.scandir(folder) as entries:
            return _stamps(entries, device)
    except _ABSENT:
        return {}
    except OSError:  # no right to look, or a path that is too long for the system
        return None


def _stamps(entries: Iterable[os.DirEntry[bytes]], device: int) -> dict[bytes, tuple[int, ...]]:
    found: dict[bytes, tuple[int, ...]] = {}
    for entry in entries:
        try:
            at = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue  # it has just gone
        except OSError:  # all that can be said is that it exists
            kind = S_IFDIR if entry.is_dir(follow_symlinks=False) else 0
            found[entry.name] = (0, 0, 0, entry.inode(), kind)
            continue
        # Any program can set mtime; only the system sets ctime.
        stamp = (at.st_mtime_ns, at.st_ctime_ns, at.st_size, at.st_ino, at.st_mode)
        found[entry.name] = stamp if at.st_dev == device else (*stamp, at.st_dev)
    return found


# Finds slots on disk: in the folder of slots, and next to the user's files.


MAX_ENTRIES = 50_000  # names that a scan of the whole workspace visits


def slots_of_runs(folders: FolderHandles) -> Iterator[bytes]:
    """Yields the files in the slot folders."""
    for run, kind in _entries(folders, STAGE):
        if kind == "folder" and SLOTS.fullmatch(run):
            try:
                found = list(folders.below(STAGE + b"/" + run))
            except OSError:
                continue  # who cannot look into it cannot build over it either
            yield from (path for path, sort in found if sort != "folder")


def slots_in_folders(folders: FolderHandles, wanted: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the slots directly in these folders."""
    for folder in wanted:
        prefix = folder + b"/" if folder else b""
        for found, _ in _entries(folders, folder):
            if SLOT_NAME_PATTERN.fullmatch(found):
                yield prefix + found


def slots_anywhere(folders: FolderHandles) -> Iterator[bytes]:
    """Yields the slots next to files in the whole workspace, as far as a bounded walk gets."""
    left, waiting = MAX_ENTRIES, [b""]
    while waiting and left > 0:
        here = waiting.pop(0)  # what is further up comes first
        prefix = here + b"/" if here else b""
        for found, kind in _entries(folders, here)[:left]:
            left -= 1
            path = prefix + found
            if kind == "folder" and found != GIT and path != STATE:
                waiting.append(path)
            elif SLOT_NAME_PATTERN.fullmatch(base_name(path)):
                yield path


def _entries(folders: FolderHandles, folder: bytes) -> list[tuple[bytes, EntryKind]]:
    try:
        return folders.entries(folder)
    except OSError:
        return []


_DOTS = frozenset((b"", b".", b".."))
_PLAIN = ReplacementLoss()
AT_ONCE = 64  # paths that are looked at before other threads may look, too


class LocalWorkspaceFiles:
    """Implements WorkspaceFiles for one folder; every call sees its current state.

    Calls that only read run in parallel, so it may be used from several threads.
    """

    def __init__(
        self,
        root: bytes,
        cwd: bytes,
        disk: Disk | None = None,
        rights: OwnershipRights | None = None,
        digests: DigestCache | None = None,
    ) -> None:
        self._root = root
        self._cwd = cwd
        self._here = _prefix(root, cwd)
        self._disk = disk or Disk()
        self._rights = rights or process_rights()
        self._folders = FolderHandles(self._disk, root)
        self._states = FileStates(self._disk, self._folders, digests)
        self._alone = Lock()  # a descriptor of a folder is good until the next call only

    def read_states(self, paths: Iterable[bytes]) -> dict[bytes, PathState]:
        """Returns the state of each path; neighbours share the way to their folder."""
        hoped = paths if isinstance(paths, Mapping) else None
        seen: dict[bytes, PathState] = {}
        rest = iter(paths)
        while some := tuple(islice(rest, AT_ONCE)):
            try:
                with self._alone:
                    seen |= self._states.of_all(some, hoped)
            except OSError:  # one by one, to say of which
                for path in some:
                    with self._alone, readable_errors(path):
                        seen[path] = self._states.of(path)
        return seen

    def close(self) -> None:
        """Closes the folders that are open; a later call opens them again."""
        with self._alone:
            self._folders.forget()

    def locate(self, argument: bytes, target: LinkTarget | None = None) -> bytes:
        """Turns what a user typed into a workspace path: its real parent and its name."""
        with self._alone:
            plainly = None if target else self._plainly(argument)
        return plainly or locate(self._disk, self._root, self._cwd, argument, target)

    def open(self, path: bytes) -> BinaryIO:
        """Opens a file's content; for a symlink, its target."""
        with self._alone, readable_errors(path):
            name, at, found = self._find(path)
            if S_ISLNK(found.st_mode):
                return io.BytesIO(self._disk.readlink(name, at))
            if not S_ISREG(found.st_mode):
                raise unsupported_file_type(found, path)
            return io.BufferedReader(
                _FileStream(self._disk, self._disk.open(name, OPEN_READ, 0, at)), CHUNK
            )

    def below(self, folder: bytes) -> list[bytes]:
        """Lists the files and symlinks below a folder; empty if it is not a folder."""
        with self._alone, readable_errors(folder):
            found = self._folders.below(folder)
            return sorted(path for path, kind in found if kind in ("file", "link"))

    def is_file(self, path: bytes) -> bool:
        """Tells whether a path is a file or symlink, without reading it."""
        with self._alone, readable_errors(path):
            try:
                return not S_ISDIR(self._find(path)[2].st_mode)
            except (FileNotFoundError, NotADirectoryError):
                return False

    def link_target(self, path: bytes) -> bytes | None:
        """Returns the target of a symlink; None if it is not one, or does not exist."""
        with self._alone, readable_errors(path):
            try:
                name, at, found = self._find(path)
            except (FileNotFoundError, NotADirectoryError):
                return None
            return self._disk.readlink(name, at) if S_ISLNK(found.st_mode) else None

    def names(self, folder: bytes) -> list[bytes]:
        """Lists the names in a folder; empty if it is not a folder."""
        with self._alone, readable_errors(folder):
            try:
                at = self._folders.open_now(folder)
            except (FileNotFoundError, NotADirectoryError):
                return []
            return sorted(name for name, _ in self._disk.scan(at))

    def size(self, path: bytes) -> int:
        """Returns the size of a file in bytes, without reading it; 0 if it is not a file."""
        with self._alone, readable_errors(path):
            try:
                found = self._find(path)[2]
            except (FileNotFoundError, NotADirectoryError):
                return 0
            return found.st_size if S_ISREG(found.st_mode) else 0

    def slots(self, beside: Iterable[bytes] = (), *, everywhere: bool = False) -> list[bytes]:
        """Lists the files in slots of runs: in the slot folder, and in these folders.

        `everywhere` searches the whole workspace for the latter, as far as a bounded walk gets.
        """
        with self._alone:
            found = list(slots_of_runs(self._folders))
            if everywhere:
                return sorted((*found, *slots_anywhere(self._folders)))
            wanted = list(beside)
            if wanted:
                self._folders.forget()
                try:
                    mounts = mounts_below(self._disk, self._root)
                    wanted = folders_with_own_slots(self._folders, mounts, wanted)
                except OSError:
                    return sorted(found)  # what is wrong there shows when it is used
            return sorted((*found, *slots_in_folders(self._folders, wanted)))

    def replacement_losses(self, paths: Iterable[bytes]) -> dict[bytes, ReplacementLoss]:
        """Returns what replacing files would lose in addition to their contents, if anything.

        Files that are gone or out of reach are omitted. Consecutive names of one folder share the
        lookup of it.
        """
        with self._alone:
            found = [self._told(folder, here) for folder, here in groupby(paths, parent)]
        return {path: facts for told in found for path, facts in told}

    def _told(self, folder: bytes, paths: Iterable[bytes]) -> list[tuple[bytes, ReplacementLoss]]:
        try:
            at = self._folders.open_now(folder)
        except OSError:
            return []
        told: list[tuple[bytes, ReplacementLoss]] = []
        for path in paths:
            with suppress(OSError):
                facts = self._facts(path.rpartition(b"/")[2], at)
                told += [(path, facts)] if facts != _PLAIN else []
        return told

    def _facts(self, name: bytes, at: int) -> ReplacementLoss:
        found = self._disk.lstat(name, at)
        if not S_ISREG(found.st_mode):
            return ReplacementLoss(lost=lost_attributes(found, [], self._rights))
        fd = self._disk.open(name, OPEN_READ, 0, at)
        try:
            attributes = attributes_of(self._disk, fd)
        finally:
            self._disk.close(fd)
        return ReplacementLoss(found.st_nlink, lost_attributes(found, attributes, self._rights))

    def stamps(self, folder: bytes) -> dict[bytes, tuple[int, ...]] | None:
        """Returns what shows a change of each name in a folder; None if unknown."""
        try:
            device = os.stat(self._root).st_dev
        except OSError:
            device = -1
        return folder_stamps(self._root + b"/" + folder if folder else self._root, device)

    def _plainly(self, argument: bytes) -> bytes | None:
        """Returns the typed path itself, if no symlink and no dots can lead elsewhere."""
        names = argument.split(b"/")
        if self._here is None or not _DOTS.isdisjoint(names) or b"\0" in argument:
            return None
        path = self._here + argument
        try:
            self._folders.open_now(parent(path))
        except FileNotFoundError:
            return path  # the folders that do exist are not symlinks
        except OSError:
            return None
        return path

    def _find(self, path: bytes) -> tuple[bytes, int, os.stat_result]:
        folder, _, name = path.rpartition(b"/")
        at = self._folders.open_now(folder)
        return name, at, self._disk.lstat(name, at)


def _prefix(root: bytes, cwd: bytes) -> bytes | None:
    """Returns the prefix of a name typed in the workspace; None if it is typed elsewhere."""
    return (cwd + b"/")[len(root) + 1 :] if (cwd + b"/").startswith(root + b"/") else None


class _FileStream(io.RawIOBase):
    """A file's bytes as a stream that reads through the disk."""

    def __init__(self, disk: Disk, fd: int) -> None:
        self._disk = disk
        self._fd = fd

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        chunk = self._disk.read(self._fd, len(buffer))
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._disk.close(self._fd)
