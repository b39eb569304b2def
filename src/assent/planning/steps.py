"""The steps of a plan as they stand: read from its text, with states from its run and the todos."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from assent.core.errors import AssentError
from assent.core.event import OperationsDeclined, PlanProposed
from assent.core.plan.operation import footprint
from assent.core.plan.plan import Plan
from assent.core.plan.record import PlanRecord, PlanRun
from assent.core.plan.steps import (
    OVER,
    OperationIndex,
    PlanStep,
    StepState,
    StepStatus,
    TodoIndex,
    operations_state,
    plan_steps,
    step_operations,
    step_problems,
)
from assent.core.run.journal import RunResults
from assent.core.session.event import Todo
from assent.planning.plans import Plans

CHECKED_TOO_EARLY = "its box is checked, but its operations have not run"


class PlanSteps:
    """Tells how far the steps of a plan are. Changes nothing, least of all the plan's text."""

    def __init__(
        self,
        plans: Plans,
        results: Callable[[PlanRecord, Plan], RunResults | None],
        todos_of: Callable[[PlanRecord], tuple[Todo, ...]],
    ) -> None:
        """`results` says what the last run of a plan did, `todos_of` what its session does."""
        self._plans = plans
        self._results = results
        self._todos_of = todos_of

    def of(self, record: PlanRecord, plan: Plan) -> tuple[StepStatus, ...]:
        """Returns the steps of a plan, or of a draft of it, with their states."""
        steps = plan_steps(plan.text)
        if not steps:
            return ()
        numbered = self._numbered(record, plan)
        links = step_operations(steps, OperationIndex(numbered.ids, numbered.operations))
        places = None if numbered is plan else _places(numbered, plan)
        ran = self._results(record, plan)
        todos = TodoIndex(() if record.imported else self._todos_of(record))
        found = []
        for step, (meant, lost) in zip(steps, links, strict=True):
            here = meant if places is None else _moved(meant, places)
            excluded = bool(meant) and not here
            state = "skipped" if excluded else _state(step, here, ran, todos)
            problems = [f"op {name}: unknown operation" for name in lost]
            if step.marked and here and ran is None:
                problems.append(CHECKED_TOO_EARLY)
            found.append(StepStatus(step, state, here, tuple(problems)))
        over = {at for at, one in enumerate(found) if one.state in OVER}
        wrong = step_problems(steps, over)
        return tuple(
            replace(one, problems=(*told, *one.problems))
            for one, told in zip(found, wrong, strict=True)
        )

    def current(self, record: PlanRecord) -> tuple[StepStatus, ...]:
        """Returns the steps of a plan as it is proposed, or of its draft."""
        live = self._plans.live_text(record) if record.path and not record.frozen else None
        text = live if live is not None else self._plans.text(record.content_hash)
        if not plan_steps(text):  # then the operations, which may be many, need not be read
            return ()
        if record.frozen:
            return self.of(record, self._plans.repository().plan(record))
        return self.of(record, Plan(text, self._plans.operations(record)))

    def _numbered(self, record: PlanRecord, plan: Plan) -> Plan:
        """Returns the plan whose operations the text counts.

        Who approves only a part makes a smaller plan of it, and the text stays as it is.
        """
        if not record.declined or not record.frozen:
            return plan
        counted, smaller = PlanRun("", record.digest, record.frozen), False
        for event in self._plans.events(record):
            if isinstance(event, PlanProposed) and not smaller:
                counted = PlanRun("", event.digest, event.frozen)
            smaller = isinstance(event, OperationsDeclined)
        if counted.digest == record.digest:
            return plan
        try:
            return self._plans.repository().plan(counted)
        except AssentError:  # it is not kept any more
            return plan


def _places(was: Plan, plan: Plan) -> list[tuple[int, ...]]:
    """Returns where each operation of a plan is in a smaller one: the same, or on the same paths.

    What was composed of several operations has another id.
    """
    same = {name: at for at, name in enumerate(plan.ids)}
    paths: dict[bytes, int] = {}
    for at, op in enumerate(plan.operations):
        paths |= {path: at for path, _, _ in footprint(op)}
    return [
        (same[name],)
        if name in same
        else tuple({paths[path] for path, _, _ in footprint(op) if path in paths})
        for name, op in zip(was.ids, was.operations, strict=True)
    ]


def _moved(meant: Sequence[int], places: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sorted({at for one in meant for at in places[one]}))


def _state(
    step: PlanStep, operations: Sequence[int], ran: RunResults | None, todos: TodoIndex
) -> StepState:
    """Returns the state of a step: by its operations, else by its todo, else by its check box.

    A box alone does not complete a step whose operations have not run.
    """
    if operations and ran is not None:
        return operations_state([ran.results[at] for at in operations], ran.phase)
    return todos.state(step) or ("completed" if step.marked and not operations else "pending")
