"""Which undo a run carried out, read back from its plan, so that its end is told as an undo's."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

import msgspec

from assent.core.deeds import Deed
from assent.core.operation import FileOperation, FileState, Operation, RunCommand, footprint
from assent.core.plan import Plan
from assent.core.undo import Inversion

SHORT = 12  # characters of an operation's id that people type, and that an undo's text names

Marks = tuple[tuple[bytes, FileState | None, FileState | None], ...]


class Recalled(msgspec.Struct, frozen=True):
    """What an undo was about: its originals, and which of them it inverts and which it leaves."""

    originals: tuple[FileOperation, ...]
    inversion: Inversion


def recalled(plan: Plan, done: Sequence[FileOperation], ids: Sequence[str]) -> Recalled | None:
    """Finds what an undo plan takes back among all that was done; None if it is about other things.

    What is neither taken back nor left alone was back already when the plan was made.
    """
    by_marks = {_marks(op): at for at, op in enumerate(done)}
    back = [op for op in plan.operations if not isinstance(op, RunCommand)]
    found = [by_marks.get(_marks(op, back=True)) for op in back]
    taken = [at for at in found if at is not None]
    if len(taken) < len(back):
        return None
    reasons = left_alone(plan.text)
    left = {at: reasons[name[:SHORT]] for at, name in enumerate(ids) if name[:SHORT] in reasons}
    kept = sorted({*taken, *left})
    place = {at: index for index, at in enumerate(kept)}
    inverses = tuple((place[at], op) for at, op in zip(taken, back, strict=True))
    conflicts = tuple((place[at], reason) for at, reason in sorted(left.items()))
    return Recalled(tuple(done[at] for at in kept), Inversion(inverses, conflicts))


def left_alone(text: bytes) -> dict[str, str]:
    """Returns why an undo plan leaves operations alone, by the starts of ids in its text."""
    lines = text.decode("utf-8", "replace").split("\n")
    start = lines.index("## Left alone") + 2 if "## Left alone" in lines else len(lines)
    rows = [row[2:].rpartition(": operation ") for row in takewhile(bool, lines[start:])]
    return {name.rpartition("(")[2].removesuffix(")"): reason for reason, _, name in rows}


def left_to(operations: Sequence[Operation], deeds: Iterable[Deed]) -> Iterator[str]:
    """Yields the deeds that operations of an undo were for, oldest first, as the last come last."""
    commands = [op for op in operations if isinstance(op, RunCommand)]
    paths = {path for op in operations for path, *_ in footprint(op)}
    for deed in deeds:
        if deed.undo in commands:
            commands.remove(deed.undo)
            yield deed.token
        elif deed.undo is None and not paths.isdisjoint(deed.paths):
            yield deed.token


def _marks(op: Operation, *, back: bool = False) -> Marks:
    """Returns which path an operation brings from which state to which, or the way back."""
    steps = [
        (p, after, before) if back else (p, before, after) for p, before, after in footprint(op)
    ]
    return tuple(sorted(steps, key=lambda step: step[0]))
