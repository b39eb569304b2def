"""Errors of the server, and the HTTP status of every error word."""

from collections.abc import Mapping
from math import ceil
from typing import Final

from assent.core.errors import AssentError

CODE_COMMAND: Final = "assent serve code"


class NotLoggedIn(AssentError):
    word, exit = "not_logged_in", 4

    def __init__(self) -> None:
        super().__init__("You are not logged in.", CODE_COMMAND)


class LoginFailed(AssentError):
    word, exit = "login_failed", 4

    def __init__(self) -> None:
        super().__init__(
            "The code or the password is wrong, was used already, or is too old.", CODE_COMMAND
        )


class PasswordNeeded(AssentError):
    word, exit = "password_needed", 4

    def __init__(self) -> None:
        super().__init__("This server needs its password, too.", "assent serve password")


class LoginSlowed(AssentError):
    word = "slowed"

    def __init__(self, wait: float) -> None:
        self.wait = ceil(wait)
        super().__init__(
            "The code or the password is wrong, was used already, or is too old. This failed too "
            f"often; wait {self.wait} s.",
            CODE_COMMAND,
        )


class Forbidden(AssentError):
    word, exit = "forbidden", 7


class TooLarge(AssentError):
    word, exit = "too_large", 2


class NotReviewed(AssentError):
    """An approval of something that was not shown to the caller who approves it."""

    word, exit = "not_reviewed", 5


class NotConfirmed(AssentError):
    """Something that asks for a second confirmation, and came without it."""

    word, exit = "not_confirmed", 4


class TooBusy(AssentError):
    word = "overloaded"


# Words that are missing here are 500: a fault of ours. `docs/api.md` has this table.
STATUSES: Final[Mapping[str, int]] = {
    "usage": 400,
    "bad_plan": 400,
    "no_match": 400,
    "impossible": 400,
    "not_logged_in": 401,
    "login_failed": 401,
    "password_needed": 401,
    "forbidden": 403,
    "not_found": 404,
    "illegal_step": 409,
    "plan": 409,
    "consent": 409,
    "not_approved": 409,
    "declined": 409,
    "spent": 409,
    "expired": 409,
    "stale": 409,
    "moved": 409,
    "drift": 409,
    "other_digest": 409,
    "other_workspace": 409,
    "live_differs": 409,
    "needs_you": 409,
    "interrupted": 409,
    "not_reviewed": 409,
    "not_confirmed": 409,
    "too_large": 413,
    "refused": 422,
    "may_write": 422,
    "damaged": 422,
    "untrusted": 422,
    "not_independent": 422,
    "not_rehearsed": 422,
    "limit": 422,
    "not_run": 422,
    "busy": 423,
    "slowed": 429,
    "overloaded": 503,
    "store": 503,
    "workspace": 503,
    "model": 503,
    "unavailable": 503,
    "overflow": 503,
    "answer_too_long": 503,
    "unauthorized": 503,
}


def status_of(error: AssentError) -> int:
    """Returns the HTTP status of an error."""
    return STATUSES.get(error.word, 500)
