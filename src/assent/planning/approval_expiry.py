"""Approval expiry: an expired approval stays expired, even if the clock is set back."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from assent.core.errors import AssentError
from assent.core.event import ApprovalExpired
from assent.core.plan.approval import Approval
from assent.core.plan.record import ApprovalRecord, PlanRecord
from assent.planning.ports import Ports
from assent.ports import EventBatch


def latest_known_time(
    doors: Ports, stream: str, consents: Iterable[ApprovalRecord]
) -> dict[str, str]:
    """Returns the latest times that the log knows of after approvals that expire, by their ids.

    What was recorded before an approval says nothing of it: the clock may have been wrong then.
    """
    given = [one for one in consents if one.approval.expires_at]
    return {one.approval.id: doors.store.latest(stream, one.seq) for one in given}


def usable_approval(doors: Ports, record: PlanRecord) -> Approval | None:
    """Returns the approval of the current digest that counts now, without recording anything."""
    unused = [one for one in record.consents if not one.run and not one.void]
    return record.usable(doors.clock.now(), latest_known_time(doors, record.stream, unused))


def record_expired(doors: Ports, approvals: Iterable[Approval], seen: Mapping[str, str]) -> None:
    """Records which approvals are too old now, unless the log knows of a later time already.

    `seen` is what `latest` returned. Where the log cannot be written they are refused all the same.
    """
    now = doors.clock.now()
    for one in approvals:
        if one.expires_at and seen.get(one.id, "") < one.expires_at <= now:
            batch = EventBatch(
                f"expired/{one.id}", 0, now, (ApprovalExpired(one.id, one.expires_at),)
            )
            with suppress(AssentError):  # another process has seen it, too
                doors.store.append(batch)


def expiry_reason(approval: Approval, now: str) -> str:
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
