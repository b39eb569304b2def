"""Expiry: an approval that was once too old stays so, also if the clock is set back."""

from collections.abc import Iterable
from contextlib import suppress

from assent.core.approval import Approval
from assent.core.errors import AssentError
from assent.core.event import ApprovalExpired
from assent.core.record import PlanRecord
from assent.engine.doors import Doors
from assent.ports import Batch


def latest(doors: Doors, approvals: Iterable[Approval]) -> str:
    """Returns the latest time that the log knows; empty if none of these ever expires."""
    return doors.store.latest() if any(one.expires_at for one in approvals) else ""


def usable(doors: Doors, record: PlanRecord) -> Approval | None:
    """Returns the approval of the current digest that counts now, without recording anything."""
    seen = latest(doors, [consent.approval for consent in record.consents])
    return record.usable(doors.clock.now(), seen)


def note_expired(doors: Doors, approvals: Iterable[Approval], seen: str) -> None:
    """Records which approvals are too old now, unless the log knows of a later time already.

    `seen` is what `latest` returned. Where the log cannot be written they are refused all the same.
    """
    now = doors.clock.now()
    for one in approvals:
        if one.expires_at and seen < one.expires_at <= now:
            batch = Batch(f"expired/{one.id}", 0, now, (ApprovalExpired(one.id, one.expires_at),))
            with suppress(AssentError):  # another process has seen it, too
                doors.store.append(batch)


def outdated(approval: Approval, now: str) -> str:
    """Says why an approval is too old."""
    if now < approval.approved_at:
        return (
            f"The approval is of {approval.approved_at}, and here it is {now}: one of two clocks "
            "is wrong, so nobody can tell whether it expired."
        )
    if now < approval.expires_at:
        return (
            f"The approval expired at {approval.expires_at}: the log knows of a later time than "
            f"{now}, so the clock was set back."
        )
    return f"The approval expired at {approval.expires_at}."
