"""Endings: how a turn comes to rest, and what is said about it."""

from assent.core.errors import ContextOverflow, ModelError, UsageError
from assent.core.llm.request import StopReason
from assent.core.permission.mode import Mode
from assent.core.session.event import SessionEvent, TurnEnded
from assent.drivers.native.step import Answered, declined

GO_ON = 'assent -c -p "go on"'
AGAIN = "assent -c"  # after an interruption, by somebody who sits there
KEPT = f"What was said and staged so far is kept; `{GO_ON}` continues."  # while planning
SAID = f"What was said and done so far is kept; `{GO_ON}` continues."
TOO_MUCH = "What was said and staged so far is kept, but this model cannot read it all."
LARGER = "assent -c --model PROVIDER/MODEL, with one that reads more"
TOO_LONG = (
    "The answer reached its greatest length before this call was complete, so it was not carried "
    "out. Make smaller calls, and fewer of them in one answer."
)
OFF = "No tool can be used in the last step of a turn. The call was not carried out."


def kept(mode: Mode) -> str:
    """Says what is left of a turn, and how to go on; only while planning anything is staged."""
    return KEPT if mode == "plan" else SAID


def unpaid(spent: str, mode: Mode) -> TurnEnded:
    """Returns the end of a turn that would cost too much."""
    return TurnEnded("budget", f"{spent} {kept(mode)}")


def events(
    answered: Answered, name: str, limit: int, mode: Mode = "plan"
) -> tuple[SessionEvent, ...]:
    """Returns the end of a turn after its last answer; `limit` is the number of steps, if reached.

    Raises ModelError where the model refused.
    """
    if answered.stop is StopReason.REFUSED:
        said = f": {answered.words.rstrip('.')}" if answered.words else ""
        raise ModelError(f"{name} refused to answer{said}.")
    if answered.stop is StopReason.LENGTH:
        words = f"The answer of {name} is cut off: it reached its greatest length. {kept(mode)}"
        return *declined(answered.calls, TOO_LONG), TurnEnded("limit", words)
    if limit:
        steps = f"{limit} {'steps' if limit > 1 else 'step'}"
        words = f"The turn reached its limit of {steps}. {kept(mode)}"
        return *declined(answered.calls, OFF), TurnEnded("limit", words)
    return (TurnEnded("end"),)


def told(error: ModelError | UsageError, mode: Mode) -> ModelError | UsageError:
    """Returns an error with what was kept and how to go on."""
    if isinstance(error, UsageError):
        return error
    if isinstance(error, ContextOverflow):
        return type(error)(f"{error.message} {TOO_MUCH}", LARGER)
    return type(error)(f"{error.message} {kept(mode)}", error.next or GO_ON)
