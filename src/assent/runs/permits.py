"""Applies an edit outside plan mode through the executor, with a permit on record."""

from collections.abc import Sequence

from assent.core.digest import sha256
from assent.core.errors import Drift, Refused, StoreError, WorkspaceError
from assent.core.event import PermitGiven
from assent.core.paths import display_path, normalize, refuse_own_paths
from assent.core.plan.draft import check_tree, refuse_similar_names
from assent.core.plan.operation import FileOperation, footprint
from assent.core.plan.plan import Plan
from assent.core.run.journal import drive_to_end
from assent.core.run.permit import Permit, PermitSource, permit_text, permitted
from assent.core.session.record import SessionRecord
from assent.core.tool import EditEffect
from assent.executor.drift import drifted_paths
from assent.planning.drafts import PlanContents
from assent.planning.hook_events import session_hook_fields
from assent.planning.path_checks import refuse_git_folders
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.repositories import PlanRepository
from assent.runs.journal import StoreJournal
from assent.runs.run_status import NO_RUN, LastEdit, RunReport, unfinished_error
from assent.runs.runs import Runs

RETRY_EDIT = "Nothing was changed. Read the file again, then repeat the edit."


class Permits:
    """Changes files outside plan mode. The caller names the permission for it (law 1)."""

    def __init__(
        self, ports: Ports, config: WorkspaceConfig, runs: Runs, last: LastEdit | None = None
    ) -> None:
        self._ports = ports
        self._config = config
        self._runs = runs
        self._last = last or LastEdit()
        self._contents = PlanContents(ports)
        self._known_over = 0  # the log's position up to which every run is known to be over

    def apply(
        self, session: SessionRecord, call: str, edit: EditEffect, source: PermitSource, detail: str
    ) -> RunReport:
        """Applies an edit if the files are as it saw them; raises if nothing was changed."""
        operations = tuple(edit.operations)
        if not operations:
            return NO_RUN
        self._check_paths(operations)
        repository = self._runs.repository()
        with self._ports.locks.hold(repository.workspace, f"session {session.slug}"):
            self._recover_unfinished(repository)
            text = permit_text(session.session, call, source, detail)
            plan = Plan(text, operations, workspace=repository.workspace)
            self._check_files(plan, operations)
            self._runs.check_slots(operations)
            self._keep(edit)
            facts = {**session_hook_fields(session), "call": call}
            self._runs.check_write(operations, facts, "Nothing was changed.")
            clock = self._ports.clock
            permit = Permit(
                clock.new_id(), session.session, call, source, detail, plan.digest, clock.now(),
                session.turns, session.build,
            )  # fmt: skip
            self._last.report = None
            report = self._last.report = self._run(repository, plan, permit)
        if not session.build:  # hooks are notified of a build once, at its end
            self._runs.fire_hooks(report, session)
        return _done(report)

    def _run(self, repository: PlanRepository, plan: Plan, permit: Permit) -> RunReport:
        run = self._ports.clock.new_id()
        operations = tuple(op for op in plan.operations if isinstance(op, FileOperation))
        journal = StoreJournal(self._ports, repository, PermitGiven(permit, run, operations))
        work = self._ports.executor(journal).apply(permitted(plan, permit), run)
        report = drive_to_end(self._runs.drive(journal, run, plan, work))
        if report.outcome != "needs_you":
            with self._runs.housekeeping("The log could not be read after the edit"):
                stream = f"run/{repository.workspace}/{run}"
                self._known_over = self._ports.store.read(stream)[-1].position
        return report

    def _check_paths(self, operations: Sequence[FileOperation]) -> None:
        """Refuses paths that no plan may touch; symlinked folders the executor never follows."""
        for path in [path for op in operations for path, *_ in footprint(op)]:
            if normalize(path) != path:
                raise Refused(
                    f"{display_path(path)} is not a plain file path. Nothing was changed."
                )
            refuse_own_paths(path, self._config.plan_dir, self._config.private)
        refuse_similar_names(operations)
        refuse_git_folders(self._ports.files, operations)
        check_tree(operations, self._ports.files.is_file, self._ports.files.below)

    def _check_files(self, plan: Plan, operations: Sequence[FileOperation]) -> None:
        found = list(drifted_paths(plan, operations, self._ports.files))
        if found:
            told = [
                f"{display_path(d.path)}: expected {d.expected}, found {d.found}." for d in found
            ]
            raise Drift(" ".join(["Files changed since they were read.", *told, RETRY_EDIT]))

    def _keep(self, edit: EditEffect) -> None:
        """Keeps new contents, and the old ones that undo would need."""
        for digest, content in edit.contents.items():
            if sha256(content) != digest:
                raise StoreError("The content does not match its digest. Nothing was changed.")
            self._contents.keep([content])
        steps = [step for op in edit.operations for step in footprint(op)]
        known = {before.digest for _, before, _ in steps if before}
        for path, _, after in steps:
            if after and after.digest not in known and not self._ports.blobs.has(after.digest):
                raise StoreError(
                    f"The new content of {display_path(path)} is missing. {RETRY_EDIT}"
                )
        try:
            self._contents.keep_all(edit.operations, edit.operations)
        except Drift as drift:
            raise Drift(f"{drift.message} {RETRY_EDIT}") from drift
        self._ports.blobs.flush()

    def _recover_unfinished(self, repository: PlanRepository) -> None:
        """Recovers what an earlier process left, unless no run was written since the last look."""
        runs = f"run/{repository.workspace}/"
        if self._known_over and not self._ports.store.read_all([runs], self._known_over):
            return
        drive_to_end(self._runs.recover_unfinished_locked(repository))


def _done(report: RunReport) -> RunReport:
    """Returns the report of a run that did what it should; raises for any other."""
    if report.outcome == "needs_you":
        raise unfinished_error(report)
    if report.outcome == "rolled_back":
        raise WorkspaceError(" ".join([*report.notes, "Every file is as it was before."]))
    return report
