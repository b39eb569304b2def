"""Which agent works in a session, with which permissions, and what its tool calls see."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial

import msgspec

from assent.agent.cancellation import run_cancellable
from assent.agent.services import AgentServices, ToolEnvironment
from assent.agent.session_repository import SessionOutputs
from assent.agent.subagents.ancestry import parent_sessions, subagents
from assent.core.errors import NotFound
from assent.core.paths import display_path
from assent.core.permission.mode import (
    CustomMode,
    Mode,
    custom_mode_name,
    default_agent,
    effective_mode,
    stricter_mode,
    unknown_mode_text,
)
from assent.core.plan.record import CLOSED_STATES, PlanRecord, PlanRun
from assent.core.session.agent import Agent
from assent.core.session.record import SessionRecord
from assent.core.tool import Action, PermissionContext, ResourceAccess, Verdict
from assent.tools.overlay import Overlay
from assent.tools.tool import ToolContext

MAX_FILE_BYTES = 1 << 30  # bytes of a file that a model's call may be about: a second of reading


class SessionContext:
    """What follows from a session, its parents and its plan; constant parts are cached.

    Nothing of a parent is cached: its current state is read for every use (F101).
    """

    def __init__(self, services: AgentServices, tools: ToolEnvironment) -> None:
        self._services = services
        self._tools = tools
        self._overlay: tuple[str, Overlay] | None = None  # with the draft that it shows
        self._scope: tuple[str, tuple[str, ...]] = ("", ())  # of a run of prose
        self._agent: tuple[object, Agent] | None = None  # with what it was made of

    def agent(self, record: SessionRecord) -> Agent:
        """Returns the agent of the newest message; for an unknown one the plan agent (F11).

        A child's agent keeps no tool that one of its parents lacks. As long as all agents are the
        same, the same object is returned.
        """
        own = self._known(record)
        above = [self._known(each) for each in self._above(record) or ()]
        if self._agent is None or self._agent[0] != (own, above):
            self._agent = ((own, above), _within(own, above))
        return self._agent[1]

    def is_unknown_agent(self, record: SessionRecord) -> bool:
        """Tells whether the agent that the newest message names is unknown."""
        return bool(record.agent) and record.agent not in self._tools.agents

    def warnings(self, record: SessionRecord) -> tuple[str, ...]:
        """Returns warnings for the user if the agent or mode of a session is missing (F11)."""
        stranger = (
            f"Agent {record.agent!a} not found; using the plan agent in plan mode."
            if self.is_unknown_agent(record)
            else ""
        )
        return tuple(filter(None, [stranger, unknown_mode_text(record.custom, self._tools.modes)]))

    def mode(self, record: SessionRecord) -> Mode:
        """Returns the strictest mode of a session and all its parents."""
        return self._in_force(record, self._above(record))[0]

    def permission_context(
        self, record: SessionRecord, plan: PlanRecord | None
    ) -> PermissionContext:
        """Returns everything that decides about a call in addition to the call itself."""
        above = self._above(record)
        mode, custom = self._in_force(record, above)
        run = self._building(record, plan, above or ())
        return PermissionContext(
            mode,
            self._tools.hosts,
            run is not None,
            self._covered(run) if run else (),
            bool(record.parent),
            # What a child stages would be in its parent's plan without the parent's knowledge.
            self._tools.staging and not record.parent,
            tuple(self._known(each) for each in (record, *(above or ()))),
            custom,
            self._tools.auto,
            self._services.grants.of(
                record,
                (self._known(record).name, mode, custom_mode_name(custom)),
                run.digest if run else "",
                self._tools.grants_s,
            ),
            self._tools.driver is not None and record.depth < self._tools.tasks.depth,
            shell=self._tools.plan_shell,
        )

    def tool_context(
        self,
        record: SessionRecord,
        plan: PlanRecord | None,
        seen: Mapping[str, str],
        seen_before: Mapping[str, Collection[str]] = {},
    ) -> ToolContext:
        """Returns the context of a call; in plan mode, files with the draft applied.

        The draft of a plan that is over is not: what was built is on disk, or was undone.
        """
        place, permissions = self._services.config, self.permission_context(record, plan)
        staged = plan if plan is not None and plan.state not in CLOSED_STATES else None

        def is_readable(path: bytes) -> bool:
            request = ResourceAccess(Action.READ, display_path(path))
            return self._tools.gate.decide((request,), permissions).verdict is Verdict.RUN

        return ToolContext(
            self._files(staged if permissions.mode == "plan" else None),
            *(
                self._tools.with_path_limits(permissions)
                or (self._tools.open_process, self._tools.open_shell)
            ),
            self._tools.fetch,
            permissions,
            place.root,
            plan.path if plan else b"",
            partial(self._text, plan),
            place.plan_dir,
            place.private,
            seen,
            is_readable,
            self._tools.outside,
            session=record.session,
            kinds=tuple(agent.name for agent in subagents(self._tools.agents)),
            attend=partial(run_cancellable, self._tools.cancel_reason),
            output=partial(self._output, record),
            is_tested=self._tools.is_tested,
            seen_before=seen_before,
        )

    def _output(self, record: SessionRecord, output: str) -> bytes | None:
        """Returns a kept output of a session or of its parents, and of no other session."""
        own = [each.session for each in (record, *(self._above(record) or ()))]
        return SessionOutputs(self._services.ports, record.workspace).read(own, output)

    def _known(self, record: SessionRecord) -> Agent:
        agents = self._tools.agents
        name = record.agent or default_agent(record.mode)
        return agents.get(name) or agents.get("plan") or Agent("plan")

    def mode_prompt(self, record: SessionRecord) -> str:
        """Returns the text that the session's custom mode adds to its agent's prompt."""
        if not self._tools.modes:
            return ""
        custom = self._in_force(record, ())[1]
        return "\n\n".join(each.prompt.strip() for each in custom if each.prompt.strip())

    def _above(self, record: SessionRecord) -> tuple[SessionRecord, ...] | None:
        """Returns the parents of a child, all levels; None if they cannot be found."""
        try:
            return parent_sessions(self._services.ports, record) if record.parent else ()
        except NotFound:
            return None

    def _in_force(
        self, record: SessionRecord, above: Sequence[SessionRecord] | None
    ) -> tuple[Mode, tuple[CustomMode, ...]]:
        """Returns the mode in effect, and the custom modes that restrict it."""
        mode: Mode = "plan" if above is None else record.mode
        custom: dict[str, CustomMode] = {}
        for each in (record, *(above or ())):
            holds, narrowing = effective_mode(each.mode, each.custom, self._tools.modes)
            mode = stricter_mode(mode, "plan" if self.is_unknown_agent(each) else holds)
            custom |= {f"{one.id} {one.source}": one for one in narrowing}
        return mode, tuple(custom.values())

    def _text(self, plan: PlanRecord | None) -> bytes:
        return (self._services.plans.live_text(plan) or b"") if plan else b""

    def _files(self, plan: PlanRecord | None) -> Overlay:
        """Returns the files with a plan's draft applied; the same draft is applied once."""
        draft = plan.draft if plan else ""
        if self._overlay is None or self._overlay[0] != draft:
            staged = self._services.plans.staged(plan).index if plan else ()
            ports = self._services.ports
            self._overlay = (
                draft,
                Overlay(ports.files, ports.blobs, staged, largest=MAX_FILE_BYTES),
            )
        return self._overlay[1]

    def _building(
        self, record: SessionRecord, plan: PlanRecord | None, above: Sequence[SessionRecord]
    ) -> PlanRun | None:
        """Returns the text plan build that a turn and its children's turns belong to."""
        run = plan.building if plan else None
        if run is None or any(each.build != run.run for each in (record, *above)):
            return None
        return run if run.session == (above[-1] if above else record).session else None

    def _covered(self, run: PlanRun) -> tuple[str, ...]:
        """Returns the files that an approved text plan may touch."""
        if self._scope[0] != run.run:
            self._scope = (run.run, self._services.plans.repository().plan(run).scope.files)
        return self._scope[1]


def _within(agent: Agent, above: Sequence[Agent]) -> Agent:
    """Returns an agent without tools that its parents lack."""
    for each in above:
        meet = each.narrowed(agent)
        agent = msgspec.structs.replace(agent, tools=meet.tools, permission=meet.permission)
    return agent
