"""Checks that the gate has judged everything that a call's effect touches."""

from collections.abc import Sequence
from typing import Final

from assent.core.errors import AssentError
from assent.core.paths import display_path
from assent.core.plan.operation import footprint
from assent.core.tool import (
    Action,
    CommandEffect,
    EditEffect,
    Effect,
    PresentPlanEffect,
    ResourceAccess,
    TaskEffect,
)

# What must have been judged for an effect that names no file; all others are Assent's own.
_NEEDED: Final[dict[type, Action]] = {
    PresentPlanEffect: Action.PRESENT,
    CommandEffect: Action.SHELL,
    TaskEffect: Action.TASK,
}


def check_effect_covered(effect: Effect | None, requests: Sequence[ResourceAccess]) -> None:
    """Raises unless the requests that were judged cover an effect."""
    judged = {(request.action, request.resource) for request in requests}
    if isinstance(effect, EditEffect):
        paths = [path for op in effect.operations for path, *_ in footprint(op)]
        unseen = [p for p in paths if (Action.EDIT, display_path(p)) not in judged]
        if unseen:
            raise AssentError(f"{display_path(unseen[0])} was not announced to the gate.")
    elif isinstance(effect, CommandEffect):
        if not any(a is Action.SHELL and line.endswith(effect.line) for a, line in judged):
            raise AssentError("Its command was not announced to the gate.")
    elif effect is not None:
        needed = _NEEDED.get(type(effect), Action.PLAN)
        if needed not in {action for action, _ in judged}:
            raise AssentError("Its effect was not announced to the gate.")
