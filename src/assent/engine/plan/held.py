"""Held: what rules hold a command of a plan to, and with it the command that would undo it."""

from msgspec.structs import replace

from assent.core.held import Held
from assent.core.operation import RunCommand, inverse
from assent.ports import Rules
from assent.views.commands import brief
from assent.views.foreseen import line_of


def held_to(rules: Rules, command: RunCommand) -> Held:
    """Returns to what rules hold a command; what they deny to its undo, they deny to both."""
    held, back = rules.held(line_of(command)), inverse(command)
    if held.denial or not isinstance(back, RunCommand):
        return held
    denial = rules.held(line_of(back)).denial
    return replace(held, denial=f"Its undo, {brief(back)}, may not run: {denial}" if denial else "")
