"""A doctor check: one thing that must be impossible, tried for real, and its result."""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

import msgspec

from assent.core.errors import AssentError


class DoctorCheckResult(StrEnum):
    """The result of a check."""

    HELD = "held"
    ABSENT = "not available"
    FAILED = "FAILED"


class DoctorCheck(msgspec.Struct, frozen=True):
    """A row of the report: `tried` is what was attempted, `detail` what happened."""

    channel: str
    name: str
    tried: str
    result: DoctorCheckResult
    detail: str = ""


class SafeguardFailed(Exception):
    """Something that must be impossible was possible."""


class CheckSkipped(Exception):
    """A check cannot be made on this machine."""


CheckFunction: TypeAlias = Callable[[], str]


def run_check(channel: str, name: str, tried: str, attempt: CheckFunction) -> DoctorCheck:
    """Runs an attempt, which returns how it was refused; anything else is a failure."""
    try:
        detail = attempt()
    except SafeguardFailed as failure:
        return DoctorCheck(channel, name, tried, DoctorCheckResult.FAILED, str(failure))
    except CheckSkipped as absence:
        return DoctorCheck(channel, name, tried, DoctorCheckResult.ABSENT, str(absence))
    except Exception as error:  # a check that breaks shows nothing, and says so
        broken = f"The check itself failed: {type(error).__name__}: {error}"
        return DoctorCheck(channel, name, tried, DoctorCheckResult.FAILED, broken)
    return DoctorCheck(channel, name, tried, DoctorCheckResult.HELD, detail)


def refusal_text(attempt: Callable[[], object], *kinds: type[Exception]) -> str:
    """Returns the message of a refusal; raises SafeguardFailed if there was none."""
    try:
        attempt()
    except kinds as error:
        return error.message if isinstance(error, AssentError) else str(error)
    raise SafeguardFailed("It was not refused.")


def require_safeguard(holds: bool, otherwise: str) -> None:
    """Raises SafeguardFailed with this message unless a condition holds."""
    if not holds:
        raise SafeguardFailed(otherwise)
