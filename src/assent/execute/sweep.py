"""Sweeping: empties the slots of a settled run; bytes that exist nowhere else are kept."""

from collections.abc import Iterable, Sequence

from assent.core.journal import Settled
from assent.core.motion import Clear, Layout, Motion, Swap, Take, fills
from assent.core.operation import FileOperation, FileState, footprint
from assent.ports import Hands


def sweep(
    hands: Hands,
    settled: Settled,
    layout: Layout,
    operations: Sequence[FileOperation],
    renames: Sequence[Motion],
) -> tuple[bytes, ...]:
    """Removes the slots that are still filled, and returns those that stay.

    Where a person accepted a half-done run, a slot whose content the plan does not name holds
    somebody's late change, the only copy there is.
    """
    known = _known(operations) if settled.accepted else None
    new = [fill.slot for fill in fills(operations, layout)]
    kept = [slot for slot in _filled(settled, new, renames) if not _gone(hands, slot, known)]
    clears = [m.slot for m in renames if isinstance(m, Clear)]
    for folder in (*clears, layout.folder):
        try:
            hands.remove_folder(folder)
        except OSError:
            continue  # an empty folder left in the state tree harms nobody
    return tuple(kept)


def _filled(settled: Settled, new: Sequence[bytes], renames: Sequence[Motion]) -> Iterable[bytes]:
    """Returns the slots that can hold something: old content if done, new if rolled back."""
    if settled.outcome == "rolled_back":
        return new
    if settled.accepted:
        return dict.fromkeys([*new, *[m.slot for m in renames]])
    return [m.slot for m in renames if isinstance(m, Swap) or (isinstance(m, Take) and not m.to)]


def _known(operations: Iterable[FileOperation]) -> frozenset[FileState]:
    """Returns every state that the plan names; their contents are blobs."""
    return frozenset(
        state
        for op in operations
        for _, before, after in footprint(op)
        for state in (before, after)
        if state is not None
    )


def _gone(hands: Hands, slot: bytes, known: frozenset[FileState] | None) -> bool:
    try:
        if known is not None and hands.look((slot,))[slot] not in (None, *known):
            return False
        hands.remove(slot)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
