"""Comments on lines of a plan, kept until a rejection sends them to the model.

A critic's comments are suggestions: they are sent only if a person keeps them.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from assent.core.errors import ConcurrentChange, IllegalState, NotFound, UsageError
from assent.core.event import (
    CommentAdded,
    CommentEvent,
    CommentRemoved,
    CommentsSent,
    CritiqueRecorded,
    CritiqueRequested,
    PlanProposed,
    PlanRebased,
    PlanRejected,
    StoredEvent,
)
from assent.core.plan.comment import (
    MAX_LINES,
    PLAN,
    Comment,
    CommentAnchor,
    CommentTarget,
    Critique,
    Feedback,
    Finding,
    PlacedComment,
    with_comments,
)
from assent.core.plan.operation import footprint, matching_operations
from assent.core.plan.record import PlanAction, PlanRecord, PlanState, next_state
from assent.planning.critiques import comment_stream, find_critique, last_critique
from assent.planning.plans import Plans
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.reviews import Reviews
from assent.ports import EventBatch
from assent.render.review import Review, operation_part, place_comments, text_part

if TYPE_CHECKING:
    from assent.planning.approvals import Approvals

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
        open_consents: "Callable[[], Approvals]",
    ) -> None:
        """`open_consents` is called where comments are sent: to show them needs no approvals."""
        self._ports = ports
        self._user = config.user
        self._plans = plans
        self._reviews = reviews
        self._open_consents = open_consents

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
            size = len(part.lines)
            count = "1 line" if size == 1 else f"{size} lines"
            many = f"has {count}" if size else "is not shown line by line"
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
        self._append_to_newest(record, lambda _: [CommentAdded(record.plan_id, comment)])
        return comment

    def reply(self, record: PlanRecord, reference: str, text: str) -> Comment:
        """Adds a user's reply to a listed comment, on the same lines; a critic's is kept by it."""
        if record.state not in OPEN_STATES:
            next_state(record.state, PlanAction.REJECT)  # says why not, and what else
        clock, text = self._ports.clock, _checked(text)
        added = Comment(clock.new_id(), CommentAnchor("", 0, 0), text, clock.now(), self._user,
                        record.digest)  # fmt: skip

        def events(found: Sequence[CommentEvent]) -> list[CommentEvent]:
            nonlocal added
            listed = self._listed(record, found)
            named = _matching(listed, reference, found)
            head = next((one for one in listed if one.id == named.reply_to), named)
            added = msgspec.structs.replace(added, anchor=head.anchor, reply_to=head.id)
            kept = msgspec.structs.replace(head, user=self._user, state="kept")
            before = [kept] if head.state == "suggested" else []
            return [CommentAdded(record.plan_id, one) for one in (*before, added)]

        self._append_to_newest(record, events)
        return added

    def change(self, record: PlanRecord, reference: str, text: str) -> Comment:
        """Changes the text of a waiting comment; a critic's becomes the user's own words."""
        seq, comment = self._listed_one(record, reference)
        changed = msgspec.structs.replace(
            comment, text=_checked(text), user=self._user, author="person", state="pending"
        )
        self._append(record, seq, CommentAdded(record.plan_id, changed))
        return changed

    def remove(self, record: PlanRecord, reference: str) -> Comment:
        """Removes a listed comment, by its id, the start of it, or its number."""
        seq, comment = self._listed_one(record, reference)
        self._append(record, seq, CommentRemoved(record.plan_id, comment.id, self._user))
        return comment

    def critique(self, record: PlanRecord) -> Critique | None:
        """Returns what is known of the critique of this very plan; None if there was none."""
        return find_critique(self._ports, record)

    def is_critique_due(self, record: PlanRecord, session: str) -> bool:
        """Tells whether a critic is to be asked: not yet, or by this session without an answer."""
        return _is_due(self._read(record)[1], record.digest, session)

    def is_critique_owed(self, record: PlanRecord, session: str) -> bool:
        """Tells whether this session, which is held, asked a critic and never got to the answer."""
        last = last_critique(self._read(record)[1], record.digest)
        return last is not None and last.state == "unfinished" and last.session == session

    def request_critique(self, record: PlanRecord, model: str, session: str = "") -> int:
        """Notes that a critic is about to be asked about a plan, before it is (law 5).

        The caller holds the session, so that one which it asked for and never recorded is over.
        Returns how many requests about this plan that makes; raises if its digest had one before.
        """
        asked = 0

        def events(found: Sequence[CommentEvent]) -> list[CommentEvent]:
            nonlocal asked
            if not _is_due(found, record.digest, session):
                raise IllegalState("Another process asked it about this plan.", LIST_COMMAND)
            asked = sum(isinstance(event, CritiqueRequested) for event in found) + 1
            return [CritiqueRequested(record.plan_id, record.digest, model, session)]

        self._append_to_newest(record, events)
        return asked

    def record_critique(self, ended: CritiqueRecorded, findings: Sequence[Finding]) -> None:
        """Records what came of a critique, with its findings as suggested comments, or nothing."""
        record = self._plans.repository().load(ended.plan_id)
        added = self._suggestions(record, ended, findings)
        self._append_to_newest(record, lambda _: [ended, *added])

    def _suggestions(
        self, record: PlanRecord, ended: CritiqueRecorded, findings: Sequence[Finding]
    ) -> list[CommentEvent]:
        clock = self._ports.clock
        return [
            CommentAdded(
                record.plan_id,
                Comment(
                    clock.new_id(),
                    finding.anchor,
                    _checked(finding.text),
                    clock.now(),
                    "",
                    ended.digest,
                    author="critic",
                    state="suggested",
                    model=ended.model,
                    severity=finding.severity,
                ),
            )
            for finding in findings
        ]

    def keep(self, record: PlanRecord, references: Sequence[str] = ()) -> tuple[Comment, ...]:
        """Keeps suggestions of a critic: they are sent like the user's own; without any, all."""
        kept: tuple[Comment, ...] = ()

        def events(found: Sequence[CommentEvent]) -> list[CommentEvent]:
            nonlocal kept
            chosen = self._chosen(record, found, references)
            kept = tuple(
                [msgspec.structs.replace(one, user=self._user, state="kept") for one in chosen]
            )
            return [CommentAdded(record.plan_id, one) for one in kept]

        self._append_to_newest(record, events)
        return kept

    def dismiss(self, record: PlanRecord, references: Sequence[str] = ()) -> tuple[Comment, ...]:
        """Dismisses suggestions of a critic, for everyone; without any, all of them."""
        gone: tuple[Comment, ...] = ()

        def events(found: Sequence[CommentEvent]) -> list[CommentEvent]:
            nonlocal gone
            gone = self._chosen(record, found, references)
            return [CommentRemoved(record.plan_id, one.id, self._user) for one in gone]

        self._append_to_newest(record, events)
        return gone

    def targets(
        self, record: PlanRecord, is_readable: Callable[[bytes], bool]
    ) -> tuple[CommentTarget, ...]:
        """Returns everything that comments can be tied to: the plan's text, then each operation.

        An operation on a file that is not readable has no lines.
        """
        review = self._reviews.review(record)
        found = [text_part(review.text)]
        for number, operation in enumerate(review.operations, 1):
            part = operation_part(number, operation)
            open_to_all = all(is_readable(path) for path, *_ in footprint(operation.op))
            found.append(part if open_to_all else msgspec.structs.replace(part, lines=()))
        return tuple(found)

    def waiting(self, record: PlanRecord) -> tuple[Comment, ...]:
        """Returns the comments that the user's rejection would send, oldest first."""
        return self._waiting(self._read(record)[1])

    def listed(self, record: PlanRecord) -> tuple[Comment, ...]:
        """Returns the user's waiting comments and a critic's suggestions, oldest first.

        Keeping a suggestion does not change its place, by which it is numbered.
        """
        return self._listed(record, self._read(record)[1])

    def all(self, record: PlanRecord) -> tuple[Comment, ...]:
        """Returns all users' comments, sent ones too, oldest first."""
        return tuple(_standing(self._read(record)[1]).values())

    def placed(self, record: PlanRecord) -> tuple[PlacedComment, ...]:
        """Returns the listed comments with where their lines are now."""
        return self._placed(record, self.listed(record))

    def shown(self, record: PlanRecord, review: Review) -> Review:
        """Returns a review with the listed comments below their lines, and who else read it."""
        found, critique = place_comments(review, self.listed(record)), self.critique(record)
        if not found and critique is None:
            return review
        return msgspec.structs.replace(review, comments=found, critique=critique)

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
        return self._open_consents().reject_all(rejections, beside), sent

    def _sent_batch(self, record: PlanRecord, seq: int, comments: Sequence[Comment]) -> EventBatch:
        ids = tuple([comment.id for comment in comments])
        sent = CommentsSent(record.plan_id, record.digest, ids, self._user)
        return EventBatch(self._stream(record), seq, self._ports.clock.now(), (sent,))

    def _send(
        self, record: PlanRecord, seq: int, note: str, found: Sequence[PlacedComment]
    ) -> PlanRecord:
        comments = tuple([msgspec.structs.replace(p.comment, anchor=p.anchor) for p in found])
        if not comments:
            return self._open_consents().reject(record, note)
        batch = self._sent_batch(record, seq, comments)
        return self._open_consents().reject(record, note, comments, (batch,))

    def _placed(self, record: PlanRecord, comments: Sequence[Comment]) -> tuple[PlacedComment, ...]:
        return place_comments(self._reviews.review(record), comments) if comments else ()

    def _listed_one(self, record: PlanRecord, reference: str) -> tuple[int, Comment]:
        seq, events = self._read(record)
        return seq, _matching(self._listed(record, events), reference, events)

    def _chosen(
        self, record: PlanRecord, events: Sequence[CommentEvent], references: Sequence[str]
    ) -> tuple[Comment, ...]:
        """Returns the suggestions that a user names; raises if a name means no suggestion."""
        listed = self._listed(record, events)
        if not references:
            return tuple([one for one in listed if one.state == "suggested"])
        chosen = dict.fromkeys([_matching(listed, name, events) for name in references])
        if own := [one for one in chosen if one.state != "suggested"]:
            what = "is already kept" if own[0].state == "kept" else "is your own"
            raise IllegalState(f"Comment {own[0].id} {what}. Nothing was changed.", LIST_COMMAND)
        return tuple(chosen)

    def _listed(self, record: PlanRecord, events: Sequence[CommentEvent]) -> tuple[Comment, ...]:
        own = {comment.id for comment in self._waiting(events)}
        standing = _standing(events).values()
        suggested = [one for one in standing if one.state == "suggested"]
        if suggested and record.state is PlanState.AWAITING_APPROVAL:
            names = self._digests(record, suggested)
            own.update(one.id for one in suggested if one.digest in names)
        return tuple([one for one in standing if one.id in own])

    def _digests(self, record: PlanRecord, suggested: Sequence[Comment]) -> set[str]:
        """Returns the digests whose suggestions count: the plan's, and those it was rebased from.

        What was suggested for an earlier version is over: a person decided about that one.
        """
        if all(one.digest == record.digest for one in suggested):
            return {record.digest}
        return _rebased_digests(self._ports.store.read(record.stream))

    def _waiting(self, events: Sequence[CommentEvent]) -> tuple[Comment, ...]:
        sent = {name for e in events if isinstance(e, CommentsSent) for name in e.comments}
        standing = _standing(events).values()
        own = [c for c in standing if c.user == self._user and c.state != "suggested"]
        return tuple([c for c in own if c.id not in sent])

    def _append_to_newest(
        self,
        record: PlanRecord,
        decide: Callable[[Sequence[CommentEvent]], Sequence[CommentEvent]],
    ) -> None:
        """Appends what follows from the newest comments, once more if others were faster."""
        for _ in range(MAX_TRIES):
            seq, found = self._read(record)
            events = decide(found)
            try:
                return self._append(record, seq, *events) if events else None
            except ConcurrentChange:  # another writer commented meanwhile
                continue
        raise ConcurrentChange(
            "Other processes keep adding comments. Nothing was changed; try again.", LIST_COMMAND
        )

    def _append(self, record: PlanRecord, seq: int, *events: CommentEvent) -> None:
        self._ports.store.append(
            EventBatch(self._stream(record), seq, self._ports.clock.now(), events)
        )

    def _stream(self, record: PlanRecord) -> str:
        return comment_stream(record)

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
            case CommentsSent() | CritiqueRequested() | CritiqueRecorded():
                pass
    return found


def _is_due(events: Sequence[CommentEvent], digest: str, session: str) -> bool:
    last = last_critique(events, digest)
    return last is None or (last.state == "unfinished" and last.session == session)


def _matching(listed: Sequence[Comment], reference: str, events: Sequence[CommentEvent]) -> Comment:
    """Returns the comment of that number or id; raises if none or several can be meant."""
    matches = matching_operations([comment.id for comment in listed], reference)
    if len(matches) == 1:
        return listed[matches[0]]
    if reference in _standing(events):
        raise IllegalState("This comment was already sent and cannot be changed.", LIST_COMMAND)
    many = "matches several unsent comments" if matches else "matches no unsent comment"
    raise NotFound(f"{reference!a} {many}. Nothing was changed.", LIST_COMMAND)


def _rebased_digests(events: Iterable[StoredEvent]) -> set[str]:
    """Returns the digest that a plan was proposed under last, and those it was rebased from."""
    names: set[str] = set()
    was = ""
    for recorded in events:
        match recorded.event:
            case PlanRebased(was=before):
                was = before
            case PlanProposed(digest=digest):
                names = {*names, digest} if was in names else {digest}
                was = ""
            case _:
                pass
    return names


def _checked(text: str) -> str:
    if not text.strip():
        raise UsageError("The comment is empty. No comment was added.", LIST_COMMAND)
    if len(text.encode()) > MAX_COMMENT_BYTES:
        raise UsageError(f"A comment can have at most {MAX_COMMENT_BYTES} bytes.", LIST_COMMAND)
    return text
