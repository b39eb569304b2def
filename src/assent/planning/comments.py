"""Comments on lines of a plan, kept until a rejection sends them to the model."""

from collections.abc import Sequence

import msgspec

from assent.core.errors import ConcurrentChange, IllegalState, NotFound, UsageError
from assent.core.event import (
    CommentAdded,
    CommentEvent,
    CommentRemoved,
    CommentsSent,
    PlanRejected,
)
from assent.core.plan.comment import (
    MAX_LINES,
    PLAN,
    Comment,
    CommentAnchor,
    CommentTarget,
    Feedback,
    PlacedComment,
    with_comments,
)
from assent.core.plan.operation import matching_operations
from assent.core.plan.record import PlanAction, PlanRecord, PlanState, next_state
from assent.planning.approvals import Approvals
from assent.planning.plans import Plans
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.reviews import Reviews
from assent.ports import EventBatch
from assent.render.review import Review, operation_part, place_comments, text_part

MAX_TRIES = 5
MAX_COMMENT_BYTES = 1 << 16  # of one comment's words
OPEN_STATES = (PlanState.DRAFTING, PlanState.AWAITING_APPROVAL)
LIST_COMMAND = "assent comment list"


class Comments:
    """Adds, changes and lists comments. A comment decides nothing: it is sent with a rejection."""

    def __init__(
        self,
        ports: Ports,
        config: WorkspaceConfig,
        plans: Plans,
        reviews: Reviews,
        consents: Approvals,
    ) -> None:
        self._ports = ports
        self._user = config.user
        self._plans = plans
        self._reviews = reviews
        self._consents = consents

    def part(self, record: PlanRecord, where: str) -> CommentTarget:
        """Returns the lines that comments can be tied to: of the plan's text, or an operation."""
        if where == PLAN:
            return text_part(self._reviews.text(record))
        found = self._reviews.review(record).operations
        matches = matching_operations([one.id for one in found], where)
        if len(matches) != 1:
            many = "matches several operations" if matches else "is not an operation of this plan"
            raise NotFound(f"{where!a} {many}. No comment was added.", "assent review")
        return operation_part(matches[0] + 1, found[matches[0]])

    def anchor(
        self, record: PlanRecord, where: str, first: int = 0, last: int = 0
    ) -> CommentAnchor:
        """Returns what a comment is tied to, with its lines; without lines, all of it.

        `where` is `plan`, or an operation by its number or the start of its id.
        """
        part, last = self.part(record, where), last or first
        if last < first:
            raise UsageError("The line range ends before it starts. No comment was added.")
        if last - first >= MAX_LINES:
            raise UsageError(
                f"A comment can cover at most {MAX_LINES} lines. No comment was added."
            )
        if first < 0 or last > len(part.lines):
            many = f"has {len(part.lines)} lines" if part.lines else "is not shown line by line"
            raise NotFound(
                f"Line {last if first >= 0 else first} not found: "
                f"{part.about or 'the text of the plan'} {many}. No comment was added.",
                f"assent comment lines {where}",
            )
        quote = part.lines[first - 1 : last] if first else ()
        return CommentAnchor(part.operation, first, last, quote, part.about, part.seen)

    def add(self, record: PlanRecord, anchor: CommentAnchor, text: str) -> Comment:
        """Adds a user's comment on some lines; it waits until it is sent with a rejection."""
        if record.state not in OPEN_STATES:
            next_state(record.state, PlanAction.REJECT)  # says why not, and what else
        clock, text = self._ports.clock, _checked(text)
        comment = Comment(clock.new_id(), anchor, text, clock.now(), self._user, record.digest)
        for _ in range(MAX_TRIES):
            try:
                self._append(record, self._read(record)[0], CommentAdded(record.plan_id, comment))
            except ConcurrentChange:  # another writer commented meanwhile
                continue
            return comment
        raise ConcurrentChange(
            "Other processes keep adding comments. No comment was added; try again.", LIST_COMMAND
        )

    def change(self, record: PlanRecord, reference: str, text: str) -> Comment:
        """Changes the text of a waiting comment."""
        seq, comment = self._waiting_one(record, reference)
        changed = msgspec.structs.replace(comment, text=_checked(text))
        self._append(record, seq, CommentAdded(record.plan_id, changed))
        return changed

    def remove(self, record: PlanRecord, reference: str) -> Comment:
        """Removes a waiting comment, by its id, the start of it, or its number."""
        seq, comment = self._waiting_one(record, reference)
        self._append(record, seq, CommentRemoved(record.plan_id, comment.id, self._user))
        return comment

    def waiting(self, record: PlanRecord) -> tuple[Comment, ...]:
        """Returns the user's comments that were not sent yet, oldest first."""
        return self._waiting(self._read(record)[1])

    def all(self, record: PlanRecord) -> tuple[Comment, ...]:
        """Returns all users' comments, sent ones too, oldest first."""
        return tuple(_standing(self._read(record)[1]).values())

    def placed(self, record: PlanRecord) -> tuple[PlacedComment, ...]:
        """Returns the user's waiting comments with where their lines are now."""
        return self._placed(record, self.waiting(record))

    def shown(self, record: PlanRecord, review: Review) -> Review:
        """Returns a review with the user's waiting comments below their lines."""
        found = place_comments(review, self.waiting(record))
        return msgspec.structs.replace(review, comments=found) if found else review

    def reject(self, record: PlanRecord, feedback: Feedback) -> tuple[PlanRecord, int]:
        """Records a rejection with all feedback, and returns how many comments were sent.

        It is one request for a revision: feedback in parts, and each comment under its lines.
        """
        next_state(record.state, PlanAction.REJECT)
        for _ in range(MAX_TRIES):
            seq, events = self._read(record)
            found = self._placed(record, self._waiting(events))
            if not found and not feedback.text().strip():
                raise UsageError("Say what to change.", "assent reject --note 'TEXT'")
            try:
                return self._send(record, seq, with_comments(feedback, found), found), len(found)
            except ConcurrentChange:
                if self._plans.repository().load(record.plan_id).seq != record.seq:
                    raise
        raise ConcurrentChange(
            "Other processes keep adding comments. Nothing was sent; try again.", LIST_COMMAND
        )

    def reject_all(
        self, records: Sequence[PlanRecord], feedback: Feedback, *, comments: bool = True
    ) -> tuple[list[PlanRecord], int]:
        """Rejects several options with the same feedback, each with its comments, all or none."""
        for record in records:
            next_state(record.state, PlanAction.REJECT)
        rejections, beside, sent = list[tuple[PlanRecord, PlanRejected]](), list[EventBatch](), 0
        for record in records:
            seq, events = self._read(record)
            found = self._placed(record, self._waiting(events)) if comments else ()
            placed = tuple(msgspec.structs.replace(p.comment, anchor=p.anchor) for p in found)
            note = with_comments(feedback, found)
            rejections.append((record, PlanRejected(record.digest, note, self._user, placed)))
            if placed:
                beside.append(self._sent_batch(record, seq, placed))
                sent += len(placed)
        return self._consents.reject_all(rejections, beside), sent

    def _sent_batch(self, record: PlanRecord, seq: int, comments: Sequence[Comment]) -> EventBatch:
        ids = tuple([comment.id for comment in comments])
        sent = CommentsSent(record.plan_id, record.digest, ids, self._user)
        return EventBatch(self._stream(record), seq, self._ports.clock.now(), (sent,))

    def _send(
        self, record: PlanRecord, seq: int, note: str, found: Sequence[PlacedComment]
    ) -> PlanRecord:
        comments = tuple([msgspec.structs.replace(p.comment, anchor=p.anchor) for p in found])
        if not comments:
            return self._consents.reject(record, note)
        batch = self._sent_batch(record, seq, comments)
        return self._consents.reject(record, note, comments, (batch,))

    def _placed(self, record: PlanRecord, comments: Sequence[Comment]) -> tuple[PlacedComment, ...]:
        return place_comments(self._reviews.review(record), comments) if comments else ()

    def _waiting_one(self, record: PlanRecord, reference: str) -> tuple[int, Comment]:
        seq, events = self._read(record)
        waiting = self._waiting(events)
        matches = matching_operations([comment.id for comment in waiting], reference)
        if len(matches) == 1:
            return seq, waiting[matches[0]]
        sent = {comment.id for comment in _standing(events).values()}
        if reference in sent:
            raise IllegalState("This comment was already sent and cannot be changed.", LIST_COMMAND)
        many = "matches several unsent comments" if matches else "matches no unsent comment"
        raise NotFound(f"{reference!a} {many}. Nothing was changed.", LIST_COMMAND)

    def _waiting(self, events: Sequence[CommentEvent]) -> tuple[Comment, ...]:
        sent = {name for e in events if isinstance(e, CommentsSent) for name in e.comments}
        standing = _standing(events).values()
        return tuple([c for c in standing if c.user == self._user and c.id not in sent])

    def _append(self, record: PlanRecord, seq: int, event: CommentEvent) -> None:
        self._ports.store.append(
            EventBatch(self._stream(record), seq, self._ports.clock.now(), (event,))
        )

    def _stream(self, record: PlanRecord) -> str:
        return f"comment/{self._plans.repository().workspace}/{record.plan_id}"

    def _read(self, record: PlanRecord) -> tuple[int, list[CommentEvent]]:
        recorded = self._ports.store.read(self._stream(record))
        found = [one.event for one in recorded if isinstance(one.event, CommentEvent)]
        return (recorded[-1].seq if recorded else 0), found


def _standing(events: Sequence[CommentEvent]) -> dict[str, Comment]:
    """Returns all comments that were not removed, with their latest text."""
    found: dict[str, Comment] = {}
    for event in events:
        match event:
            case CommentAdded(comment=comment):
                found[comment.id] = comment
            case CommentRemoved(comment=name):
                found.pop(name, None)
            case CommentsSent():
                pass
    return found


def _checked(text: str) -> str:
    if not text.strip():
        raise UsageError("The comment is empty. No comment was added.", LIST_COMMAND)
    if len(text.encode()) > MAX_COMMENT_BYTES:
        raise UsageError(f"A comment can have at most {MAX_COMMENT_BYTES} bytes.", LIST_COMMAND)
    return text
