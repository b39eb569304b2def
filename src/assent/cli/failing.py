"""Failures: every one that is expected, as an error with words and a next step."""

import os
from collections.abc import Mapping

from assent.core.errors import AssentError, Interrupted, Unsettled

EXPECTED = (AssentError, OSError, KeyboardInterrupt)
LOOK = "assent status"


def told(error: BaseException) -> AssentError:
    """Returns an expected failure as an error that can be told."""
    match error:
        case AssentError():
            return error
        case OSError():
            named = error.filename if isinstance(error.filename, str | bytes) else ""
            words = (error.strerror or str(error), os.fsdecode(named))
            return AssentError(": ".join(filter(None, words)), LOOK)
        case _:
            by = f" by {error.args[0]}" if error.args else ""  # as interrupts.py raises it
            return Interrupted(f"Interrupted{by}; `{LOOK}` says where things stand.", LOOK)


def unprinted(why: str, content: Mapping[str, object]) -> AssentError:
    """Returns that an answer was not printed, and that what the command did stands all the same."""
    message, run = f"The answer was not printed: {why}.", content.get("run")
    match content.get("outcome"):
        case "done":
            return AssentError(f"{message} Run {run} is done.", f"assent runs show {run}")
        case "rolled_back":
            return AssentError(f"{message} Run {run} was rolled back.", f"assent runs show {run}")
        case "needs_you":
            return Unsettled(f"{message} Run {run} waits for you.", "assent recover")
        case _:
            return AssentError(f"{message} What the command did stands.", LOOK)
