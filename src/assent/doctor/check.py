"""A check: one thing that must not be possible, tried for real, and what came of it."""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

import msgspec

from assent.core.errors import AssentError


class Result(StrEnum):
    """What a check found."""

    HELD = "held"
    ABSENT = "not available"
    FAILED = "FAILED"


class Check(msgspec.Struct, frozen=True):
    """A row of the report: `tried` says what was attempted, `detail` what came of it."""

    channel: str
    name: str
    tried: str
    result: Result
    detail: str = ""


class NotHeld(Exception):
    """What must not be possible was possible."""


class NotTried(Exception):
    """There is nothing here to try it on."""


Attempted: TypeAlias = Callable[[], str]


def made(channel: str, name: str, tried: str, attempt: Attempted) -> Check:
    """Makes an attempt, which says how it was refused; whatever else happens is a failure."""
    try:
        detail = attempt()
    except NotHeld as failure:
        return Check(channel, name, tried, Result.FAILED, str(failure))
    except NotTried as absence:
        return Check(channel, name, tried, Result.ABSENT, str(absence))
    except Exception as error:  # a check that breaks shows nothing, and says so
        broken = f"The check itself failed: {type(error).__name__}: {error}"
        return Check(channel, name, tried, Result.FAILED, broken)
    return Check(channel, name, tried, Result.HELD, detail)


def refusal(attempt: Callable[[], object], *kinds: type[Exception]) -> str:
    """Returns the words of a refusal; raises NotHeld if there was none."""
    try:
        attempt()
    except kinds as error:
        return error.message if isinstance(error, AssentError) else str(error)
    raise NotHeld("It was not refused.")


def insist(holds: bool, otherwise: str) -> None:
    """Raises NotHeld, in these words, unless something holds."""
    if not holds:
        raise NotHeld(otherwise)
