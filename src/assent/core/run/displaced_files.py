"""Finds the slots of the files that a run displaced, from its journal."""

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeGuard

from assent.core.plan.operation import FileState, Operation
from assent.core.run.journal import (
    FinishedEntry,
    JournalEntry,
    SegmentEnteredEntry,
    SegmentSweptEntry,
    StartedEntry,
)
from assent.core.run.slot_move import MoveToSlot, SlotLayout, SlotMove, SwapWithSlot, slot_moves
from assent.core.run.state import rollback_start, segment_ranges

# Names the slot into which a run moved a file of that state, which may be a spare by now.
DisplacedLookup: TypeAlias = Callable[[bytes, FileState], bytes | None]
DisplacedSlots: TypeAlias = dict[tuple[bytes, FileState], bytes]


def no_displaced(path: bytes, state: FileState) -> bytes | None:
    """Knows of none."""
    return None


def displaces_file(motion: SlotMove) -> TypeGuard[SwapWithSlot | MoveToSlot]:
    """Tells whether a motion that is done leaves in its slot what stood under its path before."""
    return type(motion) is SwapWithSlot or (type(motion) is MoveToSlot and motion.to is None)


def displaced_slots(
    operations: Sequence[Operation], entries: Sequence[JournalEntry]
) -> DisplacedSlots:
    """Returns the slots of everything that a run displaced for good, by path and state."""
    found: DisplacedSlots = {}
    course, at, layout = segment_ranges(operations), 0, SlotLayout("")
    for entry in entries[: rollback_start(entries)]:
        match entry:
            case StartedEntry():
                layout = entry.layout
            case SegmentEnteredEntry():
                at, layout = entry.segment, entry.layout
            case SegmentSweptEntry(outcome="done") | FinishedEntry(outcome="done") if at < len(
                course
            ):
                for motion in slot_moves(course[at].files, layout):
                    if displaces_file(motion):
                        found[motion.path, motion.before] = motion.slot
            case _:
                pass
    return found
