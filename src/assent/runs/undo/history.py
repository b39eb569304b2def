"""What was undone so far, by which run, and what each undo skipped.

It also finds the displaced files that remain for an undo to restore.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Literal

import msgspec

from assent.core.errors import AssentError
from assent.core.paths import one_line
from assent.core.plan.operation import FileOperation, FileState, Operation, RunCommand, footprint
from assent.core.plan.plan import Plan
from assent.core.plan.record import PlanRecord, PlanRun
from assent.core.run.results import DisplacedLookup, DisplacedSlots, displaced_slots, no_displaced
from assent.core.undo import AppliedChange, Inversion
from assent.planning.ports import Ports
from assent.planning.repositories import PlanRepository
from assent.runs.journal import AppliedChanges, can_be_undone

# Which undo a run carried out, read from the log, so that its report is an undo's.


SHORT_ID = 12  # characters of an operation's id that people type
UNRECORDED_REASON = "for an unrecorded reason"

UndoPathStates = tuple[tuple[bytes, FileState | None, FileState | None], ...]


class RecordedUndo(msgspec.Struct, frozen=True):
    """What an undo covered: the original changes, and which of them it reverts or skips."""

    originals: tuple[FileOperation, ...]
    inversion: Inversion


def recorded_undo(
    plan: Plan,
    done: Sequence[FileOperation],
    left: Mapping[int, str],
    denied: Container[int] = (),
) -> RecordedUndo | None:
    """Finds which changes an undo plan reverts; None if it is about other changes.

    `left` tells what it skips, by the index of the change, and why; rules denied those in `denied`.
    What is neither reverted nor skipped was already reverted when the plan was made.
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
    changes: Sequence[AppliedChange],
    done: Sequence[FileOperation],
    ids: Sequence[str],
) -> dict[int, str]:
    """Returns what an undo skips, by the index of the change, and why.

    An old record names only the changes.
    """
    reasons = dict(record.left_alone)
    if reasons or not record.spared:
        return {at: reasons[name] for at, name in enumerate(ids) if name in reasons}
    spared = {path for change in changes if change.token in record.spared for path in change.paths}
    steps = [(at, path) for at, op in enumerate(done) for path, *_ in footprint(op)]
    return {at: f"{one_line(path)}, {UNRECORDED_REASON}" for at, path in steps if path in spared}


def changes_undone_by(
    operations: Sequence[Operation], changes: Iterable[AppliedChange]
) -> Iterator[str]:
    """Yields the changes that the operations of an undo reverted, oldest first."""
    commands = [op for op in operations if isinstance(op, RunCommand)]
    paths = {path for op in operations for path, *_ in footprint(op)}
    for change in changes:
        if change.undo in commands:
            commands.remove(change.undo)
            yield change.token
        elif change.undo is None and not paths.isdisjoint(change.paths):
            yield change.token


def _marks(op: Operation, *, back: bool = False) -> UndoPathStates:
    """Returns which path an operation brings from which state to which, or the way back."""
    steps = [
        (p, after, before) if back else (p, before, after) for p, before, after in footprint(op)
    ]
    return tuple(sorted(steps, key=lambda step: step[0]))


UndoneAmount = Literal["", "some", "all"]
UndoRun = tuple[PlanRecord, PlanRun]  # an undo or a redo, and the run that carried it out


class UndoHistory:
    """What all undos reverted; an undo that was redone does not count.

    A change is undone once any undo that counts reverted all of it.
    """

    def __init__(self, changes: AppliedChanges, undos: Sequence[UndoRun]) -> None:
        self._changes = changes
        self.names: set[str] = set()  # runs, builds and deeds that undos were about
        self.idle: set[str] = set()  # undos that were accepted as they stood, and did nothing
        # Deeds among them that were left alone, each with the paths that are restored nevertheless.
        self._left: dict[str, frozenset[bytes]] = {}
        for record, note in reversed(undos):  # the newest first: it may undo others
            if not self.is_over(note.run):
                self._add(record, note)

    def has(self, token: str, whole: str = "") -> bool:
        """Tells whether a change was undone, by itself or with its run or build."""
        names = {token, token.partition(":")[0], whole}
        return token not in self._left and not self.names.isdisjoint(names)

    def is_over(self, run: str, whole: str = "") -> bool:
        """Tells whether a run was undone as a whole, without anything skipped."""
        if self.names.isdisjoint({run, whole}):
            return False
        return not any(token.startswith(f"{run}:") for token in self._left)

    def rest(self, change: AppliedChange) -> AppliedChange:
        """Returns what remains of a change; a command may be undone in parts, file by file."""
        back = self._left.get(change.token)
        if not back or change.ordered is None or change.undo:
            return change
        left = [op for op in change.operations if not {p for p, *_ in footprint(op)} <= back]
        return msgspec.structs.replace(change, operations=tuple(left))

    def of(self, runs: Iterable[str], whole: str = "") -> UndoneAmount:
        """Says how much was undone of runs that are undone together."""
        named = list(runs)
        if self._about_runs.isdisjoint({*named, whole}):
            return ""
        changes = [change for run in named for change in self._changes.of(run)]
        if all(self.has(change.token, whole) for change in changes):
            return "all"
        some = any(
            self.has(change.token, whole) or self._left.get(change.token) for change in changes
        )
        return "some" if some else ""

    @cached_property
    def _about_runs(self) -> set[str]:
        """The runs and builds of which anything was undone."""
        return {name.partition(":")[0] for name in (*self.names, *self._left)}

    def _add(self, record: PlanRecord, note: PlanRun) -> None:
        end = self._changes.end(note.run)
        rows = list(enumerate(end.results)) if end else []
        stand = [at for at, found in rows if found == "done" and not self.has(f"{note.run}:{at}")]
        if rows and not stand and not can_be_undone(self._changes.of(note.run)):
            self.idle.add(note.run)
        missed = self._missed(record, note, sorted({at for at, _ in rows}.difference(stand)))
        back = self._paths(note, stand) if missed or record.spared else frozenset()
        left = {*record.spared, *[change.token for change in missed if change.paths & back]}
        names = set(record.undoes.split())
        if missed:
            lost = {change.token for change in missed}
            names = {change.token for change in self._about(record)} - lost
        self._count(names, left, back)

    def _count(self, names: set[str], left: set[str], back: frozenset[bytes]) -> None:
        """Counts one more undo: what it was about, and what it left alone."""
        for token in left:
            if not self.has(token):
                self._left[token] = self._left.get(token, frozenset()) | back
        for token in [one for one in self._left if one not in left]:
            if not names.isdisjoint((token, token.partition(":")[0])):
                del self._left[token]
        self.names |= names

    def _paths(self, note: PlanRun, stand: Sequence[int]) -> frozenset[bytes]:
        """Returns the paths that an undo put back itself."""
        operations = self._changes.named(note.run)
        done = [operations[at] for at in stand if not isinstance(operations[at], RunCommand)]
        return frozenset(path for op in done for path, *_ in footprint(op))

    def _missed(
        self, record: PlanRecord, note: PlanRun, places: Sequence[int]
    ) -> list[AppliedChange]:
        """Returns the deeds that an undo did not undo, because it was accepted halfway.

        Nor did it where that was redone.
        """
        if not places:
            return []
        about = self._about(record)
        operations = [self._changes.operations(note.run)[at] for at in places]
        tokens = set(changes_undone_by(operations, about))
        return [change for change in about if change.token in tokens]

    def _about(self, record: PlanRecord) -> list[AppliedChange]:
        """Returns the deeds that an undo was meant to undo."""
        named = dict.fromkeys(token.partition(":") for token in record.undoes.split())
        every = [(change, index) for run, _, index in named for change in self._changes.of(run)]
        return [change for change, index in every if index in ("", str(change.index))]


# Where runs left the displaced files that an undo restores, looked up when first needed.


def displaced_by(ports: Ports, repository: PlanRepository, undoes: str) -> DisplacedLookup:
    """Returns where files may be that existed in the workspace before these runs or changes."""
    if not undoes:
        return no_displaced

    @cache
    def slots() -> DisplacedSlots:
        found: DisplacedSlots = {}
        try:
            changes = AppliedChanges(ports, repository)
            for run in _related(undoes, changes.records):
                # What they name is checked to the byte before it is used, so no digest is.
                found |= displaced_slots(changes.named(run), changes.entries(run))
        except (AssentError, msgspec.MsgspecError):
            return {}  # spares are never needed
        return found

    return lambda path, state: slots().get((path, state))


def _related(undoes: str, records: list[PlanRecord]) -> Iterator[str]:
    """Yields the runs that are undone, and all runs that undid and redid what they did."""
    runs = dict.fromkeys(_runs(undoes))
    yield from runs
    for record in reversed(records):  # the oldest comes first
        if not runs.keys().isdisjoint(_runs(record.undoes)):
            for note in record.runs:
                runs[note.run] = None
                yield note.run


def _runs(tokens: str) -> list[str]:
    return [token.partition(":")[0] for token in tokens.split()]
