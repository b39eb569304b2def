"""How runs stand and how they ended: which is unfinished, who is at work, and what was undone."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec

from assent.core.errors import STORED, AssentError, RunUnfinished, StoreError
from assent.core.event import CommandStarted
from assent.core.paths import display_path
from assent.core.plan.operation import Operation, footprint
from assent.core.plan.plan import Plan
from assent.core.plan.record import PlanRecord, PlanRun
from assent.core.run.journal import (
    CommandEndedEntry,
    FinishedEntry,
    OperationResult,
    ReportedOutcome,
    RunResults,
)
from assent.core.run.permit_log import PermitLog
from assent.core.run.results import run_results, was_accepted
from assent.core.run.state import rollback_start, succeeded
from assent.planning.plans import Plans
from assent.planning.ports import Ports
from assent.planning.repositories import PlanRepository
from assent.runs.journal import StoreJournal
from assent.runs.undo.history import UndoneAmount
from assent.runs.undo.targets import UndoTargets, undo_status


class RunStatus:
    """Tells how runs and commands stand. Changes nothing."""

    def __init__(self, ports: Ports, plans: Plans) -> None:
        self._ports = ports
        self._plans = plans

    def repository(self) -> PlanRepository:
        """Returns the plans of this workspace."""
        return self._plans.repository()

    def is_clean(self) -> bool:
        """Tells whether neither a run nor a command is unfinished; nearly always it is so."""
        repository = self.repository()
        if self._unfinished_plan() is not None:
            return False
        permits = repository.permit_log() if repository.workspace else PermitLog()
        return permits.unfinished is None and permits.command is None

    def unfinished(self) -> tuple[str, PlanRun] | None:
        """Returns the unfinished run, with its plan's id; a permit's run has none."""
        if found := self._unfinished_plan():
            return found
        repository = self.repository()
        left = repository.permit_log().unfinished if repository.workspace else None
        if left is None:
            return None
        return "", PlanRun(left.run, left.permit.digest, "", left.outcome, left.halted)

    def _unfinished_plan(self) -> tuple[str, PlanRun] | None:
        for record in self._plans.records():
            if record.runs and record.unfinished:  # most plans have no run
                return record.plan_id, record.unfinished
        return None

    def position(self, run: str) -> int:
        """Returns the log position of the newest record of a run; 0 if there is none.

        Of a text plan's build, that is the newest record of the plan.
        """
        repository = self.repository()
        found = self._ports.store.read(f"run/{repository.workspace}/{run}")
        if not found:
            own = [one for one in self._plans.records() if run in [note.run for note in one.runs]]
            found = self._ports.store.read(own[0].stream) if own else []
        return found[-1].position if found else 0

    def waits_for_person(self) -> bool:
        """Tells whether the unfinished run's command was interrupted, so that a user decides."""
        found = self.unfinished()
        if found is None:
            return False
        last = StoreJournal(self._ports, self.repository()).read(found[1].run)[-1]
        return isinstance(last, CommandEndedEntry) and not succeeded(last)

    def holder(self) -> str:
        """Names the process that works in this workspace now; empty if there is none."""
        return self._ports.locks.holder(self.repository().workspace)

    def was_accepted(self, run: str) -> bool:
        """Tells whether a run ended because a user accepted the files as they are."""
        entries = StoreJournal(self._ports, self.repository()).read(run)
        last = entries[-1] if entries else None
        return isinstance(last, FinishedEntry) and was_accepted(last, entries)

    def unfinished_command(self) -> CommandStarted | None:
        """Returns the last command if it began and its end is not recorded."""
        repository = self.repository()
        return repository.permit_log().command if repository.workspace else None

    def running_command(self) -> tuple[CommandStarted | None, str]:
        """Returns the last command without a recorded end, and who runs it, if anyone does.

        One that ends, or begins, between two checks does not count as cut off.
        """
        left = self.unfinished_command()
        while left is not None:
            if holder := self.holder():
                return left, holder
            again = self.unfinished_command()
            if again == left:
                break
            left = again
        return left, ""

    def undone(self, run: str) -> UndoneAmount:
        """Says how much of a run was undone."""
        return UndoTargets(self._ports, self.repository()).undone_of_run(run)

    def results(self, record: PlanRecord, plan: Plan) -> RunResults | None:
        """Returns what the last run of a proposed plan did; None if it has not run, or not here.

        If the log cannot say it, nothing is claimed.
        """
        own = [note for note in record.runs if note.digest == plan.digest and not note.session]
        if not own or record.digest != plan.digest:
            return None
        try:
            return self._results(own[-1], plan)
        except AssentError:
            return None

    def _results(self, note: PlanRun, plan: Plan) -> RunResults | None:
        entries = StoreJournal(self._ports, self.repository()).read(note.run)
        last = entries[-1] if entries else None
        if not isinstance(last, FinishedEntry):
            there = entries[: rollback_start(entries)]  # until then, what it did is still there
            results = run_results(plan.operations, there, {})
            return RunResults("halted" if note.halted else "running", results)
        if len(last.results) != len(plan.operations):
            return None
        if last.outcome == "rolled_back":
            return RunResults("rolled_back", last.results)
        back = UndoTargets(self._ports, self.repository())
        undone = {at for at in range(len(last.results)) if back.is_undone(f"{note.run}:{at}")}
        now: list[OperationResult] = [
            "undone" if result == "done" and at in undone else result
            for at, result in enumerate(last.results)
        ]
        return RunResults("over", tuple(now))

    def next_after_run(self, run: str) -> str:
        """Returns what to type once a run is over."""
        return undo_status(UndoTargets(self._ports, self.repository()), run)[1]

    def current(self, record: PlanRecord | None) -> tuple[str, PlanRun] | None:
        """Returns the unfinished run, else the last one of a plan, with the plan's id.

        Without a plan, it is the last run that can be undone.
        """
        run = self.unfinished()
        if run is None and record and record.runs:
            run = (record.plan_id, record.runs[-1])
        if run is None and record is None:
            with suppress(AssentError):  # there is nothing that could be undone
                last = UndoTargets(self._ports, self.repository()).find("", "")
                run = ("", PlanRun(last.name, "", "", "done"))
        return run


# Run reports: how a run ended, and what an error says about the last edit of this process.


NAMED = 5  # operations that an error lists


class RunReport(msgspec.Struct, frozen=True):
    """How a run ended, operation by operation."""

    run: str
    outcome: ReportedOutcome
    operations: tuple[tuple[str, OperationResult], ...] = ()
    notes: tuple[str, ...] = ()
    about: tuple[Operation, ...] = ()  # the operations that the ids name
    left: tuple[str, ...] = ()  # of a model's build: steps that are not marked as done
    exits: tuple[int | None, ...] = ()  # of commands that ran; empty if none was involved
    running: tuple[tuple[str, str], ...] = ()  # commands, and what each left running at its end
    onward: str = ""  # of one that needs you: the one command to type, if there is no choice
    warnings: tuple[str, ...] = ()  # about the place where it was built
    permitted: bool = False  # an edit of a session: it has no plan, and no approval


NO_RUN = RunReport("", "nothing")


class LastEdit:
    """What this process changed last outside plans, for errors that come after it."""

    def __init__(self) -> None:
        self.report: RunReport | None = None

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Adds what happened to the last edit to an error of the log in what follows."""
        self.report = None
        try:
            yield
        except StoreError as error:
            last = self.report
            if last is None:
                raise
            if last.outcome == "needs_you":
                raise unfinished_error(last) from error
            words = f"{error.message.replace(STORED, '').strip()} {_over(last)}"
            raise StoreError(words, error.next) from error

    def check_over(self, runs: RunStatus) -> None:
        """Raises if the last edit is not finished, because the log or the disk failed."""
        if self.report and self.report.onward and runs.unfinished():
            raise unfinished_error(self.report)


def unfinished_error(report: RunReport) -> RunUnfinished:
    """Returns the error for a run that needs the user's decision."""
    told = " ".join(report.notes)
    if not report.onward:
        told = f"Run {report.run} could not be rolled back and needs the user's decision. {told}"
    return RunUnfinished(f"{told} {_rows(report)}", "assent recover")


def _over(report: RunReport) -> str:
    """Says how a run ended that is over."""
    if report.outcome == "rolled_back":
        return f"Run {report.run} was rolled back: all its files are as they were before."
    return f"Run {report.run} is finished. {_rows(report)}"


def _rows(report: RunReport) -> str:
    """Names the operations of a run, each with what is known of it."""
    rows = zip(report.about, report.operations, strict=True)
    told = [f"{_paths(op)} ({result.replace('_', ' ')})" for op, (_, result) in rows]
    more = f", and {len(told) - NAMED} more" if len(told) > NAMED else ""
    return f"Files: {', '.join(told[:NAMED])}{more}."


def _paths(op: Operation) -> str:
    return " to ".join(display_path(path) for path, *_ in footprint(op))
