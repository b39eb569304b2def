"""Told: how refusals and failures of a call are said to the model, and its requests to people."""

from assent.core.errors import AssentError
from assent.core.paths import typed_line
from assent.core.tool import Outcome, Request


def no(tool: str, reason: str) -> Outcome:
    """Returns the outcome of a call that was refused."""
    return Outcome(f"{reason} Nothing was done.", title=tool, failed=True)


def failed(tool: str, error: Exception) -> Outcome:
    """Returns the outcome of a call that ended with an error."""
    if not isinstance(error, AssentError):
        return no(tool, f"`{tool}` failed: {type(error).__name__}: {error}.")
    return Outcome(f"{error.message}{_next(error.next)}", title=tool, failed=True)


def touched(request: Request) -> str:
    """Returns a request on one line, such as `edit src/a.py`."""
    return f"{request.permission} {typed_line(request.resource)}"


def _next(step: str) -> str:
    """Says what to do next; a command of Assent's own is the person's to run, not the model's."""
    if step.startswith("assent "):
        return f" The person can run `{step}`."
    return f" Next: {step}" if step else ""
