"""Interruption: the end of a turn that the person broke off, the same whoever notices it."""

from typing import Final

from assent.core.mode import Mode
from assent.core.session_event import TurnEnded

INTERRUPTED: Final = "You interrupted the turn. What was said and staged so far is kept."
BROKEN_OFF: Final = "You interrupted the turn. What was said and done so far is kept."


def interrupted(mode: Mode) -> TurnEnded:
    """Returns the end that the person chose; only while planning anything is staged."""
    return TurnEnded("interrupted", INTERRUPTED if mode == "plan" else BROKEN_OFF)
