"""write_plan: replaces the plan's text."""

import msgspec

from assent.core.tool import Action, PlanTextEffect, ResourceAccess, ToolOutcome
from assent.tools.changing.plan_file import check_text
from assent.tools.tool import Around, Tool


class Args(msgspec.Struct, frozen=True):
    text: str
    name: str = ""  # of another plan


def touches(args: Args, around: Around) -> tuple[ResourceAccess, ...]:
    return (ResourceAccess(Action.PLAN, args.name or "plan", "write_plan"),)


def run(args: Args, around: Around) -> ToolOutcome:
    """Returns the text as the plan's new text."""
    check_text(args.text)
    return ToolOutcome(
        "The plan's text is written.", "plan", effect=PlanTextEffect(args.text, args.name)
    )


WRITE_PLAN = Tool("write_plan", Args, touches, run, Action.PLAN, only="plan")
