"""remember: keeps one short fact about the workspace for later sessions."""

import msgspec

from assent.core.errors import UsageError
from assent.core.tool import Action, MemoryEffect, ResourceAccess, ToolOutcome
from assent.tools.tool import Around, Tool

LONGEST = 500  # characters


class Args(msgspec.Struct, frozen=True):
    fact: str


def touches(args: Args, around: Around) -> tuple[ResourceAccess, ...]:
    return (ResourceAccess(Action.PLAN, "facts", "remember"),)


def run(args: Args, around: Around) -> ToolOutcome:
    """Returns the fact on one line."""
    fact = " ".join(args.fact.split())
    if not 0 < len(fact) <= LONGEST:
        raise UsageError(f"fact: it needs 1 to {LONGEST} characters, and has {len(fact)}.")
    return ToolOutcome(f"Remembered: {fact}", "fact", effect=MemoryEffect(fact))


REMEMBER = Tool("remember", Args, touches, run, Action.PLAN)
