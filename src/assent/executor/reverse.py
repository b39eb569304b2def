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
    writer: FileWriter, moves: Sequence[SlotMove], folders: Sequence[bytes]
) -> SettledEntry | HaltedEntry:
    """Restores everything; what another writer changed since stays, and is reported."""
    conflicts = []
    undone: dict[int, None] = {}
    folders_left = list(reversed(folders))
    wholes: dict[
        bytes, FolderReturn
    ] = {}  # how folders came back that may have been taken as a whole
    for move in reversed(moves):
        if isinstance(move, MoveToSlot | ClearFolder):
            _remove(writer, folders_left)
        reason = _go_back(writer, move, wholes)
        if reason is None:
            undone[move.index] = None
        elif reason:
            kept = _kept(writer, move.slot)
            conflicts.append(PathConflict(move.index, move.path, kept, reason))
    _remove(writer, folders_left)
    if conflicts:
        return HaltedEntry(tuple(conflicts), tuple(undone))
    try:
        writer.sync_to_disk()
    except OSError as error:
        unsynced = f"restored files may not be safely on disk ({error.strerror})"
        return HaltedEntry((PathConflict(0, b"", b"", unsynced),), tuple(undone))
    return SettledEntry("rolled_back", undone=tuple(undone))


def _came_back(writer: FileWriter, take: MoveToSlot) -> FolderReturn:
    """Restores a folder that was taken as a whole, including what others put there."""
    try:
        seen = writer.read_states((take.whole, take.folder_slot))
        if seen[take.folder_slot] is None:
            return "none"
        if seen[take.whole] is not None:
            return "each"
        writer.create_folder(parent(take.whole))
        writer.rename_unless_taken(take.folder_slot, take.whole)
    except OSError:
        return "each"  # one by one its files may go back, or say why not
    return "whole" if seen[take.folder_slot] == "folder" else "none"


def _go_back(writer: FileWriter, move: SlotMove, wholes: dict[bytes, FolderReturn]) -> str | None:
    """Reverses one motion, or with the first one of a folder all that went with it."""
    if isinstance(move, MoveToSlot) and move.whole:
        came = wholes.get(move.whole) or _came_back(writer, move)
        wholes[move.whole] = came
        if came != "each":
            return None if came == "whole" else ""
    return _take_back(writer, move)


def _take_back(writer: FileWriter, move: SlotMove) -> str | None:
    """Reverses one motion if the disk says that it happened.

    Returns None if it did, an empty text if there was nothing to do, or why it was not possible.
    """
    try:
        if isinstance(move, MoveFromSlot) and move.whole and _never_left(writer, move):
            return ""
        seen = writer.read_states(involved_paths(move))
        match backward_status(move, seen):
            case MoveStatus.DONE:
                return ""
            case MoveStatus.CONFLICT:
                return "it changed after the run wrote it"
            case MoveStatus.TODO if seen[move.path] is None:
                _give_back(writer, move)
                return None
            case MoveStatus.TODO:
                return _undo_rename(writer, move)
    except OSError as error:
        return error.strerror or str(error)


def _never_left(writer: FileWriter, put: MoveFromSlot) -> bool:
    """Tells whether a file still waits to be brought; then its name need not even be a folder's."""
    found = writer.read_states((put.slot,))[put.slot]
    return isinstance(found, FileState) and found.digest == put.after.digest


def _give_back(writer: FileWriter, move: SlotMove) -> None:
    writer.create_folder(parent(move.path))
    writer.rename_unless_taken(move.slot, move.path)


def _undo_rename(writer: FileWriter, move: SlotMove) -> str | None:
    match move:
        case MoveToSlot() | ClearFolder():
            _give_back(writer, move)
            return None
        case MoveFromSlot():
            writer.create_folder(parent(move.slot))  # it went where the file came from, if whole
            writer.rename_unless_taken(move.path, move.slot)
            if writer.read_states((move.slot,))[move.slot] == move.after:
                return None
            writer.rename_unless_taken(move.slot, move.path)
        case SwapWithSlot():
            writer.exchange(move.slot, move.path)
            if writer.read_states((move.slot,))[move.slot] == move.after:
                return None
            writer.exchange(move.slot, move.path)
    return "it changed just before it was restored"


def _kept(writer: FileWriter, slot: bytes) -> bytes:
    """Returns the slot if it holds something, so that no message points to an empty place."""
    try:
        return slot if writer.read_states((slot,))[slot] is not None else b""
    except OSError:
        return slot


def _remove(writer: FileWriter, folders: list[bytes]) -> None:
    """Removes the folders that the run made; one that is now in use stays."""
    while folders:
        try:
            writer.delete_empty_folder(folders.pop(0))
        except OSError:
            continue  # a leftover empty folder is no reason to stop restoring files
