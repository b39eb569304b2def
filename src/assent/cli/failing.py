"""Failures: every one that is expected, as an error with words and a next step."""

from assent.core.errors import AssentError, Interrupted

EXPECTED = (AssentError, OSError, KeyboardInterrupt)


def told(error: BaseException) -> AssentError:
    """Returns an expected failure as an error that can be told."""
    match error:
        case AssentError():
            return error
        case OSError():
            return AssentError(f"{error.strerror or error}: {error.filename or ''}")
        case _:
            return Interrupted("Interrupted; `assent status` says where things stand.")
