"""How a turn ends that the user interrupted."""

from typing import Final

from assent.core.permission.mode import Mode
from assent.core.session.event import TurnEnded

INTERRUPTED_PLANNING: Final = "You interrupted the turn. What was said and staged so far is kept."
INTERRUPTED_WORK: Final = "You interrupted the turn. What was said and done so far is kept."


def interrupted_turn(mode: Mode) -> TurnEnded:
    """Returns the end that the person chose; only while planning anything is staged."""
    return TurnEnded("interrupted", INTERRUPTED_PLANNING if mode == "plan" else INTERRUPTED_WORK)
