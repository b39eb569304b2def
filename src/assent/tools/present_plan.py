"""present_plan: freezes the plan and shows it to the user, who decides (F35)."""

import msgspec

from assent.core.tool import Action, PresentPlanEffect, ResourceAccess, ToolOutcome
from assent.tools.tool import Tool, ToolContext


class PresentPlanArgs(msgspec.Struct, frozen=True):
    pass


def touches(args: PresentPlanArgs, around: ToolContext) -> tuple[ResourceAccess, ...]:
    return (ResourceAccess(Action.PRESENT, "plan"),)


def run(args: PresentPlanArgs, around: ToolContext) -> ToolOutcome:
    """Returns the request; the engine refuses it for an empty plan."""
    return ToolOutcome(
        "The plan is presented; the user decides.", "plan", effect=PresentPlanEffect()
    )


PRESENT_PLAN = Tool("present_plan", PresentPlanArgs, touches, run, Action.PRESENT, only="plan")
