"""Runs the child sessions of a turn in parallel, and collects their results."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from threading import Condition
from typing import Protocol

import msgspec

from assent.agent.services import AgentServices, ConcurrencyLimit, ToolEnvironment
from assent.agent.session_repository import SessionRepository
from assent.agent.subagents.ancestry import (
    abandoned_while_asking,
    asking_children,
    children_of,
    max_seconds,
    max_steps,
    subagent,
    unfinished_children,
    waiting_tasks,
)
from assent.agent.subagents.worker import (
    ChildSessionFactory,
    ChildTask,
    ChildWorker,
    DrivenTurn,
    background_report,
    background_started,
    child_result,
    end_reason,
    final_message,
    lost_children,
    not_started,
)
from assent.core.errors import AssentError
from assent.core.event import StoredEvent
from assent.core.llm import TextPart, ToolCall
from assent.core.session.agent import Agent
from assent.core.session.event import (
    ChildEnded,
    ChildStarted,
    MessageAdded,
    SessionEvent,
    TurnEnded,
    TurnEndReason,
)
from assent.core.session.record import SessionRecord
from assent.core.tool import EffectResult, TaskEffect
from assent.ports.cancellation import CancelToken

GRACE_S = 3.0  # for children that were told to stop; one in a call may take longer
CANCEL_AGAIN_S = 0.05  # between two times that a request is cut that may have begun just then
PARENT_STOPPED = "The parent session was stopped. Work done so far is kept."
PROCESS_ENDED = "Its process ended. Work done so far is kept."

TurnFactory = Callable[
    [AgentServices, SessionRepository, str, ToolEnvironment, str, CancelToken[TurnEnded]],
    DrivenTurn,
]
RequestedTasks = Sequence[tuple[ToolCall, TaskEffect]]


class ParentTurn(Protocol):
    """What children need from the turn that they work for."""

    @property
    def record(self) -> SessionRecord: ...

    def append_events(self, *events: SessionEvent) -> tuple[StoredEvent, ...]: ...

    def read_updates(self) -> tuple[StoredEvent, ...]: ...

    def confirm(self, header: str, question: str) -> Generator[StoredEvent, None, bool]: ...


class ChildSessions:
    """The children of one turn; only the parent's thread writes to the parent's session.

    A child in the background is the exception: its end is appended like a message that the user
    sends during the turn, and the turn reads it before its next step.
    """

    def __init__(
        self, parent: ParentTurn, services: AgentServices, tools: ToolEnvironment, make: TurnFactory
    ) -> None:
        self._parent = parent
        self._services = services
        self._tools = tools
        self._make = make
        self._diary = SessionRepository(services.ports, parent.record.workspace)
        self._tasking = ChildSessionFactory(services, self._diary, tools)
        self._all: list[ChildWorker] = []
        self._allowed = tools.tasks.children
        self._change = Condition()
        self._heard: list[StoredEvent] = []  # stored, and not shown yet
        self._places = tools.concurrency or ConcurrencyLimit(tools.tasks.max_parallel)
        self._pulled = False
        events = self._events()
        # Children that a process left at a question when it died,
        self.left = abandoned_while_asking(self._diary.read, events)
        # and calls that have no end because their child waits for an answer.
        self.waiting = waiting_tasks(events, self.left)

    @property
    def asking(self) -> bool:
        """Whether a child in the background stopped with an open question."""
        behind = [child for child in self._all if child.errand.task.background and child.over]
        return any(self._end(child)[0] == "waiting" for child in behind)

    def end_abandoned(self) -> Iterator[StoredEvent]:
        """Ends the children of a process that died, and tells the model (F104)."""
        yield from self._park()
        events = self._events()
        yield from self._wake(events)
        open_ones = unfinished_children(events)
        lost = [one for one in children_of(events).values() if one.child in open_ones]
        if not lost:
            return
        for one in lost:
            self._bury(one.child, "interrupted")
        ended = [ChildEnded(one.child, "interrupted", PROCESS_ENDED) for one in lost]
        message = self._message(self._parent.record, lost_children(lost))
        yield from self._parent.append_events(*ended, message)

    def run(self, wanted: RequestedTasks) -> Generator[StoredEvent, None, list[EffectResult]]:
        """Runs children, and waits for those that are not in the background."""
        begun: list[ChildWorker | EffectResult] = []
        try:
            for call, task in wanted:
                begun.append((yield from self._begin(call, task)))
            mine = [each for each in begun if isinstance(each, ChildWorker)]
            for child in mine:
                child.start()
            front = [child for child in mine if not child.errand.task.background]
            yield from self._wait(lambda: all(child.over for child in front))
            yield from self._parent.append_events(*[self._ended(child) for child in front])
        except BaseException:
            self.stop()
            raise
        return [self._carried(each) if isinstance(each, ChildWorker) else each for each in begun]

    def wait(self) -> Generator[StoredEvent, None, bool]:
        """Waits until a child in the background reports; tells whether there is something new."""
        behind = [child for child in self._all if child.errand.task.background]
        if not behind:
            return False
        try:
            yield from self._parent.read_updates()
            while not self._parent.record.waiting and not all(child.over for child in behind):
                going = [child for child in behind if not child.over]
                yield from self._wait(partial(_one_is_over, going))
                yield from self._parent.read_updates()
        except BaseException:
            self.stop()
            raise
        return self._parent.record.waiting

    def new_events(self) -> tuple[StoredEvent, ...]:
        """Returns the children's stored events that were not shown yet, without waiting."""
        with self._change:
            heard, self._heard = self._heard, []
        return tuple(heard)

    def cancel(self, end: TurnEnded) -> None:
        """Requests that all children end like this; returns at once, from any thread."""
        self._pulled = True
        for child in self._all:
            if not child.over:
                child.cancel(end)
        self._places.wake()
        with self._change:
            self._change.notify_all()

    def stop(self) -> None:
        """Ends all children and waits a little for them; calling it again does nothing."""
        going = stopped = [child for child in self._all if child.begun and not child.over]
        # Counted, not timed: while this process is suspended, they would get no time.
        for _ in range(round(GRACE_S / CANCEL_AGAIN_S)):
            if not going:
                break
            self.cancel(TurnEnded("interrupted", PARENT_STOPPED))
            for child in going:
                self._hang_up(child)
            going[0].join(CANCEL_AGAIN_S)
            going = [child for child in going if not child.over]
        for child in stopped:  # it may have asked, and ended before it could take that back
            self._hang_up(child)
        open_ones = unfinished_children(self._events()) if self._all else set()
        ended = [c for c in self._all if c not in going and c.errand.record.session in open_ones]
        if ended:
            with suppress(AssentError):  # what stopped the turn is more important
                self._parent.append_events(*[self._ended(child) for child in ended])

    def _hang_up(self, child: ChildWorker) -> None:
        """Closes the questions that a child waits for, which answers them with no (law 9)."""
        with suppress(AssentError):
            record = self._diary.load(child.errand.record.session)
            for question in record.questions:
                self._services.pending_questions.expire(record, question, PARENT_STOPPED)

    def _begin(
        self, call: ToolCall, task: TaskEffect
    ) -> Generator[StoredEvent, None, ChildWorker | EffectResult]:
        """Starts a child session with the task as its message; or returns why it cannot start."""
        if call.id in self.waiting:
            return (yield from self._again(self.waiting.pop(call.id), task))
        try:
            own = children_of(self._events()) if task.session else {}
            if task.session in {c.errand.record.session for c in self._all if not c.over}:
                return not_started(f"The sub-agent {task.session} is still running. Wait for it.")
            if not (yield from self._may()):
                return not_started(
                    "The user does not want more sub-agents. No sub-agent was started."
                )
            record = self._tasking.begin(self._parent.record, task, own)
            agent = subagent(self._tools.agents, task.agent)
        except AssentError as error:
            return not_started(error.message)
        return (yield from self._employ(call.id, task, record, agent))

    def _employ(
        self, call: str, task: TaskEffect, record: SessionRecord, agent: Agent
    ) -> Generator[StoredEvent, None, ChildWorker]:
        """Records that a child works for a call, and returns it ready to begin."""
        background = task.background
        yield from self._parent.append_events(
            ChildStarted(call, record.session, agent.name, task.title, background)
        )
        limits, driver = self._tools.tasks, self._tools.driver
        assert driver is not None, "tasking has looked"
        errand = ChildTask(call, task, record, max_seconds(agent, limits))
        another = driver.child_driver(max_steps(agent, limits))
        tools = msgspec.structs.replace(self._tools, concurrency=self._places)
        build = self._parent.record.build
        turn = partial(self._make, self._services, self._diary, record.session, tools, build)
        child = ChildWorker(errand, another, turn, self._place, self._tell)
        self._all.append(child)
        return child

    def _again(
        self, started: ChildStarted, task: TaskEffect
    ) -> Generator[StoredEvent, None, ChildWorker | EffectResult]:
        """Resumes a child that waited for an answer, or returns its result if it has ended."""
        try:
            record = self._diary.load(started.child)
            agent = subagent(self._tools.agents, started.agent)
        except AssentError as error:
            return not_started(error.message)
        if record.ended == "waiting" or record.working or record.waiting:
            return (yield from self._employ(started.call, task, record, agent))
        events = self._diary.read(record.session)
        return child_result(record, task, end_reason(events), final_message(events))

    def _park(self) -> Iterator[StoredEvent]:
        """Lets children that a dead process left at a question wait for its answer."""
        left = sorted(self.left)
        for child in left:
            self._bury(child, "waiting")
        yield from self._parent.append_events(
            *[ChildEnded(c, "waiting", PROCESS_ENDED) for c in left]
        )

    def _wake(self, events: Sequence[StoredEvent]) -> Iterator[StoredEvent]:
        """Resumes background children that waited for an answer."""
        asking = asking_children(events)
        behind = [c for c in children_of(events).values() if c.background and c.child in asking]
        for started in behind:
            task = TaskEffect("", started.title, started.agent, started.child, background=True)
            came = yield from self._again(started, task)
            if isinstance(came, ChildWorker):
                came.start()
                continue
            why: TurnEndReason = came.metadata.get("why", "failed")
            told = self._message(self._parent.record, background_report(started.title, came))
            yield from self._parent.append_events(ChildEnded(started.child, why), told)

    def _may(self) -> Generator[StoredEvent, None, bool]:
        """Asks the user when more children were started than the limit allows."""
        used = self._parent.record.children
        if not self._allowed or used < self._allowed:
            return True
        asked = f"The session has started {used} sub-agents. Allow more?"
        if not (yield from self._parent.confirm("Budget", asked)):
            return False
        self._allowed = used + self._tools.tasks.children
        return True

    @contextmanager
    def _place(self, child: ChildWorker) -> Iterator[None]:
        """Waits for a free slot, and locks the child's session."""
        record, locks = child.errand.record, self._services.ports.locks
        with (
            self._places.acquired(lambda: child.token.is_cancelled),
            locks.hold(f"session-{record.session}", f"sub-agent {record.slug}"),
        ):
            yield

    def _tell(self, child: ChildWorker, recorded: StoredEvent | None) -> None:
        """Takes an event that a child stored, or None when it has ended; runs in its thread."""
        if recorded is None and child.errand.task.background:
            with suppress(Exception):  # the next turn finds out, too
                self._report(child)
        with self._change:
            if recorded is None:
                child.over = True
            else:
                self._heard.append(recorded)
            self._change.notify_all()

    def _report(self, child: ChildWorker) -> None:
        """Appends the result of a background child, for the parent's model to read."""
        parent, ended = self._diary.load(self._parent.record.session), self._ended(child)
        if ended.why == "waiting":  # its end is reported once it has ended
            self._diary.append(parent, ended)
            return
        words = background_report(child.errand.task.title, self._result(child))
        self._diary.append(parent, ended, self._message(parent, words))

    def _wait(self, done: Callable[[], bool]) -> Iterator[StoredEvent]:
        """Yields the children's stored events until `done` is true and all are shown."""
        holds = self._tools.concurrency is not None  # a child itself, which leaves them its place
        with self._places.released(lambda: self._pulled) if holds else nullcontext():
            yield from self._hand_on(done)

    def _hand_on(self, done: Callable[[], bool]) -> Iterator[StoredEvent]:
        while True:
            with self._change:
                while not self._heard and not done():
                    self._change.wait()
                heard, self._heard = self._heard, []
            if not heard:
                return
            yield from heard

    def _carried(self, child: ChildWorker) -> EffectResult:
        background = child.errand.task.background
        return background_started(child.errand.record) if background else self._result(child)

    def _result(self, child: ChildWorker) -> EffectResult:
        record, task = child.errand.record, child.errand.task
        said = final_message(self._diary.read(record.session, record.seq))
        return child_result(record, task, self._end(child), said)

    def _ended(self, child: ChildWorker) -> ChildEnded:
        return ChildEnded(child.errand.record.session, *self._end(child))

    def _end(self, child: ChildWorker) -> tuple[TurnEndReason, str]:
        if child.trouble:
            return "failed", child.trouble
        return end_reason(self._diary.read(child.errand.record.session, child.errand.record.seq))

    def _events(self) -> list[StoredEvent]:
        record = self._parent.record
        return self._diary.read(record.session) if record.children else []

    def _bury(self, session: str, why: TurnEndReason) -> None:
        """Ends the turn of a child whose process died."""
        record = self._diary.load(session)
        if record.working:
            self._diary.append(record, TurnEnded(why, PROCESS_ENDED))

    def _message(self, parent: SessionRecord, words: str) -> MessageAdded:
        new = self._services.ports.clock.new_id()
        return MessageAdded(new, parent.agent, (TextPart(words),), "task", parent.model)


def _one_is_over(children: Sequence[ChildWorker]) -> bool:
    return any(child.over for child in children)
