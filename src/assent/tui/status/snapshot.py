"""The status snapshot: session, plan and questions, read at once for all widgets."""

from typing import TYPE_CHECKING

import msgspec

from assent.core.event import StoredEvent
from assent.core.llm import TokenUsage
from assent.core.permission.mode import default_agent, missing_mode
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.session.record import SessionRecord, with_current_mode

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.core.session.question import PendingQuestion
    from assent.runs.undo.targets import UndoneAmount
    from assent.tui.session_controller import SessionController


class StatusSnapshot(msgspec.Struct, frozen=True):
    """The status at one moment. Without a session, mode, agent and model are a new one's."""

    mode: str = "plan"  # a custom one by its own name
    base: str = "plan"  # one of the four
    agent: str = "plan"
    model: str = ""
    record: SessionRecord | None = None
    plan: PlanRecord | None = None
    approved: bool = False
    undone: "UndoneAmount" = ""  # how much of what the plan did last was taken back
    waiting: "tuple[PendingQuestion, ...]" = ()
    cut_off: bool = False  # the last turn has no end, and nobody is at work on it
    missing: str = ""  # the session's own mode, if nobody knows that any more
    news: tuple[StoredEvent, ...] = ()  # events of the session that nobody has told the screen of

    @property
    def session(self) -> str:
        return self.record.session if self.record else ""

    @property
    def usage(self) -> TokenUsage:
        return self.record.usage if self.record else TokenUsage()

    @property
    def cost(self) -> float | None:
        return self.record.cost if self.record else 0.0


def initial_snapshot(sitting: "SessionController", record: SessionRecord | None) -> StatusSnapshot:
    """Returns as much of where things stand as a session's record tells: who works, and how."""
    if record is None:
        base = sitting.base(sitting.mode)
        agent = sitting.agent or default_agent(base)
        return StatusSnapshot(sitting.mode or base, base, agent, sitting.shown_model)
    modes = sitting.engine.sessions.modes
    missing, record = missing_mode(record.custom, modes), with_current_mode(record, modes)
    return StatusSnapshot(
        record.custom or record.mode,
        record.mode,
        sitting.agent or record.agent or default_agent(record.mode),
        sitting.model or record.model or sitting.shown_model,
        record,
        missing=missing,
    )


def read_snapshot(sitting: "SessionController", after: int) -> StatusSnapshot:
    """Reads where things stand, and what happened after an event of the session; in a thread."""
    engine, known = sitting.engine, sitting.record
    waiting = tuple(engine.pending_questions.pending())
    record = engine.sessions.load(known.session) if known else None
    plan_id = sitting.chosen_plan or (record.plan_id if record else "")
    plan = engine.plans.repository().load(plan_id) if plan_id else None
    standing = msgspec.structs.replace(
        initial_snapshot(sitting, record),
        plan=plan,
        approved=plan is not None and engine.approvals.is_approved(plan),
        undone=undone_amount(engine, plan),
        waiting=waiting,
    )
    if record is None:
        return standing
    return msgspec.structs.replace(
        standing,
        cut_off=record.working and not record.rewound and not engine.sessions.is_at_work(record),
        news=tuple(engine.sessions.events(record, after)),
    )


def undone_amount(engine: "Engine", plan: PlanRecord | None) -> "UndoneAmount":
    """Says how much of what a plan did last was taken back; in a thread."""
    if plan is None or plan.state is not PlanState.COMPLETED or not plan.runs:
        return ""
    return engine.history.undone(plan.runs[-1].run)
