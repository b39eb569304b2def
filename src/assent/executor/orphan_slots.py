"""Restores the content of slots of an unknown run, or moves it aside; nothing is deleted."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from assent.core.paths import STAGE, is_inside, parent
from assent.core.plan.operation import FileState
from assent.core.run.orphan_slot import (
    KEPT_SUFFIX,
    LOST_AND_FOUND,
    PROBES,
    OrphanChoice,
    OrphanCleanup,
    OrphanSlot,
)
from assent.core.run.slot_move import PathState
from assent.ports.file_writer import FileWriter


def clear_orphan_slots(
    writer: FileWriter, orphans: Sequence[OrphanSlot], way: OrphanChoice
) -> OrphanCleanup:
    """Clears the slots; what is not restored is moved to a separate folder.

    Each step is one rename that replaces nothing. After a crash the same choice continues: a name
    is free then, or a slot is still where it was.
    """
    back: list[bytes] = []
    taken: list[bytes] = []
    failed: list[tuple[bytes, str]] = []
    if way == "roll_back":
        for orphan in orphans:
            if orphan.path is None or orphan.holds != "old":
                continue
            try:
                (back if _is_back(writer, orphan, orphan.path) else taken).append(orphan.path)
            except OSError as error:
                failed.append((orphan.path, error.strerror or str(error)))
    kept = list(_set_aside(writer, orphans, failed))
    with suppress(OSError):
        writer.sync_to_disk()
    return OrphanCleanup(tuple(back), tuple(kept), tuple(taken), tuple(failed))


def remove_probes(writer: FileWriter) -> list[bytes]:
    """Removes the empty files with which a start tests the disk; returns the removed ones."""
    gone = []
    for probe in PROBES:
        with suppress(OSError):
            seen = writer.read_states((probe,))[probe]
            if isinstance(seen, FileState) and seen.kind == "file" and not seen.size:
                writer.delete_path(probe)
                gone.append(probe)
    return gone


def _is_back(writer: FileWriter, orphan: OrphanSlot, path: bytes) -> bool:
    """Puts old content back; over new content only if that is what took its place, and is kept."""
    seen = writer.read_states((path,))[path]
    if seen is None:
        if parent(path):
            writer.create_folder(parent(path))
    elif orphan.after and isinstance(seen, FileState) and seen.digest == orphan.after:
        writer.rename_unless_taken(path, orphan.slot + b".replaced")
    else:
        return False
    writer.rename_unless_taken(orphan.slot, path)
    return True


def _set_aside(
    writer: FileWriter, orphans: Sequence[OrphanSlot], failed: list[tuple[bytes, str]]
) -> Iterator[tuple[bytes, bytes]]:
    """Moves what remains in slots out of the way of later runs, and says where it is now."""
    folders = dict.fromkeys(_folder(orphan.slot) for orphan in orphans if _is_staged(orphan.slot))
    for folder in folders:
        target = LOST_AND_FOUND + folder[len(STAGE) :]
        try:
            if writer.delete_empty_folder(folder) or writer.read_states((folder,))[folder] is None:
                continue
            writer.create_folder(LOST_AND_FOUND)
            free = _free(writer, target)
            writer.rename_unless_taken(folder, free)
            yield folder, free
        except OSError as error:
            failed.append((folder, error.strerror or str(error)))
    for orphan in orphans:
        if _is_staged(orphan.slot):
            continue
        for slot in (orphan.slot, orphan.slot + b".replaced"):
            try:
                if writer.read_states((slot,))[slot] is not None:
                    free = _free(writer, slot + KEPT_SUFFIX)
                    writer.rename_unless_taken(slot, free)
                    yield slot, free
            except OSError as error:
                failed.append((slot, error.strerror or str(error)))


def _is_staged(slot: bytes) -> bool:
    return is_inside(slot, STAGE)


def _folder(slot: bytes) -> bytes:
    return STAGE + b"/" + slot[len(STAGE) + 1 :].partition(b"/")[0]


def _free(writer: FileWriter, wanted: bytes) -> bytes:
    """Returns a name that nothing has: the one that is wanted, or it with a number."""
    path, number = wanted, 1
    seen: PathState = writer.read_states((path,))[path]
    while seen is not None:
        number += 1
        path = b"%b-%d" % (wanted, number)
        seen = writer.read_states((path,))[path]
    return path
