"""Slot layout: where the slots of a run lie: in the state folder, or on the file's own mount."""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

import msgspec

from assent.core.paths import STATE, ancestors, parent
from assent.core.plan.operation import DeleteFile, FileOperation, MoveFile
from assent.core.run.slot_move import SlotLayout, prunable_folders
from assent.executor.disk import Disk
from assent.executor.folder_handles import FolderHandles
from assent.executor.os_errors import SymlinkInPath

_MOUNTS = b"/proc/self/mountinfo"
_MOUNT_POINT = 4  # its field in a line of that file
_ESCAPE = re.compile(rb"\\([0-7]{3})")


class FolderLocation(msgspec.Struct, frozen=True):
    """A folder that exists, and what a rename to or from it must not cross."""

    folder: bytes
    device: int
    mount: bytes

    def joins(self, other: "FolderLocation") -> bool:
        """Tells whether a file can be renamed from one to the other."""
        return self.device == other.device and self.mount == other.mount


def slot_layout_for(
    folders: FolderHandles, mounts: Sequence[bytes], run: str, operations: Sequence[FileOperation]
) -> SlotLayout:
    """Finds the paths that no rename joins with the state folder, and a folder for each."""
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
    """Returns the folders in which slots would lie beside the files of these folders."""
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
    """Lists the mount points in the workspace: two mounts of one device do not join either."""
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
    return _ESCAPE.sub(lambda found: bytes([int(found[1], 8)]), name)
