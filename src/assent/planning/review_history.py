"""Review history: which version of a plan each user saw last, and what changed since."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

import msgspec

from assent.core.errors import AssentError, ConcurrentChange
from assent.core.event import PlanApproved, PlanProposed, PlanRejected, ReviewShown
from assent.core.plan.plan import Plan
from assent.core.plan.record import PlanRecord, PlanRun
from assent.core.session.estimate import WorkEstimate
from assent.planning.plans import Plans, notes_of
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.projections import PlanProjections
from assent.planning.reviews import Reviews
from assent.ports import EventBatch
from assent.render.approval import ExcludedOperation
from assent.render.review import Review
from assent.render.review_changes import ReviewChanges, review_changes

if TYPE_CHECKING:
    from assent.planning.partial_approval import PartialApproval

MAX_TRIES = 5
NOT_RECORDED = "This review could not be recorded, so the next one cannot show what changed: "
NOT_COMPARED = "Changes since your last review cannot be shown: "
NO_COMMENTS = "Your comments cannot be shown: "


class PlanDecision(msgspec.Struct, frozen=True):
    """A decision of a user about a plan."""

    what: Literal["Approved", "Rejected"]
    by: str
    way: str  # by which it came, such as `web`; empty: not on record
    at: str
    note: str
    digest: str  # that was decided about


class ReviewHistory:
    """Remembers what people reviewed. It never blocks a review and takes no lock."""

    def __init__(
        self,
        ports: Ports,
        config: WorkspaceConfig,
        reviews: Reviews,
        plans: Plans,
        excluded: Callable[[PlanRecord], tuple[tuple[ExcludedOperation, ...], bool]],
        copies: PlanProjections,
    ) -> None:
        """`excluded` is `PartialApprovals.excluded`, asked of a plan where something was."""
        self._ports = ports
        self._user = config.user
        self._reviews = reviews
        self._plans = plans
        self._excluded = excluded
        self._copies = copies
        self.commented: Callable[[PlanRecord, Review], Review] = lambda _, review: review
        # What the build of a text plan is expected to use.
        self.estimated: Callable[[PlanRecord, Review], WorkEstimate | None] = lambda *_: None

    def review(self, record: PlanRecord) -> Review:
        """Returns a plan's review with its comments, and what changed since the last review."""
        plan = self._plans.repository().plan(record) if record.frozen else None
        found = self._reviews.show(record, plan) if plan else self._reviews.review(record)
        declined, unsure = self._excluded(record) if record.declined else ((), False)
        notes = notes_of(record, record.digest) if record.digest else ()
        missing = self._plans.missing_notes(record.plan_id, found.text)
        found = msgspec.structs.replace(
            found, declined=declined, unsure=unsure, notes=notes, missing=missing
        )
        found = self._with_comments(record, found)
        if found.prose:
            found = msgspec.structs.replace(found, estimate=self.estimated(record, found))
        return self._compared(found, plan) if plan else found

    def partial(self, partial: "PartialApproval", next: str) -> Review:
        """Returns the smaller plan as it will be approved, with what was excluded from it."""
        found = self._reviews.show(partial.record, partial.plan)
        unsure = bool(partial.smaller.unsure)
        found = msgspec.structs.replace(found, declined=partial.excluded, unsure=unsure, next=next)
        return self._compared(found, partial.plan)

    def _with_comments(self, record: PlanRecord, review: Review) -> Review:
        try:
            return self.commented(record, review)
        except AssentError as error:
            self._copies.warnings.append(f"{NO_COMMENTS}{error.message}")
            return review

    def _compared(self, review: Review, plan: Plan) -> Review:
        """Adds to the review of a frozen plan what changed since the user read it."""
        try:
            found = self._since(review.plan_id, plan)
        except AssentError as error:
            self._copies.warnings.append(f"{NOT_COMPARED}{error.message}")
            return review
        if found is None:
            return review
        same, changed = set(found.same), {one.now[0] for one in found.changed}
        operations = [
            msgspec.structs.replace(one, seen=one.id in same, changed=one.id in changed)
            for one in review.operations
        ]
        return msgspec.structs.replace(review, since=found, operations=tuple(operations))

    def record(self, record: PlanRecord) -> None:
        """Records that the user was shown all of a proposed plan; only warns if that fails."""
        if not record.frozen:
            return
        try:
            self._append(ReviewShown(record.plan_id, record.digest, record.frozen, self._user))
        except (AssentError, OSError) as error:
            self._copies.warnings.append(f"{NOT_RECORDED}{error}")

    def changes_since(self, record: PlanRecord, digest: str) -> ReviewChanges | None:
        """Returns how a plan differs from what it was under a digest; None if that is not known."""
        events = [stored.event for stored in self._ports.store.read(record.stream)]
        frozen = {e.digest: e.frozen for e in events if isinstance(e, PlanProposed)}
        if digest not in frozen or not record.frozen:
            return None
        repository = self._plans.repository()
        was = repository.plan(PlanRun("", digest, frozen[digest]))
        return review_changes(was, repository.plan(record), self._ports.blobs.read)

    def decisions(self, record: PlanRecord) -> list[PlanDecision]:
        """Returns who approved and rejected a plan, newest first."""
        found = []
        for stored in self._ports.store.read(record.stream):
            match stored.event:
                case PlanApproved(approval):
                    by = approval.approver
                    one = PlanDecision(
                        "Approved", by.user, by.channel, stored.at, approval.note, approval.digest
                    )
                case PlanRejected(digest, note, user):
                    one = PlanDecision("Rejected", user, "", stored.at, note, digest)
                case _:
                    continue
            found.append(one)
        return found[::-1]

    def _since(self, plan_id: str, plan: Plan) -> ReviewChanges | None:
        last = _last(self._read(plan_id)[1], self._user)
        if last is None:
            return None
        was = self._plans.repository().plan(PlanRun("", last.digest, last.frozen))
        return review_changes(was, plan, self._ports.blobs.read)

    def _append(self, shown: ReviewShown) -> None:
        for _ in range(MAX_TRIES):
            seq, readings = self._read(shown.plan_id)
            if _last(readings, shown.user) == shown:
                return
            try:
                stream, at = self._stream(shown.plan_id), self._ports.clock.now()
                self._ports.store.append(EventBatch(stream, seq, at, (shown,)))
            except ConcurrentChange:  # another process recorded a review meanwhile
                continue
            return
        raise ConcurrentChange("Other processes keep recording reviews.")

    def _stream(self, plan_id: str) -> str:
        return f"reading/{self._plans.repository().workspace}/{plan_id}"

    def _read(self, plan_id: str) -> tuple[int, list[ReviewShown]]:
        recorded = self._ports.store.read(self._stream(plan_id))
        found = [one.event for one in recorded if isinstance(one.event, ReviewShown)]
        return (recorded[-1].seq if recorded else 0), found


def _last(readings: Iterable[ReviewShown], user: str) -> ReviewShown | None:
    own = [one for one in readings if one.user == user]
    return own[-1] if own else None
