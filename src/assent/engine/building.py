"""Building a plan of prose: the approved text becomes work for a session, with a contract."""

import re

import msgspec

from assent.core.digest import operation_ids
from assent.core.errors import Busy, Moved
from assent.core.journal import Outcome, Result
from assent.core.message import Text
from assent.core.mode import agent_of
from assent.core.operation import WriteFile
from assent.core.plan import Plan
from assent.core.record import PlanRecord, RunNote
from assent.core.session import SessionRecord, fold_session
from assent.core.session_event import (
    MessageAdded,
    ModeChanged,
    PlanLinked,
    SessionEvent,
    SessionStarted,
    Todo,
    TodosChanged,
    TurnEnded,
)
from assent.core.tool import Edit
from assent.engine.desk import Desk
from assent.engine.diary import TRIES, Diary
from assent.engine.projections import tasks
from assent.engine.reminders import Switch, mode_events
from assent.engine.runs import RunReport
from assent.engine.sessions import Sessions
from assent.engine.takeback import composed
from assent.ports import Batch

BUILDER = agent_of("ask")
ENDED = "The build of the approved plan is over, so the mode is plan again, as before it."
BUILDS = (
    "This is a build, no longer planning: that you were to plan and to change nothing on disk does "
    "not hold while it goes on."
)
GO_ON = "Go on with the approved plan where you stopped."

_SECTION = re.compile(r"^#+[ \t]*proposed changes[ \t]*$(.*?)(?=^#|\Z)", re.I | re.M | re.S)
_ITEM = re.compile(r"^(?:[-*+]|\d+[.)])[ \t]+(\S.*)$", re.M)


class Building:
    """The verbs around the turn that carries out a plan of prose. Starting twice is going on."""

    def __init__(self, desk: Desk, sessions: Sessions) -> None:
        self._desk = desk
        self._sessions = sessions

    def start(self, plan: PlanRecord, model: str = "", agent: str = "") -> SessionRecord:
        """Spends the approval, once, and hands the approved text to the plan's session."""
        session = self._session(plan)
        note = self._desk.runs.begin(plan.plan_id, session.session)
        session = self._sessions.load(note.session)
        frozen = self._desk.plans.ledger().plan(note)
        message = message_of(note.run)
        if not self._said(session, message):
            session = self._hand_over(session, note, frozen, (message, agent or BUILDER, model))
        elif not (session.waiting or session.working or self.is_over(session)):
            told = MessageAdded(
                self._desk.doors.clock.new_id(), agent or BUILDER, (Text(GO_ON),),
                synthetic="build", model=model,
            )  # fmt: skip
            session = self._diary().append(session, told)[0]
        self._export(session, frozen)
        return self._sessions.load(session.session)

    def is_over(self, session: SessionRecord) -> bool:
        """Tells whether the model has come to its own end of the work."""
        if session.waiting or session.working:
            return False
        events = [one.event for one in self._sessions.events(session)]
        ends = [event.why for event in events if isinstance(event, TurnEnded)]
        return bool(ends) and ends[-1] in ("end", "presented")

    def report(self, plan: PlanRecord, *, kept: bool = True) -> RunReport:
        """Says what a build by a model changed so far, if anything, and which steps it left."""
        note = plan.building
        assert note is not None, "the build has begun and not ended"
        ledger = self._desk.plans.ledger()
        runs = [one for one in ledger.permit_runs() if one.permit.build == note.run]
        done = [one.operations for one in runs if one.outcome == "done"]
        operations = composed(done) if done else ()
        result: Result = "done" if kept else "undone"
        rows = tuple((name, result) for name in operation_ids(operations))
        outcome: Outcome = "rolled_back" if not kept else "done" if done else "nothing"
        todos = self._sessions.load(note.session).todos
        open_ones = [todo.content for todo in todos if todo.status in ("pending", "in_progress")]
        return RunReport(note.run, outcome, rows, (), operations, tuple(open_ones))

    def finish(self, plan: PlanRecord, outcome: Outcome) -> PlanRecord:
        """Ends the run and puts the session's mode back, both or neither (law 9)."""
        note = plan.building
        if note is None:
            return plan
        for _ in range(TRIES):
            session = self._sessions.load(note.session)
            home = self._desk.workspaces.open().seq
            events: tuple[SessionEvent, ...] = (PlanLinked(plan.plan_id, plan.seq + 1, home),)
            if self._raised(session, note):
                new, why = self._desk.doors.clock.new_id(), f"end of the {_reason(note)}"
                switch = Switch("plan", why, ENDED, staging=self._desk.place.staging)
                events += mode_events(session, switch, new)
            try:
                batch = self._batch(session, events)
                return self._desk.runs.end(plan.plan_id, note.run, outcome, batch)
            except Moved:  # somebody said something meanwhile
                plan = self._desk.plans.ledger().load(plan.plan_id)
        raise Busy("Others keep writing to this session; the build has not ended.", "assent build")

    def _batch(self, session: SessionRecord, events: tuple[SessionEvent, ...]) -> Batch:
        """Prepares events for a session together with the head that they make."""
        at, head = self._desk.doors.clock.now(), session
        for seq, event in enumerate(events, session.seq + 1):
            head = fold_session(head, event, seq, at)
        stream = self._diary().stream(session.session)
        return Batch(stream, session.seq, at, events, msgspec.json.encode(head))

    def _session(self, plan: PlanRecord) -> SessionRecord:
        """Returns the session that works on the plan, or starts one in the plan's own folder."""
        if plan.building:
            return self._sessions.load(plan.building.session)
        if found := self._sessions.of_plan(plan):
            return found
        new, diary = self._desk.doors.clock.new_id(), self._diary()
        begun = SessionStarted(new, diary.workspace, plan.session, "ask", plan.goal)
        return diary.start(begun, self._desk.link(plan))

    def _hand_over(
        self, session: SessionRecord, note: RunNote, plan: Plan, said: tuple[str, str, str]
    ) -> SessionRecord:
        """Says everything in one transaction: a crash leaves all of it, or none."""
        message, agent, model = said
        record = next(r for r in self._desk.plans.records() if note in r.runs)
        todos = steps(plan.text)
        words = Text(contract(plan, todos))
        raised: list[SessionEvent] = []
        if session.mode == "plan":
            raised.append(ModeChanged("ask", _reason(note)))
        told = MessageAdded(message, agent, (words,), synthetic="build", model=model)
        events = (self._desk.link(record), *raised, told, TodosChanged(todos))
        self._desk.projections.todos(record, plan.text, todos)
        return self._diary().append(session, *events)[0]

    def _export(self, session: SessionRecord, plan: Plan) -> None:
        """Applies the export, all that a plan of prose does by itself, if it is still due."""
        for op in plan.operations:
            assert isinstance(op, WriteFile), "a plan of prose only exports its text"
            if self._desk.doors.files.look((op.path,))[op.path] != op.before:
                continue  # it was done, or somebody else's content stands there by now
            edit = Edit((op,), {plan.content_hash: plan.text})
            self._desk.permits.apply(session, "export", edit, "scope", f"plan {plan.digest}")

    def _said(self, session: SessionRecord, message: str) -> bool:
        events = [one.event for one in self._sessions.events(session)]
        return any(isinstance(event, MessageAdded) and event.id == message for event in events)

    def _raised(self, session: SessionRecord, note: RunNote) -> bool:
        """Tells whether the mode that holds now was chosen by the build alone."""
        events = [one.event for one in self._sessions.events(session)]
        modes = [event for event in events if isinstance(event, ModeChanged)]
        return bool(modes) and modes[-1] == ModeChanged("ask", _reason(note))

    def _diary(self) -> Diary:
        return self._sessions.diary()


def steps(text: bytes) -> tuple[Todo, ...]:
    """Finds the steps of a plan: its check boxes, else the items of its proposed changes."""
    boxes = tasks(text)
    if boxes:
        return tuple(
            Todo(str(box["text"]), "completed" if box["done"] else "pending") for box in boxes
        )
    section = _SECTION.search(text.decode("utf-8", "replace"))
    return tuple(Todo(words.strip()) for words in _ITEM.findall(section[1])) if section else ()


def contract(plan: Plan, todos: tuple[Todo, ...]) -> str:
    """Says what was approved, what it covers, and which steps are to be worked off."""
    files = ", ".join(plan.scope.files) or "none: every change is asked about"
    parts = [
        f"The person approved this plan (digest {plan.digest}). Carry it out now, exactly as it "
        f"says; change nothing that it does not ask for. {BUILDS}",
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


def message_of(run: str) -> str:
    """Returns the id of the message with which a session begins to build."""
    return f"build-{run}"


def _reason(note: RunNote) -> str:
    return f"build of {note.digest}"
