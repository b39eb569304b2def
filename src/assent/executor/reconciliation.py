"""Reconciliation: compares the disk with a run's journal, and refills slots that were lost.

Only a run that is resumed is compared: the process that makes the renames sees them succeed. A file
that is neither as before the run nor as after it was changed by another writer; that is not a
contradiction.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from assent.core.plan.operation import (
    FileOperation,
    FileState,
    MoveFile,
    Operation,
    WriteFile,
    footprint,
)
from assent.core.run.journal import PathConflict, RunOutcome
from assent.core.run.slot_move import (
    ClearFolder,
    MoveFromSlot,
    MoveToSlot,
    PathState,
    SlotContent,
    SlotMove,
    SwapWithSlot,
    slot_contents,
)
from assent.executor.prepare import SlotContents
from assent.ports.file_writer import FileWriter

PathBeforeAfter: TypeAlias = tuple[int, FileState | None, FileState | None]

UNREADABLE_STATE = "odd"  # what cannot be looked at
TORN_SUFFIX = b".torn"  # ends the name of a slot whose content belongs to no operation

NOT_DONE = "the log says it was changed, but it is as before the run"
NOT_ROLLED_BACK = "the log does not say it was changed, but it is as after the run"
MOVED_AWAY = "the log does not say it was moved, but it is in a slot"


def contradictions(
    writer: FileWriter, operations: Sequence[FileOperation], outcome: RunOutcome
) -> list[PathConflict]:
    """Returns every path that contradicts an outcome: done, or rolled back."""
    ends = _ends(operations)
    seen = read_states(writer, ends)
    done = outcome == "done"
    found = []
    for path, (at, before, after) in ends.items():
        opposite, reason = (before, NOT_DONE) if done else (after, NOT_ROLLED_BACK)
        if before != after and _is(seen[path], opposite):
            found.append(PathConflict(at, path, b"", reason))
    return found


def unlike_start(
    writer: FileWriter, operations: Sequence[Operation], found: Sequence[PathConflict]
) -> list[PathConflict]:
    """Leaves out paths that are as before the whole run: a later operation may restore that."""
    begun: dict[bytes, FileState | None] = {}
    for op in operations:
        for path, before, _ in footprint(op):
            begun.setdefault(path, before)
    seen = read_states(writer, [one.path for one in found])
    return [one for one in found if not _is(seen[one.path], begun[one.path])]


def unlogged_renames(
    writer: FileWriter, operations: Sequence[FileOperation], renames: Sequence[SlotMove]
) -> list[PathConflict]:
    """Returns what shows that renames were made, in a run whose journal has none.

    A slot that was not filled to its end may hold what its path still holds: an empty file, too.
    """
    found = {
        conflict.path: conflict for conflict in contradictions(writer, operations, "rolled_back")
    }
    seen = read_states(writer, [name for move in renames for name in (move.slot, move.path)])
    for move in renames:
        match move:
            case MoveToSlot() if seen[move.slot] is not None:
                pass
            case SwapWithSlot() if seen[move.slot] == move.before != seen[move.path]:
                pass
            case ClearFolder() if seen[move.slot] is not None:
                pass
            case _:
                continue
        found[move.path] = PathConflict(move.index, move.path, move.slot, MOVED_AWAY)
    return list(found.values())


def completed_operations(
    writer: FileWriter, operations: Sequence[FileOperation], renames: Sequence[SlotMove]
) -> frozenset[int]:
    """Returns the operations that are done, as far as the disk shows.

    A slot with unexpected content may contain someone's late change: the slot moves then report it.
    """
    ends = _ends(operations)
    seen = read_states(writer, [*ends, *[move.slot for move in renames]])
    foreign = {move.index for move in renames if not _is_ours(move, seen[move.slot])}
    return frozenset(
        at
        for at, op in enumerate(operations)
        if at not in foreign and all(_is(seen[path], ends[path][2]) for path, *_ in footprint(op))
    )


def _is_ours(move: SlotMove, seen: PathState | str) -> bool:
    """Tells whether a slot is empty, or holds what the run itself leaves there."""
    match move:
        case SwapWithSlot() | MoveToSlot():
            return seen in (None, move.before)
        case MoveFromSlot():
            return seen in (None, move.after)
        case ClearFolder():
            return seen is None


def refill_new(
    writer: FileWriter,
    contents: SlotContents,
    operations: Sequence[FileOperation],
    renames: Sequence[SlotMove],
) -> None:
    """Writes new content again where neither a slot nor its path has it."""
    by_slot = {move.slot: move for move in renames if isinstance(move, SwapWithSlot | MoveFromSlot)}
    for fill in slot_contents(operations, renames):
        move, op = by_slot[fill.slot], operations[fill.index]
        seen = read_states(writer, (move.path, move.slot))
        at_path, at_slot = seen[move.path], seen[move.slot]
        before = op.before if isinstance(op, WriteFile) else None
        if at_slot in (fill.after, UNREADABLE_STATE) or at_path not in (None, "folder", before):
            continue
        if at_slot is not None:
            if at_slot == before:
                continue  # it was exchanged, and the new one is gone from its name
            writer.rename_unless_taken(fill.slot, _free(writer, fill.slot))
        writer.write_slot(fill, contents.of(fill))


def refill_old(
    writer: FileWriter,
    contents: SlotContents,
    operations: Sequence[FileOperation],
    renames: Sequence[SlotMove],
) -> None:
    """Writes old content again where neither a slot nor its path has it."""
    for move in [move for move in renames if isinstance(move, SwapWithSlot | MoveToSlot)]:
        folder = move.path.rpartition(b"/")[0]
        fill = SlotContent(move.index, move.slot, move.before, None, None, folder)
        op, path = operations[fill.index], operations[fill.index].path
        after = op.after if isinstance(op, WriteFile) else None
        to = op.to if isinstance(op, MoveFile) else fill.slot
        seen = read_states(writer, (path, fill.slot, to))
        lost = seen[fill.slot] is None and seen[to] != fill.after
        lost = lost and seen[path] in (None, "folder", after)
        if lost and contents.has(fill.after.digest):
            like = path if isinstance(seen[path], FileState) else None
            writer.write_slot(msgspec.structs.replace(fill, like=like), contents.of(fill))


def displaced_torn_slots(
    writer: FileWriter, operations: Sequence[FileOperation], renames: Sequence[SlotMove]
) -> list[bytes]:
    """Returns the slots that were moved aside because no operation has their content."""
    names = [name for fill in slot_contents(operations, renames) for name in _aside(fill.slot)]
    return [name for name, seen in read_states(writer, names).items() if seen is not None]


def _free(writer: FileWriter, slot: bytes) -> bytes:
    """Returns a name for what is in a slot and has to make room."""
    seen = read_states(writer, _aside(slot))
    return next((name for name in seen if seen[name] is None), slot + TORN_SUFFIX)


def _aside(slot: bytes) -> list[bytes]:
    return [slot + TORN_SUFFIX, *[slot + TORN_SUFFIX + b"%d" % more for more in range(2, 5)]]


def read_states(writer: FileWriter, paths: Iterable[bytes]) -> Mapping[bytes, PathState | str]:
    """Reads the state of paths; one that cannot be read is special, and equals nothing else."""
    asked = list(dict.fromkeys(paths))
    try:
        return writer.read_states(asked)
    except OSError:
        return {path: _one(writer, path) for path in asked}


def _is(seen: PathState | str, state: FileState | None) -> bool:
    """Tells whether a path is in a state; of files that is, so a folder is as good as nothing."""
    return seen == state or (state is None and seen == "folder")


def _ends(operations: Sequence[FileOperation]) -> dict[bytes, PathBeforeAfter]:
    """Returns of each path an operation that touches it, and its states before and after them all.

    A name that one operation frees may be filled by another.
    """
    found: dict[bytes, PathBeforeAfter] = {}
    for index, op in enumerate(operations):
        for path, before, after in footprint(op):
            at, first, last = found.get(path, (index, None, None))
            found[path] = at, first or before, last or after
    return found


def _one(writer: FileWriter, path: bytes) -> PathState | str:
    try:
        return writer.read_states((path,))[path]
    except OSError:
        return UNREADABLE_STATE
