"""Builds a text plan: a session's model carries out the approved text in its scope."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import msgspec

from assent.agent.prompt import ModeSwitch, mode_events
from assent.agent.services import AgentServices, ToolEnvironment
from assent.agent.session_repository import MAX_TRIES, SessionRepository
from assent.agent.sessions import Sessions
from assent.core.digest import operation_ids
from assent.core.errors import Busy, ConcurrentChange, IllegalState, PlanTextDiffers
from assent.core.event import Event, StoredEvent
from assent.core.llm import StreamDelta, TextPart
from assent.core.permission.mode import default_agent
from assent.core.plan.operation import WriteFile
from assent.core.plan.plan import Plan
from assent.core.plan.record import PlanRecord, PlanRun
from assent.core.run.journal import OperationResult, ReportedOutcome, RunOutcome, recorded_outcome
from assent.core.session.event import (
    MessageAdded,
    ModeChanged,
    PlanLinked,
    SessionEvent,
    SessionStarted,
    Todo,
    TodosChanged,
    TurnEnded,
    TurnStarted,
)
from assent.core.session.record import SessionRecord, fold_session
from assent.core.tool import EditEffect
from assent.core.undo import combined_operations
from assent.planning.approvals import check_digest
from assent.planning.projections import tasks
from assent.ports import EventBatch
from assent.ports.session import AgentDriver
from assent.runs.run_status import RunReport
from assent.runs.undo.targets import UndoTargets

BUILD_AGENT = default_agent("ask")
BUILD_ENDED = "The build of the approved plan ended, so the mode is plan again."
BUILD_RULES = (
    "This is a build, not planning: the earlier instruction to plan and change nothing on disk "
    "does not apply during it."
)
CONTINUE_BUILD = "Continue the approved plan where you stopped."

_SECTION = re.compile(r"^#+[ \t]*proposed changes[ \t]*$(.*?)(?=^#|\Z)", re.I | re.M | re.S)
_ITEM = re.compile(r"^(?:[-*+]|\d+[.)])[ \t]+(\S.*)$", re.M)


class TextPlanBuilds:
    """Starts, continues and ends the build of a text plan. Starting twice continues it."""

    def __init__(self, services: AgentServices, sessions: Sessions) -> None:
        self._services = services
        self._sessions = sessions

    def start(
        self, plan: PlanRecord, model: str = "", agent: str = "", digest: str = ""
    ) -> SessionRecord:
        """Uses the approval, once, and gives the approved text to the plan's session."""
        self.check(plan, digest)
        session = self._session(plan)
        note = self._services.runs.begin(plan.plan_id, session.session, digest)
        if note.session != session.session:
            raise _elsewhere(plan)
        frozen = self._services.plans.repository().plan(note)
        message = build_message_id(note.run)
        if not self._said(session, message):
            session = self._hand_over(session, note, frozen, (message, agent or BUILD_AGENT, model))
        elif self._is_idle(session, note):
            session = self._go_on(session, plan, agent or BUILD_AGENT, model)
        self._export(msgspec.structs.replace(session, build=note.run), frozen)
        return self._sessions.load(session.session)

    def check(self, plan: PlanRecord, digest: str = "") -> None:
        """Refuses a plan that cannot be built or continued, before anything is asked or used."""
        check_digest(plan, digest or plan.digest)
        if not plan.building:
            self._services.approvals.usable(plan)
        elif difference := self._services.plans.difference(plan):
            raise PlanTextDiffers(
                f"{difference} Restore the approved text to continue the build, or end it with "
                "`assent recover --accept` or `assent recover --roll-back`.",
                "assent diff --live",
            )

    @contextmanager
    def locked(self, plan: PlanRecord) -> Iterator[PlanRecord]:
        """Locks this build for the caller, and yields the plan in its state from then on."""
        session = self._session(plan)
        with ExitStack() as stack:
            try:
                stack.enter_context(self._sessions.locked(session, f"build of plan {plan.name}"))
            except Busy as busy:
                raise _elsewhere(plan, busy) from busy
            current = self._services.plans.repository().load(plan.plan_id)
            if current.building and current.building.session != session.session:
                raise _elsewhere(plan)
            if plan.building and not current.building:
                raise _over(current, plan.building.run)
            yield current

    def work(
        self, plan: PlanRecord, driver: AgentDriver, tools: ToolEnvironment
    ) -> Iterator[StoredEvent | StreamDelta]:
        """Runs one turn of a build that the caller has locked; in that turn its scope applies."""
        note = _note(plan)
        session = self._sessions.load(note.session)
        return self._sessions.work(session, driver, tools, note.run)

    def events(self, plan: PlanRecord) -> list[Event]:
        """Returns the events of the build's turns, and of no other turn."""
        note, own, mine = _note(plan), [], False
        for recorded in self._sessions.events(self._sessions.load(note.session)):
            event = recorded.event
            if isinstance(event, TurnStarted):
                mine = event.build == note.run
            if mine:
                own.append(event)
            mine = mine and not isinstance(event, TurnEnded)
        return own

    def is_over(self, plan: PlanRecord) -> bool:
        """Tells whether the model has finished the work by itself."""
        match self.events(plan)[-1:]:
            case [TurnEnded(why="end" | "presented")]:
                return True
            case _:
                return False

    def report(self, plan: PlanRecord, *, kept: bool = True) -> RunReport:
        """Reports what a build changed so far, and which steps remain."""
        note = _note(plan)
        repository = self._services.plans.repository()
        changes = UndoTargets(self._services.ports, repository).built(note.run)
        done = [change for change in changes if change.operations]
        operations = combined_operations(done)
        result: OperationResult = "done" if kept else "undone"
        rows = tuple((name, result) for name in operation_ids(operations))
        outcome: RunOutcome = "rolled_back" if not kept else "done" if done else "nothing"
        todos = self._sessions.load(note.session).todos
        open_ones = [todo.content for todo in todos if todo.status in ("pending", "in_progress")]
        return RunReport(note.run, outcome, rows, (), operations, tuple(open_ones))

    def finish(self, plan: PlanRecord, ending: ReportedOutcome) -> PlanRecord:
        """Ends the run and restores the session's mode, both or neither (law 9)."""
        note = plan.building
        if note is None:
            return plan
        for _ in range(MAX_TRIES):
            session = self._sessions.load(note.session)
            home = self._services.workspaces.open().seq
            events: tuple[SessionEvent, ...] = (PlanLinked(plan.plan_id, plan.seq + 1, home),)
            if self._raised(session, note):
                new, why = self._services.ports.clock.new_id(), f"end of the {_reason(note)}"
                events += mode_events(session, self._back(session, why), new)
            try:
                batch = self._batch(session, events)
                return self._services.runs.end(
                    plan.plan_id, note.run, recorded_outcome(ending), batch
                )
            except ConcurrentChange:  # a message was added at the same time
                plan = self._services.plans.repository().load(plan.plan_id)
        raise Busy(
            "Another process keeps changing this session; the build has not ended. Retry.",
            "assent build",
        )

    def _batch(self, session: SessionRecord, events: tuple[SessionEvent, ...]) -> EventBatch:
        """Returns the batch of events for a session, with the resulting head."""
        at, head = self._services.ports.clock.now(), session
        for seq, event in enumerate(events, session.seq + 1):
            head = fold_session(head, event, seq, at)
        stream = self._diary().stream(session.session)
        return EventBatch(stream, session.seq, at, events, msgspec.json.encode(head))

    def _session(self, plan: PlanRecord) -> SessionRecord:
        """Returns the session that works on the plan, or starts one in the plan's own folder."""
        if plan.building:
            return self._sessions.load(plan.building.session)
        if found := self._sessions.of_plan(plan):
            return found
        new, diary = self._services.ports.clock.new_id(), self._diary()
        with self._services.ports.locks.hold(diary.workspace, f"build of plan {plan.name}"):
            if found := self._sessions.of_plan(plan):  # another process has started one
                return found
            begun = SessionStarted(new, diary.workspace, plan.session, "ask", plan.goal)
            return diary.start(begun, self._services.link(plan))

    def _hand_over(
        self, session: SessionRecord, note: PlanRun, plan: Plan, said: tuple[str, str, str]
    ) -> SessionRecord:
        """Records everything in one transaction: a crash leaves all of it, or none."""
        message, agent, model = said
        record = next(r for r in self._services.plans.records() if note in r.runs)
        todos = plan_steps(plan.text)
        words = TextPart(build_contract(plan, todos))
        raised: list[SessionEvent] = []
        if session.mode == "plan":
            raised.append(ModeChanged("ask", _reason(note)))
        told = MessageAdded(message, agent, (words,), synthetic="build", model=model)
        events = (self._services.link(record), *raised, told, TodosChanged(todos))
        self._services.projections.todos(record, plan.text, todos)
        return self._diary().append(session, *events)[0]

    def _is_idle(self, session: SessionRecord, note: PlanRun) -> bool:
        """Tells whether nothing in the session makes a model continue the build."""
        if session.waiting:
            events = [one.event for one in self._sessions.events(session)]
            said = [event for event in events if isinstance(event, MessageAdded)]
            return said[-1].synthetic != "build"
        if session.working:
            return session.build != note.run
        return True

    def _go_on(
        self, session: SessionRecord, plan: PlanRecord, agent: str, model: str
    ) -> SessionRecord:
        current = self._services.plans.repository().load(plan.plan_id)
        if self.is_over(current):
            return session
        new = self._services.ports.clock.new_id()
        told = MessageAdded(new, agent, (TextPart(CONTINUE_BUILD),), synthetic="build", model=model)
        before: list[SessionEvent] = []
        if session.plan_id != plan.plan_id:
            before.append(self._services.link(current))
        if session.mode == "plan":  # a repeated build command is deliberate
            before.append(ModeChanged("ask", _reason(_note(current))))
        return self._diary().append(session, *before, told)[0]

    def _export(self, session: SessionRecord, plan: Plan) -> None:
        """Applies the export, the only operation of a text plan, if it is still due."""
        for op in plan.operations:
            assert isinstance(op, WriteFile), "a plan of prose only exports its text"
            if self._services.ports.files.read_states((op.path,))[op.path] != op.before:
                continue  # it was done, or another writer's content is there now
            edit = EditEffect((op,), {plan.content_hash: plan.text})
            self._services.permits.apply(session, "export", edit, "scope", f"plan {plan.digest}")

    def _said(self, session: SessionRecord, message: str) -> bool:
        events = [one.event for one in self._sessions.events(session)]
        return any(isinstance(event, MessageAdded) and event.id == message for event in events)

    def _raised(self, session: SessionRecord, note: PlanRun) -> bool:
        """Tells whether the current mode was set by the build only."""
        events = [one.event for one in self._sessions.events(session)]
        modes = [event for event in events if isinstance(event, ModeChanged)]
        return bool(modes) and modes[-1] == ModeChanged("ask", _reason(note))

    def _back(self, session: SessionRecord, why: str) -> ModeSwitch:
        """Returns the switch to the mode before the build, which may be a custom mode."""
        events = [one.event for one in self._sessions.events(session)]
        chosen = [e.custom for e in events if isinstance(e, SessionStarted | ModeChanged)]
        place = self._services.config
        return ModeSwitch(
            "plan", why, BUILD_ENDED, staging=place.staging, custom=chosen[-2], modes=place.modes
        )

    def _diary(self) -> SessionRepository:
        return self._sessions.repository()


def plan_steps(text: bytes) -> tuple[Todo, ...]:
    """Returns the steps of a plan: its check boxes, else the items of its proposed changes."""
    boxes = tasks(text)
    if boxes:
        return tuple(
            Todo(str(box["text"]), "completed" if box["done"] else "pending") for box in boxes
        )
    section = _SECTION.search(text.decode("utf-8", "replace"))
    return tuple(Todo(words.strip()) for words in _ITEM.findall(section[1])) if section else ()


def build_contract(plan: Plan, todos: tuple[Todo, ...]) -> str:
    """Returns the message that says what was approved, its scope, and the steps to do."""
    files = ", ".join(plan.scope.files) or "none: the user is asked about every change"
    parts = [
        f"The user approved this plan (digest {plan.digest}). Carry it out now, exactly as "
        f"written; change nothing that it does not ask for. {BUILD_RULES}",
        f"Files you may change without asking: {files}.",
    ]
    if todos:
        listed = [f"{n}. {todo.content}" for n, todo in enumerate(todos, 1)]
        parts.append(
            "Its steps are your todos. Set each to in_progress and then completed with the todo "
            "tool as you go; cancel one only with a reason:\n" + "\n".join(listed)
        )
    text = plan.text.decode("utf-8", "replace")
    parts.append(f"The approved text:\n\n{text}")
    parts.append("When you finish, summarize briefly what was done and what was not.")
    return "\n\n".join(parts)


def build_message_id(run: str) -> str:
    """Returns the id of the message that starts a build in a session."""
    return f"build-{run}"


def _note(plan: PlanRecord) -> PlanRun:
    """Returns the run of a build in progress."""
    if plan.building is None:
        raise _over(plan, plan.runs[-1].run if plan.runs else "")
    return plan.building


def _over(plan: PlanRecord, run: str) -> IllegalState:
    named = f" (run {run})" if run else ""
    return IllegalState(f"The build of plan {plan.name}{named} has ended.", "assent status")


def _elsewhere(plan: PlanRecord, busy: Busy | None = None) -> Busy:
    """Returns the error that this build is in use elsewhere, and how to see by whom."""
    told = f"Plan {plan.name} is being built elsewhere, or its session is in use."
    if busy is None:
        return Busy(f"{told} Nothing was changed.", "assent status")
    return Busy(f"{told} {busy.message}", busy.next)


def _reason(note: PlanRun) -> str:
    return f"build of {note.digest}"
