"""Endings: how a turn comes to rest, and what is said about it."""

from assent.core.errors import ModelError, Overflow, UsageError
from assent.core.model import Stop
from assent.core.session_event import SessionEvent, TurnEnded
from assent.drivers.native.step import Answered, declined

GO_ON = 'assent -c -p "go on"'
KEPT = f"What was said and staged so far is kept; `{GO_ON}` continues."
TOO_MUCH = "What was said and staged so far is kept, but this model cannot read it all."
LARGER = "assent -c --model PROVIDER/MODEL, with one that reads more"
INTERRUPTED = f"You interrupted the turn. {KEPT}"
TOO_LONG = (
    "The answer reached its greatest length before this call was complete, so it was not carried "
    "out. Make smaller calls, and fewer of them in one answer."
)
OFF = "No tool can be used in the last step of a turn. The call was not carried out."


def interrupted() -> TurnEnded:
    """Returns the end that the person chose."""
    return TurnEnded("interrupted", INTERRUPTED)


def unpaid(spent: str) -> TurnEnded:
    """Returns the end of a turn that would cost too much."""
    return TurnEnded("budget", f"{spent} {KEPT}")


def events(answered: Answered, name: str, limit: int) -> tuple[SessionEvent, ...]:
    """Returns the end of a turn after its last answer; `limit` is the number of steps, if reached.

    Raises ModelError where the model refused.
    """
    if answered.stop is Stop.REFUSED:
        said = f": {answered.words.rstrip('.')}" if answered.words else ""
        raise ModelError(f"{name} refused to answer{said}.")
    if answered.stop is Stop.LENGTH:
        words = f"The answer of {name} is cut off: it reached its greatest length. {KEPT}"
        return *declined(answered.calls, TOO_LONG), TurnEnded("limit", words)
    if limit:
        words = f"The turn reached its limit of {limit} {'steps' if limit > 1 else 'step'}. {KEPT}"
        return *declined(answered.calls, OFF), TurnEnded("limit", words)
    return (TurnEnded("end"),)


def told(error: ModelError | UsageError) -> ModelError | UsageError:
    """Returns an error with what was kept and how to go on."""
    if isinstance(error, UsageError):
        return error
    if isinstance(error, Overflow):
        return type(error)(f"{error.message} {TOO_MUCH}", LARGER)
    return type(error)(f"{error.message} {KEPT}", error.next or GO_ON)
