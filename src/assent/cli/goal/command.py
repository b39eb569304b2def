"""`assent "goal"` and `assent -p`: finds or starts the session, and drives one turn.

It shows the result of the turn.
"""

import os
import re
import sys
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from shlex import quote
from typing import Any, TypeAlias, cast

from assent.app.engine import Engine
from assent.app.session import (
    BudgetLimits,
    InvocationOptions,
    SessionOptions,
    SessionRuntime,
    open_session_runtime,
)
from assent.cli.asker import asker
from assent.cli.goal.options import Goal
from assent.cli.goal.output import (
    DeferredTurnOutput,
    NotifyingTurnOutput,
    TurnOutput,
    turn_output,
)
from assent.cli.goal.result import (
    LeftDraft,
    TurnResult,
    TurnTotals,
    add_child_event,
    add_event,
    attachment_notices,
    compaction_notices,
    draft_notices,
    exit_code,
    help_text,
    is_of_session,
    not_run_notices,
    refused_notices,
    turn_error,
)
from assent.cli.output import CliOutput
from assent.cli.registry import overview
from assent.cli.stdin import (
    MAX_STDIN_BYTES,
    TRUNCATED_NOTE,
    argument_text,
    is_stdin_silent,
    read_piped,
)
from assent.cli.terminal import ScreenLock, interruptible
from assent.core.errors import (
    AssentError,
    IllegalState,
    Interrupted,
    ModelError,
    SandboxRequired,
    StoreError,
    UsageError,
)
from assent.core.event import StoredEvent
from assent.core.llm import StreamDelta
from assent.core.permission.mode import MODES, Mode, default_agent
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.session.event import CritiqueEnded, FilesAttached, TurnEnded, UserTyped
from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.lines import Line
from assent.render.log import critique_text
from assent.render.rows import Row
from assent.render.status import option_rows

NOTHING = "No prompt: pass a text or pipe one to stdin."

STDIN_TIMEOUT_S = 3.0  # for a first byte of stdin


def run_goal(goal: Goal, output: CliOutput) -> int:
    """Says what a person wants said, and returns the exit code of what came of it."""
    if goal.help:
        output.lines([Line("plain", line) for line in overview().splitlines()])
        return 0
    return send_prompt(goal, output)


# Makes the words that are said, and which of them were typed, with the tooling of the session.
PromptBuilder: TypeAlias = Callable[[Goal, Any], tuple[str, UserTyped]]


def send_prompt(goal: Goal, output: CliOutput, written: PromptBuilder | None = None) -> int:
    """Says the words of a goal, or what a command of one's own makes of them."""
    with interruptible():
        words = _said(goal.words.strip(), output)
        going_on = bool(goal.going_on or goal.resume or goal.plan)
        if not words and not going_on:
            raise UsageError(NOTHING, 'assent -p "what should be done"')
        wanted = SessionOptions(
            # A session knows its model; opening another one in advance would be useless.
            goal.model or (None if going_on else ""),
            goal.agent or (default_agent(_base(goal.mode)) if goal.mode else ""),
            BudgetLimits(
                goal.turns or None, goal.budget or None, goal.tokens or None, goal.seconds or None
            ),
            InvocationOptions(goal.rules, goal.auto),
            named=bool(goal.agent),
            mode=goal.mode,
        )
        screen = ScreenLock()
        may_ask = not goal.headless and not goal.no_input
        person = asker(may_ask=may_ask, later=goal.later, screen=screen)
        work = open_session_runtime(goal.folder, person, wanted)
        with closing(work):
            plain = turn_output(goal.form, output, asks=person.present)
            watched = sys.stderr and sys.stderr.isatty() and not output.quiet
            if watched and os.environ.get("TERM") != "dumb":
                from assent.cli.goal.waiting import WaitingTurnOutput

                plain = WaitingTurnOutput(plain, screen)
            held = DeferredTurnOutput(plain, screen)
            shown = held if goal.quiet else _ringing(held, work.notify, goal)
            said, typed = words, UserTyped(goal.words)
            if written is not None:
                template, typed = written(goal, work.tools)
                said = _filled(template, words, goal)
            code = GoalTurn(goal, work, shown, output).turn(said, typed)
            work.engine.retention.retain(daily=True)
            output.warn(work.engine.warnings)
            return code


def _ringing(shown: TurnOutput, notify: Any, goal: Goal) -> TurnOutput:
    """Lets a turn ring when it waits for a person who sits at the terminal, and wants that."""
    if goal.headless or notify.way == "off" or not (sys.stderr and sys.stderr.isatty()):
        return shown
    return NotifyingTurnOutput(shown, notify.way, notify.after_s)


def _filled(template: str, words: str, goal: Goal) -> str:
    """Returns what a command of one's own says, with what was piped in below it."""
    return template + words.removeprefix(goal.words.strip())


def _base(name: str) -> Mode:
    """Returns the mode of that name; a custom mode's base is unknown yet, and does not matter."""
    return next((mode for mode in MODES if mode == name), "plan")


def _said(words: str, output: CliOutput) -> str:
    """Returns the words with what is piped in; a pipe that is merely open is not waited for."""
    if words and is_stdin_silent(STDIN_TIMEOUT_S):
        output.warn(
            [f"No input on stdin after {STDIN_TIMEOUT_S:g} seconds; continuing without it."]
        )
        return words
    return with_context(words, *read_piped(MAX_STDIN_BYTES))


def with_context(words: str, context: str, more: bool = False) -> str:
    """Returns the text with what was piped in below it, in a fence that it cannot end."""
    if not context.strip():
        return words
    cut = TRUNCATED_NOTE if more else ""
    if not words:
        return context + cut
    longest = max(map(len, re.findall(r"`{3,}", context)), default=2)
    fence = "`" * (longest + 1)
    end = "" if context.endswith("\n") else "\n"
    return f"{words}\n\nFrom stdin:\n{fence}\n{context}{end}{fence}{cut}"


# Runs a goal: finds or starts the session, drives one turn, and reports the result.


UNFINISHED = ("failed", "interrupted", "waiting", "paused")  # the model still owes an answer
CUT_OFF = ("limit", "budget")  # it gave one, and had more to do
CONTINUE_TEXT = "Continue."
MESSAGE_KEPT = "Your message is kept; the model gets it after you answer."


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
        self._said = False  # a message of the user began the turn
        self._prefix = _prefix(goal.folder)

    def turn(self, words: str, typed: UserTyped) -> int:
        """Says the words, lets the model work, and returns the exit code."""
        found = find_session(self._engine, self._goal)
        if found is not None and found.halt == "cancelled" and not self._goal.resume:
            way_on = f"{self._prefix} sessions resume {found.slug}"
            raise IllegalState(f"Session {found.slug} was cancelled. Nothing was sent.", way_on)
        if found is None:
            record = self._started(words, typed)
        else:
            record = self._went_on(found, words, typed)
        self._session, self._said = record.session, bool(words)
        self._tally = TurnTotals(attached=typed.attached)
        self._shown.begin(record, fresh=found is None)
        if self._goal.form == "stream-json":
            for recorded in self._engine.sessions.events(record, found.seq if found else 0):
                self._shown.hear(recorded)
        before = self._plan(record)
        error = self._drive(record)
        try:
            ending = self._ending(record, before, error)
        except StoreError:
            if error is None:
                raise
            raise error from None  # the log still fails, and what failed first says more
        return self._end(ending)

    def _started(self, words: str, typed: UserTyped) -> SessionRecord:
        if not words:
            raise UsageError("No prompt given.", f"{self._prefix} -p 'WHAT'")
        self._engine.orphan_slots.check()  # else a session and a draft would begin for nothing
        goal, sessions = self._goal, self._engine.sessions
        mode = goal.mode or self._work.mode
        if not goal.plan:
            return sessions.start(words, mode, goal.agent, goal.model, typed=typed)
        # The session has no plan yet, and takes over the one that the user chose.
        record = sessions.start("", mode)
        self._engine.plans.use(goal.plan)
        return sessions.say(record, words, goal.agent, goal.model, typed=typed)

    def _went_on(self, record: SessionRecord, words: str, typed: UserTyped) -> SessionRecord:
        goal, sessions = self._goal, self._engine.sessions
        if goal.plan and self._engine.plans.find(goal.plan).plan_id != record.plan_id:
            self._engine.plans.use(goal.plan)
        if goal.mode:
            record = sessions.set_mode(record, goal.mode)
        words = words or self._owed(record)
        if not words:
            return record
        return sessions.say(record, words, goal.agent, goal.model, typed=typed)

    def _owed(self, record: SessionRecord) -> str:
        """Returns what to say if the user said nothing: usually nothing, if it can continue."""
        if record.waiting or record.working or self._goal.plan:
            return ""
        known = {record.plan_id: record.plan_seq, **record.others}
        load = self._engine.plans.repository().load
        if any(load(plan_id).seq > seq for plan_id, seq in known.items() if plan_id):
            return ""
        events = self._engine.sessions.events(record)
        ends = [one.event.why for one in events if isinstance(one.event, TurnEnded)]
        if ends and ends[-1] in CUT_OFF:
            return CONTINUE_TEXT
        if ends and ends[-1] in UNFINISHED:
            return ""
        if self._owes_critique(record):
            return ""
        message = f"Session {record.slug} has nothing to continue; say what to do next."
        raise UsageError(message, f"{self._prefix} -c -p 'WHAT NEXT'")

    def _owes_critique(self, record: SessionRecord) -> bool:
        """Tells whether a critic was asked about the session's plan and did not finish."""
        plan = self._plan(record) if self._work.tools.open_critic else None
        if plan is None:
            return False
        waiting = self._engine.plans.waiting_options(plan) or [plan]
        owed = self._engine.comments.is_critique_owed
        return any(owed(one, record.session) for one in waiting if one.digest)

    def _drive(self, record: SessionRecord) -> AssentError | None:
        """Drives the turn to its end; returns the error that it ended with."""
        work = self._work
        turn = work.engine.sessions.work(record, work.driver, work.tools)
        events = cast("Generator[StoredEvent | StreamDelta, None, None]", turn)
        try:
            with closing(events):
                try:
                    for heard in events:
                        self._hear(heard)
                except KeyboardInterrupt:
                    # It may have come while something was shown; then the turn does not know yet.
                    with suppress(StopIteration):
                        self._hear(events.throw(KeyboardInterrupt()))
                    for heard in events:
                        self._hear(heard)
        except KeyboardInterrupt:
            staged = " and the staged changes" if record.mode == "plan" else ""
            words = f"Interrupted. Kept so far: the conversation{staged}."
            return self._kept(Interrupted(words), record)
        except AssentError as error:
            return self._kept(error, record)
        return None

    def _hear(self, heard: StoredEvent | StreamDelta) -> None:
        if isinstance(heard, StoredEvent):
            own = is_of_session(heard, self._session)
            count = add_event if own else add_child_event
            self._tally = count(self._tally, heard.event)
            if own and isinstance(heard.event, FilesAttached):
                self._output.warn(attachment_notices(heard.event.files))
            if own and isinstance(heard.event, CritiqueEnded) and heard.event.words:
                self._output.warn([visible_line(redact(critique_text(heard.event)))])
        self._shown.hear(heard)

    def _kept(self, error: AssentError, record: SessionRecord) -> AssentError:
        """Adds to an error what is safe and how to go on; the driver has done so to its own."""
        if not isinstance(error, ModelError | Interrupted):
            error.message += f" The conversation is kept in session {record.slug}."
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
        own = self._plan(session)
        if own is None:
            about = (session, self._tally)
            return TurnResult(*about, error=error, prefix=self._prefix, missing=missing)
        plan = self._engine.plans.meant(own)
        same = before is not None and before.plan_id == own.plan_id
        changed = not (same and before and before.seq == own.seq)
        draft = self._draft(own)
        return TurnResult(
            session,
            self._tally,
            plan,
            self._operations(plan),
            approved=self._engine.approvals.is_approved(plan),
            draft=draft,
            drafted=draft is not None and changed,
            error=error,
            prefix=self._prefix,
            missing=missing,
            of=self._engine.plans.reference(plan, current=False),
            options=self._options(plan),
        )

    def _draft(self, own: PlanRecord) -> LeftDraft | None:
        """Returns the session's own plan if it is a draft that has text or operations."""
        operations = self._operations(own)
        if own.state is not PlanState.DRAFTING or not (operations or len(own.revisions) > 1):
            return None
        return LeftDraft(own.path, operations, self._engine.plans.reference(own, current=False))

    def _options(self, plan: PlanRecord) -> tuple[Row, ...]:
        """Returns the options to choose from, each with how many operations it has."""
        options = self._engine.plans.presented_options(plan)
        rows = zip(option_rows(options), map(self._operations, options), strict=True)
        return tuple({**row, "operations": count} for row, count in rows)

    def _plan(self, record: SessionRecord) -> PlanRecord | None:
        return self._engine.plans.repository().load(record.plan_id) if record.plan_id else None

    def _operations(self, plan: PlanRecord) -> int:
        if plan.state is PlanState.AWAITING_APPROVAL:
            return len(self._engine.plans.repository().plan(plan).operations)
        return len(self._engine.plans.operations(plan))

    def _end(self, ending: TurnResult) -> int:
        self._shown.end(ending)
        self._output.warn((*self._work.warnings, *self._engine.warnings))
        if self._goal.form == "text":
            self._output.warn(refused_notices(ending))
        self._output.warn(map(visible_line, not_run_notices(ending)))
        self._output.warn((*draft_notices(ending), *compaction_notices(ending)))
        if self._said and ending.tally.why == "waiting" and not ending.tally.steps:
            self._output.warn([MESSAGE_KEPT])
        error = turn_error(ending)
        if error is not None and self._goal.form == "text":
            self._output.fail(error)
        elif error is not None and ending.error is None:
            help = [help_text(error.next)] if isinstance(error, SandboxRequired) else []
            self._output.warn([redact(error.message), *help])
        return exit_code(ending)


def _prefix(folder: str) -> str:
    """Returns how a command for a folder begins."""
    if not folder:
        return "assent"
    return f"assent -C {quote(argument_text(folder))}"
