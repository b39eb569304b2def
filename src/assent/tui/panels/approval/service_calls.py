"""The approval panel's calls to the engine: loading a plan, and recording decisions about it.

All of them may be slow and belong in threads; nothing here draws.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from assent.core.errors import AssentError, DigestMismatch
from assent.core.plan.comment import CommentAnchor, Feedback, PlacedComment
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.review import Review
from assent.tui.hints import error_text
from assent.tui.line_view.view import Section
from assent.tui.panels.approval.sections import is_open, review_sections, undo_limits
from assent.tui.panels.approval.state import ApprovalStage, ApprovalState
from assent.tui.result_messages import UNDONE, decision_text, undone_text
from assent.tui.status.snapshot import undone_amount

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.planning.partial_approval import PartialApproval
    from assent.runs.undo.targets import UndoneAmount

TERMINAL: Final = "terminal"  # the channel of a yes that is given on this screen
PLANNING_ENDED: Final = "The person ended planning."
CHANGED: Final = "The plan changed meanwhile; nothing was decided. This is how it is now."


class DisplayedPlan(msgspec.Struct, frozen=True):
    """A plan as it is shown: an approval is of exactly this."""

    record: PlanRecord
    review: Review
    sheets: tuple[Section, ...]
    partial: "PartialApproval | None" = None  # what is shown is this smaller plan
    undo: tuple[str, ...] = ()  # what of it is hard to undo, in words
    live: str = ""  # how its file differs from it, in words
    prose: bool = False
    undone: "UndoneAmount" = ""  # how much of what it did last was taken back

    def state(self, *, read: bool, marked: bool) -> ApprovalState:
        """Returns what can be done with it."""
        fits = not self.review.drifted and not self.live
        awaited = self.record.state is PlanState.AWAITING_APPROVAL and bool(self.review.digest)
        return ApprovalState(
            ApprovalStage.READING,
            open=is_open(self.review),
            awaited=awaited and fits,
            approved=self.review.approved,
            read=read,
            marked=marked,
            part=self.partial is not None,
        )


def load_plan(engine: "Engine", plan_id: str, without: Sequence[str] = ()) -> DisplayedPlan:
    """Reads a plan, or what is left of it without some operations."""
    record = engine.plans.find(plan_id)
    if without:
        partial = engine.partial_approvals.preview(record, without)
        review = engine.review_history.partial(partial, "")
        hard = tuple(undo_limits(review.operations))
        return DisplayedPlan(record, review, tuple(review_sections(review)), partial, hard)
    live = engine.plans.difference(record)
    review = engine.review_history.review(record)
    sheets, hard = tuple(review_sections(review, (), live)), tuple(undo_limits(review.operations))
    undone = undone_amount(engine, record)
    return DisplayedPlan(record, review, sheets, None, hard, live, review.prose, undone)


def decision_since(engine: "Engine", reading: DisplayedPlan) -> str:
    """Says who decided about a plan since it was read, and what; nothing where nobody did."""
    events = [recorded.event for recorded in engine.plans.since(reading.record)]
    now = engine.plans.find(reading.record.plan_id)
    if words := decision_text(now, events, engine.plans.reference(now)):
        return words
    undone = undone_amount(engine, now)
    if undone == reading.undone or not now.runs:
        return ""
    run = now.runs[-1].run
    return undone_text(run, now.name, UNDONE[undone], engine.history.last_undo_of(run))


def approve_plan(engine: "Engine", reading: DisplayedPlan, note: str) -> PlanRecord:
    """Records a person's yes to the digest that they were shown, or raises (law 9)."""
    if reading.partial is not None:
        return engine.partial_approvals.approve(reading.partial, note, TERMINAL)
    engine.approvals.check_files(reading.record)  # reading takes time
    return engine.approvals.approve(reading.record, reading.review.digest, note, TERMINAL)


def unchanged_plan(engine: "Engine", reading: DisplayedPlan) -> PlanRecord:
    """Returns the plan, if it is what was shown: a draft by its text and what is staged."""
    now, was = engine.plans.find(reading.record.plan_id), reading.record
    same = (now.digest, now.state, now.draft) == (was.digest, was.state, was.draft)
    if not same or (not now.digest and engine.reviews.text(now) != reading.review.text):
        raise DigestMismatch(CHANGED)
    return now


def propose_plan(engine: "Engine", reading: DisplayedPlan) -> PlanRecord:
    """Freezes the draft, or the file as it is now, under a digest of its own."""
    return engine.approvals.propose(unchanged_plan(engine, reading))


def propose_if_changed(engine: "Engine", record: PlanRecord) -> PlanRecord:
    """Proposes a plan anew if its file changed: whoever agreed before agreed to something else."""
    current = engine.plans.find(record.plan_id)
    return engine.approvals.propose(current) if engine.plans.difference(current) else current


def rebase_plan(engine: "Engine", reading: DisplayedPlan) -> PlanRecord:
    """Makes a plan fit the files as they are, under a digest of its own."""
    return engine.rebaser.apply(engine.rebaser.preview(unchanged_plan(engine, reading)))


def discard_plan(engine: "Engine", reading: DisplayedPlan) -> PlanRecord:
    """Ends planning: the plan is discarded, its file stays, and its session plans no more."""
    discarded = engine.plans.discard(unchanged_plan(engine, reading))
    session = engine.sessions.of_plan(discarded)
    if session is not None and session.mode == "plan":
        engine.sessions.set_mode(session, "ask", PLANNING_ENDED)
    return discarded


def save_comment(
    engine: "Engine",
    reading: DisplayedPlan,
    anchor: CommentAnchor,
    words: str,
    was: PlacedComment | None,
) -> Review:
    """Notes, changes or (without words) takes back a comment; returns the review with it."""
    comments, record = engine.comments, reading.record
    if not words.strip():
        if was is not None:
            comments.remove(record, was.comment.id)
    elif was is not None:
        comments.change(record, was.comment.id, words)
    else:
        comments.add(record, anchor, words)
    return comments.shown(record, msgspec.structs.replace(reading.review, comments=()))


def reject_plan(
    engine: "Engine", reading: DisplayedPlan, feedback: Feedback
) -> tuple[PlanRecord, int]:
    """Records a no with all that should be different, comments too, as one request."""
    return engine.comments.reject(unchanged_plan(engine, reading), feedback)


def valid_marks(review: Review, marked: Collection[str]) -> dict[str, None]:
    """Returns the marks that still mean an operation, in the order of the plan."""
    return dict.fromkeys(each.id for each in review.operations if each.id in marked)


def error_line(error: AssentError) -> str:
    """Returns an error with the next step, on one harmless line."""
    return visible_line(redact(error_text(error)))
