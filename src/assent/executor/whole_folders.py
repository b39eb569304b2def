"""Finds the folders that a run can move with one rename on this disk."""

from collections.abc import Sequence
from stat import S_ISGID

from assent.core.paths import STAGE, is_inside, parent
from assent.core.plan.operation import FileOperation
from assent.core.run.slot_move import SlotLayout, added_folders, needed_folders, removed_folders
from assent.executor.disk import Disk
from assent.executor.file_attributes import attributes_of
from assent.executor.folder_handles import FolderHandles

_HANDED_DOWN = "system.posix_acl_default"


def whole_folders(
    disk: Disk, folders: FolderHandles, mounts: Sequence[bytes], operations: Sequence[FileOperation]
) -> list[bytes]:
    """Returns the folders that one rename brings, or takes away."""
    wanted = _missing(folders, needed_folders(operations))
    new = added_folders(operations, wanted)
    if new and not _hands_nothing_down(disk, folders, STAGE):
        new = []
    new = [folder for folder in new if _hands_nothing_down(disk, folders, parent(folder))]
    gone = removed_folders(operations, lambda folder: _files(folders, folder))
    return [f for f in (*new, *gone) if not any(is_inside(mount, f) for mount in mounts)]


def without_folders_of(layout: SlotLayout, found: Sequence[bytes]) -> tuple[bytes, ...]:
    """Leaves out folders with files whose slots have to lie beside them."""
    aside = [path for path, _ in layout.beside]
    return tuple(folder for folder in found if not any(is_inside(path, folder) for path in aside))


def _missing(folders: FolderHandles, wanted: Sequence[bytes]) -> list[bytes]:
    missing: dict[bytes, None] = {}
    for folder in wanted:  # outermost first
        if parent(folder) in missing or not folders.exists(folder):
            missing[folder] = None
    return list(missing)


def _hands_nothing_down(disk: Disk, folders: FolderHandles, folder: bytes) -> bool:
    """Tells whether a folder made elsewhere has the same group and rights as one made in here."""
    fd = folders.open(folder)
    return not disk.stat(fd).st_mode & S_ISGID and _HANDED_DOWN not in attributes_of(disk, fd)


def _files(folders: FolderHandles, folder: bytes) -> list[bytes]:
    return [path for path, kind in folders.below(folder) if kind != "folder"]
