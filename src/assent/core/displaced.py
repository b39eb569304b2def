"""What runs displaced: the slots in which the files that they replaced or removed were left."""

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeGuard

from assent.core.course import spans, turned_at
from assent.core.journal import Entered, Entry, Finished, Started, Swept
from assent.core.motion import Layout, Motion, Swap, Take, motions
from assent.core.operation import FileState, Operation

# Names the slot into which a run moved a file of that state, which may be a spare by now.
Spares: TypeAlias = Callable[[bytes, FileState], bytes | None]
Slots: TypeAlias = dict[tuple[bytes, FileState], bytes]


def no_spares(path: bytes, state: FileState) -> bytes | None:
    """Knows of none."""
    return None


def is_displaced(motion: Motion) -> TypeGuard[Swap | Take]:
    """Tells whether a motion that is done leaves in its slot what stood under its path before."""
    return type(motion) is Swap or (type(motion) is Take and motion.to is None)


def displaced(operations: Sequence[Operation], entries: Sequence[Entry]) -> Slots:
    """Returns the slots of everything that a run displaced for good, by path and state."""
    found: Slots = {}
    course, at, layout = spans(operations), 0, Layout("")
    for entry in entries[: turned_at(entries)]:
        match entry:
            case Started():
                layout = entry.layout
            case Entered():
                at, layout = entry.segment, entry.layout
            case Swept(outcome="done") | Finished(outcome="done") if at < len(course):
                for motion in motions(course[at].files, layout):
                    if is_displaced(motion):
                        found[motion.path, motion.before] = motion.slot
            case _:
                pass
    return found
