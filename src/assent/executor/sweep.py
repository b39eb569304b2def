"""The sweep step: empties the slots of a settled run; bytes that exist nowhere else are kept."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from errno import ELOOP

import msgspec

from assent.core.errors import StoreError
from assent.core.plan.operation import FileOperation, FileState, MoveFile, WriteFile, footprint
from assent.core.run.journal import SettledEntry
from assent.core.run.results import displaces_file
from assent.core.run.slot_move import (
    ClearFolder,
    SlotLayout,
    SlotMove,
    prunable_folders,
    slot_contents,
)
from assent.executor.reconciliation import displaced_torn_slots
from assent.ports.file_writer import FileWriter


class SegmentSlots(msgspec.Struct, frozen=True):
    """Everything that may be in the slots of a segment, and which contents are stored as blobs."""

    layout: SlotLayout
    operations: Sequence[FileOperation]
    renames: Sequence[SlotMove]
    has: Callable[[str], bool]
    old_is_stored: bool = False  # the segment was not entered without the contents it displaces


class SweepResult(msgspec.Struct, frozen=True):
    """What a sweep left and did: slots that stay, and whether it removed user folders."""

    kept: tuple[bytes, ...]
    pruned: bool


def sweep(
    writer: FileWriter, settled: SettledEntry, slots: SegmentSlots, *, careful: bool = False
) -> SweepResult:
    """Removes filled slots and folders that the plan leaves empty.

    `careful`: the slots may contain more than this outcome leaves there.

    Where a user accepted a half-done run, a slot can contain someone's late change, or a file on
    its way from one name to another: the only copy there is.
    """
    layout, operations, renames = slots.layout, slots.operations, slots.renames
    done = settled.outcome == "done" and not settled.accepted
    aside = done and _are_set_aside(writer, slots)
    filled = _beside(slots) if aside else _filled(settled, slots)
    only = _only_copies(writer, slots) if settled.accepted or careful else frozenset()
    kept = [slot for slot in filled if slot in only]
    kept += displaced_torn_slots(writer, operations, renames) if careful else []
    left = writer.delete_paths([slot for slot in filled if slot not in only])
    kept += [slot for slot in left if not _gone(writer, slot)]
    folders = () if aside else (*_cleared(renames), *layout.whole_folder_slots)
    kept += [slot for slot in folders if _is_used(writer, slot)]
    # Only now can nothing bring the folders back, which would have lost their modes and owners.
    pruned = prunable_folders(operations) if done else []
    gone = [folder for folder in pruned if _is_removed(writer, folder)]
    _is_removed(writer, layout.folder)
    return SweepResult(tuple(kept), pruned=bool(gone))


def _filled(settled: SettledEntry, slots: SegmentSlots) -> Iterable[bytes]:
    """Returns the slots that can hold something: old content if done, new if rolled back."""
    renames = slots.renames
    if settled.outcome == "rolled_back" or settled.accepted:
        new = [fill.slot for fill in slot_contents(slots.operations, renames)]
    if settled.outcome == "rolled_back":
        return new
    if settled.accepted:
        return dict.fromkeys([*new, *[m.slot for m in renames if not isinstance(m, ClearFolder)]])
    return [m.slot for m in renames if displaces_file(m)]


def _beside(slots: SegmentSlots) -> list[bytes]:
    """Returns the slots with old content that are not in the folder of the others."""
    within = slots.layout.folder + b"/"
    found = slots.renames if slots.layout.beside else ()
    return [m.slot for m in found if displaces_file(m) and not m.slot.startswith(within)]


def _are_set_aside(writer: FileWriter, slots: SegmentSlots) -> bool:
    """Keeps what was displaced as spares, unless a folder among it holds another's late file.

    A few small files that were replaced, and that no one can still write to, are not kept so.
    """
    old = {m.slot: m.before for m in slots.renames if displaces_file(m)}
    folders = (*_cleared(slots.renames), *slots.layout.whole_folder_slots) if old else ()
    try:
        if any(writer.folder_holds_files(folder, besides=old) for folder in folders):
            return False
        within = slots.layout.folder + b"/"
        if slots.layout.beside:
            old = {slot: state for slot, state in old.items() if slot.startswith(within)}
        if not old or _are_kept_by_content(writer, slots, old):
            return False
        return writer.keep_displaced(slots.layout.run, old)
    except OSError:
        return False


def _are_kept_by_content(
    writer: FileWriter, slots: SegmentSlots, old: Mapping[bytes, FileState]
) -> bool:
    """Tells whether an undo restores the same from stored contents, and nothing else is lost.

    What a rollback displaces, maybe a user's own change, is stored nowhere. A replaced file gets
    its owner and attributes from the one in its place; a deleted one has them only in itself.
    """
    replaced = {
        m.slot
        for m in slots.renames
        if displaces_file(m) and type(slots.operations[m.index]) is WriteFile
    }
    return (
        slots.old_is_stored
        and replaced.issuperset(old)
        and all(_is_stored(slots, state) for state in old.values())
        and writer.are_only_content(old)
    )


def _is_stored(slots: SegmentSlots, state: FileState) -> bool:
    """Tells whether a content is certainly a blob: what the store cannot tell, it may not have."""
    try:
        return slots.has(state.digest)
    except StoreError:
        return False


def _cleared(renames: Sequence[SlotMove]) -> list[bytes]:
    return [m.slot for m in renames if type(m) is ClearFolder]


def _only_copies(writer: FileWriter, slots: SegmentSlots) -> frozenset[bytes]:
    """Returns the slots whose content is neither a blob nor under a name of its own operation."""
    operations = slots.operations
    blobs = {
        state
        for op in operations
        if not isinstance(op, MoveFile)  # of a moved file nothing was kept
        for _, *states in footprint(op)
        for state in states
        if state is None or _is_stored(slots, state)  # nor, maybe, of what a command made
    }
    return frozenset(
        m.slot for m in slots.renames if _is_only(writer, m, operations[m.index], blobs)
    )


def _is_only(
    writer: FileWriter, move: SlotMove, op: FileOperation, blobs: set[FileState | None]
) -> bool:
    try:
        found = writer.read_states((move.slot,))[move.slot]
        if found is None or found in blobs:
            return False
        return found not in writer.read_states([path for path, *_ in footprint(op)]).values()
    except OSError:
        return True


def _gone(writer: FileWriter, slot: bytes) -> bool:
    try:
        writer.delete_path(slot)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError as error:
        return error.errno == ELOOP  # the stage folder is a foreign symlink: nothing of ours
    return True


def _is_removed(writer: FileWriter, folder: bytes) -> bool:
    """Removes a folder that is not in use; tells whether it was there, and is gone now."""
    try:
        return writer.delete_empty_folder(folder)
    except OSError:
        return False  # a leftover empty folder does no harm


def _is_used(writer: FileWriter, folder: bytes) -> bool:
    """Removes a folder; tells whether it holds another writer's late file and therefore stays."""
    try:
        return (
            not writer.delete_empty_folder(folder)
            and writer.read_states((folder,))[folder] is not None
        )
    except OSError:
        return False
