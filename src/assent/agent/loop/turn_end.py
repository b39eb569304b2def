"""The events and messages with which a turn ends."""

from assent.agent.loop.step import ModelAnswer, declined_calls
from assent.core.errors import ContextOverflow, ModelError, UsageError
from assent.core.llm import StopReason
from assent.core.permission.mode import Mode
from assent.core.session.event import SessionEvent, TurnEnded

CONTINUE_COMMAND = 'assent -c -p "go on"'
RESUME_COMMAND = "assent -c"  # after an interruption, by somebody who sits there
KEPT_STAGED = (
    f"What was said and staged so far is kept; `{CONTINUE_COMMAND}` continues."  # while planning
)
KEPT_DONE = f"What was said and done so far is kept; `{CONTINUE_COMMAND}` continues."
CONTEXT_FULL = "What was said and staged so far is kept, but this model cannot read it all."
LARGER_MODEL_COMMAND = "assent -c --model PROVIDER/MODEL, with one that reads more"
ANSWER_CUT_OFF = (
    "The answer reached its greatest length before this call was complete, so it was not carried "
    "out. Make smaller calls, and fewer of them in one answer."
)
NO_TOOLS_IN_LAST_STEP = (
    "No tool can be used in the last step of a turn. The call was not carried out."
)


def kept_work_text(mode: Mode) -> str:
    """Says what is left of a turn, and how to go on; only while planning anything is staged."""
    return KEPT_STAGED if mode == "plan" else KEPT_DONE


def budget_end(spent: str, mode: Mode) -> TurnEnded:
    """Returns the end of a turn that would cost too much."""
    return TurnEnded("budget", f"{spent} {kept_work_text(mode)}")


def end_events(
    answered: ModelAnswer, name: str, limit: int, mode: Mode = "plan"
) -> tuple[SessionEvent, ...]:
    """Returns the end of a turn after its last answer; `limit` is the number of steps, if reached.

    Raises ModelError where the model refused.
    """
    if answered.stop is StopReason.REFUSED:
        said = f": {answered.words.rstrip('.')}" if answered.words else ""
        raise ModelError(f"{name} refused to answer{said}.")
    if answered.stop is StopReason.LENGTH:
        words = (
            f"The answer of {name} is cut off: it reached its greatest length. "
            f"{kept_work_text(mode)}"
        )
        return *declined_calls(answered.calls, ANSWER_CUT_OFF), TurnEnded("limit", words)
    if limit:
        steps = f"{limit} {'steps' if limit > 1 else 'step'}"
        words = f"The turn reached its limit of {steps}. {kept_work_text(mode)}"
        return *declined_calls(answered.calls, NO_TOOLS_IN_LAST_STEP), TurnEnded("limit", words)
    return (TurnEnded("end"),)


def error_with_advice(error: ModelError | UsageError, mode: Mode) -> ModelError | UsageError:
    """Returns an error with what was kept and how to go on."""
    if isinstance(error, UsageError):
        return error
    if isinstance(error, ContextOverflow):
        return type(error)(f"{error.message} {CONTEXT_FULL}", LARGER_MODEL_COMMAND)
    return type(error)(f"{error.message} {kept_work_text(mode)}", error.next or CONTINUE_COMMAND)
