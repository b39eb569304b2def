"""Slots: where those of a run are, and how new content is written to them."""

import errno
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from stat import S_ISGID, S_ISREG
from typing import TypeAlias

import msgspec

from assent.core.digest import sha256
from assent.core.paths import STATE, ancestors, parent
from assent.core.plan.operation import DeleteFile, FileOperation, MoveFile
from assent.core.run.slot_move import SlotContent, SlotLayout, prunable_folders
from assent.executor.disk import Disk, SymlinkInPath
from assent.executor.file_states import (
    CHUNK,
    OPEN_READ,
    OwnershipRights,
    copy_attributes,
    has_no_attributes,
    new_owner,
)
from assent.executor.folder_handles import FolderHandles

# Slot layout: where the slots of a run lie: in the state folder, or on the file's own mount.


_MOUNTS = b"/proc/self/mountinfo"
_MOUNT_POINT = 4  # its field in a line of that file
_ESCAPE = rb"\\([0-7]{3})"


class FolderLocation(msgspec.Struct, frozen=True):
    """An existing folder, and the file system boundaries that a rename cannot cross."""

    folder: bytes
    device: int
    mount: bytes

    def joins(self, other: "FolderLocation") -> bool:
        """Tells whether a file can be renamed from one to the other."""
        return self.device == other.device and self.mount == other.mount


def slot_layout_for(
    folders: FolderHandles, mounts: Sequence[bytes], run: str, operations: Sequence[FileOperation]
) -> SlotLayout:
    """Finds the paths that cannot be renamed to the state folder, and a slot folder for each."""
    places = _FolderLocations(folders, mounts)
    home = places.of(STATE)
    every = sorted({op.path.rpartition(b"/")[0] for op in operations} | _targets(operations))
    near = {folder for folder in every if places.of(folder).joins(home)}
    if len(near) == len(every):
        return SlotLayout(run)
    doomed = _RemovedFolders(operations)
    beside: list[tuple[bytes, bytes]] = []
    copied: list[int] = []
    for index, op in enumerate(operations):
        touched = (op.path, op.to) if isinstance(op, MoveFile) else (op.path,)
        if near.issuperset(map(parent, touched)):
            continue
        found = [places.of(parent(path)) for path in touched]
        beside += [
            (path, _standing(places, place, doomed))
            for path, place in zip(touched, found, strict=True)
            if not place.joins(home)
        ]
        if not found[0].joins(found[-1]):
            copied.append(index)
    return SlotLayout(run, beside=tuple(beside), copied=tuple(copied))


def folders_with_own_slots(
    folders: FolderHandles, mounts: Sequence[bytes], wanted: Iterable[bytes]
) -> list[bytes]:
    """Returns the folders in which slots would be next to the files of these folders."""
    places = _FolderLocations(folders, mounts)
    home = places.of(STATE)
    found: dict[bytes, None] = {}
    for folder in wanted:
        place = places.of(folder)
        while not place.joins(home) and place.folder not in found:
            found[place.folder] = None
            place = places.of(parent(place.folder))
    return list(found)


def _targets(operations: Sequence[FileOperation]) -> set[bytes]:
    return {parent(op.to) for op in operations if type(op) is MoveFile}


def mounts_below(disk: Disk, root: bytes) -> list[bytes]:
    """Lists the mount points in the workspace: renames between mounts fail, even on one device."""
    try:
        fd = disk.open(_MOUNTS, 0)
    except OSError:
        return []  # no such file on this system: devices alone decide
    try:
        table = b"".join(iter(lambda: disk.read(fd, 1 << 16), b""))
    finally:
        disk.close(fd)
    prefix = root.rstrip(b"/") + b"/"
    points = [_unescaped(line.split(b" ")[_MOUNT_POINT]) for line in table.splitlines()]
    return [point[len(prefix) :] for point in points if point.startswith(prefix)]


class _FolderLocations:
    """The nearest existing folder of each folder, asked once."""

    def __init__(self, folders: FolderHandles, mounts: Sequence[bytes]) -> None:
        self._folders = folders
        self._mounts = frozenset(mounts)
        self._known = {b"": FolderLocation(b"", folders.device(b""), b"")}

    def of(self, folder: bytes) -> FolderLocation:
        asked = []
        while folder not in self._known:
            asked.append(folder)
            folder = parent(folder)
        place = self._known[folder]
        for path in reversed(asked):
            place = self._known[path] = self._find(path, place)
        return place

    def _find(self, folder: bytes, above: FolderLocation) -> FolderLocation:
        if above.folder != parent(folder):
            return above  # in a folder that is missing itself
        try:
            device = self._folders.device(folder)
        except (FileNotFoundError, NotADirectoryError, SymlinkInPath):
            return above
        return FolderLocation(folder, device, folder if folder in self._mounts else above.mount)


class _RemovedFolders:
    """Folders that the run removes or replaces; a slot in one of them would go with it."""

    def __init__(self, operations: Sequence[FileOperation]) -> None:
        self._operations = operations

    @cached_property
    def _pruned(self) -> set[bytes]:
        return set(prunable_folders(self._operations))

    @cached_property
    def _filled(self) -> set[bytes]:
        return {
            op.to if isinstance(op, MoveFile) else op.path
            for op in self._operations
            if not isinstance(op, DeleteFile)
        }

    def __contains__(self, folder: bytes) -> bool:
        return folder in self._pruned or not self._filled.isdisjoint((folder, *ancestors(folder)))


def _standing(places: _FolderLocations, place: FolderLocation, doomed: _RemovedFolders) -> bytes:
    """Returns the nearest folder that outlives the run; a mount point always does."""
    while place.folder in doomed:
        above = places.of(parent(place.folder))
        if not above.joins(place):
            break
        place = above
    return place.folder


def _unescaped(name: bytes) -> bytes:
    return re.sub(_ESCAPE, lambda found: bytes([int(found[1], 8)]), name)


_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PERMISSIONS = 0o7777

FolderAndMode: TypeAlias = tuple[
    bytes, int
]  # a file's own folder, which tells its slot's, and its mode


class SlotWriter:
    """Writes slots. What it leaves after an error is removed by the sweep, as after a crash."""

    def __init__(self, disk: Disk, folders: FolderHandles, rights: OwnershipRights) -> None:
        self._disk = disk
        self._folders = folders
        self._rights = rights
        self._groups: dict[bytes, int] = {}  # group that a folder hands down, or -1
        # How the system makes a file, by its folder and the mode that is asked for: always alike.
        self._made: dict[tuple[bytes, int], os.stat_result] = {}
        self._plain: FolderAndMode | None = (
            None  # after which the last new file needed nothing more
        )

    def forget(self) -> None:
        """Forgets what was known of folders, because a new run begins."""
        self._groups.clear()
        self._made.clear()
        self._plain = None

    def create(self, fill: SlotContent, name: bytes, at: int, content: Iterable[bytes]) -> None:
        """Creates the name in a folder; FileExistsError if it exists."""
        after = fill.after
        if after.kind == "link":
            self._create_link(fill, name, at, content)
            return
        # Permissions beyond rwx come last: writing and changing the owner would take them away.
        fd = self._disk.open(name, _CREATE, after.mode & 0o777, at)
        try:
            if fill.source is not None:
                content = self._copied(fill, fill.source)
            if self._write(fd, content) != after.size:
                raise _other_content(fill.slot)
            alike = fill.folder, after.mode
            if alike != self._plain or fill.like is not None:
                self._finish(fd, fill, alike)
        finally:
            self._disk.close(fd)

    def plain_owner(self, path: bytes) -> tuple[int, int] | None:
        """Returns user and group of a file without other attributes; None for any other."""
        name, at, found = self._find(path)
        if not S_ISREG(found.st_mode) or not has_no_attributes(self._disk, name, at):
            return None
        return found.st_uid, found.st_gid

    def _write(self, fd: int, content: Iterable[bytes]) -> int:
        """Writes all of it; returns how much that was."""
        size, write = 0, self._disk.write
        for chunk in content:
            length = len(chunk)
            written = write(fd, chunk)
            while written < length:
                written += write(fd, memoryview(chunk)[written:])
            size += length
        return size

    def _finish(self, fd: int, fill: SlotContent, alike: FolderAndMode) -> None:
        folder, mode = fill.slot.rpartition(b"/")[0], alike[1]
        made = self._made.get((folder, mode))  # one stat for all of them
        if made is None:
            made = self._made[folder, mode] = self._disk.stat(fd)
        if fill.like is None:
            changed = self._inherit(fill.folder, fd, made)
        else:
            changed = self._take_over(fill.like, fd, made)
        if changed or made.st_mode & _PERMISSIONS != mode:
            self._disk.chmod(fd, mode)
        elif fill.like is None:
            self._plain = alike

    def _inherit(self, folder: bytes, fd: int, made: os.stat_result) -> bool:
        """Gives a new file the group that its folder hands down (setgid), as if made there."""
        if folder not in self._groups:
            self._groups[folder] = self._group(folder)
        group = self._groups[folder]
        allowed = self._rights.root or group in self._rights.groups
        if group in (-1, made.st_gid) or not allowed:
            return False
        self._disk.chown(fd, -1, group)
        return True

    def _group(self, folder: bytes) -> int:
        found = self._disk.stat(self._folders.open(b""))
        for path in (*reversed(ancestors(folder)), folder):
            try:
                found = self._disk.stat(self._folders.open(path))
            except (FileNotFoundError, NotADirectoryError, SymlinkInPath):
                break  # a folder to be made inherits, too
        return found.st_gid if found.st_mode & S_ISGID else -1

    def _take_over(self, like: bytes, fd: int, made: os.stat_result) -> bool:
        """Copies owner and attributes; tells whether that can have changed the mode."""
        name, at, found = self._find(like)
        owner = new_owner(found, made, self._rights)
        if owner:
            self._disk.chown(fd, *owner)
        if not S_ISREG(found.st_mode) or has_no_attributes(self._disk, name, at):
            return owner is not None
        source = self._disk.open(name, OPEN_READ, 0, at)
        try:
            copied = copy_attributes(self._disk, source, fd, self._rights)
        finally:
            self._disk.close(source)
        return copied or owner is not None

    def _create_link(
        self, fill: SlotContent, name: bytes, at: int, content: Iterable[bytes]
    ) -> None:
        target = b"".join(content)
        if fill.source is not None:
            source, source_at, _ = self._find(fill.source)
            target = self._disk.readlink(source, source_at)
            at = self._folders.open(fill.slot.rpartition(b"/")[0])
        if len(target) != fill.after.size or sha256(target) != fill.after.digest:
            raise _other_content(fill.slot)
        self._disk.symlink(target, name, at)
        if fill.like is None:
            return
        made = self._disk.lstat(name, at)
        owner = new_owner(self._find(fill.like)[2], made, self._rights)
        if owner:
            at = self._folders.open(fill.slot.rpartition(b"/")[0])
            self._disk.chown_link(name, at, *owner)

    def _copied(self, fill: SlotContent, source: bytes) -> Iterator[bytes]:
        """Reads another file of the workspace; OSError at its end if it is not the approved one."""
        name, at, _ = self._find(source)
        fd = self._disk.open(name, OPEN_READ, 0, at)
        digest = hashlib.sha256()
        try:
            while chunk := self._disk.read(fd, CHUNK):
                digest.update(chunk)
                yield chunk
        finally:
            self._disk.close(fd)
        if digest.hexdigest() != fill.after.digest:
            raise _other_content(source)

    def _find(self, path: bytes) -> tuple[bytes, int, os.stat_result]:
        folder, _, name = path.rpartition(b"/")
        at = self._folders.open(folder)
        return name, at, self._disk.lstat(name, at)


def _other_content(path: bytes) -> OSError:
    return OSError(errno.ESTALE, "its content does not match the plan", path)
