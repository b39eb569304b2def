"""present_plan: freezes the plan and shows it to the person, who decides (F35)."""

import msgspec

from assent.core.tool import Action, Outcome, Present, Request
from assent.tools.tool import Around, Tool


class Args(msgspec.Struct, frozen=True):
    pass


def touches(args: Args, around: Around) -> tuple[Request, ...]:
    return (Request(Action.PRESENT, "plan"),)


def run(args: Args, around: Around) -> Outcome:
    """Returns the wish; the engine refuses it for an empty plan."""
    return Outcome("The plan is presented; the person decides.", "plan", effect=Present())


PRESENT_PLAN = Tool("present_plan", Args, touches, run, Action.PRESENT, only="plan")
