"""Renders the build of a text plan: changes, steps not done, and denied calls."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from assent.cli.goal.result import TurnTotals, add_event, questions_of
from assent.core.event import Event
from assent.core.plan.operation import Operation
from assent.core.run.journal import OperationResult, ReportedOutcome
from assent.core.session.event import CallEnded, QuestionAnswered, QuestionAsked
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line, wrapped_lines
from assent.render.operation_text import operation_subject
from assent.render.redaction import redacted_row
from assent.render.rows import Row, operation_kind
from assent.render.turn_stream import batch_row

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
            "plain", f"{result:<11}  {operation_kind(op):<6}  {operation_subject(op)}"
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
        return f"The model ended its work and changed nothing{f': {but}' if but else ''}."
    return f"The model ended its work, but {but}." if but else "Done: the model ended its work."


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
