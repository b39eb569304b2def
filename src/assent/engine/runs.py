"""Runs: building an approved plan, recovering an unfinished run, and saying how it ended."""

from collections.abc import Generator, Sequence

import msgspec

from assent.core.approval import approved
from assent.core.errors import OtherWorkspace, Unsettled
from assent.core.journal import (
    Aborted,
    Entry,
    Finished,
    Halted,
    Outcome,
    Progress,
    Result,
    Way,
    results,
    started,
)
from assent.core.lifecycle import Moment, advance
from assent.core.motion import motions
from assent.core.operation import FileOperation
from assent.core.paths import shown
from assent.core.plan import Plan
from assent.core.record import PlanRecord, RunNote
from assent.engine.consents import Consents
from assent.engine.doors import Doors
from assent.engine.journal import StoreJournal
from assent.engine.ledger import Ledger
from assent.engine.plans import Plans
from assent.engine.projections import Projections
from assent.execute.check import file_operations
from assent.execute.executor import Executor


class RunReport(msgspec.Struct, frozen=True):
    """How a run ended, operation by operation."""

    run: str
    outcome: Outcome
    operations: tuple[tuple[str, Result], ...] = ()
    notes: tuple[str, ...] = ()
    about: tuple[FileOperation, ...] = ()  # the operations that the ids name


NOTHING = RunReport("", "nothing")
Working = Generator[Progress, None, RunReport]


class Runs:
    """The verbs that change the person's files, all through the executor."""

    def __init__(
        self, doors: Doors, plans: Plans, consents: Consents, projections: Projections
    ) -> None:
        self._doors = doors
        self._plans = plans
        self._consents = consents
        self._projections = projections

    def build(self, plan_id: str) -> Working:
        """Applies a plan that was approved, once, after everything was checked under the lock."""
        ledger = self.ledger()
        ledger.load(plan_id)  # another workspace's plan, or none, needs no lock
        with self._doors.locks.hold(ledger.workspace, f"assent build {plan_id}"):
            settled = yield from self._settle(ledger)
            record = ledger.load(plan_id)
            if settled and settled.run in [note.run for note in record.runs]:
                return settled  # the yes that this build would ask for was spent by that run
            approval = self._consents.usable(record)
            advance(record.state, Moment.BUILD)
            self._plans.check_live(record)
            plan = ledger.plan(record)
            if plan.workspace and plan.workspace != ledger.workspace:
                raise OtherWorkspace("The plan was made for another workspace.", "assent plan list")
            now = self._doors.clock.now()
            fitting = approved(plan, approval, now, self._consents.genuine)
            if not plan.operations:
                return NOTHING
            run = self._doors.clock.new_id()
            yield from self._executor(ledger).apply(fitting, run)
            return self.report(ledger, run, plan)

    def recover(self, way: Way = "auto") -> Working:
        """Takes up the workspace's unfinished run, if there is one."""
        found = self.unfinished()
        if found is None:
            return NOTHING
        ledger = self.ledger()
        with self._doors.locks.hold(ledger.workspace, "assent recover"):
            found = self.unfinished()  # somebody else may have been faster
            if found is None:
                return NOTHING
            _, note = found
            plan = ledger.plan(note)
            yield from self._executor(ledger).recover(plan, note.run, way)
            return self.report(ledger, note.run, plan)

    def unfinished(self) -> tuple[PlanRecord, RunNote] | None:
        """Returns the run that has begun and not ended, with its plan."""
        for record in self._plans.records():
            if record.unfinished:
                return record, record.unfinished
        return None

    def report(self, ledger: Ledger, run: str, plan: Plan) -> RunReport:
        """Says from the journal how a run stands, and lists what can be restored."""
        entries = StoreJournal(self._doors, ledger).read(run)
        operations = file_operations(plan)
        first, last = started(entries), entries[-1]
        self._projections.plan(ledger.load(first.plan_id))
        if isinstance(last, Finished):
            if last.outcome == "done":
                self._projections.backups(first.plan_id, run, operations, last)
            found, outcome = last.results, last.outcome
            notes = tuple(f"Kept, because it exists nowhere else: {shown(p)}" for p in last.kept)
        else:
            found = results(entries, motions(operations, first.layout), len(operations))
            outcome, notes = "needs_you", _ways_on(entries)
        aborts = [entry for entry in entries if isinstance(entry, Aborted)]
        told = tuple(f"{shown(abort.path)}: {abort.reason}." for abort in aborts)
        rows = tuple(zip(plan.ids, found, strict=True))
        return RunReport(run, outcome, rows, (*told, *notes), operations)

    def ledger(self) -> Ledger:
        return self._plans.ledger()

    def settle(self) -> Generator[Progress, None, None]:
        """Recovers an unfinished run, or says that it waits for a person."""
        if self.unfinished() is None:
            return
        ledger = self.ledger()
        with self._doors.locks.hold(ledger.workspace, "assent recover"):
            yield from self._settle(ledger)

    def _settle(self, ledger: Ledger) -> Generator[Progress, None, RunReport | None]:
        found = self.unfinished()
        if found is None:
            return None
        _, note = found
        plan = ledger.plan(note)
        yield from self._executor(ledger).recover(plan, note.run, "auto")
        report = self.report(ledger, note.run, plan)
        if report.outcome == "needs_you":
            raise Unsettled(f"Run {note.run} waits for your decision.", "assent recover")
        told = f"Run {note.run} had been interrupted; it is now {report.outcome}."
        self._projections.warnings.append(told)
        return report

    def _executor(self, ledger: Ledger) -> Executor:
        return self._doors.executor(StoreJournal(self._doors, ledger))


def _ways_on(entries: Sequence[Entry]) -> tuple[str, ...]:
    """Names every place that waits, and where the bytes are that were to stand there."""
    halts = [entry for entry in entries if isinstance(entry, Halted)]
    return tuple(
        (f"{shown(c.path)}: {c.reason}" if c.path else c.reason)
        + (f"; what was to stand there is kept in {shown(c.kept)}." if c.kept else ".")
        for c in (halts[-1].conflicts if halts else ())
    )
