"""Cautions: what a person should know of the place where a plan would be built now."""

from assent.core.plan.lifecycle import PlanState
from assent.core.plan.record import PlanRecord
from assent.engine.doors import Doors, Place
from assent.engine.plan.expiry import usable
from assent.views.surroundings import moved, other_branch, under_way


def cautions(doors: Doors, place: Place, record: PlanRecord) -> tuple[str, ...]:
    """Says what git is in the middle of, and where the place is another than for the plan.

    None of this keeps a plan from being built: which files have to be as they were, it says itself.
    """
    here = doors.git_state()
    awaited = record.state is PlanState.AWAITING_APPROVAL
    approval = usable(doors, record) if awaited else None
    return (
        *under_way(here),
        *other_branch(record.branch_of(approval), here.branch),
        *(moved(record.root, place.recorded_root) if awaited else ()),
    )
