"""Texts of refused and failed calls for the model, and of requests for people."""

from assent.core.errors import AssentError, Refused
from assent.core.paths import typed_line
from assent.core.tool import MISSING_CAPABILITY, ResourceAccess, ToolOutcome


def refused_outcome(tool: str, reason: str) -> ToolOutcome:
    """Returns the outcome of a call that was refused."""
    return ToolOutcome(f"{reason} Nothing was done.", title=tool, failed=True)


def failed_outcome(tool: str, error: Exception) -> ToolOutcome:
    """Returns the outcome of a call that ended with an error."""
    if not isinstance(error, AssentError):
        return refused_outcome(tool, f"`{tool}` failed: {type(error).__name__}: {error}.")
    text = f"{error.message}{_next(error.next)}"
    return ToolOutcome(text, title=tool, failed=True, metadata=missing_capability(error))


def missing_capability(error: AssentError) -> dict[str, str]:
    """Returns what is missing on this machine for a call, as its metadata say it."""
    lacks = error.lacks if isinstance(error, Refused) else ""
    return {MISSING_CAPABILITY: lacks} if lacks else {}


def access_line(request: ResourceAccess) -> str:
    """Returns a request on one line, such as `edit src/a.py`."""
    return f"{request.permission} {typed_line(request.resource)}"


def _next(step: str) -> str:
    """Says what to do next; a command of Assent's own is the person's to run, not the model's."""
    if step.startswith("assent "):
        return f" The person can run `{step}`."
    return f" Next: {step}" if step else ""
