"""Finds slots on disk: in the folder of slots, and beside the user's files."""

from collections.abc import Iterable, Iterator

from assent.core.paths import GIT, STAGE, STATE, base_name
from assent.core.run.orphan_slot import SLOT_NAME_PATTERN, SLOTS
from assent.executor.disk import EntryKind
from assent.executor.folder_handles import FolderHandles

MAX_ENTRIES = 50_000  # names that a look through the whole workspace comes to


def slots_of_runs(folders: FolderHandles) -> Iterator[bytes]:
    """Yields the files in the folders of slots."""
    for run, kind in _entries(folders, STAGE):
        if kind == "folder" and SLOTS.fullmatch(run):
            try:
                found = list(folders.below(STAGE + b"/" + run))
            except OSError:
                continue  # who cannot look into it cannot build over it either
            yield from (path for path, sort in found if sort != "folder")


def slots_in_folders(folders: FolderHandles, wanted: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the slots that lie directly in these folders."""
    for folder in wanted:
        prefix = folder + b"/" if folder else b""
        for found, _ in _entries(folders, folder):
            if SLOT_NAME_PATTERN.fullmatch(found):
                yield prefix + found


def slots_anywhere(folders: FolderHandles) -> Iterator[bytes]:
    """Yields the slots beside files of the whole workspace, as far as a bounded walk comes."""
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
