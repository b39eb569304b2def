"""Runs: building an approved plan, recovering an unfinished run, and saying how it ended."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import msgspec

from assent.core.approval import ApprovedPlan, approved
from assent.core.course import well
from assent.core.errors import (
    Busy,
    Drift,
    IllegalStep,
    OtherWorkspace,
    StaleError,
    Unsettled,
    Untrusted,
)
from assent.core.event import RunEnded, RunStarted
from assent.core.hook import RUN_FINISHED
from assent.core.journal import (
    Entry,
    Finished,
    Live,
    Outcome,
    Ran,
    Result,
    Turned,
    Way,
    finished,
    started,
)
from assent.core.lifecycle import Moment, advance
from assent.core.operation import Operation, RunCommand
from assent.core.permit import permitted_plan
from assent.core.plan import Plan
from assent.core.record import PlanRecord, RunNote
from assent.core.session import SessionRecord
from assent.core.vouched import was_accepted
from assent.engine.doors import Doors
from assent.engine.hearing import plan_facts, session_facts, tell
from assent.engine.plan.admission import made_elsewhere
from assent.engine.plan.consents import Consents, check_digest
from assent.engine.plan.ledger import Ledger
from assent.engine.plan.plans import Plans
from assent.engine.projections import Projections
from assent.engine.run.account import account
from assent.engine.run.chosen import refuse_twice
from assent.engine.run.deeds import command_words
from assent.engine.run.ends import reckon
from assent.engine.run.journal import StoreJournal
from assent.engine.run.leftover import leftovers
from assent.engine.run.spares import left_by
from assent.engine.run.takeback import Takeback
from assent.engine.run.underway import UnderWay
from assent.execute.check import check_disk, first_files
from assent.execute.executor import Executor
from assent.execute.turning import read_backs
from assent.ports import Batch, Blobs


class RunReport(msgspec.Struct, frozen=True):
    """How a run ended, operation by operation."""

    run: str
    outcome: Outcome
    operations: tuple[tuple[str, Result], ...] = ()
    notes: tuple[str, ...] = ()
    about: tuple[Operation, ...] = ()  # the operations that the ids name
    left: tuple[str, ...] = ()  # of a model's build: steps that are not marked as done
    exits: tuple[int | None, ...] = ()  # of commands that ran; empty if none was involved
    running: tuple[tuple[str, str], ...] = ()  # commands, and what each left running at its end
    warnings: tuple[str, ...] = ()  # about the place where it was built


NOTHING = RunReport("", "nothing")
Working = Generator[Live, None, RunReport]


class Runs:
    """The verbs that change the person's files, all through the executor."""

    def __init__(
        self, doors: Doors, plans: Plans, consents: Consents, projections: Projections
    ) -> None:
        self._doors = doors
        self._plans = plans
        self._consents = consents
        self._projections = projections
        self.taken_up: list[str] = []  # what became of interrupted runs before something else
        self._told: set[str] = set()  # runs whose end hooks have heard of
        self._under_way = UnderWay()
        doors.commander.heed(self._under_way.is_to_stop)

    def build(self, plan_id: str, digest: str = "") -> Working:
        """Applies a plan that was approved, once, after everything was checked under the lock.

        With a digest, only the plan that has it: whoever was shown that one means no other.
        """
        report = yield from self._build(plan_id, digest)
        self._tell(plan_id, report.run, report.outcome)
        return report

    def _build(self, plan_id: str, digest: str) -> Working:
        ledger = self.ledger()
        ledger.load(plan_id)  # another workspace's plan, or none, needs no lock
        with self._at_work(ledger, f"assent build {plan_id}"):
            settled = yield from self.settle_under(ledger)
            record = ledger.load(plan_id)
            if settled and settled.run in [note.run for note in record.runs]:
                return settled  # the yes that this build would ask for was spent by that run
            check_digest(record, digest or record.digest)
            fitting = self._fitting(ledger, record)
            if fitting.plan.prose and not record.undoes:
                raise IllegalStep(
                    "The plan is prose: a model carries it out in a session.", "assent build"
                )
            if not fitting.plan.operations:
                return NOTHING
            refuse_twice(Takeback(self._doors, ledger), record, fitting.plan)
            run = self._doors.clock.new_id()
            warnings = self._cautioned(record)
            try:
                spares = left_by(self._doors, ledger, record.undoes)
                yield from self._executor(ledger).apply(fitting, run, spares)
            except Drift as drift:
                raise (made_elsewhere(drift) if record.imported else drift) from None
            report = self.report(ledger, run, fitting.plan)
            return msgspec.structs.replace(report, warnings=warnings)

    def _cautioned(self, record: PlanRecord) -> tuple[str, ...]:
        """Warns of what a person should know of the place, before anything changes there."""
        found = self._consents.cautions(record)
        self._projections.warnings += found
        return found

    def begin(self, plan_id: str, session: str, digest: str = "") -> RunNote:
        """Spends the approval of a plan of prose for the work of a session; once begun, goes on.

        A digest means what it means to `build`.
        """
        ledger = self.ledger()
        ledger.load(plan_id)
        with self._doors.locks.hold(ledger.workspace, f"assent build {plan_id}"):
            finished(self.settle_under(ledger))
            record = ledger.load(plan_id)
            check_digest(record, digest or record.digest)
            if record.building:
                return record.building  # law 3: to go on needs no second yes
            fitting = self._fitting(ledger, record)
            plan, approval = fitting.plan, fitting.approval
            if not plan.prose:
                raise IllegalStep("The plan has operations of its own.", "assent build")
            check_disk(plan, first_files(plan), self._doors.files)
            run = self._doors.clock.new_id()
            self._cautioned(record)
            begun = RunStarted(run, approval.id, plan.digest, session)
            record = ledger.append(record, plan_id, begun)
            self._projections.plan(record)
            return record.runs[-1]

    def end(self, plan_id: str, run: str, outcome: Outcome, *also: Batch) -> PlanRecord:
        """Says that the work on a plan of prose is over, and what else that means, in one go."""
        ledger = self.ledger()
        record = ledger.load(plan_id)
        if record.building is None or record.building.run != run:
            return record
        ended = ledger.batch(record, plan_id, RunEnded(run, outcome))
        self._doors.store.append(ended, *also)
        record = ledger.load(plan_id)
        self._projections.plan(record)
        self._tell(plan_id, run, outcome)
        return record

    def is_prose(self, record: PlanRecord) -> bool:
        """Tells whether a model has to carry out a proposed plan."""
        if record.building or not record.frozen or record.undoes:
            return record.building is not None
        return self.ledger().plan(record).prose

    def building(self) -> PlanRecord | None:
        """Returns the plan of prose whose work has begun and not ended."""
        return next((record for record in self._plans.records() if record.building), None)

    def recover(self, way: Way = "auto", run: str = "") -> Working:
        """Takes up the workspace's unfinished run, if there is one; where one is named, only it."""
        ledger = self.ledger()
        if self.unfinished() is None and not self._lacks_an_end(ledger):
            return NOTHING
        with self._at_work(ledger, "assent recover"):
            self._reckon_under(ledger)
            found = self.unfinished()  # somebody else may have been faster
            if found is None:
                return NOTHING
            plan_id, note = found
            if run and note.run != run:
                raise StaleError(
                    f"Run {run} is over, and run {note.run} waits now. Nothing was decided.",
                    "assent recover",
                )
            if way == "resume" and plan_id:
                self._check_key(ledger.load(plan_id), note.run)
            plan = self._plan(ledger, note)
            yield from self._executor(ledger).recover(plan, note.run, way)
            report = self.report(ledger, note.run, plan)
        self._tell(plan_id, report.run, report.outcome)
        return report

    def interrupt(self) -> bool:
        """Ends the command that this process's run is at, or else its next one, from any thread.

        The run then waits for a person's decision; files are never left halfway. Tells whether a
        run is under way in this process.
        """
        return self._under_way.stop()

    def unfinished(self) -> tuple[str, RunNote] | None:
        """Returns the run that has begun and not ended, with its plan's id; a permit's has none."""
        for record in self._plans.records():
            if record.unfinished:
                return record.plan_id, record.unfinished
        ledger = self.ledger()
        left = ledger.book().unfinished if ledger.workspace else None
        if left is None:
            return None
        return "", RunNote(left.run, left.permit.digest, "", left.outcome, left.halted)

    def stands_still(self) -> bool:
        """Tells whether the unfinished run's command was interrupted, so that a person decides."""
        found = self.unfinished()
        if found is None:
            return False
        last = StoreJournal(self._doors, self.ledger()).read(found[1].run)[-1]
        return isinstance(last, Ran) and not well(last)

    def check_decided(self) -> None:
        """Refuses while a run waits for a person: nothing else is built before."""
        found = self.unfinished()
        if found and (found[1].halted or self.stands_still()):
            raise _undecided(found[1])

    def report(self, ledger: Ledger, run: str, plan: Plan) -> RunReport:
        """Says from the journal how a run stands, and lists what can be restored."""
        entries = StoreJournal(self._doors, ledger).read(run)
        first, last = started(entries), entries[-1]
        if first.plan_id:
            self._projections.plan(ledger.load(first.plan_id))
        if isinstance(last, Finished) and last.outcome == "done" and first.plan_id:
            self._projections.backups(first.plan_id, run, plan.operations, last)
        told = account(plan, entries, self._doors.blobs)
        left = leftovers(plan, entries, self._doors.blobs, self._doors.files)
        notes = (*told.notes, *left)
        rows = tuple(zip(plan.ids, told.results, strict=True))
        running = tuple(_left_running(plan, entries, self._doors.blobs))
        return RunReport(
            run, told.outcome, rows, notes, plan.operations, exits=told.exits, running=running
        )

    def was_accepted(self, run: str) -> bool:
        """Tells whether a run ended because a person took what stood, not as its plan says."""
        entries = StoreJournal(self._doors, self.ledger()).read(run)
        last = entries[-1] if entries else None
        return isinstance(last, Finished) and was_accepted(last, entries)

    def ledger(self) -> Ledger:
        return self._plans.ledger()

    def settle(self) -> Generator[Live, None, RunReport | None]:
        """Recovers an unfinished run, if there is one, or says that it waits for a person."""
        if self.unfinished() is None:
            self.reckon()
            return None
        ledger = self.ledger()
        with self._at_work(ledger, "assent recover"):
            return (yield from self.settle_under(ledger))

    def settle_under(self, ledger: Ledger) -> Generator[Live, None, RunReport | None]:
        """Recovers an unfinished run; the caller holds the workspace's lock."""
        self._reckon_under(ledger)
        found = self.unfinished()
        if found is None:
            return None
        plan_id, note = found
        plan = self._plan(ledger, note)
        yield from self._executor(ledger).recover(plan, note.run, "auto")
        report = self.report(ledger, note.run, plan)
        self._tell(plan_id, report.run, report.outcome)
        if report.outcome == "needs_you":
            raise _undecided(note)
        ended = "accepted" if self.was_accepted(note.run) else report.outcome.replace("_", " ")
        undoes = _undoes(ledger.load(plan_id)) if plan_id else ""
        self.taken_up.append(f"Run {note.run}{undoes} had been interrupted; it is now {ended}.")
        self._projections.warnings.append(self.taken_up[-1])
        return report

    def reckon(self) -> None:
        """Records what a session's command did whose process died; nothing while one is at work."""
        ledger = self.ledger()
        if not self._lacks_an_end(ledger) or self._doors.locks.is_held(ledger.workspace):
            return
        try:
            with self._doors.locks.hold(ledger.workspace, "assent recover"):
                self._reckon_under(ledger)
        except (Busy, Unsettled) as waits:
            self._projections.warnings.append(waits.message)

    @contextmanager
    def _at_work(self, ledger: Ledger, owner: str) -> Iterator[None]:
        """Holds the workspace for a run that can be interrupted."""
        with self._doors.locks.hold(ledger.workspace, owner), self._under_way:
            yield

    def _lacks_an_end(self, ledger: Ledger) -> bool:
        return bool(ledger.workspace and ledger.book().command)

    def _reckon_under(self, ledger: Ledger) -> None:
        if self._lacks_an_end(ledger) and (told := reckon(self._doors, ledger)):
            self._projections.warnings.append(told)

    def tell(self, report: RunReport, session: SessionRecord) -> None:
        """Lets hooks hear how a run by permit ended, which has no plan but a session."""
        self._tell("", report.run, report.outcome, session)

    def _tell(
        self, plan_id: str, run: str, outcome: Outcome, session: SessionRecord | None = None
    ) -> None:
        """Lets hooks hear how a run ended; one that waits for a person has not."""
        if not run or outcome == "needs_you" or run in self._told:
            return
        self._told.add(run)
        about = plan_facts(self.ledger().load(plan_id)) if plan_id else {}
        facts = {**about, **session_facts(session), "run": run, "outcome": outcome}
        tell(self._doors, self._projections, RUN_FINISHED, facts)

    def _fitting(self, ledger: Ledger, record: PlanRecord) -> ApprovedPlan:
        """Returns the plan with the approval that fits it, or says why it cannot be built."""
        approval = self._consents.usable(record)
        advance(record.state, Moment.BUILD)
        self._plans.check_live(record)
        plan = ledger.plan(record)
        if plan.workspace and plan.workspace != ledger.workspace:
            raise OtherWorkspace("The plan was made for another workspace.", "assent plan list")
        genuine = partial(self._consents.genuine, imported=bool(record.imported))
        return approved(plan, approval, self._doors.clock.now(), genuine)

    def _check_key(self, record: PlanRecord, run: str) -> None:
        """Refuses to go on with a plan from elsewhere if the key that agreed counts no longer."""
        agreed = [consent.approval for consent in record.consents if consent.run == run]
        if record.imported and not all(self._consents.genuine(a, imported=True) for a in agreed):
            raise Untrusted(
                f"Run {run} does not go on: the key that approved its plan is not trusted here any "
                "more. Nothing was changed; it can be rolled back, or left as it is.",
                "assent recover --roll-back",
            )

    def _plan(self, ledger: Ledger, note: RunNote) -> Plan:
        """Returns what an unfinished run applies: a frozen plan, or what its permit covers."""
        if note.frozen:
            return ledger.plan(note)
        left = ledger.book().last
        assert left is not None, "the book names the run"
        assert left.run == note.run, "only the newest permit is unfinished"
        return permitted_plan(left.permit, left.operations, ledger.workspace)

    def _executor(self, ledger: Ledger) -> Executor:
        return self._doors.executor(StoreJournal(self._doors, ledger))


def _undecided(note: RunNote) -> Unsettled:
    return Unsettled(f"Run {note.run} waits for your decision.", "assent recover")


def _left_running(plan: Plan, entries: Sequence[Entry], blobs: Blobs) -> Iterator[tuple[str, str]]:
    """Yields commands that left something running, each with what that is."""
    turned: Turned | None = None
    for entry in entries:
        if isinstance(entry, Turned):
            turned = entry  # from here on, entries count the operations of the way back
        elif isinstance(entry, Ran) and entry.running:
            back = read_backs([turned], blobs)[turned.back].operations if turned else ()
            op = (back or plan.operations)[entry.index]
            yield command_words(op) if isinstance(op, RunCommand) else "", entry.running


def _undoes(record: PlanRecord) -> str:
    """Says of an undo what it takes back: else `done` would be taken for the opposite."""
    runs = dict.fromkeys(token.partition(":")[0] for token in record.undoes.split())
    first, more = next(iter(runs), ""), " and others" if len(runs) > 1 else ""
    part = "a part of " if ":" in record.undoes else ""
    return f", which takes back {part}run {first}{more}," if first else ""
