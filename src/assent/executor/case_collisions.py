"""Refuses plans in which two names are one file on a case-insensitive file system."""

from collections.abc import Iterable
from errno import EEXIST

from assent.core.paths import STAGE, casefolded, one_line
from assent.core.plan.operation import FileOperation, footprint
from assent.executor.disk import Disk
from assent.executor.folder_handles import FolderHandles


def refuse_case_collisions(
    disk: Disk, folders: FolderHandles, operations: Iterable[FileOperation]
) -> None:
    """Raises OSError if two operations are about one file; a move may change the case alone."""
    if not _caseless(disk, folders):
        return
    known: dict[bytes, tuple[int, bytes]] = {}
    for index, op in enumerate(operations):
        for path, *_ in footprint(op):
            owner, name = known.setdefault(casefolded(path), (index, path))
            if owner != index:
                told = f"{one_line(name)} and {one_line(path)} are one file here"
                raise OSError(EEXIST, told)


def _caseless(disk: Disk, folders: FolderHandles) -> bool:
    """Tells whether a folder of our own is found under its name in other case, too."""
    above, _, name = STAGE.rpartition(b"/")
    at = folders.open(above)
    try:
        return disk.lstat(name.upper(), at).st_ino == disk.lstat(name, at).st_ino
    except FileNotFoundError:
        return False
