"""Run history: every past run, what it did, and what is kept of it for an undo."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from assent.core.errors import AssentError, NotFound
from assent.core.event import CommandStarted, JournalWritten, PermitGiven, RunsWeighed
from assent.core.plan.operation import MoveFile, Operation, RunCommand, footprint
from assent.core.plan.plan import Plan
from assent.core.plan.record import PlanRecord, PlanRun
from assent.core.run.journal import (
    CommandEndedEntry,
    CommandStartedEntry,
    JournalEntry,
    OperationResult,
    ReportedOutcome,
    RollbackStartedEntry,
)
from assent.core.run.state import UNKNOWN_END
from assent.core.run.workspace_changes import WorkspaceChanges
from assent.core.undo import merged_changes
from assent.executor.rollback import read_rollbacks
from assent.planning.ports import Ports
from assent.runs.journal import COMMAND_MAY_HAVE_CHANGED, SessionCommand
from assent.runs.journal_summary import journal_summary
from assent.runs.run_status import RunStatus
from assent.runs.undo.history import UndoneAmount
from assent.runs.undo.targets import UndoTarget, UndoTargets, read_started_runs, started_runs

ContentSizes = dict[str, int]  # contents by digest, with their sizes
RunKind = Literal["run", "undo", "redo", "turn", "build", "command"]

_UNKNOWN = WorkspaceChanges(known=False)


class PastRun(msgspec.Struct, frozen=True):
    """A run, or runs that are undone as one, with what is kept for that."""

    unit: UndoTarget
    how: RunKind
    at: str
    outcome: ReportedOutcome | None
    operations: int
    own: int = 0  # bytes that nothing else here needs
    shared: int = 0
    undone: UndoneAmount = ""
    given_up: str = ""
    accepted: bool = False  # the user accepted what was there, whatever the plan says


class RunPage(msgspec.Struct, frozen=True):
    """The newest runs, newest first."""

    runs: tuple[PastRun, ...]
    more: int  # older runs that are not among them
    size: int  # bytes that all runs keep, these and the others


class CommandReport(msgspec.Struct, frozen=True):
    """A command that ran: when, how it ended, its output and its changes."""

    began: str = ""
    ended: str = ""
    code: int | None = None
    cut: str = ""
    output: bytes = b""
    changes: WorkspaceChanges = WorkspaceChanges()


class PastOperation(msgspec.Struct, frozen=True):
    """One operation of a run, in the order in which `undo --operation` counts them."""

    number: int
    id: str
    run: str
    result: OperationResult
    operation: Operation | None  # None: a session's command, which is a line of text
    line: str = ""
    told: CommandReport | None = None
    back: CommandReport | None = None  # of a command: what a roll-back ran to take it back


class RunHistory:
    """Reads past runs. Changes nothing."""

    def __init__(self, ports: Ports, runs: RunStatus) -> None:
        self._ports = ports
        self._runs = runs

    def all(self) -> list[PastRun]:
        """Returns everything that ran here, oldest first."""
        return [kept for kept, _ in self.with_sizes()]

    def page(self, most: int | None) -> RunPage:
        """Returns the newest runs, how many older ones there are, and what all of them keep."""
        back, units, weights, uses = self._weighed()
        pairs = list(zip(units, weights, strict=True))
        shown = pairs[-most:] if most else pairs
        newest = [self._kept(back, unit, each, uses) for unit, each in reversed(shown)]
        return RunPage(tuple(newest), len(pairs) - len(shown), total_size(weights))

    def with_sizes(self) -> list[tuple[PastRun, ContentSizes]]:
        """Returns everything that ran here with the contents that it keeps, oldest first."""
        back, units, weights, uses = self._weighed()
        pairs = zip(units, weights, strict=True)
        return [(self._kept(back, unit, each, uses), each) for unit, each in pairs]

    def _weighed(
        self,
    ) -> tuple[UndoTargets, list[UndoTarget], list[ContentSizes], Counter[str]]:
        """Returns all units with the contents that each keeps, and how many keep each content."""
        back = self._back()
        units = back.units()
        weights = [_weights(back, unit.runs) for unit in units]
        return back, units, weights, Counter(digest for each in weights for digest in each)

    def size_at_most(self) -> tuple[int, int]:
        """Returns an upper bound for the size of what is kept, and the number of runs.

        It adds what later runs keep to the last measured size, and reads no other runs.
        """
        repository = self._runs.repository()
        home = self._ports.store.read(f"workspace/{repository.workspace}")
        known = [(one.position, e.size) for one in home if isinstance(e := one.event, RunsWeighed)]
        position, size = known[-1] if known else (0, 0)
        back = self._back()
        edits = self._ports.store.read_all(
            [repository.permit_stream], position, [PermitGiven, CommandStarted]
        )
        newer = started_runs([*read_started_runs(self._ports, repository, position), *edits])
        return size + sum(sum(_weights(back, [run]).values()) for run in newer), len(newer)

    def undone(self, run: str) -> UndoneAmount:
        """Says how much of a run was undone."""
        return self._runs.undone(run)

    def undos_of(self, target: UndoTarget) -> list[tuple[PlanRecord, PlanRun]]:
        """Returns which runs undid any of it, oldest first, with their plans."""
        return self._back().undos_of({*target.runs, target.whole} - {""})

    def last_undo_of(self, run: str) -> tuple[PlanRecord, PlanRun] | None:
        """Returns the last change of how much of a run is undone: an undo, or its redo."""
        back = self._back()
        found: list[tuple[PlanRecord, PlanRun]] = []
        names = {run}
        while more := back.undos_of(names):
            found += more
            names = {note.run for _, note in more}
        return max(found, key=lambda one: back.began[one[1].run], default=None)

    def find(self, reference: str) -> PastRun:
        """Finds a run by its id or the start of it."""
        listed = self.all()
        exact = [kept for kept in listed if kept.unit.name == reference]
        found = exact or [kept for kept in listed if _is_called(kept.unit, reference)]
        if len(found) != 1:
            many = f"{reference!a} matches {len(found)} runs. Use a longer ID."
            none = f"Run {reference!a} not found."
            raise NotFound(many if found else none, "assent runs list")
        return found[0]

    def items(self, kept: PastRun) -> list[PastOperation]:
        """Returns every operation of a run, with its result."""
        back = self._back()
        found: list[PastOperation] = []
        for run in kept.unit.runs:
            command = back.applied.command(run)
            if command is not None:
                found.append(_item(back, command, kept.unit, len(found) + 1))
            else:
                found += self._items(back, kept.unit, run, len(found))
        return found

    def _items(
        self, back: UndoTargets, unit: UndoTarget, run: str, before: int
    ) -> Iterable[PastOperation]:
        operations = back.applied.operations(run)
        commands = any(isinstance(op, RunCommand) for op in operations)
        told, way_back = self._told(back, run) if commands else ({}, {})
        results = journal_summary(
            Plan(b"", operations), back.applied.entries(run), self._ports.blobs
        ).results
        rows = zip(back.applied.ids(run), operations, results, strict=True)
        for index, (name, op, result) in enumerate(rows):
            taken = (
                back.is_undone(f"{run}:{index}", unit.whole) and result in COMMAND_MAY_HAVE_CHANGED
            )
            now: OperationResult = "undone" if taken else result
            number, undo = before + index + 1, way_back.get(index)
            yield PastOperation(number, name, run, now, op, "", told.get(index), undo)

    def _told(
        self, back: UndoTargets, run: str
    ) -> tuple[dict[int, CommandReport], dict[int, CommandReport]]:
        """Returns what the journal says of each command of a run, and of what took it back.

        From a turn on, entries count the operations of the way back, and not those of the plan.
        """
        stream = self._ports.store.read(f"run/{self._runs.repository().workspace}/{run}")
        rows = [(one.at, e.entry) for one in stream if isinstance(e := one.event, JournalWritten)]
        turns = [
            at for at, (_, entry) in enumerate(rows) if isinstance(entry, RollbackStartedEntry)
        ]
        edges = [*turns, len(rows)]
        found: dict[int, CommandReport] = {}
        for first, end in pairwise(edges):
            about = self._about(rows[first][1])
            for index, told in self._ends(back, rows[first:end]).items():
                for at in about[index] if about else ():
                    tries = [found[at].changes] if at in found else []
                    changes = merged_changes([*tries, told.changes])
                    found[at] = msgspec.structs.replace(told, changes=changes)
        return self._ends(back, rows[: edges[0]]), found

    def _about(self, turned: JournalEntry) -> tuple[tuple[int, ...], ...]:
        """Returns which operations of the plan those of a way back are about, if that is kept."""
        try:
            (way,) = read_rollbacks([turned], self._ports.blobs).values()
        except (AssentError, msgspec.MsgspecError):
            return ()
        return way.about

    def _ends(
        self, back: UndoTargets, rows: Sequence[tuple[str, JournalEntry]]
    ) -> dict[int, CommandReport]:
        """Returns of each command what entries say that count the same operations."""
        found: dict[int, CommandReport] = {}
        parts: dict[int, list[WorkspaceChanges]] = {}
        for at, entry in rows:
            match entry:
                case CommandStartedEntry(index=index):
                    found[index] = CommandReport(at, changes=_UNKNOWN)
                case CommandEndedEntry(index, code, cut, changes, output):
                    began = found[index].began if index in found else ""
                    known = back.applied.changes(changes) if changes else _UNKNOWN
                    earlier = [part for part in parts.get(index, ()) if part != _UNKNOWN]
                    parts[index] = [*earlier, known]  # what was unknown was reckoned again
                    said, seen = self._output(output), None if cut == UNKNOWN_END else code
                    found[index] = CommandReport(
                        began, at, seen, cut, said, merged_changes(parts[index])
                    )
                case _:
                    pass
        return found

    def _output(self, blob: str) -> bytes:
        if not blob or not self._ports.blobs.has(blob):
            return b""
        return self._ports.blobs.read(blob)

    def _kept(
        self, back: UndoTargets, unit: UndoTarget, weights: ContentSizes, uses: Counter[str]
    ) -> PastRun:
        accepted = self._runs.was_accepted(unit.runs[-1])
        return msgspec.structs.replace(_kept(back, unit, weights, uses), accepted=accepted)

    def _back(self) -> UndoTargets:
        return UndoTargets(self._ports, self._runs.repository())


def _kept(
    back: UndoTargets, unit: UndoTarget, weights: ContentSizes, uses: Counter[str]
) -> PastRun:
    own = sum(size for digest, size in weights.items() if uses[digest] == 1)
    return PastRun(
        unit,
        _how(back, unit),
        back.at[unit.runs[0]],
        _outcome(back, unit),
        sum(len(back.applied.ids(run)) for run in unit.runs),
        own,
        sum(weights.values()) - own,
        back.undone_of(unit),
        next((back.pruned[run] for run in unit.runs if run in back.pruned), ""),
    )


def total_size(weights: Iterable[ContentSizes]) -> int:
    """Returns the size of all contents, each counted once."""
    return sum({digest: size for each in weights for digest, size in each.items()}.values())


def _weights(back: UndoTargets, runs: Sequence[str]) -> ContentSizes:
    """Returns the contents that runs keep; a rename keeps none."""
    if not back.pruned.keys().isdisjoint(runs):
        return {}
    operations = [op for run in runs for op in back.applied.operations(run)]
    operations += [op for run in runs for op in back.applied.changed_by_commands(run)]
    steps = [step for op in operations if not isinstance(op, MoveFile) for step in footprint(op)]
    return {s.digest: s.size for _, *states in steps for s in states if s is not None}


def _item(
    back: UndoTargets, command: SessionCommand, unit: UndoTarget, number: int
) -> PastOperation:
    """Returns a command of a session as the one operation that it is."""
    began, end = command.started, command.ended
    changes = back.applied.changes(end.changes) if end else WorkspaceChanges(known=False)
    seen = end is not None and end.cut != UNKNOWN_END
    code, cut = (end.code if seen else None, end.cut) if end else (None, "")
    told = CommandReport(back.at[began.id], command.at, code, cut, b"", changes)
    result: OperationResult = "done" if seen else "unknown"
    if back.is_undone(f"{began.id}:0", unit.whole):
        result = "undone"
    return PastOperation(number, began.id, began.id, result, None, began.line, told)


def _is_called(unit: UndoTarget, reference: str) -> bool:
    return any(name.startswith(reference) for name in (unit.name, *unit.runs))


def _how(back: UndoTargets, unit: UndoTarget) -> RunKind:
    if unit.whole:
        return "build"
    if unit.record.undoes:
        return "redo" if back.is_redo(unit) else "undo"
    if len(unit.runs) > 1:
        return "turn"
    return "command" if back.applied.command(unit.name) else "run"


def _outcome(back: UndoTargets, unit: UndoTarget) -> ReportedOutcome | None:
    """Returns how the last of a unit's runs ended; None: it has not."""
    note = back.applied.note(unit.whole or unit.runs[-1])
    if note is not None:
        return unit.record.ending(note.outcome) if note.outcome else None
    permit = back.applied.permit(unit.runs[-1])
    return "done" if permit is None else permit.outcome
