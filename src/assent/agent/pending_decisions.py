"""Everything in a workspace that waits for a user's decision."""

from collections.abc import Iterator

from assent.agent.services import AgentServices
from assent.agent.sessions import Sessions
from assent.core.errors import AssentError
from assent.core.event import Event, PlanApproved, PlanProposed, RunHalted, RunStarted
from assent.core.plan.record import PlanRecord, PlanState
from assent.planning.reviews import Reviews
from assent.render.pending_decisions import (
    PendingDecision,
    build_decision,
    plan_decision,
    question_decision,
    run_decision,
)

UNREADABLE_PLAN = "A pending plan cannot be shown: "


class PendingDecisions:
    """Reads what waits for a decision, and changes nothing."""

    def __init__(self, services: AgentServices, sessions: Sessions, reviews: Reviews) -> None:
        self._services = services
        self._sessions = sessions
        self._reviews = reviews
        self._known: dict[
            tuple[str, int, bool], PendingDecision
        ] = {}  # what was read once is not again

    def all(self) -> tuple[PendingDecision, ...]:
        """Returns pending decisions: runs that block other runs first, then oldest first."""
        records = self._services.plans.records()
        rest = [
            *map(question_decision, self._services.pending_questions.pending()),
            *self._plans(records),
            *self._builds(records),
        ]
        return (*self._run(records), *sorted(rest, key=lambda one: (one.at, one.id)))

    def plans(self) -> list[PlanRecord]:
        """Returns the plans among them, without what a review of each would take."""
        return [*self._waiting_plans(self._services.plans.records())]

    def _run(self, records: list[PlanRecord]) -> Iterator[PendingDecision]:
        """Yields the stopped run, unless another process is working on it."""
        repository = self._services.plans.repository()
        found = self._services.runs.unfinished() if repository.workspace else None
        if found is None:
            return
        plan_id, note = found
        if not note.halted and self._services.ports.locks.is_held(repository.workspace):
            return
        record = next((one for one in records if one.plan_id == plan_id), None)
        at = self._when(record, RunHalted, RunStarted) if record else self._permitted()
        yield run_decision(record, note, at)

    def _permitted(self) -> str:
        """Returns when the newest permit was issued."""
        return self._services.ports.store.read(self._services.plans.repository().permit_stream)[
            -1
        ].at

    def _waiting_plans(self, records: list[PlanRecord]) -> Iterator[PlanRecord]:
        for record in records:
            if record.state is not PlanState.AWAITING_APPROVAL or record.undoes:
                continue
            if self._services.plans.live_text(record) is None:
                continue  # its file was deleted, and with it the plan
            yield record

    def _plans(self, records: list[PlanRecord]) -> Iterator[PendingDecision]:
        for record in self._waiting_plans(records):
            try:
                yield self._plan(record)
            except AssentError as error:
                self._services.projections.warnings.append(f"{UNREADABLE_PLAN}{error.message}")

    def _plan(self, record: PlanRecord) -> PendingDecision:
        key = record.plan_id, record.seq, self._services.approvals.is_approved(record)
        if key not in self._known:
            at = self._when(record, PlanApproved, PlanProposed)
            self._known[key] = plan_decision(record, self._reviews.review(record), at)
        return self._known[key]

    def _builds(self, records: list[PlanRecord]) -> Iterator[PendingDecision]:
        for record in records:
            note = record.building
            if note is None or self._sessions.is_at_work(self._sessions.load(note.session)):
                continue
            yield build_decision(record, note, self._when(record, RunStarted))

    def _when(self, record: PlanRecord, *kinds: type[Event]) -> str:
        """Returns when one of these events last happened to a plan."""
        events = self._services.ports.store.read(
            self._services.plans.repository().stream(record.plan_id)
        )
        found = [one.at for one in events if isinstance(one.event, kinds)]
        return found[-1] if found else record.created_at
