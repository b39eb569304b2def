"""Short texts about what the user did on this screen and its outcome."""

from collections.abc import Sequence
from typing import Final

from assent.core.event import (
    Event,
    EventBody,
    PlanApproved,
    PlanDiscarded,
    PlanRejected,
    RunEnded,
    RunHalted,
    RunStarted,
)
from assent.core.plan.comment import Feedback
from assent.core.plan.operation import Operation
from assent.core.plan.record import PlanRecord, PlanRun, PlanState
from assent.core.plan.steps import StepStatus
from assent.core.run.journal import ReportedOutcome
from assent.core.text.hidden_chars import visible_line, visible_text
from assent.core.text.secrets import redact
from assent.render.lines import Line, Style
from assent.render.rows import operation_brief, operation_verb
from assent.render.status import progress_text
from assent.render.steps import SIGNS, progress_row, step_text

MAX_NAMED: Final = 4  # operations that are named
MAX_STEPS: Final = 12  # of a plan that was built, which are listed
UNDO_HINT: Final = "/undo reverts it."
UNDO_HINTS: Final = {
    "build": UNDO_HINT,
    "recover": UNDO_HINT,
    "redo": UNDO_HINT,
    "rewind": "/redo applies the file changes again.",
    "undo": "/redo applies it again.",
}
REDO_HINTS: Final = frozenset({UNDO_HINTS["rewind"], UNDO_HINTS["undo"]})
_DONE_TO: Final = {"undo": "Undone: ", "rewind": "Undone: ", "redo": "Redone: "}
OUTCOMES: Final[dict[ReportedOutcome, tuple[Style, str]]] = {
    "done": ("heading", "done."),
    "partial": ("risk", "partly done; /run shows what was skipped."),
    "nothing": ("heading", "nothing to do."),
    "rolled_back": ("risk", "rolled back; all files have their previous content and mode."),
    "needs_you": ("risk", "needs your decision: /recover."),
}
PLAN_STATES: Final = {  # by what came of its last run; of a plan that waits the conversation tells
    "": "Plan built. /undo reverts it.",
    "all": "Plan built, then undone. /redo applies it again.",
    "some": "Plan built, then partly undone. /undo reverts the rest.",
    PlanState.HALTED: "The build stopped: /recover shows your options.",
    PlanState.EXECUTING: "The build is not finished: /recover.",
    PlanState.DISCARDED: "Plan discarded.",
}
UNDONE: Final = {"": "redone", "some": "partly undone", "all": "undone"}
BUILDING: Final = "The build is not finished: /build continues it."
APPROVED: Final = "Plan approved, not built yet: /build."


def plan_state_text(plan: PlanRecord, undone: str, *, approved: bool) -> str:
    """Returns the state of a decided plan; empty if it is a draft or waits for approval."""
    if approved:
        return APPROVED
    if plan.building:
        return BUILDING
    done = plan.state is PlanState.COMPLETED
    return PLAN_STATES.get(undone if done else plan.state, "")


def approved_lines(without: Sequence[Operation], note: str) -> list[Line]:
    """Returns that the user approved the plan, what was excluded, and their note."""
    less = f" without {operation_names(without)}" if without else ""
    end = ", with a note:" if note else "."
    return [Line("said", f"You approved the plan{less}{end}"), *_words(note)]


def decision_text(plan: PlanRecord, events: Sequence[Event], named: str = "") -> str:
    """Returns who decided about a plan elsewhere, and how; empty if these events decide nothing.

    The last decision counts. No one is named if the record has no name. `named` is how a command
    names the plan: the screen may show another one.
    """
    found = (_decided(plan, event, named or plan.name) for event in reversed(events))
    what = next(filter(None, found), "")
    return f"In another terminal, plan {visible_line(plan.name)} {what}." if what else ""


def undone_text(name: str, what: str, by: "tuple[PlanRecord, PlanRun] | None") -> str:
    """Returns that the named plan was undone or redone elsewhere, and by whom."""
    who = ""
    if by is not None:
        plan, note = by
        spent = [one.approval.id for one in plan.consents if one.run == note.run]
        who = _approved(plan, spent[-1] if spent else "")
    return f"In another terminal, plan {visible_line(name)} was {what}{who}."


def _decided(plan: PlanRecord, event: EventBody, named: str) -> str:
    match event:
        case PlanApproved(approval):
            who = _by(approval.approver.user, approval.approver.channel)
            return f"was approved{who}; /build {visible_line(named)} builds it"
        case PlanRejected(user=user):
            return f"was rejected{_by(user)} and is a draft again"
        case PlanDiscarded(user=user):
            return f"was discarded{_by(user)}"
        case RunStarted(approval=yes):
            return f"is being built{_approved(plan, yes)}"
        case RunHalted():
            return "stopped and needs a decision: /recover"
        case RunEnded(run, outcome):
            spent = next((c.approval.id for c in plan.consents if c.run == run), "")
            how = "was built" if outcome == "done" else f"was built ({outcome.replace('_', ' ')})"
            return f"{how}{_approved(plan, spent)}"
        case _:
            return ""


def _approved(plan: PlanRecord, yes: str) -> str:
    found = [c.approval.approver for c in plan.consents if c.approval.id == yes]
    return f", approved{_by(found[-1].user, found[-1].channel)}" if found else ""


def _by(user: str, channel: str = "") -> str:
    how = f" ({visible_line(channel)})" if channel else ""
    return f" by {visible_line(user)}{how}" if user else how


def feedback_sent_lines(feedback: Feedback, comments: int) -> list[Line]:
    """Returns the feedback that was sent."""
    many = f", with {comments} comment{'' if comments == 1 else 's'}" if comments else ""
    said = feedback.text()
    return [
        Line("said", f"You rejected the plan{many}{':' if said.strip() else '.'}"),
        *_words(said),
    ]


def run_ended_lines(
    verb: str, outcome: ReportedOutcome, operations: Sequence[Operation]
) -> list[Line]:
    """Returns how a run ended, what it changed, and how to undo it."""
    style, words = OUTCOMES[outcome]
    lines = [Line(style, f"{verb.capitalize()}: {words}")]
    if outcome != "done":
        return lines
    named = f"{_DONE_TO.get(verb, '')}{operation_names(operations)}."
    done = [Line("plain", named)] if operations else []
    return [*lines, *done, Line("dim", UNDO_HINTS[verb])] if verb in UNDO_HINTS else [*lines, *done]


def past_run_lines(
    verb: str, outcome: ReportedOutcome, operations: Sequence[Operation]
) -> list[Line]:
    """Returns how an earlier run ended and what it changed; how to undo it may not hold today."""
    hint = UNDO_HINTS.get(verb)
    lines = run_ended_lines(verb, outcome, operations)
    return [line for line in lines if line.text != hint]


def built_step_lines(steps: Sequence[StepStatus]) -> list[Line]:
    """Returns how far the steps of a plan are after a run, each with its state."""
    row = progress_row(steps)
    if row is None:
        return []
    shown = [
        Line(SIGNS[one.state][1], redact(step_text(one, brief=True))) for one in steps[:MAX_STEPS]
    ]
    more = len(steps) - len(shown)
    rest = [Line("dim", f"  and {more} more: /status")] if more > 0 else []
    return [Line("plain", f"Steps: {progress_text(row)}"), *shown, *rest]


def operation_names(operations: Sequence[Operation]) -> str:
    """Returns the names of operations, shortened if there are many."""
    shown = [f"{operation_verb(op)} {operation_brief(op)}" for op in operations[:MAX_NAMED]]
    more = len(operations) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def echo_line(line: str) -> Line:
    """Returns a command that the user typed, as it is shown above its output."""
    return Line("said", visible_line(redact(line.strip())))


def _words(text: str) -> list[Line]:
    told = visible_text(redact(text)).strip("\n")
    return [Line("said", f"  {line}") for line in told.split("\n")] if told.strip() else []
