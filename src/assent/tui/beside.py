"""Beside: what the side area shows, gathered in a thread by the engine's verbs alone.

    values = read_beside(engine, record, allowance, before)

`record` is the session's, or None; `allowance` tells of a model its window, and the budget
(`partial(allowance_of, work)`); `before` are the values of last time: little is read twice.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from assent.core.errors import AssentError
from assent.core.llm.request import TokenUsage
from assent.core.plan.record import PlanRecord
from assent.core.session.event import Todo
from assent.core.session.record import SessionRecord
from assent.render.review import OperationReview
from assent.tui.standing import undone_of
from assent.views.context import Allowance, Taken, taken

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.app.session import SessionRuntime
    from assent.runs.undo.targets import UndoneAmount as Undone

Allowing: TypeAlias = Callable[[str], Allowance]


class LiveText(msgspec.Struct, frozen=True):
    """A plan's text as it stands in its file, and what a change of the file would show in."""

    text: bytes | None = None  # None: there is none
    stamp: tuple[int, ...] = ()


class Beside(msgspec.Struct, frozen=True):
    """Plan, operations, todos, and what the session took, at one moment."""

    session: str = ""
    plan: PlanRecord | None = None
    approved: bool = False
    live: LiveText = LiveText()
    operations: tuple[OperationReview, ...] = ()
    todos: tuple[Todo, ...] = ()
    took: Taken = Taken()
    total: TokenUsage = TokenUsage()
    cost: float | None = 0.0
    allowance: Allowance = Allowance()
    trouble: str = ""  # why the operations could not be read
    undone: "Undone" = ""  # how much of what the plan did last was taken back


def unknown(model: str) -> Allowance:
    """Knows nothing about any model, and of no budget."""
    return Allowance()


def read_beside(
    engine: "Engine",
    record: SessionRecord | None,
    allowance: Allowing = unknown,
    before: Beside | None = None,
    plan_id: str = "",
) -> Beside:
    """Gathers what the side area shows; may take long, so it belongs in a thread.

    `plan_id` is the plan that the person chose, if it is another than the session's.
    """
    session = record.session if record else ""
    known = before if before is not None and before.session == session else Beside()
    if record is None:
        return _of_plan(engine, plan_id, known)
    record = engine.sessions.load(session)
    took = known.took
    for recorded in engine.sessions.events(record, took.seq):
        took = taken(took, recorded)
    found = _of_plan(engine, plan_id or record.plan_id, known)
    return msgspec.structs.replace(
        found,
        session=session,
        todos=record.todos,
        took=took,
        total=record.usage,
        cost=record.cost,
        allowance=allowance(took.model),
    )


def _of_plan(engine: "Engine", plan_id: str, known: Beside) -> Beside:
    """Gathers what there is to show of a plan; little is read twice."""
    plan = engine.plans.repository().load(plan_id) if plan_id else None
    live = read_live(engine, plan) if plan else LiveText()
    operations, trouble = _operations(engine, plan, live, known)
    approved = plan is not None and engine.approvals.is_approved(plan)
    undone = undone_of(engine, plan)
    return Beside("", plan, approved, live, operations, trouble=trouble, undone=undone)


def read_live(engine: "Engine", plan: PlanRecord) -> LiveText:
    """Reads a plan's file; its stamp is taken first, so that a later change is noticed."""
    stamp = engine.plans.stamp(plan)
    return LiveText(engine.plans.live_text(plan), stamp)


def allowance_of(work: "SessionRuntime | None", model: str) -> Allowance:
    """Returns a model's window, and the budget of the turns that this work serves."""
    if work is None:
        return Allowance()
    window, purse = 0, work.driver.purse
    if model:  # without one, servers would be asked which they have
        with suppress(AssentError):  # it was asked once, and cannot be any more
            window = work.models.open(model).context
    most, spent = purse.limits, purse.spent
    return Allowance(
        window, most.max_budget or 0.0, most.max_tokens or 0, spent.dollars, spent.tokens
    )


def _operations(
    engine: "Engine", plan: PlanRecord | None, live: LiveText, known: Beside
) -> tuple[tuple[OperationReview, ...], str]:
    """Returns the plan's operations with diffs and risks; those of before, if nothing changed."""
    if plan is None:
        return (), ""
    if (known.plan, known.live) == (plan, live):
        return known.operations, known.trouble
    try:
        return engine.reviews.review(plan).operations, ""
    except AssentError as error:
        return (), error.message
