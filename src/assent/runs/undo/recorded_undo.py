"""Which undo a run carried out, read from the log, so that its report is an undo's."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

import msgspec

from assent.core.paths import one_line
from assent.core.plan.operation import FileOperation, FileState, Operation, RunCommand, footprint
from assent.core.plan.plan import Plan
from assent.core.plan.record import PlanRecord
from assent.core.undo import AppliedChange, Inversion

SHORT_ID = 12  # characters of an operation's id that people type, and that an undo's text names
UNRECORDED_REASON = "for a reason that is not on record"

UndoPathStates = tuple[tuple[bytes, FileState | None, FileState | None], ...]


class RecordedUndo(msgspec.Struct, frozen=True):
    """What an undo was about: the original changes, and which of them it inverts or skips."""

    originals: tuple[FileOperation, ...]
    inversion: Inversion


def recorded_undo(
    plan: Plan,
    done: Sequence[FileOperation],
    left: Mapping[int, str],
    denied: Container[int] = (),
) -> RecordedUndo | None:
    """Finds what an undo plan takes back among all that was done; None if it is about other things.

    `left` tells what it leaves alone, by the place among what was done, and why; of that, rules
    denied `denied`. What is neither
    taken back nor left alone was back already when the plan was made.
    """
    by_marks = {_marks(op): at for at, op in enumerate(done)}
    back = [op for op in plan.operations if not isinstance(op, RunCommand)]
    found = [by_marks.get(_marks(op, back=True)) for op in back]
    taken = [at for at in found if at is not None]
    if len(taken) < len(back):
        return None
    alone = {at: reason for at, reason in left.items() if at not in taken}
    kept = sorted({*taken, *alone})
    place = {at: index for index, at in enumerate(kept)}
    inverses = tuple((place[at], op) for at, op in zip(taken, back, strict=True))
    pairs = sorted(alone.items())
    conflicts = tuple((place[at], reason) for at, reason in pairs if at not in denied)
    no = tuple((place[at], reason) for at, reason in pairs if at in denied)
    return RecordedUndo(tuple(done[at] for at in kept), Inversion(inverses, conflicts, no))


def skipped_operations(
    record: PlanRecord,
    deeds: Sequence[AppliedChange],
    done: Sequence[FileOperation],
    ids: Sequence[str],
) -> dict[int, str]:
    """Returns what an undo leaves alone, by the place among what was done, and why.

    An old record names only the deeds.
    """
    reasons = dict(record.left_alone)
    if reasons or not record.spared:
        return {at: reasons[name] for at, name in enumerate(ids) if name in reasons}
    spared = {path for deed in deeds if deed.token in record.spared for path in deed.paths}
    steps = [(at, path) for at, op in enumerate(done) for path, *_ in footprint(op)]
    return {at: f"{one_line(path)}, {UNRECORDED_REASON}" for at, path in steps if path in spared}


def changes_undone_by(
    operations: Sequence[Operation], deeds: Iterable[AppliedChange]
) -> Iterator[str]:
    """Yields the deeds that operations of an undo were for, oldest first, as the last come last."""
    commands = [op for op in operations if isinstance(op, RunCommand)]
    paths = {path for op in operations for path, *_ in footprint(op)}
    for deed in deeds:
        if deed.undo in commands:
            commands.remove(deed.undo)
            yield deed.token
        elif deed.undo is None and not paths.isdisjoint(deed.paths):
            yield deed.token


def _marks(op: Operation, *, back: bool = False) -> UndoPathStates:
    """Returns which path an operation brings from which state to which, or the way back."""
    steps = [
        (p, after, before) if back else (p, before, after) for p, before, after in footprint(op)
    ]
    return tuple(sorted(steps, key=lambda step: step[0]))
