"""The planning and run services that sessions work with."""

from collections.abc import Callable

import msgspec

from assent.agent.grants import Grants
from assent.agent.memory import WorkspaceMemory
from assent.agent.pending_questions import PendingQuestions
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.session.event import PlanLinked, Todo
from assent.core.session.record import SessionRecord
from assent.planning.approvals import Approvals
from assent.planning.drafts import Drafts
from assent.planning.plans import Plans
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.projections import PlanProjections
from assent.planning.workspace_repository import WorkspaceRepository
from assent.runs.permits import Permits
from assent.runs.runs import Runs
from assent.runs.session_commands import SessionCommands


class AgentServices(msgspec.Struct, frozen=True):
    """The services that a session can use."""

    ports: Ports
    config: WorkspaceConfig
    workspaces: WorkspaceRepository
    projections: PlanProjections
    plans: Plans
    drafts: Drafts
    approvals: Approvals
    runs: Runs
    permits: Permits
    facts: WorkspaceMemory
    grants: Grants
    pending_questions: PendingQuestions
    session_commands: SessionCommands

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


def open_agent_services(
    ports: Ports,
    config: WorkspaceConfig,
    workspaces: WorkspaceRepository,
    projections: PlanProjections,
    plans: Plans,
    drafts: Drafts,
    approvals: Approvals,
    runs: Runs,
    told: Callable[[SessionRecord, str], object],
) -> AgentServices:
    """Makes what sessions use besides plans and runs.

    `told` tells the model of a session what its person did themselves.
    """
    grants = Grants(ports, workspaces, config)
    commands = SessionCommands(ports, config, runs, workspaces)
    commands.told = told
    return AgentServices(
        ports,
        config,
        workspaces,
        projections,
        plans,
        drafts,
        approvals,
        runs,
        Permits(ports, config, runs),
        WorkspaceMemory(ports, workspaces),
        grants,
        PendingQuestions(ports, workspaces, config, grants),
        commands,
    )
