"""Warnings before a build: git is mid-operation, on another branch, or the folder moved."""

from assent.core.plan.record import PlanRecord, PlanState
from assent.planning.approval_expiry import usable_approval
from assent.planning.ports import Ports, WorkspaceConfig
from assent.render.review_warnings import (
    branch_warnings,
    git_in_progress_warnings,
    workspace_moved_warnings,
)


def build_warnings(doors: Ports, place: WorkspaceConfig, record: PlanRecord) -> tuple[str, ...]:
    """Says what git is in the middle of, and where the place is another than for the plan.

    None of this keeps a plan from being built: which files have to be as they were, it says itself.
    """
    here = doors.git_state()
    awaited = record.state is PlanState.AWAITING_APPROVAL
    approval = usable_approval(doors, record) if awaited else None
    return (
        *git_in_progress_warnings(here),
        *branch_warnings(record.branch_of(approval), here.branch),
        *(workspace_moved_warnings(record.root, place.recorded_root) if awaited else ()),
    )
