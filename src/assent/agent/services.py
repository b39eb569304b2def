"""The planning and run services that sessions work with."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from assent.agent.grants import Grants
from assent.agent.memory import WorkspaceMemory
from assent.agent.pending_questions import PendingQuestions
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.session.event import PlanLinked, Todo
from assent.core.session.record import SessionRecord
from assent.planning.plans import Plans
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.projections import PlanProjections
from assent.planning.workspace_repository import WorkspaceRepository
from assent.runs.orphan_slots import OrphanSlots
from assent.runs.run_report import LastEdit
from assent.runs.run_status import RunStatus

if TYPE_CHECKING:  # opened by the first call that has an effect; most turns begin without one
    from assent.planning.approvals import Approvals
    from assent.planning.drafts import Drafts
    from assent.runs.permits import Permits
    from assent.runs.runs import Runs
    from assent.runs.session_commands import SessionCommands


class AgentServices(msgspec.Struct, frozen=True):
    """The services that a session can use; `app` opens those that change something on demand."""

    ports: Ports
    config: WorkspaceConfig
    workspaces: WorkspaceRepository
    projections: PlanProjections
    plans: Plans
    facts: WorkspaceMemory
    grants: Grants
    pending_questions: PendingQuestions
    run_status: RunStatus
    orphan_slots: OrphanSlots
    last_edit: LastEdit
    open_drafts: "Callable[[], Drafts]"
    open_approvals: "Callable[[], Approvals]"
    open_runs: "Callable[[], Runs]"
    open_permits: "Callable[[], Permits]"
    open_session_commands: "Callable[[], SessionCommands]"

    @property
    def drafts(self) -> "Drafts":
        """What stages operations."""
        return self.open_drafts()

    @property
    def approvals(self) -> "Approvals":
        """What proposes plans, and knows which are approved."""
        return self.open_approvals()

    @property
    def runs(self) -> "Runs":
        """What builds plans, and recovers runs."""
        return self.open_runs()

    @property
    def permits(self) -> "Permits":
        """What changes files outside plans."""
        return self.open_permits()

    @property
    def session_commands(self) -> "SessionCommands":
        """What runs command lines outside plans."""
        return self.open_session_commands()

    def plan_of(self, record: SessionRecord) -> PlanRecord | None:
        """Returns the plan that a session works on, if it has one."""
        return self.plans.repository().load(record.plan_id) if record.plan_id else None

    def link(self, plan: PlanRecord | None) -> PlanLinked:
        """Returns a marker that the session's model knows everything that happened until now."""
        home = self.workspaces.open()
        return PlanLinked(plan.plan_id, plan.seq, home.seq) if plan else PlanLinked("", 0, home.seq)

    def show_todos(self, record: SessionRecord, todos: tuple[Todo, ...]) -> None:
        """Shows a session's todos next to its plan's tasks, for people to read."""
        plan = self.plan_of(record)
        if plan is not None and plan.state is not PlanState.DISCARDED:
            self.projections.todos(plan, self.plans.live_text(plan) or b"", todos)
