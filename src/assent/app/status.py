"""Opens what tells where plans, runs, sessions and questions of a workspace stand."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from assent.agent.session_repository import PendingQuestionList, SessionLookup
from assent.app.ports import PlanRulesReader, open_ports, remove_leftover_folders
from assent.app.settings import load_settings, locate_workspace, user_paths
from assent.core.event import StoredEvent
from assent.core.plan.comment import Critique
from assent.core.plan.record import PlanRecord, PlanRun, PlanState
from assent.core.session.record import SessionRecord
from assent.planning.critiques import find_critique
from assent.planning.plans import Plans
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.projections import PlanProjections
from assent.planning.repositories import WorkspaceRepository

if TYPE_CHECKING:
    from assent.core.plan.plan import Plan
    from assent.core.run.journal import RunResults
    from assent.core.session.estimate import WorkEstimate
    from assent.planning.plan_status import PlanStatus
    from assent.planning.steps import PlanSteps
    from assent.runs.orphan_slots import OrphanSlots
    from assent.runs.run_status import RunStatus

STREAM_NAMES = (
    "workspace", "session", "plan", "run", "permit", "grant", "reading", "comment", "options",
    "rehearsal", "work",
)  # fmt: skip
USER_STREAMS = ("bundle/", "keys/")  # what a person decided about that belongs to no workspace


class WorkspaceStatus:
    """Where the plans, runs, sessions and questions of one workspace stand."""

    def __init__(self, ports: Ports, config: WorkspaceConfig) -> None:
        self._ports = ports
        self._config = config
        self.swept: tuple[bytes, ...] = ()  # of a killed command; removed when this was opened
        self._workspaces = WorkspaceRepository(ports, config)
        self._projections = PlanProjections(ports)
        self._projections.warnings = self._workspaces.warnings  # one list for all of them
        self.plans = Plans(ports, self._workspaces, self._projections)
        self.session_list = SessionLookup(ports, self._workspaces, config.modes)
        sessions = self.session_list.repository
        self.question_list = PendingQuestionList(ports, self._workspaces, sessions)

    @cached_property
    def orphan_slots(self) -> "OrphanSlots":
        """Slots that no run accounts for."""
        from assent.runs.orphan_slots import OrphanSlots

        return OrphanSlots(self._ports, self._config, self._workspaces)

    @cached_property
    def run_status(self) -> "RunStatus":
        """Where runs stand."""
        from assent.runs.run_status import RunStatus

        return RunStatus(self._ports, self.plans)

    @cached_property
    def plan_status(self) -> "PlanStatus":
        """Where plans stand."""
        from assent.planning.plan_status import PlanStatus

        return PlanStatus(self._ports, self.plans, self._next_after_run)

    @property
    def plan_steps(self) -> "PlanSteps":
        """How far the steps of plans are."""
        from assent.planning.steps import PlanSteps

        return PlanSteps(self.plans, self._run_results, self.session_list.todos_of)

    # Most plans that are shown have had no run.

    def _next_after_run(self, run: str) -> str:
        return self.run_status.next_after_run(run)

    def _run_results(self, record: PlanRecord, plan: "Plan") -> "RunResults | None":
        return self.run_status.results(record, plan)

    @property
    def root(self) -> bytes:
        """The folder of the workspace."""
        return self._config.root

    def status(self, reference: str = "") -> tuple[PlanRecord | None, tuple[str, PlanRun] | None]:
        """Returns a plan, or the current one, and the unfinished run or else the last one."""
        home = self._workspaces.find()
        if home is None and not reference:
            return None, None
        known = reference or (home and home.current)
        record = self.plans.find(reference) if known else None
        if record is not None and not reference:
            record = self.plans.meant(record)
        return record, self.run_status.current(record)

    def critiques(self, records: Sequence[PlanRecord]) -> list[tuple[PlanRecord, Critique]]:
        """Returns the critiques of plans that wait for approval, as far as critics were asked."""
        waiting = [one for one in records if one.state is PlanState.AWAITING_APPROVAL]
        found = [(one, find_critique(self._ports, one)) for one in waiting]
        return [(one, critique) for one, critique in found if critique is not None]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the user although everything worked."""
        found = tuple(self._projections.warnings)
        if not self.swept:
            return found
        from assent.render.status import removed_folders_text

        return (removed_folders_text(self.swept), *found)

    def take_warnings(self) -> tuple[str, ...]:
        """Returns the warnings and forgets them, where one process answers many times."""
        known = self._projections.warnings
        found = tuple(known)
        del known[: len(found)]  # another thread may have added one
        return found

    def warn(self, words: str) -> None:
        """Adds a warning for the user."""
        self._projections.warnings.append(words)

    @property
    def workspace(self) -> str:
        """The id of the folder's workspace; empty if it is not a workspace yet."""
        return self._workspaces.id

    def log(self, after: int = 0) -> list[StoredEvent]:
        """Returns the workspace's events in order."""
        home = self._workspaces.find()
        streams = [f"{noun}/{home.workspace}" for noun in STREAM_NAMES] if home else []
        streams += USER_STREAMS
        return self._ports.store.read_all(streams, after)

    def estimate(self, record: SessionRecord | None, steps: int | None = None) -> "WorkEstimate":
        """Estimates what the open todos of a session will take, or a number of other steps.

        Without a session it is one that has not begun, with the model of the settings.
        """
        from assent.app.estimate import estimate_session

        return estimate_session(self._config, self.session_list.repository(), record, steps)

    def stamp(self) -> tuple[int, ...]:
        """Returns a stamp that changes with every recorded event; cheap, and never waits."""
        return self._ports.store.stamp()

    def close(self) -> None:
        self._projections.write_due()
        self._ports.blobs.close()
        self._ports.store.close()
        self._ports.close_folders()


def open_status(folder: str) -> tuple[WorkspaceStatus, tuple[str, ...]]:
    """Opens the status of the workspace around a folder, with what a person should know.

    A project's configuration that cannot be used is a warning and no error.
    """
    here = user_paths()
    cwd, root = locate_workspace(folder)
    loaded = load_settings(root, here, lenient=True)
    rules = PlanRulesReader(root, here)
    status = WorkspaceStatus(*open_ports(cwd, root, here, loaded.settings, rules=rules))
    status.swept = remove_leftover_folders(root, here)
    return status, loaded.warnings
