"""Reads what the sidebar shows from the engine, and watches the plan's file, in threads.

    values = read_sidebar_data(engine, record, allowance, before)

`record` is the session's, or None; `allowance` returns the context size of a model, and the budget
(`partial(usage_limits, work)`); `before` are the previous values: little is read twice.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from assent.core.errors import AssentError
from assent.core.llm import TokenUsage
from assent.core.plan.record import PlanRecord
from assent.core.plan.steps import StepStatus
from assent.core.session.estimate import WorkEstimate
from assent.core.session.event import Todo
from assent.core.session.record import SessionRecord
from assent.render.review import OperationReview
from assent.tui.sidebar.context import SessionUsage, UsageLimits, add_usage
from assent.tui.status import undone_amount

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.app.session import SessionRuntime
    from assent.runs.undo.targets import UndoneAmount as Undone

UsageLimitsLookup: TypeAlias = Callable[[str], UsageLimits]


class PlanFileText(msgspec.Struct, frozen=True):
    """A plan's text as it is in its file, and the stamp that shows a change of the file."""

    text: bytes | None = None  # None: there is none
    stamp: tuple[int, ...] = ()


class SidebarData(msgspec.Struct, frozen=True):
    """Plan, operations, todos, steps and usage of the session, at one moment."""

    session: str = ""
    plan: PlanRecord | None = None
    approved: bool = False
    live: PlanFileText = PlanFileText()
    operations: tuple[OperationReview, ...] = ()
    todos: tuple[Todo, ...] = ()
    steps: tuple[StepStatus, ...] = ()  # of the plan, without scores
    took: SessionUsage = SessionUsage()
    total: TokenUsage = TokenUsage()
    cost: float | None = 0.0
    allowance: UsageLimits = UsageLimits()
    estimate: WorkEstimate | None = None  # of what the open todos will take
    trouble: str = ""  # why the operations could not be read
    undone: "Undone" = ""  # how much of what the plan did last was undone


def unknown_limits(model: str) -> UsageLimits:
    """Returns limits that are unknown, for any model."""
    return UsageLimits()


def read_sidebar_data(
    engine: "Engine",
    record: SessionRecord | None,
    allowance: UsageLimitsLookup = unknown_limits,
    before: SidebarData | None = None,
    plan_id: str = "",
) -> SidebarData:
    """Reads what the sidebar shows; may take long, so call it in a thread.

    `plan_id` is the plan that the user selected, if it is not the session's.
    """
    session = record.session if record else ""
    known = before if before is not None and before.session == session else SidebarData()
    if record is None:
        return _of_plan(engine, plan_id, known)
    record = engine.sessions.load(session)
    took = known.took
    for recorded in engine.sessions.events(record, took.seq):
        took = add_usage(took, recorded)
    found = _of_plan(engine, plan_id or record.plan_id, known)
    return msgspec.structs.replace(
        found,
        session=session,
        todos=record.todos,
        took=took,
        total=record.usage,
        cost=record.cost,
        allowance=allowance(took.model),
        estimate=engine.estimate(record),
    )


def _of_plan(engine: "Engine", plan_id: str, known: SidebarData) -> SidebarData:
    """Reads what is shown of a plan; little is read twice."""
    plan = engine.plans.repository().load(plan_id) if plan_id else None
    live = read_plan_file(engine, plan) if plan else PlanFileText()
    operations, trouble = _operations(engine, plan, live, known)
    approved = plan is not None and engine.approvals.is_approved(plan)
    undone = undone_amount(engine, plan)
    steps: tuple[StepStatus, ...] = ()
    if plan is not None:
        with suppress(AssentError):  # the text is gone, which is said where it is shown
            steps = engine.plan_steps.current(plan)
    return SidebarData(
        "", plan, approved, live, operations, steps=steps, trouble=trouble, undone=undone
    )


def read_plan_file(engine: "Engine", plan: PlanRecord) -> PlanFileText:
    """Reads a plan's file; its stamp is taken first, so that a later change is noticed."""
    stamp = engine.plans.stamp(plan)
    return PlanFileText(engine.plans.live_text(plan), stamp)


def usage_limits(work: "SessionRuntime | None", model: str) -> UsageLimits:
    """Returns a model's context size, and the budget of this runtime's turns."""
    if work is None:
        return UsageLimits()
    window, purse = 0, work.driver.purse
    if model:  # without one, servers would be asked which they have
        with suppress(AssentError):  # it was asked once, and cannot be any more
            window = work.models.open(model).context
    most, spent = purse.limits, purse.spent
    return UsageLimits(
        window, most.max_budget or 0.0, most.max_tokens or 0, spent.dollars, spent.tokens
    )


def _operations(
    engine: "Engine", plan: PlanRecord | None, live: PlanFileText, known: SidebarData
) -> tuple[tuple[OperationReview, ...], str]:
    """Returns the plan's operations with diffs and risks; the known ones if nothing changed."""
    if plan is None:
        return (), ""
    if (known.plan, known.live) == (plan, live):
        return known.operations, known.trouble
    try:
        return engine.reviews.review(plan).operations, ""
    except AssentError as error:
        return (), error.message


# Watches a plan's file for changes in its own thread (F28).


PAUSE_S: Final = 0.5


class PlanFileWatcher:
    """Checks the file's stamp twice a second; reads the file only when it changed."""

    def __init__(self, changed: Callable[[str, PlanFileText], None]) -> None:
        self._changed = changed  # called from the thread, with the plan's id
        self._what: tuple[Engine, PlanRecord, PlanFileText] | None = None
        self._alone = Lock()  # the screen may follow another plan while the thread looks
        self._over = Event()
        self._thread: Thread | None = None

    def follow(self, engine: "Engine", plan: PlanRecord | None, live: PlanFileText) -> None:
        """Watches a plan's file, starting from the text that is shown; without a plan, nothing."""
        with self._alone:
            self._what = (engine, plan, live) if plan is not None else None
        if self._thread is None and self._what is not None:
            self._thread = Thread(target=self._watch, name="plan file", daemon=True)
            self._thread.start()

    def check(self) -> None:
        """Checks once, and reports a text that differs from the one before."""
        what = self._what
        if what is None:
            return
        engine, plan, shown = what
        try:
            if engine.plans.stamp(plan) == shown.stamp:
                return
            live = read_plan_file(engine, plan)
        except AssentError:  # it is being replaced, or is not text: the next look may see more
            return
        with self._alone:
            if self._what is not what:
                return
            self._what = (engine, plan, live)
        self._changed(plan.plan_id, live)

    def stop(self) -> None:
        """Ends the thread, at its next check."""
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(PAUSE_S):
            self.check()
