"""Creates or continues the child session for a task, or says why it cannot."""

from collections.abc import Mapping

from assent.agent.reminders import ReminderContext, child_rules, reminder
from assent.agent.services import AgentServices
from assent.agent.session_context import SessionContext
from assent.agent.session_repository import SessionRepository
from assent.agent.subagents.agent_types import is_read_only, subagent
from assent.agent.tool_environment import ToolEnvironment
from assent.core.errors import NotFound, Refused
from assent.core.ids import slug
from assent.core.llm import TextPart
from assent.core.permission.mode import Mode, stricter_mode
from assent.core.plan.record import PlanRecord
from assent.core.session.agent import Agent
from assent.core.session.event import (
    ChildStarted,
    MessageAdded,
    ModeChanged,
    SessionEvent,
    SessionStarted,
)
from assent.core.session.record import SessionRecord, fold_session
from assent.core.text.secrets import redact
from assent.core.tool import TaskEffect

MAX_NAMED = 10  # own children that a refusal names
AS_PARENT = "as its parent's"  # why the mode of a child changed that nobody chose one for

OwnChildren = Mapping[str, ChildStarted]


class ChildSessionFactory:
    """Starts tasks. What a child may do follows from its parents as they are now."""

    def __init__(
        self, desk: AgentServices, diary: SessionRepository, tooling: ToolEnvironment
    ) -> None:
        self._desk = desk
        self._diary = diary
        self._tooling = tooling
        self._surroundings = SessionContext(desk, tooling)
        self._clock = desk.ports.clock

    def begin(self, parent: SessionRecord, task: TaskEffect, own: OwnChildren) -> SessionRecord:
        """Returns the child with the task said in it; raises what the model is told instead."""
        depth = self._tooling.tasks.depth
        if self._tooling.driver is None or parent.depth >= depth:
            raise Refused(
                f"Children start no children of their own here: the depth is {parent.depth}, and "
                f"`tasks.depth` is {depth}. Nobody was started; do it yourself."
            )
        agent = subagent(self._tooling.agents, task.agent)
        if task.session:
            return self._resumed(parent, self._own(parent, task, own), agent, task)
        return self._new(parent, agent, task)

    def _new(self, parent: SessionRecord, agent: Agent, task: TaskEffect) -> SessionRecord:
        session = self._clock.new_id()
        name = f"{parent.slug}-{slug(agent.name)}-{parent.children + 1}"
        started = SessionStarted(
            session, parent.workspace, name, self._mode(parent, agent), redact(task.title),
            parent=parent.session, depth=parent.depth + 1,
        )  # fmt: skip
        plan = self._desk.plan_of(parent)
        said = self._message(parent, agent, task.prompt)
        return self._diary.start(
            started, self._desk.link(plan), self._reminder(started, plan, said), said
        )

    def _resumed(
        self, parent: SessionRecord, child: SessionRecord, agent: Agent, task: TaskEffect
    ) -> SessionRecord:
        events: list[SessionEvent] = [self._desk.link(self._desk.plan_of(parent))]
        mode = self._mode(parent, agent)
        if not self._follows(child):
            mode = stricter_mode(mode, child.mode)
        if mode != child.mode:
            words = f"The mode is {mode} from now on, no longer {child.mode}. {child_rules(mode)}"
            told, new = TextPart(words), self._clock.new_id()
            events.append(ModeChanged(mode, AS_PARENT, child.custom))
            events.append(MessageAdded(new, agent.name, (told,), "mode", child.model))
        said = self._message(parent, agent, task.prompt)
        return self._diary.append(child, *events, said)[0]

    def _own(self, parent: SessionRecord, task: TaskEffect, own: OwnChildren) -> SessionRecord:
        """Returns an own child by its id; everybody else's are refused (F103)."""
        try:
            child = self._diary.load(task.session) if task.session in own else None
        except NotFound:
            child = None
        if child is None or child.parent != parent.session or child.deleted:
            raise Refused(
                f"This session has no sub-agent {task.session!a}. {_listed(own)} Nobody was "
                "started."
            )
        if child.agent != task.agent:
            raise Refused(
                f"The sub-agent {task.session} is of the kind {child.agent}; send "
                f"agent={child.agent} with it. Nobody was started."
            )
        return child

    def _follows(self, child: SessionRecord) -> bool:
        """Tells whether a child has its parent's mode, and not one that a person chose for it."""
        events = [one.event for one in self._diary.read(child.session)]
        chosen = [event.reason for event in events if isinstance(event, ModeChanged)]
        return not chosen or chosen[-1] == AS_PARENT

    def _mode(self, parent: SessionRecord, agent: Agent) -> Mode:
        """Returns the mode of a child: its parent's, or plan for one that only looks."""
        return "plan" if is_read_only(agent) else self._surroundings.mode(parent)

    def _message(self, parent: SessionRecord, agent: Agent, prompt: str) -> MessageAdded:
        """Says the task, to the agent's own model or else to the parent's."""
        inherited = parent.model or self._surroundings.agent(parent).model
        model = "" if agent.model else inherited
        return MessageAdded(self._clock.new_id(), agent.name, (TextPart(prompt),), model=model)

    def _reminder(
        self, started: SessionStarted, plan: PlanRecord | None, said: MessageAdded
    ) -> MessageAdded:
        record = fold_session(None, started, 1, "")
        staged = len(self._desk.drafts.operations(plan)) if plan else 0
        words = TextPart(reminder(record, plan, ReminderContext(staged, staging=False)))
        return MessageAdded(self._clock.new_id(), said.agent, (words,), "reminder", said.model)


def _listed(own: OwnChildren) -> str:
    told = [f"{one.child} ({one.agent}: {one.title})" for one in [*own.values()][-MAX_NAMED:]]
    return f"Its own are: {', '.join(told)}." if told else "It has none yet."
