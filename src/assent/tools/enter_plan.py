"""enter_plan: asks the user to go back to planning."""

import msgspec

from assent.core.tool import Action, EnterPlanEffect, ResourceAccess, ToolOutcome
from assent.tools.tool import Tool, ToolContext


class EnterPlanArgs(msgspec.Struct, frozen=True):
    reason: str = ""


def touches(args: EnterPlanArgs, around: ToolContext) -> tuple[ResourceAccess, ...]:
    return (ResourceAccess(Action.PLAN, "mode", "plan_enter"),)


def run(args: EnterPlanArgs, around: ToolContext) -> ToolOutcome:
    """Returns the request; the engine asks the user."""
    return ToolOutcome(
        "The user is asked to switch to plan mode.",
        "plan mode",
        effect=EnterPlanEffect(args.reason),
    )


ENTER_PLAN = Tool("enter_plan", EnterPlanArgs, touches, run, Action.PLAN, only="build")
