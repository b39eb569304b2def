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
    hands: FileWriter, operations: Sequence[FileOperation], outcome: RunOutcome
) -> list[PathConflict]:
    """Returns every path that contradicts an outcome: done, or rolled back."""
    ends = _ends(operations)
    seen = read_states(hands, ends)
    done = outcome == "done"
    found = []
    for path, (at, before, after) in ends.items():
        opposite, reason = (before, NOT_DONE) if done else (after, NOT_ROLLED_BACK)
        if before != after and _is(seen[path], opposite):
            found.append(PathConflict(at, path, b"", reason))
    return found


def unlike_start(
    hands: FileWriter, operations: Sequence[Operation], found: Sequence[PathConflict]
) -> list[PathConflict]:
    """Leaves out paths that are as before the whole run: a later operation may restore that."""
    begun: dict[bytes, FileState | None] = {}
    for op in operations:
        for path, before, _ in footprint(op):
            begun.setdefault(path, before)
    seen = read_states(hands, [one.path for one in found])
    return [one for one in found if not _is(seen[one.path], begun[one.path])]


def unlogged_renames(
    hands: FileWriter, operations: Sequence[FileOperation], renames: Sequence[SlotMove]
) -> list[PathConflict]:
    """Returns what shows that renames were made, in a run whose journal has none."""
    found = {
        conflict.path: conflict for conflict in contradictions(hands, operations, "rolled_back")
    }
    seen = read_states(hands, [motion.slot for motion in renames])
    for motion in renames:
        match motion:
            case MoveToSlot() if seen[motion.slot] is not None:
                pass
            case SwapWithSlot() if seen[motion.slot] == motion.before:
                pass
            case ClearFolder() if seen[motion.slot] is not None:
                pass
            case _:
                continue
        found[motion.path] = PathConflict(motion.index, motion.path, motion.slot, MOVED_AWAY)
    return list(found.values())


def completed_operations(
    hands: FileWriter, operations: Sequence[FileOperation], renames: Sequence[SlotMove]
) -> frozenset[int]:
    """Returns the operations that are done, as far as the disk shows.

    A slot with unexpected content may contain someone's late change: the slot moves then report it.
    """
    ends = _ends(operations)
    seen = read_states(hands, [*ends, *[motion.slot for motion in renames]])
    foreign = {motion.index for motion in renames if not _is_ours(motion, seen[motion.slot])}
    return frozenset(
        at
        for at, op in enumerate(operations)
        if at not in foreign and all(_is(seen[path], ends[path][2]) for path, *_ in footprint(op))
    )


def _is_ours(motion: SlotMove, seen: PathState | str) -> bool:
    """Tells whether a slot is empty, or holds what the run itself leaves there."""
    match motion:
        case SwapWithSlot() | MoveToSlot():
            return seen in (None, motion.before)
        case MoveFromSlot():
            return seen in (None, motion.after)
        case ClearFolder():
            return seen is None


def refill_new(
    hands: FileWriter,
    contents: SlotContents,
    operations: Sequence[FileOperation],
    renames: Sequence[SlotMove],
) -> None:
    """Writes new content again where neither a slot nor its path has it."""
    by_slot = {
        motion.slot: motion for motion in renames if isinstance(motion, SwapWithSlot | MoveFromSlot)
    }
    for fill in slot_contents(operations, renames):
        motion, op = by_slot[fill.slot], operations[fill.index]
        seen = read_states(hands, (motion.path, motion.slot))
        at_path, at_slot = seen[motion.path], seen[motion.slot]
        before = op.before if isinstance(op, WriteFile) else None
        if at_slot in (fill.after, UNREADABLE_STATE) or at_path not in (None, "folder", before):
            continue
        if at_slot is not None:
            if at_slot == before:
                continue  # it was exchanged, and the new one is gone from its name
            hands.rename_unless_taken(fill.slot, _free(hands, fill.slot))
        hands.write_slot(fill, contents.of(fill))


def refill_old(
    hands: FileWriter,
    contents: SlotContents,
    operations: Sequence[FileOperation],
    renames: Sequence[SlotMove],
) -> None:
    """Writes old content again where neither a slot nor its path has it."""
    for motion in [motion for motion in renames if isinstance(motion, SwapWithSlot | MoveToSlot)]:
        folder = motion.path.rpartition(b"/")[0]
        fill = SlotContent(motion.index, motion.slot, motion.before, None, None, folder)
        op, path = operations[fill.index], operations[fill.index].path
        after = op.after if isinstance(op, WriteFile) else None
        to = op.to if isinstance(op, MoveFile) else fill.slot
        seen = read_states(hands, (path, fill.slot, to))
        lost = seen[fill.slot] is None and seen[to] != fill.after
        lost = lost and seen[path] in (None, "folder", after)
        if lost and contents.has(fill.after.digest):
            like = path if isinstance(seen[path], FileState) else None
            hands.write_slot(msgspec.structs.replace(fill, like=like), contents.of(fill))


def displaced_torn_slots(
    hands: FileWriter, operations: Sequence[FileOperation], renames: Sequence[SlotMove]
) -> list[bytes]:
    """Returns the slots that were moved aside because no operation has their content."""
    names = [name for fill in slot_contents(operations, renames) for name in _aside(fill.slot)]
    return [name for name, seen in read_states(hands, names).items() if seen is not None]


def _free(hands: FileWriter, slot: bytes) -> bytes:
    """Returns a name for what is in a slot and has to make room."""
    seen = read_states(hands, _aside(slot))
    return next((name for name in seen if seen[name] is None), slot + TORN_SUFFIX)


def _aside(slot: bytes) -> list[bytes]:
    return [slot + TORN_SUFFIX, *[slot + TORN_SUFFIX + b"%d" % more for more in range(2, 5)]]


def read_states(hands: FileWriter, paths: Iterable[bytes]) -> Mapping[bytes, PathState | str]:
    """Reads the state of paths; one that cannot be read is special, and equals nothing else."""
    asked = list(dict.fromkeys(paths))
    try:
        return hands.read_states(asked)
    except OSError:
        return {path: _one(hands, path) for path in asked}


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


def _one(hands: FileWriter, path: bytes) -> PathState | str:
    try:
        return hands.read_states((path,))[path]
    except OSError:
        return UNREADABLE_STATE
