"""What an undo can be about: one run, all permits of a build, or those of a session's turn."""

from collections.abc import Iterable, Sequence

import msgspec

from assent.core.draft import stage
from assent.core.errors import Impossible, NotFound, Unsettled
from assent.core.event import PermitGiven, RunStarted
from assent.core.journal import Finished
from assent.core.operation import FileOperation, Operation
from assent.core.permit_book import PermitRun
from assent.core.record import PlanRecord
from assent.engine.doors import Doors
from assent.engine.plan.ledger import Ledger
from assent.engine.run.journal import StoreJournal

COUNTS = ("done", "unknown")  # results of operations that may have changed something


class Target(msgspec.Struct, frozen=True):
    """Runs that are taken back as one, oldest first, and the name that a person gives them."""

    name: str
    runs: tuple[str, ...]
    record: PlanRecord  # their plan; of a turn without one, only a name for it
    whole: str = ""  # a run of prose that they are all of


class Applied(msgspec.Struct, frozen=True):
    """What runs did: their operations as one list, the names of those, and the folders made."""

    operations: tuple[FileOperation, ...]
    made: tuple[bytes, ...]


class Takeback:
    """Finds what an undo is about. The order of runs is that of the log, never that of clocks."""

    def __init__(self, doors: Doors, ledger: Ledger) -> None:
        self._doors = doors
        self._ledger = ledger
        self._records = ledger.all()
        self._permits = ledger.permit_runs()

    def find(self, reference: str, plan_id: str) -> Target:
        """Finds by a run's id or its start; or the newest that changed files and still counts."""
        if reference:
            return self._named(reference)
        undone = self._undone()
        began = self._began()
        left = [self._without(target, undone) for target in self._targets()]
        fitting = [t for t in left if t.runs and plan_id in ("", t.record.plan_id)]
        wanted = [target for target in fitting if self._over(target)]
        if fitting and not wanted:
            raise Unsettled(
                f"A model still builds plan {fitting[-1].record.name}; what it changed so far is "
                "taken back with the build.",
                "assent recover --roll-back",
            )
        if not wanted:
            raise NotFound("There is no run to undo here.", "assent log")
        return max(wanted, key=lambda target: began[target.runs[-1]])

    def applied(self, target: Target) -> Applied:
        """Returns what the runs did; of a file that a person changed in between, the later part."""
        ends = [(run, self._end(run)) for run in target.runs]
        done = [
            tuple(
                op
                for op, result in zip(self._operations(run), end.results, strict=True)
                if result in COUNTS
            )
            for run, end in ends
        ]
        made = tuple(dict.fromkeys(folder for _, end in ends for folder in end.made))
        return Applied(composed(done), made)

    def _end(self, run: str) -> Finished:
        last = StoreJournal(self._doors, self._ledger).read(run)[-1]
        assert isinstance(last, Finished), "only a run that is over can be found"
        return last

    def _operations(self, run: str) -> tuple[FileOperation, ...]:
        for permit in self._permits:
            if permit.run == run:
                return permit.operations
        notes = [note for record in self._records for note in record.runs if note.run == run]
        return tuple(
            op for op in self._ledger.plan(notes[0]).operations if isinstance(op, FileOperation)
        )

    def _named(self, reference: str) -> Target:
        targets = self._targets()
        exact = [target for target in targets if target.name == reference]
        single = [self._single(permit) for permit in self._permits if permit.outcome == "done"]
        undos = [
            Target(note.run, (note.run,), record)
            for record in self._records
            for note in record.runs
            if record.undoes and note.outcome == "done"
        ]
        known = {target.name: target for target in (*targets, *single, *undos)}
        found = exact or [t for name, t in known.items() if name.startswith(reference)]
        if len(found) != 1:
            raise NotFound(f"{reference!a} names {len(found)} runs that were done.", "assent log")
        return found[0] if found[0].name in self._undone() else self._fresh(found[0])

    def _fresh(self, target: Target) -> Target:
        """Leaves out what was undone already, unless that is all there is."""
        left = self._without(target, self._undone())
        return left if left.runs else target

    def _targets(self) -> list[Target]:
        """Returns everything that can be undone as one, but undo plans."""
        plain = [
            Target(note.run, (note.run,), record)
            for record in self._records
            for note in record.runs
            if note.outcome == "done" and not note.session and not record.undoes
        ]
        groups: dict[str, list[PermitRun]] = {}
        for permit in self._permits:
            if permit.outcome == "done":
                groups.setdefault(_group(permit), []).append(permit)
        return [*plain, *[self._grouped(name, permits) for name, permits in groups.items()]]

    def _grouped(self, name: str, permits: Sequence[PermitRun]) -> Target:
        build = permits[0].permit.build
        if len(permits) == 1 and not build:
            return self._single(permits[0])
        runs = tuple(permit.run for permit in permits)
        return Target(name, runs, self._source(permits[0]), build)

    def _single(self, permit: PermitRun) -> Target:
        return Target(permit.run, (permit.run,), self._source(permit))

    def _source(self, permit: PermitRun) -> PlanRecord:
        build, given = permit.permit.build, permit.permit
        for record in self._records:
            if build and any(note.run == build for note in record.runs):
                return record
        words = f"turn {given.turn}"
        return PlanRecord("", self._ledger.workspace, given.session, words, b"", "", "", "", 0)

    def _over(self, target: Target) -> bool:
        """Tells whether no build is still going on in it."""
        return not any(r.building and r.building.run == target.whole for r in self._records)

    def _without(self, target: Target, undone: set[str]) -> Target:
        if target.whole in undone:
            return msgspec.structs.replace(target, runs=())
        left = tuple(run for run in target.runs if run not in undone)
        return msgspec.structs.replace(target, runs=left)

    def _undone(self) -> set[str]:
        """Returns the runs that were taken back; an undo that was undone counts no more."""
        began = self._began()
        undos = [
            (note.run, record.undoes.split())
            for record in self._records
            for note in record.runs
            if record.undoes and note.outcome == "done"
        ]
        undone: set[str] = set()
        for run, runs in sorted(undos, key=lambda undo: began[undo[0]], reverse=True):
            if run not in undone:
                undone.update(runs)
        return undone

    def _began(self) -> dict[str, int]:
        """Returns where in the log each run began: a clock may be set back, the log grows."""
        streams = [f"plan/{self._ledger.workspace}/", self._ledger.permits]
        events = self._doors.store.read_all(streams)
        return {
            one.event.run: one.position
            for one in events
            if isinstance(one.event, RunStarted | PermitGiven)
        }


def composed(runs: Sequence[tuple[FileOperation, ...]]) -> tuple[FileOperation, ...]:
    """Makes one list of what runs did one after another.

    Where somebody else changed a file in between, only what came after that can be taken back.
    """
    if len(runs) == 1:
        return runs[0]  # as it was approved, in its own order
    every = [op for operations in runs for op in operations]
    try:
        return _files(stage((), every))
    except Impossible:
        pass
    chain: tuple[FileOperation, ...] = ()
    for op in reversed(every):
        try:
            chain = _files(stage((op,), chain))
        except Impossible:
            continue
    return chain


def _files(operations: Iterable[Operation]) -> tuple[FileOperation, ...]:
    return tuple(op for op in operations if isinstance(op, FileOperation))


def _group(permit: PermitRun) -> str:
    given = permit.permit
    return given.build or f"{given.session}.{given.turn}"
