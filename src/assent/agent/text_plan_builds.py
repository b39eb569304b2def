"""Builds a text plan: a session's model carries out the approved text in its scope."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import msgspec

from assent.agent.reminders import ModeSwitch, mode_events
from assent.agent.services import AgentServices
from assent.agent.session_repository import MAX_TRIES, SessionRepository
from assent.agent.sessions import Sessions
from assent.agent.tool_environment import ToolEnvironment
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
from assent.runs.runs import RunReport
from assent.runs.undo.targets import UndoTargets

BUILD_AGENT = default_agent("ask")
BUILD_ENDED = "The build of the approved plan is over, so the mode is plan again, as before it."
BUILD_RULES = (
    "This is a build, no longer planning: that you were to plan and to change nothing on disk does "
    "not hold while it goes on."
)
CONTINUE_BUILD = "Go on with the approved plan where you stopped."

_SECTION = re.compile(r"^#+[ \t]*proposed changes[ \t]*$(.*?)(?=^#|\Z)", re.I | re.M | re.S)
_ITEM = re.compile(r"^(?:[-*+]|\d+[.)])[ \t]+(\S.*)$", re.M)


class TextPlanBuilds:
    """Starts, continues and ends the build of a text plan. Starting twice continues it."""

    def __init__(self, desk: AgentServices, sessions: Sessions) -> None:
        self._desk = desk
        self._sessions = sessions

    def start(
        self, plan: PlanRecord, model: str = "", agent: str = "", digest: str = ""
    ) -> SessionRecord:
        """Spends the approval, once, and hands the approved text to the plan's session."""
        self.check(plan, digest)
        session = self._session(plan)
        note = self._desk.runs.begin(plan.plan_id, session.session, digest)
        if note.session != session.session:
            raise _elsewhere(plan)
        frozen = self._desk.plans.repository().plan(note)
        message = build_message_id(note.run)
        if not self._said(session, message):
            session = self._hand_over(session, note, frozen, (message, agent or BUILD_AGENT, model))
        elif self._is_idle(session, note):
            session = self._go_on(session, plan, agent or BUILD_AGENT, model)
        self._export(msgspec.structs.replace(session, build=note.run), frozen)
        return self._sessions.load(session.session)

    def check(self, plan: PlanRecord, digest: str = "") -> None:
        """Refuses what cannot be built, or not gone on with, before anything is asked or spent."""
        check_digest(plan, digest or plan.digest)
        if not plan.building:
            self._desk.approvals.usable(plan)
        elif difference := self._desk.plans.difference(plan):
            raise PlanTextDiffers(
                f"{difference} The build goes on when its bytes are as they were; or end it with "
                "`assent recover --accept` or `assent recover --roll-back`.",
                "assent diff --live",
            )

    @contextmanager
    def locked(self, plan: PlanRecord) -> Iterator[PlanRecord]:
        """Keeps everybody else from this build, and yields the plan as it is from then on."""
        session = self._session(plan)
        with ExitStack() as stack:
            try:
                stack.enter_context(self._sessions.locked(session, f"build of plan {plan.name}"))
            except Busy as busy:
                raise _elsewhere(plan, busy) from busy
            current = self._desk.plans.repository().load(plan.plan_id)
            if current.building and current.building.session != session.session:
                raise _elsewhere(plan)
            if plan.building and not current.building:
                raise _over(current, plan.building.run)
            yield current

    def work(
        self, plan: PlanRecord, driver: AgentDriver, tooling: ToolEnvironment
    ) -> Iterator[StoredEvent | StreamDelta]:
        """Takes a build that the caller holds one turn forward; in that turn its scope counts."""
        note = _note(plan)
        session = self._sessions.load(note.session)
        return self._sessions.work(session, driver, tooling, note.run)

    def events(self, plan: PlanRecord) -> list[Event]:
        """Returns what happened in the turns of the build, and in no other turn."""
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
        """Tells whether the model has come to its own end of the work."""
        match self.events(plan)[-1:]:
            case [TurnEnded(why="end" | "presented")]:
                return True
            case _:
                return False

    def report(self, plan: PlanRecord, *, kept: bool = True) -> RunReport:
        """Says what a build by a model changed so far, if anything, and which steps it left."""
        note = _note(plan)
        ledger = self._desk.plans.repository()
        deeds = UndoTargets(self._desk.ports, ledger).built(note.run)
        done = [deed for deed in deeds if deed.operations]
        operations = combined_operations(done)
        result: OperationResult = "done" if kept else "undone"
        rows = tuple((name, result) for name in operation_ids(operations))
        outcome: RunOutcome = "rolled_back" if not kept else "done" if done else "nothing"
        todos = self._sessions.load(note.session).todos
        open_ones = [todo.content for todo in todos if todo.status in ("pending", "in_progress")]
        return RunReport(note.run, outcome, rows, (), operations, tuple(open_ones))

    def finish(self, plan: PlanRecord, ending: ReportedOutcome) -> PlanRecord:
        """Ends the run and puts the session's mode back, both or neither (law 9)."""
        note = plan.building
        if note is None:
            return plan
        for _ in range(MAX_TRIES):
            session = self._sessions.load(note.session)
            home = self._desk.workspaces.open().seq
            events: tuple[SessionEvent, ...] = (PlanLinked(plan.plan_id, plan.seq + 1, home),)
            if self._raised(session, note):
                new, why = self._desk.ports.clock.new_id(), f"end of the {_reason(note)}"
                events += mode_events(session, self._back(session, why), new)
            try:
                batch = self._batch(session, events)
                return self._desk.runs.end(plan.plan_id, note.run, recorded_outcome(ending), batch)
            except ConcurrentChange:  # somebody said something meanwhile
                plan = self._desk.plans.repository().load(plan.plan_id)
        raise Busy("Others keep writing to this session; the build has not ended.", "assent build")

    def _batch(self, session: SessionRecord, events: tuple[SessionEvent, ...]) -> EventBatch:
        """Prepares events for a session together with the head that they make."""
        at, head = self._desk.ports.clock.now(), session
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
        new, diary = self._desk.ports.clock.new_id(), self._diary()
        with self._desk.ports.locks.hold(diary.workspace, f"build of plan {plan.name}"):
            if found := self._sessions.of_plan(plan):  # somebody else was faster
                return found
            begun = SessionStarted(new, diary.workspace, plan.session, "ask", plan.goal)
            return diary.start(begun, self._desk.link(plan))

    def _hand_over(
        self, session: SessionRecord, note: PlanRun, plan: Plan, said: tuple[str, str, str]
    ) -> SessionRecord:
        """Says everything in one transaction: a crash leaves all of it, or none."""
        message, agent, model = said
        record = next(r for r in self._desk.plans.records() if note in r.runs)
        todos = plan_steps(plan.text)
        words = TextPart(build_contract(plan, todos))
        raised: list[SessionEvent] = []
        if session.mode == "plan":
            raised.append(ModeChanged("ask", _reason(note)))
        told = MessageAdded(message, agent, (words,), synthetic="build", model=model)
        events = (self._desk.link(record), *raised, told, TodosChanged(todos))
        self._desk.projections.todos(record, plan.text, todos)
        return self._diary().append(session, *events)[0]

    def _is_idle(self, session: SessionRecord, note: PlanRun) -> bool:
        """Tells whether nothing in the session makes a model go on with the build."""
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
        current = self._desk.plans.repository().load(plan.plan_id)
        if self.is_over(current):
            return session
        new = self._desk.ports.clock.new_id()
        told = MessageAdded(new, agent, (TextPart(CONTINUE_BUILD),), synthetic="build", model=model)
        before: list[SessionEvent] = []
        if session.plan_id != plan.plan_id:
            before.append(self._desk.link(current))
        if session.mode == "plan":  # whoever says build again means it
            before.append(ModeChanged("ask", _reason(_note(current))))
        return self._diary().append(session, *before, told)[0]

    def _export(self, session: SessionRecord, plan: Plan) -> None:
        """Applies the export, all that a plan of prose does by itself, if it is still due."""
        for op in plan.operations:
            assert isinstance(op, WriteFile), "a plan of prose only exports its text"
            if self._desk.ports.files.read_states((op.path,))[op.path] != op.before:
                continue  # it was done, or somebody else's content stands there by now
            edit = EditEffect((op,), {plan.content_hash: plan.text})
            self._desk.permits.apply(session, "export", edit, "scope", f"plan {plan.digest}")

    def _said(self, session: SessionRecord, message: str) -> bool:
        events = [one.event for one in self._sessions.events(session)]
        return any(isinstance(event, MessageAdded) and event.id == message for event in events)

    def _raised(self, session: SessionRecord, note: PlanRun) -> bool:
        """Tells whether the mode that holds now was chosen by the build alone."""
        events = [one.event for one in self._sessions.events(session)]
        modes = [event for event in events if isinstance(event, ModeChanged)]
        return bool(modes) and modes[-1] == ModeChanged("ask", _reason(note))

    def _back(self, session: SessionRecord, why: str) -> ModeSwitch:
        """Returns the switch to the mode before the build, which may be one of people's own."""
        events = [one.event for one in self._sessions.events(session)]
        chosen = [e.custom for e in events if isinstance(e, SessionStarted | ModeChanged)]
        place = self._desk.config
        return ModeSwitch(
            "plan", why, BUILD_ENDED, staging=place.staging, custom=chosen[-2], modes=place.modes
        )

    def _diary(self) -> SessionRepository:
        return self._sessions.repository()


def plan_steps(text: bytes) -> tuple[Todo, ...]:
    """Finds the steps of a plan: its check boxes, else the items of its proposed changes."""
    boxes = tasks(text)
    if boxes:
        return tuple(
            Todo(str(box["text"]), "completed" if box["done"] else "pending") for box in boxes
        )
    section = _SECTION.search(text.decode("utf-8", "replace"))
    return tuple(Todo(words.strip()) for words in _ITEM.findall(section[1])) if section else ()


def build_contract(plan: Plan, todos: tuple[Todo, ...]) -> str:
    """Says what was approved, what it covers, and which steps are to be worked off."""
    files = ", ".join(plan.scope.files) or "none: every change is asked about"
    parts = [
        f"The person approved this plan (digest {plan.digest}). Carry it out now, exactly as it "
        f"says; change nothing that it does not ask for. {BUILD_RULES}",
        f"Files that it covers without a further question: {files}.",
    ]
    if todos:
        listed = [f"{n}. {todo.content}" for n, todo in enumerate(todos, 1)]
        parts.append(
            "Its steps are your todos. Set each to in_progress and then completed with the todo "
            "tool as you go; cancel one only with a reason:\n" + "\n".join(listed)
        )
    text = plan.text.decode("utf-8", "replace")
    parts.append(f"The approved text:\n\n{text}")
    parts.append("When everything is done, say in a few words what was done and what was not.")
    return "\n\n".join(parts)


def build_message_id(run: str) -> str:
    """Returns the id of the message with which a session begins to build."""
    return f"build-{run}"


def _note(plan: PlanRecord) -> PlanRun:
    """Returns the run of a build that goes on."""
    if plan.building is None:
        raise _over(plan, plan.runs[-1].run if plan.runs else "")
    return plan.building


def _over(plan: PlanRecord, run: str) -> IllegalState:
    named = f" (run {run})" if run else ""
    return IllegalState(f"The build of plan {plan.name}{named} is over.", "assent status")


def _elsewhere(plan: PlanRecord, busy: Busy | None = None) -> Busy:
    """Says that somebody else is at this build, and how to see who."""
    told = f"Plan {plan.name} is being built elsewhere, or its session is in use."
    if busy is None:
        return Busy(f"{told} Nothing was changed.", "assent status")
    return Busy(f"{told} {busy.message}", busy.next)


def _reason(note: PlanRun) -> str:
    return f"build of {note.digest}"
