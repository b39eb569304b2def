"""The reverse step: reverts the renames of an aborted run one by one, as the disk allows."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from assent.core.paths import parent
from assent.core.plan.operation import FileState
from assent.core.run.journal import HaltedEntry, PathConflict, SettledEntry
from assent.core.run.slot_move import (
    ClearFolder,
    MoveFromSlot,
    MoveStatus,
    MoveToSlot,
    SlotMove,
    SwapWithSlot,
    backward_status,
    involved_paths,
)
from assent.ports.file_writer import FileWriter

FolderReturn: TypeAlias = Literal[
    "whole", "none", "each"
]  # as it went; it had not gone; file by file


def reverse(
    hands: FileWriter, motions: Sequence[SlotMove], folders: Sequence[bytes]
) -> SettledEntry | HaltedEntry:
    """Restores everything; what another writer changed since stays, and is reported."""
    conflicts = []
    undone: dict[int, None] = {}
    folders_left = list(reversed(folders))
    wholes: dict[
        bytes, FolderReturn
    ] = {}  # how folders came back that may have been taken as a whole
    for motion in reversed(motions):
        if isinstance(motion, MoveToSlot | ClearFolder):
            _remove(hands, folders_left)
        reason = _go_back(hands, motion, wholes)
        if reason is None:
            undone[motion.index] = None
        elif reason:
            kept = _kept(hands, motion.slot)
            conflicts.append(PathConflict(motion.index, motion.path, kept, reason))
    _remove(hands, folders_left)
    if conflicts:
        return HaltedEntry(tuple(conflicts), tuple(undone))
    try:
        hands.sync_to_disk()
    except OSError as error:
        unsynced = f"restored files may not be safely on disk ({error.strerror})"
        return HaltedEntry((PathConflict(0, b"", b"", unsynced),), tuple(undone))
    return SettledEntry("rolled_back", undone=tuple(undone))


def _came_back(hands: FileWriter, take: MoveToSlot) -> FolderReturn:
    """Restores a folder that was taken as a whole, including what others put there."""
    try:
        seen = hands.read_states((take.whole, take.folder_slot))
        if seen[take.folder_slot] is None:
            return "none"
        if seen[take.whole] is not None:
            return "each"
        hands.create_folder(parent(take.whole))
        hands.rename_unless_taken(take.folder_slot, take.whole)
    except OSError:
        return "each"  # one by one its files may go back, or say why not
    return "whole" if seen[take.folder_slot] == "folder" else "none"


def _go_back(hands: FileWriter, motion: SlotMove, wholes: dict[bytes, FolderReturn]) -> str | None:
    """Reverses one motion, or with the first one of a folder all that went with it."""
    if isinstance(motion, MoveToSlot) and motion.whole:
        came = wholes.get(motion.whole) or _came_back(hands, motion)
        wholes[motion.whole] = came
        if came != "each":
            return None if came == "whole" else ""
    return _take_back(hands, motion)


def _take_back(hands: FileWriter, motion: SlotMove) -> str | None:
    """Reverses one motion if the disk says that it happened.

    Returns None if it did, an empty text if there was nothing to do, or why it was not possible.
    """
    try:
        if isinstance(motion, MoveFromSlot) and motion.whole and _never_left(hands, motion):
            return ""
        seen = hands.read_states(involved_paths(motion))
        match backward_status(motion, seen):
            case MoveStatus.DONE:
                return ""
            case MoveStatus.CONFLICT:
                return "it changed after the run wrote it"
            case MoveStatus.TODO if seen[motion.path] is None:
                _give_back(hands, motion)
                return None
            case MoveStatus.TODO:
                return _undo_rename(hands, motion)
    except OSError as error:
        return error.strerror or str(error)


def _never_left(hands: FileWriter, put: MoveFromSlot) -> bool:
    """Tells whether a file still waits to be brought; then its name need not even be a folder's."""
    found = hands.read_states((put.slot,))[put.slot]
    return isinstance(found, FileState) and found.digest == put.after.digest


def _give_back(hands: FileWriter, motion: SlotMove) -> None:
    hands.create_folder(parent(motion.path))
    hands.rename_unless_taken(motion.slot, motion.path)


def _undo_rename(hands: FileWriter, motion: SlotMove) -> str | None:
    match motion:
        case MoveToSlot() | ClearFolder():
            _give_back(hands, motion)
            return None
        case MoveFromSlot():
            hands.create_folder(parent(motion.slot))  # it went where the file came from, if whole
            hands.rename_unless_taken(motion.path, motion.slot)
            if hands.read_states((motion.slot,))[motion.slot] == motion.after:
                return None
            hands.rename_unless_taken(motion.slot, motion.path)
        case SwapWithSlot():
            hands.exchange(motion.slot, motion.path)
            if hands.read_states((motion.slot,))[motion.slot] == motion.after:
                return None
            hands.exchange(motion.slot, motion.path)
    return "it changed just before it was restored"


def _kept(hands: FileWriter, slot: bytes) -> bytes:
    """Returns the slot if it holds something, so that no message points to an empty place."""
    try:
        return slot if hands.read_states((slot,))[slot] is not None else b""
    except OSError:
        return slot


def _remove(hands: FileWriter, folders: list[bytes]) -> None:
    """Removes the folders that the run made; one that is now in use stays."""
    while folders:
        try:
            hands.delete_empty_folder(folders.pop(0))
        except OSError:
            continue  # a leftover empty folder is no reason to stop restoring files
