"""`assent build` of a text plan: a model carries out the approved text in a session.

It shows changes, steps not done, and denied calls.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from typing import cast

import msgspec

from assent.agent.text_plan_builds import BUILD_AGENT
from assent.app.engine import Engine
from assent.app.session import SessionOptions, SessionRuntime, open_session_runtime
from assent.cli.asker import asker
from assent.cli.goal.output import DeferredTurnOutput, StreamJsonTurnOutput, TurnOutput, turn_output
from assent.cli.goal.result import TurnResult, TurnTotals, add_event, questions_of
from assent.cli.invocation import Invocation
from assent.cli.output import CliOutput
from assent.cli.stream_output import StreamJsonOutput
from assent.cli.terminal import ScreenLock, interruptible
from assent.core.errors import AssentError, ContextOverflow, Interrupted, UsageError
from assent.core.event import Event, StoredEvent
from assent.core.llm import StreamDelta
from assent.core.plan.operation import Operation
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import LiveCommandOutput, OperationResult, ReportedOutcome
from assent.core.session.event import CallEnded, QuestionAnswered, QuestionAsked
from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line, wrapped_lines
from assent.render.log import batch_row
from assent.render.rows import (
    Row,
    operation_subject,
    operation_verb,
    redacted_row,
    run_row,
    warning_rows,
)
from assent.runs.run_status import RunReport

# Renders the build of a text plan: changes, steps not done, and denied calls.


YES = (("Yes",),)
MAX_REFUSED_SHOWN = 20  # refused calls that are listed
NEXT = {"done": "assent undo", "nothing": "assent -c -p 'WHAT NEXT'"}


class RefusedCall(msgspec.Struct, frozen=True):
    """A call that a rule or a person denied, and what it was about."""

    tool: str
    about: str
    message: str


class TextPlanBuildResult(msgspec.Struct, frozen=True):
    """A build by a model that has ended."""

    session: str
    outcome: ReportedOutcome
    tally: TurnTotals = TurnTotals()
    left: tuple[str, ...] = ()  # steps that are not marked as done
    refused: tuple[RefusedCall, ...] = ()


def text_plan_build_result(
    session: str, outcome: ReportedOutcome, left: Sequence[str], events: Sequence[Event]
) -> TextPlanBuildResult:
    """Returns a build as its events tell it, from the message that began it."""
    tally = TurnTotals()
    for event in events:
        tally = add_event(tally, event)
    return redacted_row(
        TextPlanBuildResult(session, outcome, tally, tuple(left), tuple(_refused(events)))
    )


def text_plan_build_row(run: Row, work: TextPlanBuildResult) -> Row:
    """Adds to a run what only a model's work has."""
    tally = work.tally
    return {
        **run,
        "session": work.session,
        "result": tally.said,
        "left": list(work.left),
        "refused": [msgspec.to_builtins(one) for one in work.refused],
        "questions": questions_of(tally),
        "batches": [batch_row(batch) for batch in tally.batches],
        "usage": msgspec.to_builtins(tally.usage),
        "cost": tally.cost,
    }


def text_plan_build_lines(
    run: str,
    work: TextPlanBuildResult,
    results: Iterable[tuple[OperationResult, Operation]],
    notes: Iterable[str] = (),
) -> Iterator[Line]:
    """Renders what came of a build, and never calls it done where something was left."""
    yield Line("risk" if work.left or work.refused else "heading", _sentence(work))
    for result, op in results:
        yield from wrapped_lines(
            "plain", f"{result:<11}  {operation_verb(op):<6}  {operation_subject(op)}"
        )
    for words in work.left:
        yield from wrapped_lines("risk", f"Not marked as done: {visible_line(words)}")
    for one in work.refused[:MAX_REFUSED_SHOWN]:
        about = visible_line(one.about or one.message)
        yield from wrapped_lines("risk", f"Refused: {visible_line(one.tool)}: {about}")
    for note in notes:
        yield from wrapped_lines("risk", visible_line(note))
    yield Line("dim", f"run {visible_line(run)}")
    yield Line("plain", f"Next: {NEXT[work.outcome]}")


def _sentence(work: TextPlanBuildResult) -> str:
    less = [
        _counted(len(work.left), "step was", "steps were", "not marked as done"),
        _counted(len(work.refused), "call was", "calls were", "refused"),
    ]
    but = " and ".join(filter(None, less))
    if work.outcome == "nothing":
        return f"The model finished and changed nothing{f': {but}' if but else ''}."
    return f"The model finished, but {but}." if but else "Done: the model finished."


def _counted(number: int, one: str, more: str, what: str) -> str:
    return f"{number} {one if number == 1 else more} {what}" if number else ""


def _refused(events: Sequence[Event]) -> Iterator[RefusedCall]:
    asked = {e.id: e for e in events if isinstance(e, QuestionAsked)}
    denied = {
        asked[e.id].call: " ".join([one.question for one in asked[e.id].questions])
        for e in events
        if isinstance(e, QuestionAnswered) and e.id in asked and e.answers != YES
    }
    for event in events:
        if not isinstance(event, CallEnded) or not event.result.failed:
            continue
        if event.call in denied or event.verdict == "deny":
            yield RefusedCall(event.tool, denied.get(event.call, ""), event.result.text)


BUILD_COMMAND = "assent build"
WITH_MODEL = "assent build --model PROVIDER/MODEL"
WORK_KEPT = "Work done so far is kept and needs no new approval."
APPROVAL_KEPT = "The approval is kept; nothing was changed."


class _LoggingTurnOutput:
    """Turn output where commands print to stdout if that is not a terminal, as in a run."""

    def __init__(self, inner: TurnOutput, output: CliOutput) -> None:
        self._inner = inner
        self._output = output

    def begin(self, record: SessionRecord, *, fresh: bool) -> None:
        self._inner.begin(record, fresh=fresh)

    def hear(self, heard: StoredEvent | StreamDelta) -> None:
        if isinstance(heard, StreamDelta) and heard.kind == "output" and self._output.logs:
            self._output.command_output(
                LiveCommandOutput(0, heard.text.encode("utf-8", "backslashreplace"))
            )
            return
        self._output.progress_over()
        self._inner.hear(heard)

    def end(self, ending: TurnResult) -> None:
        self._inner.end(ending)


def build_text_plan(call: Invocation, record: PlanRecord, model: str, agent: str) -> int:
    """Builds a plan, or resumes its build, to the end; without a model nothing is used up."""
    call.engine.text_plan_builds.check(record)
    screen = ScreenLock()
    person = asker(may_ask=not call.no_input, screen=screen)
    work = open_session_runtime(call.folder, person, SessionOptions(None))
    with closing(work), interruptible():
        engine = work.engine
        plan = engine.plans.find(record.plan_id)
        name = agent or BUILD_AGENT
        asked = _model(work, plan, model, name)
        shown = DeferredTurnOutput(_shown(call, asks=person.present), screen)
        seen = _seen(engine, plan)
        with engine.text_plan_builds.locked(plan) as current:
            warnings = engine.approvals.build_warnings(current)
            session = engine.text_plan_builds.start(current, asked, name)
            plan = engine.plans.find(record.plan_id)
            call.output.session = session.session
            if not engine.text_plan_builds.is_over(plan):
                shown.begin(session, fresh=True)
                streams = call.form == "stream-json"
                before = engine.sessions.events(session, seen) if streams else []
                events = engine.text_plan_builds.work(plan, work.driver, work.tools)
                _show(
                    before, cast("Generator[StoredEvent | StreamDelta, None, None]", events), shown
                )
            report, told = _ended(engine, plan)
            report = msgspec.structs.replace(report, warnings=warnings)
        call.output.warn(engine.warnings)
    return _answer(call, report, told)


def _shown(call: Invocation, *, asks: bool) -> TurnOutput:
    """Returns the form that was asked for; the lines of a stream go where its last one will."""
    if isinstance(call.output, StreamJsonOutput):
        return StreamJsonTurnOutput(call.output.write)
    return _LoggingTurnOutput(turn_output(call.form, call.output, asks=asks), call.output)


def _seen(engine: Engine, plan: PlanRecord) -> int:
    """Returns up to where the events of a plan's session are not of this build."""
    note, sessions = plan.building, engine.sessions
    session = sessions.load(note.session) if note else sessions.of_plan(plan)
    return session.seq if session else 0


def _model(work: SessionRuntime, plan: PlanRecord, model: str, agent: str) -> str:
    """Returns who builds: the one chosen now, the agent's own, else the session's."""
    worker = work.tools.agents.get(agent)
    kept = WORK_KEPT if plan.building else APPROVAL_KEPT
    if worker is None:
        raise UsageError(f"Agent {agent!a} not found. {kept}", "assent build --help")
    sessions = work.engine.sessions
    session = sessions.load(plan.building.session) if plan.building else sessions.of_plan(plan)
    asked = model or worker.model or (session.model if session else "")
    try:
        work.models.open(asked)
    except AssentError as error:
        error.message = f"{error.message} {kept}"
        error.next = WITH_MODEL if isinstance(error, UsageError) else error.next or BUILD_COMMAND
        raise
    return asked


def _show(
    before: Iterable[StoredEvent],
    events: Generator[StoredEvent | StreamDelta, None, None],
    shown: TurnOutput,
) -> None:
    """Shows what the model says and does; the first interrupt ends the turn in good order."""
    try:
        for heard in chain(before, events):
            shown.hear(heard)
    except KeyboardInterrupt:
        try:
            shown.hear(events.throw(KeyboardInterrupt()))
            for heard in events:
                shown.hear(heard)
        except (StopIteration, KeyboardInterrupt, Interrupted):
            pass
        raise Interrupted(f"Interrupted. {WORK_KEPT}", BUILD_COMMAND) from None
    except AssentError as error:
        # What the driver says about going on is meant for a conversation.
        said = error.message.partition(" Messages and ")[0]
        error.message = f"{said} {WORK_KEPT}"
        if not error.next or error.next.startswith("assent -c"):
            error.next = WITH_MODEL if isinstance(error, ContextOverflow) else BUILD_COMMAND
        raise


def _ended(engine: Engine, plan: PlanRecord) -> tuple[RunReport, TextPlanBuildResult]:
    """Ends the run, if the model says that it is done."""
    if not engine.text_plan_builds.is_over(plan):
        raise AssentError(f"The build stopped before it finished. {WORK_KEPT}", BUILD_COMMAND)
    report = engine.text_plan_builds.report(plan)
    own = engine.text_plan_builds.events(plan)
    session = plan.building.session if plan.building else ""
    told = text_plan_build_result(session, report.outcome, report.left, own)
    engine.text_plan_builds.finish(plan, report.outcome)
    return report, told


def _answer(call: Invocation, report: RunReport, told: TextPlanBuildResult) -> int:
    row = text_plan_build_row(run_row(report.run, report.outcome, report.operations), told)
    row |= warning_rows(report.warnings)
    results = zip([result for _, result in report.operations], report.about, strict=True)
    call.output.answer(row, text_plan_build_lines(report.run, told, results, report.notes))
    return 0
