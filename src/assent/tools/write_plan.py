"""write_plan: replaces the plan's text."""

import msgspec

from assent.core.tool import Action, Outcome, PlanText, Request
from assent.tools.changing.plan_file import check_text
from assent.tools.tool import Around, Tool


class Args(msgspec.Struct, frozen=True):
    text: str
    name: str = ""  # of another plan


def touches(args: Args, around: Around) -> tuple[Request, ...]:
    return (Request(Action.PLAN, args.name or "plan", "write_plan"),)


def run(args: Args, around: Around) -> Outcome:
    """Returns the text as the plan's new text."""
    check_text(args.text)
    return Outcome("The plan's text is written.", "plan", effect=PlanText(args.text, args.name))


WRITE_PLAN = Tool("write_plan", Args, touches, run, Action.PLAN, only="plan")
