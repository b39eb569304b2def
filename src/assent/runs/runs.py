"""Builds an approved plan, recovers an unfinished run, and reports how it ended."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import msgspec

from assent.core.errors import (
    RUN_WAITS,
    STORED,
    AssentError,
    Busy,
    Drift,
    IllegalState,
    RunUnfinished,
    StaleError,
    StoreError,
    UntrustedKey,
    WorkspaceMismatch,
)
from assent.core.event import RunEnded, RunStarted
from assent.core.hook import RUN_FINISHED
from assent.core.plan.approval import ApprovedPlan, approved
from assent.core.plan.operation import Operation, RunCommand
from assent.core.plan.plan import Plan
from assent.core.plan.record import PlanAction, PlanRecord, PlanRun, next_state
from assent.core.run.journal import (
    CommandEndedEntry,
    FinishedEntry,
    HaltedEntry,
    JournalEntry,
    RecoveryChoice,
    ReportedOutcome,
    RollbackStartedEntry,
    RunOutcome,
    RunUpdate,
    StartedEntry,
    drive_to_end,
    started_entry,
)
from assent.core.run.journal_check import invalid_paths
from assent.core.run.permit import permitted_plan
from assent.core.run.slot_move import SlotLayout
from assent.core.session.record import SessionRecord
from assent.executor.drift import check_disk, first_segment_files
from assent.executor.rollback import changes_reader, read_rollbacks
from assent.planning.approvals import Approvals, check_digest
from assent.planning.hook_events import (
    check_write_hooks,
    fire_hooks,
    plan_hook_fields,
    session_hook_fields,
)
from assent.planning.path_checks import refuse_denied
from assent.planning.plan_status import imported_plan_drift
from assent.planning.plans import Plans
from assent.planning.ports import Ports
from assent.planning.projections import PlanProjections
from assent.planning.repositories import PlanRepository
from assent.ports import BlobStore, EventBatch
from assent.ports.cancellation import CancelRegistry
from assent.runs.command_end import record_lost_end
from assent.runs.journal import JournalDamage, StoreJournal, command_text
from assent.runs.journal_summary import (
    disk_state_lines,
    journal_summary,
    kept_slots_text,
    leftovers,
    may_have_run,
    remaining_folders,
    results_by_disk,
    slots_in_use,
)
from assent.runs.orphan_slots import OrphanSlots
from assent.runs.run_status import NO_RUN, RunReport, RunStatus
from assent.runs.undo.history import displaced_by
from assent.runs.undo.targets import UndoTargets, refuse_repeated_undo

RECOVER_COMMAND: Final = "assent recover"
_STRANGE: Final = "A record of this run names a path that plans may not change"
CHOICES_BY_DISK: Final = (
    "assent recover --resume: completes what is missing on disk, from stored content.",
    "assent recover --roll-back: restores what changed on disk, from slots or stored content.",
    "assent recover --accept: keeps everything as it is now.",
)
CHOICES_WITHOUT_RECORD: Final = (
    "The first record of this run is damaged, so the run can only be accepted as it is.",
    "assent recover --accept: keeps everything as it is now, including slots, and ends the run.",
)
TAKEN_UP = "was interrupted; it is now"
APPROVAL_UNUSED = "Nothing was changed, and the approval is still valid."
RunSteps = Generator[RunUpdate, None, RunReport]


class Runs(RunStatus):
    """Changes the user's files, always through the executor."""

    def __init__(
        self,
        ports: Ports,
        plans: Plans,
        consents: Approvals,
        projections: PlanProjections,
        orphans: OrphanSlots,
    ) -> None:
        super().__init__(ports, plans)
        self._orphans = orphans
        self._consents = consents
        self._projections = projections
        self.taken_up: list[str] = []  # what became of interrupted runs before something else
        self._heard: set[str] = set()  # runs whose end hooks were notified of
        self._running = CancelRegistry[str]()
        ports.command_runner.stop_when(self._running.is_cancelled)

    def build(self, plan_id: str, digest: str = "", *, exempt: bool = False) -> RunSteps:
        """Applies an approved plan once, after checking everything under the lock.

        With a digest, only the plan that has it, because that is the one the user saw. `exempt`
        from rules about files is the rollback of a run that has begun.
        """
        report = yield from self._build(plan_id, digest, exempt=exempt)
        self._tell(plan_id, report.run, report.outcome)
        return report

    def _build(self, plan_id: str, digest: str, *, exempt: bool) -> RunSteps:
        repository = self.repository()
        repository.load(plan_id)  # another workspace's plan, or none, needs no lock
        with self._at_work(repository, f"assent build {plan_id}"):
            settled = yield from self.recover_unfinished_locked(repository)
            record = repository.load(plan_id)
            if settled and settled.run in [note.run for note in record.runs]:
                return settled  # that run used up the approval that this build would need
            check_digest(record, digest or record.digest)
            fitting = self._fitting(repository, record, exempt=exempt)
            if fitting.plan.is_text_only and not record.undoes:
                raise IllegalState(
                    "This is a text plan: a model builds it in a session.", "assent build"
                )
            if not fitting.plan.operations:
                return NO_RUN
            refuse_repeated_undo(UndoTargets(self._ports, repository), record, fitting.plan)
            self._orphans.check(fitting.plan.operations)
            if not exempt:  # what has begun can always be rolled back
                facts = plan_hook_fields(record)
                self.check_write(fitting.plan.operations, facts, APPROVAL_UNUSED)
            run, journal = self._ports.clock.new_id(), StoreJournal(self._ports, repository)
            warnings = self._cautioned(record)
            try:
                spares = displaced_by(self._ports, repository, record.undoes)
                work = self._ports.executor(journal).apply(fitting, run, spares)
                report = yield from self.drive(journal, run, fitting.plan, work)
                return msgspec.structs.replace(report, warnings=warnings)
            except Drift as drift:
                raise (imported_plan_drift(drift) if record.imported else drift) from None

    def _cautioned(self, record: PlanRecord) -> tuple[str, ...]:
        """Warns of what a person should know of the place, before anything changes there."""
        found = self._consents.build_warnings(record)
        self._projections.warnings += found
        return found

    def begin(self, plan_id: str, session: str, digest: str = "") -> PlanRun:
        """Uses the approval of a text plan for the work of a session; once begun, continues.

        A digest means the same as for `build`.
        """
        repository = self.repository()
        repository.load(plan_id)
        with self._ports.locks.hold(repository.workspace, f"assent build {plan_id}"):
            drive_to_end(self.recover_unfinished_locked(repository))
            record = repository.load(plan_id)
            check_digest(record, digest or record.digest)
            if record.building:
                return record.building  # law 3: to go on needs no second yes
            fitting = self._fitting(repository, record)
            plan, approval = fitting.plan, fitting.approval
            if not plan.is_text_only:
                raise IllegalState(
                    "This plan has exact operations, so it is built without a model.",
                    "assent build",
                )
            check_disk(plan, first_segment_files(plan), self._ports.files)
            run = self._ports.clock.new_id()
            self._cautioned(record)
            begun = RunStarted(run, approval.id, plan.digest, session)
            record = repository.append(record, plan_id, begun)
            self._projections.plan(record)
            return record.runs[-1]

    def end(self, plan_id: str, run: str, outcome: RunOutcome, *also: EventBatch) -> PlanRecord:
        """Records that the work on a text plan is over, with other events, in one transaction."""
        repository = self.repository()
        record = repository.load(plan_id)
        if record.building is None or record.building.run != run:
            return record
        ended = repository.batch(record, plan_id, RunEnded(run, outcome))
        self._ports.store.append(ended, *also)
        record = repository.load(plan_id)
        self._projections.plan(record)
        self._tell(plan_id, run, outcome)
        return record

    def is_text_plan(self, record: PlanRecord) -> bool:
        """Tells whether a model has to build a proposed plan."""
        if record.building or not record.frozen or record.undoes:
            return record.building is not None
        return self.repository().plan(record).is_text_only

    def building(self) -> PlanRecord | None:
        """Returns the text plan whose build is unfinished."""
        return next((record for record in self._plans.records() if record.building), None)

    def recover(self, way: RecoveryChoice = "auto", run: str = "") -> RunSteps:
        """Resumes the workspace's unfinished run, if there is one; if one is named, only that."""
        repository = self.repository()
        if self.unfinished() is None and not self._lacks_an_end(repository):
            return NO_RUN
        with self._at_work(repository, "assent recover"):
            self._reckon_under(repository)
            found = self.unfinished()  # another process may have been first
            if found is None:
                return NO_RUN
            plan_id, note = found
            if run and note.run != run:
                raise StaleError(
                    f"Run {run} is finished; run {note.run} is waiting now. Nothing was decided.",
                    "assent recover",
                )
            if way == "resume" and plan_id:
                self._check_key(repository.load(plan_id), note.run)
            plan = self._plan(repository, note)
            report = yield from self._taken_up(repository, found, plan, way)
        self._tell(plan_id, report.run, report.outcome)
        return report

    def _taken_up(
        self,
        repository: PlanRepository,
        found: tuple[str, PlanRun],
        plan: Plan,
        way: RecoveryChoice,
    ) -> RunSteps:
        """Takes a run up if its journal can be trusted, or a person decides in spite of it."""
        plan_id, run = found[0], found[1].run
        journal = StoreJournal(self._ports, repository)
        doubt = self._doubt(journal, run, plan)
        if doubt and not doubt.entries and way == "accept":
            return self._given_up(journal, plan_id, run, plan)
        if doubt and (way == "auto" or not doubt.entries):
            return self._damaged(run, plan, doubt)
        known = journal.known(run)
        if known and isinstance(known[-1], FinishedEntry):  # only the plan has lost that it is over
            journal.close(run, known[-1])
            return self._told(journal, run, plan)
        trusted = len(doubt.entries) if doubt else -1
        work = self._ports.executor(journal).recover(plan, run, way, trusted)
        return (yield from self.drive(journal, run, plan, work))

    def _given_up(self, journal: StoreJournal, plan_id: str, run: str, plan: Plan) -> RunReport:
        """Ends a run as it stands, slots and all, because nothing that it recorded can be used."""
        repository = self.repository()
        consents = repository.load(plan_id).consents if plan_id else ()
        agreed = next((consent.approval.id for consent in consents if consent.run == run), "")
        found = results_by_disk(plan, (), self._ports, lossy=True)
        kept = tuple(slots_in_use(run, plan.operations, self._ports.files))
        begun = StartedEntry(plan_id, plan.digest, agreed, SlotLayout(run))
        journal.abandon(run, begun, FinishedEntry("done", found, (), kept))
        return self._told(journal, run, plan)

    def _doubt(self, journal: StoreJournal, run: str, plan: Plan) -> JournalDamage | None:
        """Says why a run's journal cannot be used: its chain is broken, or a path is strange."""
        doubt = journal.damage(run)
        entries, changes = tuple(journal.known(run)), changes_reader(self._ports.blobs)
        if strange := invalid_paths(run, plan.operations):
            return JournalDamage(f"{_STRANGE}: {strange[0]}.")
        for at, entry in enumerate(entries):
            try:
                backs = read_rollbacks([entry], self._ports.blobs)
                strange = invalid_paths(run, (), entry, backs, changes)
            except (msgspec.MsgspecError, StoreError) as error:
                return JournalDamage(
                    f"Content that a record of this run names cannot be read: {error}", entries[:at]
                )
            if strange:
                return JournalDamage(f"{_STRANGE}: {strange[0]}.", entries[:at])
        return doubt

    def _damaged(self, run: str, plan: Plan, doubt: JournalDamage) -> RunReport:
        """Reports a run whose journal cannot be trusted: where everything is, and the choices."""
        found = results_by_disk(plan, doubt.entries, self._ports, lossy=True)
        told = (
            f"The log of this run is damaged: {doubt.why} Nothing was changed.",
            *may_have_run(plan.operations, found),
            *disk_state_lines(run, plan, self._ports),
            *(CHOICES_BY_DISK if doubt.entries else CHOICES_WITHOUT_RECORD),
        )
        rows = zip(plan.ids, found, strict=True)
        onward = "" if doubt.entries else f"{RECOVER_COMMAND} --accept"
        return RunReport(run, "needs_you", tuple(rows), told, plan.operations, onward=onward)

    def drive(
        self, journal: StoreJournal, run: str, plan: Plan, work: Generator[RunUpdate, None, None]
    ) -> RunSteps:
        """Drives a run to its end; an error of log or disk in its middle becomes its report.

        Before its first entry is written nothing has happened, and the error is raised.
        """
        try:
            yield from work
        except (StoreError, OSError) as error:
            entries = _latest(journal, run)
            if not entries:
                raise
            if not isinstance(
                entries[-1], FinishedEntry
            ):  # else only its end could not be read back
                return self._cut_off(journal, run, plan, error)
        return self._told(journal, run, plan)

    def _cut_off(
        self, journal: StoreJournal, run: str, plan: Plan, error: StoreError | OSError
    ) -> RunReport:
        """Reports a run that could not go on: what is known to be done, and what ends it."""
        why = error.message if isinstance(error, StoreError) else error.strerror or str(error)
        entries = journal.known(run)
        told = (
            f"Run {run} is not finished: {why.replace(STORED, '').strip().removesuffix('.')}.",
            "The results show what is in the log and on disk now. Fix the cause, then run "
            "`assent recover` to finish or roll back the run. Nothing is lost.",
        )
        rows = zip(plan.ids, results_by_disk(plan, entries, self._ports), strict=True)
        return RunReport(
            run, "needs_you", tuple(rows), told, plan.operations, onward=RECOVER_COMMAND
        )

    def interrupt(self) -> bool:
        """Stops the current or next command of this process's run, from any thread.

        The run then waits for a user's decision; files are never left halfway. Tells whether a run
        is under way in this process.
        """
        return self._running.cancel("interrupted")

    def check_decided(self) -> None:
        """Refuses while a run waits for a decision: nothing else is built before."""
        found = self.unfinished()
        if found and (found[1].halted or self.waits_for_person()):
            raise _undecided(found[1])
        self._orphans.check()

    def check_slots(self, operations: Sequence[Operation]) -> None:
        """Refuses to change files next to slots of a run that the log does not know."""
        self._orphans.check(operations)

    def report(self, repository: PlanRepository, run: str, plan: Plan) -> RunReport:
        """Describes the state of a run from its journal, and lists what can be restored."""
        journal = StoreJournal(self._ports, repository)
        journal.read(run)
        return self._told(journal, run, plan)

    def _told(self, journal: StoreJournal, run: str, plan: Plan) -> RunReport:
        """Says how a run stands from what is known of its journal; the log need not answer."""
        entries = journal.known(run)
        first, last = started_entry(entries), entries[-1]
        record: PlanRecord | None = None
        with self.housekeeping("Could not write the readable copies of the plan"):
            if first.plan_id:
                record = self.repository().load(first.plan_id)
                self._projections.plan(record)
            if isinstance(last, FinishedEntry) and last.outcome == "done" and first.plan_id:
                self._projections.backups(first.plan_id, run, plan.operations, last)
        told = journal_summary(plan, entries, self._ports.blobs)
        notes = (*told.notes, *self._left(plan, entries))
        if isinstance(last, HaltedEntry) and last.contradicted:
            notes = (*notes, *disk_state_lines(run, plan, self._ports), *CHOICES_BY_DISK)
        results = told.results
        if isinstance(last, HaltedEntry) and (last.contradicted or last.warned):
            shown = results_by_disk(plan, entries, self._ports)
            pairs = zip(results, shown, strict=True)
            results = tuple(now if one == "not_started" else one for one, now in pairs)
        rows = tuple(zip(plan.ids, results, strict=True))
        running = tuple(_left_running(plan, entries, self._ports.blobs))
        return RunReport(
            run,
            record.ending(told.outcome) if record else told.outcome,
            rows,
            notes,
            plan.operations,
            exits=told.exits,
            running=running,
            permitted=not first.plan_id,
        )

    def _left(self, plan: Plan, entries: Sequence[JournalEntry]) -> Iterator[str]:
        """Says what stands on disk that a person would not expect after such an end."""
        last, blobs, files = entries[-1], self._ports.blobs, self._ports.files
        if isinstance(last, FinishedEntry):
            yield from kept_slots_text(last.kept, blobs, files)
        yield from remaining_folders(plan, entries, files)
        yield from leftovers(plan, entries, blobs, files)

    def recover_unfinished(self) -> Generator[RunUpdate, None, RunReport | None]:
        """Recovers an unfinished run, if there is one, or says that it waits for a decision."""
        if self.unfinished() is None:
            self._orphans.check()
            self.record_lost_command()
            return None
        repository = self.repository()
        with self._at_work(repository, "assent recover"):
            return (yield from self.recover_unfinished_locked(repository))

    def recover_unfinished_locked(
        self, repository: PlanRepository
    ) -> Generator[RunUpdate, None, RunReport | None]:
        """Recovers an unfinished run; the caller holds the workspace's lock.

        Slots of an unknown run block everything else.
        """
        report = yield from self._recover_by_journal(repository)
        self._orphans.check()
        return report

    def _recover_by_journal(
        self, repository: PlanRepository
    ) -> Generator[RunUpdate, None, RunReport | None]:
        self._reckon_under(repository)
        found = self.unfinished()
        if found is None:
            return None
        plan_id, note = found
        plan = self._plan(repository, note)
        report = yield from self._taken_up(repository, found, plan, "auto")
        self._tell(plan_id, report.run, report.outcome)
        if report.outcome == "needs_you":
            raise _undecided(note, report.notes[:1] if report.onward else ())
        told = "partly done" if report.outcome == "partial" else report.outcome.replace("_", " ")
        ended = "accepted" if self.was_accepted(note.run) else told
        undoes = _undoes(repository.load(plan_id)) if plan_id else ""
        self.taken_up.append(f"Run {note.run}{undoes} {TAKEN_UP} {ended}.")
        self._projections.warnings.append(self.taken_up[-1])
        return report

    def record_lost_command(self) -> None:
        """Records what a session's command did if its process died; nothing while one runs."""
        repository = self.repository()
        if not self._lacks_an_end(repository) or self._ports.locks.is_held(repository.workspace):
            return
        try:
            with self._ports.locks.hold(repository.workspace, "assent recover"):
                self._reckon_under(repository)
        except (Busy, RunUnfinished) as waits:
            self._projections.warnings.append(waits.message)

    @contextmanager
    def _at_work(self, repository: PlanRepository, owner: str) -> Iterator[None]:
        """Holds the workspace for a run that can be interrupted."""
        with self._ports.locks.hold(repository.workspace, owner), self._running.registered():
            yield

    def _lacks_an_end(self, repository: PlanRepository) -> bool:
        return bool(repository.workspace and repository.permit_log().command)

    def _reckon_under(self, repository: PlanRepository) -> None:
        if self._lacks_an_end(repository) and (told := record_lost_end(self._ports, repository)):
            self._projections.warnings.append(told)

    def check_write(
        self, operations: Sequence[Operation], facts: Mapping[str, Any], left: str
    ) -> None:
        """Tells hooks what is about to change; raises Refused if one objects, or fails."""
        check_write_hooks(self._ports, self._projections, operations, facts, left)

    def fire_hooks(self, report: RunReport, session: SessionRecord) -> None:
        """Tells hooks how a permitted run ended, which has a session but no plan."""
        self._tell("", report.run, report.outcome, session)

    def _tell(
        self, plan_id: str, run: str, outcome: ReportedOutcome, session: SessionRecord | None = None
    ) -> None:
        """Notifies hooks how a run ended; one that waits for the user has not ended."""
        if not run or outcome == "needs_you" or run in self._heard:
            return
        self._heard.add(run)
        with self.housekeeping("Could not notify hooks about the run"):
            about = plan_hook_fields(self.repository().load(plan_id)) if plan_id else {}
            facts = {**about, **session_hook_fields(session), "run": run, "outcome": outcome}
            fire_hooks(self._ports, self._projections, RUN_FINISHED, facts)

    def _fitting(
        self, repository: PlanRepository, record: PlanRecord, *, exempt: bool = False
    ) -> ApprovedPlan:
        """Returns the plan with the approval that fits it, or says why it cannot be built."""
        approval = self._consents.usable(record)
        next_state(record.state, PlanAction.BUILD)
        self._plans.check_live(record)
        plan = repository.plan(record)
        if plan.workspace and plan.workspace != repository.workspace:
            raise WorkspaceMismatch(
                "The plan was created for another workspace.", "assent plan list"
            )
        genuine = partial(self._consents.is_trusted_signature, imported=bool(record.imported))
        fitting = approved(plan, approval, self._ports.clock.now(), genuine)
        if not exempt:  # law 9: a rule that was added since the plan was staged counts
            lenient = bool(record.undoes)  # what broke a project's configuration can be undone
            refuse_denied(self._ports, plan.operations, APPROVAL_UNUSED, lenient=lenient)
        return fitting

    def _check_key(self, record: PlanRecord, run: str) -> None:
        """Refuses to go on with a plan from elsewhere if the key that agreed counts no longer."""
        agreed = [consent.approval for consent in record.consents if consent.run == run]
        if record.imported and not all(
            self._consents.is_trusted_signature(a, imported=True) for a in agreed
        ):
            raise UntrustedKey(
                f"Run {run} cannot continue: the key that approved its plan is no longer trusted "
                "here. Nothing was changed. You can roll the run back or keep it as it is.",
                "assent recover --roll-back",
            )

    def _plan(self, repository: PlanRepository, note: PlanRun) -> Plan:
        """Returns what an unfinished run applies: a frozen plan, or what its permit covers."""
        if note.frozen:
            return repository.plan(note)
        left = repository.permit_log().last
        assert left is not None, "the permit log names the run"
        assert left.run == note.run, "only the newest permit is unfinished"
        return permitted_plan(left.permit, left.operations, repository.workspace)

    @contextmanager
    def housekeeping(self, what: str) -> Iterator[None]:
        """Turns failures of what follows a finished run into warnings: the run is over."""
        try:
            yield
        except (AssentError, OSError) as error:
            why = error.message if isinstance(error, AssentError) else error.strerror or str(error)
            self._projections.warnings.append(f"{what}: {why.replace(STORED, '').strip()}")


def _undecided(note: PlanRun, why: Sequence[str] = ()) -> RunUnfinished:
    return RunUnfinished(" ".join(why) or RUN_WAITS, "assent recover")


def _latest(journal: StoreJournal, run: str) -> list[JournalEntry]:
    """Returns what a run has written: an entry may be in the log although writing it failed."""
    try:
        return journal.read(run)
    except (StoreError, OSError):
        return journal.known(run)


def _left_running(
    plan: Plan, entries: Sequence[JournalEntry], blobs: BlobStore
) -> Iterator[tuple[str, str]]:
    """Yields commands that left something running, each with what that is."""
    turned: RollbackStartedEntry | None = None
    for entry in entries:
        if isinstance(entry, RollbackStartedEntry):
            turned = entry  # from here on, entries count the operations of the way back
        elif isinstance(entry, CommandEndedEntry) and entry.running:
            back = read_rollbacks([turned], blobs)[turned.back].operations if turned else ()
            op = (back or plan.operations)[entry.index]
            yield command_text(op) if isinstance(op, RunCommand) else "", entry.running


def _undoes(record: PlanRecord) -> str:
    """Says what an undo undoes: otherwise `done` would be taken for the opposite."""
    runs = dict.fromkeys(token.partition(":")[0] for token in record.undoes.split())
    first, more = next(iter(runs), ""), " and others" if len(runs) > 1 else ""
    part = "part of " if ":" in record.undoes else ""
    return f", which undoes {part}run {first}{more}," if first else ""
