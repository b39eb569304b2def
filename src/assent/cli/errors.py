"""Turns every expected failure into an error with a message and a next command."""

import os
from collections.abc import Mapping

from assent.core.errors import AssentError, Interrupted, RunUnfinished

EXPECTED = (AssentError, OSError, KeyboardInterrupt)
STATUS_COMMAND = "assent status"
RECOVER_COMMAND = "assent recover"


def as_assent_error(error: BaseException) -> AssentError:
    """Returns an expected failure as an error that can be told."""
    match error:
        case AssentError():
            return error
        case OSError():
            named = error.filename if isinstance(error.filename, str | bytes) else ""
            words = (error.strerror or str(error), os.fsdecode(named))
            return AssentError(": ".join(filter(None, words)), STATUS_COMMAND)
        case _:
            return Interrupted(
                f"{_stopped(error)}; `{STATUS_COMMAND}` shows the current state.", STATUS_COMMAND
            )


def run_interrupted(error: KeyboardInterrupt, run: str, due: str = "") -> Interrupted:
    """Returns that a run was interrupted where no command ran, and what ends it.

    `due` is the command that was to begin next, if it is known.
    """
    begins = (
        f"$ {due} was not started this time; everything before it"
        if due
        else "everything it did so far"
    )
    return Interrupted(
        f"{_stopped(error)}. Run {run} is not finished: {begins} is kept and recorded. "
        f"`{RECOVER_COMMAND}` finishes it or rolls it back.",
        RECOVER_COMMAND,
    )


def build_interrupted(error: KeyboardInterrupt, command: str) -> Interrupted:
    """Returns that a build was interrupted before its run began, and what begins it."""
    return Interrupted(
        f"{_stopped(error)} before the run started. The approval is kept; nothing was changed.",
        command,
    )


def _stopped(error: BaseException) -> str:
    return f"Interrupted by {error.args[0]}" if error.args else "Interrupted"  # see interrupts.py


def output_failed(why: str, content: Mapping[str, object]) -> AssentError:
    """Returns that an answer was not printed, and that what the command did stands all the same."""
    message, run = f"The result could not be printed: {why}.", content.get("run")
    match content.get("outcome"):
        case "done":
            return AssentError(f"{message} Run {run} is finished.", f"assent runs show {run}")
        case "partial":
            return AssentError(f"{message} Run {run} is partly done.", f"assent runs show {run}")
        case "rolled_back":
            return AssentError(f"{message} Run {run} was rolled back.", f"assent runs show {run}")
        case "needs_you":
            return RunUnfinished(
                f"{message} Run {run} is waiting for your decision.", RECOVER_COMMAND
            )
        case _:
            return AssentError(f"{message} Any changes the command made are kept.", STATUS_COMMAND)
