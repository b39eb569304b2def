"""Runs a goal: finds or starts the session, drives one turn, and reports the result."""

from collections.abc import Generator
from contextlib import closing
from typing import cast

from assent.app.engine import Engine
from assent.app.session import SessionRuntime
from assent.cli.goal.options import Goal
from assent.cli.goal.output import TurnOutput
from assent.cli.goal.result import (
    TurnResult,
    TurnTotals,
    add_child_event,
    add_event,
    draft_notices,
    exit_code,
    is_of_session,
    refused_notices,
    turn_error,
)
from assent.cli.input import argument_text
from assent.cli.output import CliOutput
from assent.core.errors import (
    AssentError,
    IllegalState,
    Interrupted,
    ModelError,
    StoreError,
    UsageError,
)
from assent.core.event import StoredEvent
from assent.core.llm import StreamDelta
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.session.event import TurnEnded
from assent.core.session.record import SessionRecord
from assent.core.text.secrets import redact

UNFINISHED = ("failed", "interrupted", "waiting", "paused")  # the model still owes an answer
CUT_OFF = ("limit", "budget")  # it gave one, and had more to do
CONTINUE_TEXT = "Go on."


def find_session(engine: Engine, goal: Goal) -> SessionRecord | None:
    """Returns the session that a person names, the last one to go on with, or None for another."""
    if goal.resume:
        return engine.sessions.find(goal.resume)
    if goal.plan:
        return engine.sessions.of_plan(engine.plans.find(goal.plan))
    return engine.sessions.last() if goal.going_on else None


class GoalTurn:
    """One turn of a session, from what a person says to the exit code."""

    def __init__(
        self, goal: Goal, work: SessionRuntime, shown: TurnOutput, output: CliOutput
    ) -> None:
        self._goal = goal
        self._work = work
        self._engine = work.engine
        self._shown = shown
        self._output = output
        self._tally = TurnTotals()
        self._session = ""
        self._prefix = _prefix(goal.folder)

    def turn(self, words: str) -> int:
        """Says the words, lets the model work, and returns the exit code."""
        found = find_session(self._engine, self._goal)
        if found is not None and found.halt == "cancelled" and not self._goal.resume:
            way_on = f"{self._prefix} sessions resume {found.slug}"
            raise IllegalState(f"Session {found.slug} was cancelled. Nothing was said.", way_on)
        record = self._started(words) if found is None else self._went_on(found, words)
        self._session = record.session
        self._shown.begin(record, fresh=found is None)
        if self._goal.form == "stream-json":
            for recorded in self._engine.sessions.events(record, found.seq if found else 0):
                self._shown.hear(recorded)
        before = self._plan(record)
        error = self._driven(record)
        try:
            ending = self._ending(record, before, error)
        except StoreError:
            if error is None:
                raise
            raise error from None  # the log still fails, and what failed first says more
        return self._end(ending)

    def _started(self, words: str) -> SessionRecord:
        if not words:
            raise UsageError("There is nothing to say.", f"{self._prefix} -p 'WHAT'")
        self._engine.runs.check_slots(())  # else a session and a draft would begin for nothing
        goal, sessions = self._goal, self._engine.sessions
        mode = goal.mode or self._work.mode
        if not goal.plan:
            return sessions.start(words, mode, goal.agent, goal.model)
        # The session has no plan of its own, and takes in the one that the person chose.
        record = sessions.start("", mode)
        self._engine.plans.use(goal.plan)
        return sessions.say(record, words, goal.agent, goal.model)

    def _went_on(self, record: SessionRecord, words: str) -> SessionRecord:
        goal, sessions = self._goal, self._engine.sessions
        if goal.plan and self._engine.plans.find(goal.plan).plan_id != record.plan_id:
            self._engine.plans.use(goal.plan)
        if goal.mode:
            record = sessions.set_mode(record, goal.mode)
        words = words or self._owed(record)
        return sessions.say(record, words, goal.agent, goal.model) if words else record

    def _owed(self, record: SessionRecord) -> str:
        """Returns what to say where the person said nothing: mostly nothing, if it can go on."""
        if record.waiting or record.working or self._goal.plan:
            return ""
        plan = self._plan(record)
        if plan is not None and plan.seq > record.plan_seq:
            return ""
        events = self._engine.sessions.events(record)
        ends = [one.event.why for one in events if isinstance(one.event, TurnEnded)]
        if ends and ends[-1] in CUT_OFF:
            return CONTINUE_TEXT
        if ends and ends[-1] in UNFINISHED:
            return ""
        message = f"Nothing waits for an answer in session {record.slug}."
        raise UsageError(message, f"{self._prefix} -c -p 'WHAT NEXT'")

    def _driven(self, record: SessionRecord) -> AssentError | None:
        """Drives the turn to its end; returns the error that it ended with."""
        work = self._work
        turn = work.engine.sessions.work(record, work.driver, work.tooling)
        events = cast("Generator[StoredEvent | StreamDelta, None, None]", turn)
        try:
            with closing(events):
                self._hear_all(events)
        except KeyboardInterrupt:
            staged = " and staged" if record.mode == "plan" else ""
            words = f"Interrupted. What was said{staged} so far is kept."
            return self._kept(Interrupted(words), record)
        except AssentError as error:
            return self._kept(error, record)
        return None

    def _hear_all(self, events: Generator[StoredEvent | StreamDelta, None, None]) -> None:
        try:
            for heard in events:
                self._hear(heard)
        except KeyboardInterrupt:
            # It may have come while something was shown; then the turn does not know of it yet.
            try:
                self._hear(events.throw(KeyboardInterrupt()))
            except StopIteration:
                return
            for heard in events:
                self._hear(heard)

    def _hear(self, heard: StoredEvent | StreamDelta) -> None:
        if isinstance(heard, StoredEvent):
            own = is_of_session(heard, self._session)
            count = add_event if own else add_child_event
            self._tally = count(self._tally, heard.event)
        self._shown.hear(heard)

    def _kept(self, error: AssentError, record: SessionRecord) -> AssentError:
        """Adds to an error what is safe and how to go on; the driver has done so to its own."""
        if not isinstance(error, ModelError | Interrupted):
            error.message += f" What was said is kept in session {record.slug}."
        way_on = error.next or "assent -c"
        if way_on.startswith("assent "):
            way_on = self._prefix + way_on.removeprefix("assent")
        error.next = way_on
        return error

    def _ending(
        self, record: SessionRecord, before: PlanRecord | None, error: AssentError | None
    ) -> TurnResult:
        sessions = self._engine.sessions
        stored = sessions.load(record.session)
        session, missing = sessions.now(stored), sessions.missing_mode(stored)
        plan = self._plan(session)
        if plan is None:
            about = (session, self._tally)
            return TurnResult(*about, error=error, prefix=self._prefix, missing=missing)
        operations = self._operations(plan)
        same = before is not None and before.plan_id == plan.plan_id
        changed = not (same and before and before.seq == plan.seq)
        written = operations > 0 or len(plan.revisions) > 1
        draft = plan.state is PlanState.DRAFTING and written
        return TurnResult(
            session,
            self._tally,
            plan,
            operations,
            approved=self._engine.approvals.is_approved(plan),
            draft=draft,
            drafted=draft and changed,
            error=error,
            prefix=self._prefix,
            missing=missing,
            of=self._engine.plans.reference(plan, current=False),
        )

    def _plan(self, record: SessionRecord) -> PlanRecord | None:
        return self._engine.plans.repository().load(record.plan_id) if record.plan_id else None

    def _operations(self, plan: PlanRecord) -> int:
        if plan.state is PlanState.AWAITING_APPROVAL:
            return len(self._engine.plans.repository().plan(plan).operations)
        return len(self._engine.drafts.operations(plan))

    def _end(self, ending: TurnResult) -> int:
        self._shown.end(ending)
        self._output.warn((*self._work.warnings, *self._engine.warnings))
        if self._goal.form == "text":
            self._output.warn(refused_notices(ending))
        self._output.warn(draft_notices(ending))
        error = turn_error(ending)
        if error is not None and self._goal.form == "text":
            self._output.fail(error)
        elif error is not None and ending.error is None:
            self._output.warn([redact(error.message)])
        return exit_code(ending)


def _prefix(folder: str) -> str:
    """Returns how a command for a folder begins."""
    if not folder:
        return "assent"
    from shlex import quote

    return f"assent -C {quote(argument_text(folder))}"
