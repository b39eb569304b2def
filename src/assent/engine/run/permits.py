"""Permits: applies what a call may do outside plan mode, through the executor like any plan."""

from collections.abc import Sequence

from assent.core.digest import sha256
from assent.core.draft import check_tree, refuse_alike
from assent.core.errors import Drift, Refused, StoreError, Unsettled, WorkspaceError
from assent.core.event import PermitGiven
from assent.core.journal import finished
from assent.core.operation import FileOperation, footprint
from assent.core.paths import normal, refuse_ours, shown
from assent.core.permit import Permit, PermitSource, permit_text, permitted
from assent.core.plan import Plan
from assent.core.session import SessionRecord
from assent.core.tool import Edit
from assent.engine.doors import Doors, Place
from assent.engine.plan.contents import Contents
from assent.engine.plan.ledger import Ledger
from assent.engine.plan.repositories import refuse_repositories
from assent.engine.run.journal import StoreJournal
from assent.engine.run.runs import NOTHING, RunReport, Runs
from assent.execute.check import differences

AGAIN = "Nothing was changed; read it again and repeat the edit."


class Permits:
    """The verb that changes files outside plan mode. Who calls it has a consent to name (law 1)."""

    def __init__(self, doors: Doors, place: Place, runs: Runs) -> None:
        self._doors = doors
        self._place = place
        self._runs = runs
        self._contents = Contents(doors)
        self._settled = 0  # the log's position up to which every run is known to be over

    def apply(
        self, session: SessionRecord, call: str, edit: Edit, source: PermitSource, detail: str
    ) -> RunReport:
        """Applies an edit if the files are as it saw them; raises where nothing was changed."""
        operations = tuple(edit.operations)
        if not operations:
            return NOTHING
        self._check_paths(operations)
        ledger = self._runs.ledger()
        with self._doors.locks.hold(ledger.workspace, f"session {session.slug}"):
            self._settle(ledger)
            text = permit_text(session.session, call, source, detail)
            plan = Plan(text, operations, workspace=ledger.workspace)
            self._check_files(plan, operations)
            self._runs.check_slots(operations)
            self._keep(edit)
            clock = self._doors.clock
            permit = Permit(
                clock.new_id(), session.session, call, source, detail, plan.digest, clock.now(),
                session.turns, session.build,
            )  # fmt: skip
            report = self._run(ledger, plan, permit)
        if not session.build:  # hooks hear of a build once, at its end
            self._runs.tell(report, session)
        return _done(report)

    def _run(self, ledger: Ledger, plan: Plan, permit: Permit) -> RunReport:
        run = self._doors.clock.new_id()
        operations = tuple(op for op in plan.operations if isinstance(op, FileOperation))
        journal = StoreJournal(self._doors, ledger, PermitGiven(permit, run, operations))
        work = self._doors.executor(journal).apply(permitted(plan, permit), run)
        report = finished(self._runs.carried_out(journal, run, plan, work))
        if report.outcome != "needs_you":
            with self._runs.housekeeping("The log could not be read after the edit"):
                stream = f"run/{ledger.workspace}/{run}"
                self._settled = self._doors.store.read(stream)[-1].position
        return report

    def _check_paths(self, operations: Sequence[FileOperation]) -> None:
        """Refuses paths that no plan may touch; symlinked folders the executor never follows."""
        for path in [path for op in operations for path, *_ in footprint(op)]:
            if normal(path) != path:
                raise Refused(
                    f"{shown(path)} is not the plain path of a file. Nothing was changed."
                )
            refuse_ours(path, self._place.plan_dir, self._place.private)
        refuse_alike(operations)
        refuse_repositories(self._doors.files, operations)
        check_tree(operations, self._doors.files.is_file, self._doors.files.below)

    def _check_files(self, plan: Plan, operations: Sequence[FileOperation]) -> None:
        found = list(differences(plan, operations, self._doors.files))
        if found:
            told = [f"{shown(d.path)}: expected {d.expected}, found {d.found}." for d in found]
            raise Drift(" ".join(["Files changed since they were read.", *told, AGAIN]))

    def _keep(self, edit: Edit) -> None:
        """Keeps new contents, and the old ones that undo would need."""
        for digest, content in edit.contents.items():
            if sha256(content) != digest:
                raise StoreError("A content does not match its digest. Nothing was changed.")
            self._contents.keep([content])
        steps = [step for op in edit.operations for step in footprint(op)]
        known = {before.digest for _, before, _ in steps if before}
        for path, _, after in steps:
            if after and after.digest not in known and not self._doors.blobs.has(after.digest):
                raise StoreError(f"The new content of {shown(path)} is missing. {AGAIN}")
        try:
            self._contents.keep_all(edit.operations, edit.operations)
        except Drift as drift:
            raise Drift(f"{drift.message} {AGAIN}") from drift
        self._doors.blobs.flush()

    def _settle(self, ledger: Ledger) -> None:
        """Recovers what an earlier process left, unless no run was written since the last look."""
        runs = f"run/{ledger.workspace}/"
        if self._settled and not self._doors.store.read_all([runs], self._settled):
            return
        finished(self._runs.settle_under(ledger))


def _done(report: RunReport) -> RunReport:
    """Returns the report of a run that did what it should; raises for any other."""
    if report.outcome == "needs_you":
        told = " ".join(report.notes)
        waits = f"Run {report.run} could not be put back and waits for the person."
        raise Unsettled(told if report.onward else f"{waits} {told}", "assent recover")
    if report.outcome == "rolled_back":
        raise WorkspaceError(" ".join([*report.notes, "Every file is as it was before."]))
    return report
