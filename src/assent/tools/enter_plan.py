"""enter_plan: asks the person to go back to planning."""

import msgspec

from assent.core.tool import Action, EnterPlan, Outcome, Request
from assent.tools.tool import Around, Tool


class Args(msgspec.Struct, frozen=True):
    reason: str = ""


def touches(args: Args, around: Around) -> tuple[Request, ...]:
    return (Request(Action.PLAN, "mode", "plan_enter"),)


def run(args: Args, around: Around) -> Outcome:
    """Returns the wish; the engine asks the person."""
    return Outcome("The person is asked for plan mode.", "plan mode", effect=EnterPlan(args.reason))


ENTER_PLAN = Tool("enter_plan", Args, touches, run, Action.PLAN, only="build")
