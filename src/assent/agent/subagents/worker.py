"""Runs a task in a new or continued child session, in a thread, and reports what it did."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from threading import Thread, Timer
from typing import Final, Protocol

import msgspec

from assent.agent.cancellation import watch_log
from assent.agent.prompt import ReminderContext, child_rules, reminder
from assent.agent.services import AgentServices, ToolEnvironment
from assent.agent.session_context import SessionContext
from assent.agent.session_repository import SessionRepository
from assent.agent.subagents.ancestry import is_read_only, subagent
from assent.core.errors import AssentError, Interrupted, NotFound, Refused
from assent.core.event import StoredEvent
from assent.core.ids import slug
from assent.core.llm import StreamDelta, TextPart
from assent.core.permission.mode import Mode, stricter_mode
from assent.core.plan.record import PlanRecord
from assent.core.session.agent import Agent
from assent.core.session.event import (
    ChildStarted,
    MessageAdded,
    ModeChanged,
    PartSaid,
    SessionEvent,
    SessionStarted,
    StepRetried,
    StepStarted,
    TurnEnded,
    TurnEndReason,
)
from assent.core.session.record import SessionRecord, fold_session
from assent.core.text.secrets import redact
from assent.core.tool import EffectResult, TaskEffect
from assent.ports.cancellation import CancelToken
from assent.ports.session import AgentDriver, Turn


class CancellableChildren(Protocol):
    """The children of a turn, as far as others can cancel them."""

    def cancel(self, end: TurnEnded) -> None:
        """Requests that all of them end like this; returns at once."""

    def stop(self) -> None:
        """Ends all of them, and waits briefly."""


class DrivenTurn(Turn, Protocol):
    """A turn as its driver begins and ends it."""

    @property
    def children(self) -> CancellableChildren: ...

    def open(self) -> Iterator[StoredEvent | StreamDelta]: ...

    def halted(self) -> TurnEnded | None: ...

    def fail(self, error: AssentError) -> tuple[StoredEvent, ...]: ...


class ChildTask(msgspec.Struct, frozen=True):
    """The task of a child, the call it belongs to, and its time limit."""

    call: str
    task: TaskEffect
    record: SessionRecord
    seconds: float = 0  # 0: no limit


class ChildWorker:
    """Drives one child session to its end; `over` is set when it has ended and is unlocked."""

    def __init__(
        self,
        errand: ChildTask,
        driver: AgentDriver,
        turn: Callable[[CancelToken[TurnEnded]], DrivenTurn],
        place: Callable[["ChildWorker"], AbstractContextManager[None]],
        tell: Callable[["ChildWorker", StoredEvent | None], None],
    ) -> None:
        self.errand = errand
        self.over = False
        self.trouble = ""  # what kept it from working at all
        self.token = CancelToken[TurnEnded]()  # with the end that was requested from outside
        self._driver = driver
        self._turn = turn
        self._place = place
        self._tell = tell
        # A daemon: a process that ends does not wait for it; its history is valid at any moment.
        self._thread = Thread(target=self._run, name=f"child {errand.record.slug}", daemon=True)

    @property
    def begun(self) -> bool:
        return self._thread.ident is not None

    def start(self) -> None:
        self._thread.start()

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def cancel(self, end: TurnEnded) -> None:
        """Requests that the child ends, before its next step or in the middle of a request."""
        self.token.cancel(end)

    def _run(self) -> None:
        try:
            with self._place(self):
                self._work()
        except BaseException as error:  # the waiting parent must learn of it, whatever it is
            self.trouble = _told(error).message
        finally:
            self._tell(self, None)

    def _work(self) -> None:
        turn = self._turn(self.token)

        def stop() -> None:
            if end := self.token.reason:
                limit = end.why == "limit"  # of this child, not of those that work for it
                turn.children.cancel(TurnEnded("interrupted", end.words) if limit else end)
            self._driver.stop()

        timer = self._timer()
        try:
            with self.token.attached(stop), watch_log(turn.halted, self.token):
                self._hear(turn.open())
                self._hear(self._driver.drive(turn))
        except Interrupted:
            pass  # the session says so
        except Exception as error:
            self._hear(iter(turn.fail(_told(error))))
            raise
        finally:
            if timer is not None:
                timer.cancel()
            turn.children.stop()
            with suppress(AssentError):
                self._hear(iter(turn.append_events()))  # what was held

    def _timer(self) -> Timer | None:
        seconds = self.errand.seconds
        if not seconds:
            return None
        words = (
            f"Stopped after {seconds:g} seconds, the time limit of a task. Work done so far "
            "is kept."
        )
        timer = Timer(seconds, self.cancel, (TurnEnded("limit", words),))
        timer.daemon = True
        timer.start()
        return timer

    def _hear(self, heard: Iterator[StoredEvent | StreamDelta]) -> None:
        """Passes stored events on; streamed deltas are dropped."""
        for one in heard:
            if isinstance(one, StoredEvent):
                self._tell(self, one)


def _told(error: BaseException) -> AssentError:
    if isinstance(error, AssentError):
        return error
    return AssentError(f"{type(error).__name__}: {error}.")


# Creates or continues the child session for a task, or says why it cannot.


MAX_NAMED = 10  # own children that a refusal names
AS_PARENT = "as its parent's"  # why the mode of a child changed if none was chosen for it

OwnChildren = Mapping[str, ChildStarted]


class ChildSessionFactory:
    """Starts tasks; a child's permissions follow from the current state of its parents."""

    def __init__(
        self, services: AgentServices, diary: SessionRepository, tools: ToolEnvironment
    ) -> None:
        self._services = services
        self._diary = diary
        self._tools = tools
        self._surroundings = SessionContext(services, tools)
        self._clock = services.ports.clock

    def begin(self, parent: SessionRecord, task: TaskEffect, own: OwnChildren) -> SessionRecord:
        """Returns the child with the task as its message; raises the error that the model reads."""
        depth = self._tools.tasks.depth
        if self._tools.driver is None or parent.depth >= depth:
            raise Refused(
                f"Sub-agents cannot start sub-agents here: the depth is {parent.depth}, and "
                f"`tasks.depth` is {depth}. No sub-agent was started; do it yourself."
            )
        agent = subagent(self._tools.agents, task.agent)
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
        plan = self._services.plan_of(parent)
        said = self._message(parent, agent, task.prompt)
        return self._diary.start(
            started, self._services.link(plan), self._reminder(started, plan, said), said
        )

    def _resumed(
        self, parent: SessionRecord, child: SessionRecord, agent: Agent, task: TaskEffect
    ) -> SessionRecord:
        events: list[SessionEvent] = [self._services.link(self._services.plan_of(parent))]
        mode = self._mode(parent, agent)
        if not self._follows(child):
            mode = stricter_mode(mode, child.mode)
        if mode != child.mode:
            words = f"The mode is now {mode}, no longer {child.mode}. {child_rules(mode)}"
            told, new = TextPart(words), self._clock.new_id()
            events.append(ModeChanged(mode, AS_PARENT, child.custom))
            events.append(MessageAdded(new, agent.name, (told,), "mode", child.model))
        said = self._message(parent, agent, task.prompt)
        return self._diary.append(child, *events, said)[0]

    def _own(self, parent: SessionRecord, task: TaskEffect, own: OwnChildren) -> SessionRecord:
        """Returns a child of this session by its id; children of others are refused (F103)."""
        try:
            child = self._diary.load(task.session) if task.session in own else None
        except NotFound:
            child = None
        if child is None or child.parent != parent.session or child.deleted:
            raise Refused(
                f"This session has no sub-agent {task.session!a}. {_listed(own)} No sub-agent was "
                "started."
            )
        if child.agent != task.agent:
            raise Refused(
                f"The sub-agent {task.session} has type {child.agent}; call again with "
                f"agent={child.agent}. No sub-agent was started."
            )
        return child

    def _follows(self, child: SessionRecord) -> bool:
        """Tells whether a child has its parent's mode, and not one that the user set for it."""
        events = [one.event for one in self._diary.read(child.session)]
        chosen = [event.reason for event in events if isinstance(event, ModeChanged)]
        return not chosen or chosen[-1] == AS_PARENT

    def _mode(self, parent: SessionRecord, agent: Agent) -> Mode:
        """Returns the mode of a child: its parent's, or plan for an agent that only reads."""
        return "plan" if is_read_only(agent) else self._surroundings.mode(parent)

    def _message(self, parent: SessionRecord, agent: Agent, prompt: str) -> MessageAdded:
        """Returns the message with the task, for the agent's own model or else the parent's."""
        inherited = parent.model or self._surroundings.agent(parent).model
        model = "" if agent.model else inherited
        return MessageAdded(self._clock.new_id(), agent.name, (TextPart(prompt),), model=model)

    def _reminder(
        self, started: SessionStarted, plan: PlanRecord | None, said: MessageAdded
    ) -> MessageAdded:
        record = fold_session(None, started, 1, "")
        staged = self._services.plans.operations(plan) if plan else ()
        permissions = self._surroundings.permission_context(fold_session(record, said, 2, ""), plan)
        limits = self._tools.path_limits(permissions)
        top_level = self._services.top_level(limits, staged)
        now = ReminderContext(len(staged), staging=False, top_level=top_level)
        words = TextPart(reminder(record, plan, now))
        return MessageAdded(self._clock.new_id(), said.agent, (words,), "reminder", said.model)


def _listed(own: OwnChildren) -> str:
    told = [f"{one.child} ({one.agent}: {one.title})" for one in [*own.values()][-MAX_NAMED:]]
    return f"Its sub-agents are: {', '.join(told)}." if told else "It has none yet."


# Messages that tell the parent's model what a child session did.


MAX_FINAL_MESSAGE_CHARS = 30_000  # characters of last words
# What a parent's model gets to know about a child that did not finish by itself.
_ENDS: Final[dict[TurnEndReason, str]] = {
    "limit": "It was stopped before it finished: ",
    "budget": "It was stopped before it finished: ",
    "interrupted": "It was interrupted: ",
    "failed": "It failed: ",
    "declined": "The user denied permission: ",
    "waiting": "It is waiting for the user's answer: ",
    "paused": "The user paused it: ",
    "cancelled": "The user cancelled it: ",
}
_FAILED: Final[tuple[TurnEndReason, ...]] = ("interrupted", "failed", "declined", "cancelled")


def child_result(
    record: SessionRecord, task: TaskEffect, end: tuple[TurnEndReason, str], said: str
) -> EffectResult:
    """Returns the result of a child, and how to continue with it."""
    why, about = end
    told = f"{_ENDS[why]}{about}".strip() if why in _ENDS else ""
    way_on = f"(To continue it, pass session={record.session} agent={task.agent}.)"
    text = "\n\n".join(filter(None, [said or "It returned no message.", told, way_on]))
    return EffectResult(text, why in _FAILED, metadata={"child": record.session, "why": why})


def declined_children(tasks: Sequence[TaskEffect], of: int) -> str:
    """Tells the user which children they declined, and that the others' results are kept."""
    named = " and ".join(f'sub-agent {task.agent} (task "{task.title}")' for task in tasks)
    others = " The results of the other sub-agents are kept." if of > len(tasks) else ""
    return f"You denied permission to {named}; the action was not done.{others}"


def background_started(record: SessionRecord) -> EffectResult:
    """Returns the result that a child continues in the background."""
    text = f"Running in the background as session={record.session}. You get a message when it ends."
    return EffectResult(text, metadata={"child": record.session, "background": True})


def not_started(why: str) -> EffectResult:
    """Returns the result that says why no child was started."""
    return EffectResult(why, failed=True)


def background_report(title: str, carried: EffectResult) -> str:
    """Returns the message that reports the result of a background child."""
    return f"The background task ended: {title}\n\n{carried.text}"


def lost_children(lost: Sequence[ChildStarted]) -> str:
    """Returns the message about children whose process died."""
    named = "\n".join(f"- {one.agent}: {one.title} (session={one.child})" for one in lost)
    return f"These sub-agents were interrupted because the process ended:\n{named}"


def final_message(events: Sequence[StoredEvent]) -> str:
    """Returns the model's last message in some events, shortened if very long."""
    said, saying = "", list[str]()
    for recorded in events:
        match recorded.body:
            case StepStarted() | StepRetried():
                saying.clear()
            case PartSaid(part=TextPart(text)) if text.strip():
                saying.append(text)
                said = "\n\n".join(saying)
            case _:
                pass
    if len(said) <= MAX_FINAL_MESSAGE_CHARS:
        return said.strip()
    return f"{said[:MAX_FINAL_MESSAGE_CHARS].strip()}\n(Truncated; ask it to be brief.)"


def end_reason(events: Sequence[StoredEvent]) -> tuple[TurnEndReason, str]:
    """Returns why the last turn in some events ended, and the message about it."""
    ends = [one.event for one in events if isinstance(one.event, TurnEnded)]
    return (ends[-1].why, ends[-1].words) if ends else ("interrupted", "")
