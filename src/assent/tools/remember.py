"""remember: stores one short fact about the workspace for later sessions."""

import msgspec

from assent.core.errors import UsageError
from assent.core.tool import Action, MemoryEffect, ResourceAccess, ToolOutcome
from assent.tools.tool import Tool, ToolContext

MAX_MEMORY_CHARS = 500  # characters


class RememberArgs(msgspec.Struct, frozen=True):
    fact: str


def touches(args: RememberArgs, around: ToolContext) -> tuple[ResourceAccess, ...]:
    return (ResourceAccess(Action.PLAN, "facts", "remember"),)


def run(args: RememberArgs, around: ToolContext) -> ToolOutcome:
    """Returns the fact on one line."""
    fact = " ".join(args.fact.split())
    if not 0 < len(fact) <= MAX_MEMORY_CHARS:
        raise UsageError(
            f"fact: must have 1 to {MAX_MEMORY_CHARS} characters, but has {len(fact)}."
        )
    return ToolOutcome(f"Remembered: {fact}", "fact", effect=MemoryEffect(fact))


REMEMBER = Tool("remember", RememberArgs, touches, run, Action.PLAN)
