"""write_plan: replaces the plan's text."""

import msgspec

from assent.core.tool import Action, PlanTextEffect, ResourceAccess, ToolOutcome
from assent.tools.file_edit import check_plan_text
from assent.tools.tool import Tool, ToolContext


class WritePlanArgs(msgspec.Struct, frozen=True):
    text: str
    name: str = ""  # of another plan


def touches(args: WritePlanArgs, around: ToolContext) -> tuple[ResourceAccess, ...]:
    return (ResourceAccess(Action.PLAN, args.name or "plan", "write_plan"),)


def run(args: WritePlanArgs, around: ToolContext) -> ToolOutcome:
    """Returns the text as the plan's new text."""
    check_plan_text(args.text)
    return ToolOutcome(
        "The plan's text was written.", "plan", effect=PlanTextEffect(args.text, args.name)
    )


WRITE_PLAN = Tool("write_plan", WritePlanArgs, touches, run, Action.PLAN, only="plan")
