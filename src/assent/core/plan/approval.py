"""Approvals: a user's signed approval of one digest, and the plan that may run because of it."""

from collections.abc import Callable
from typing import Final, final

import msgspec

from assent.core.digest import pack
from assent.core.errors import DigestMismatch, Expired, Refused
from assent.core.plan.plan import Plan

MAX_LIFETIME_S: Final = 3650 * 86_400  # years have four digits, by which times are compared


class Approver(msgspec.Struct, frozen=True):
    """Who approved, as far as a machine can tell: the system's user and the channel that asked."""

    user: str
    channel: str


class Approval(msgspec.Struct, frozen=True):
    """An approval on record: it names bytes by digest, signed with a key outside the workspace."""

    id: str
    plan_id: str
    content_hash: str
    operations_hash: str
    digest: str
    approver: Approver
    note: str
    approved_at: str
    expires_at: str = ""
    key: str = ""
    signature: str = ""


def signed_bytes(approval: Approval) -> bytes:
    """Returns what the signature covers: every field but the signature itself."""
    return pack(
        b"assent.approval.1",
        *[
            field.encode()
            for field in (
                approval.id,
                approval.plan_id,
                approval.content_hash,
                approval.operations_hash,
                approval.digest,
                approval.approver.user,
                approval.approver.channel,
                approval.note,
                approval.approved_at,
                approval.expires_at,
                approval.key,
            )
        ],
    )


_CHECKED: Final = object()


@final
class ApprovedPlan:
    """A plan with an approval that was checked against it; only `approved` can create one."""

    __slots__ = ("approval", "plan")

    def __init__(self, plan: Plan, approval: Approval, checked: object) -> None:
        if checked is not _CHECKED:
            raise TypeError("Only approved() may create an ApprovedPlan.")
        self.plan = plan
        self.approval = approval


def approved(
    plan: Plan, approval: Approval, now: str, genuine: Callable[[Approval], bool]
) -> ApprovedPlan:
    """Checks that the approval is genuine, in time, and for exactly these bytes (laws 1 and 2)."""
    if not genuine(approval):
        raise Refused("The approval has an invalid signature.", "assent approve")
    named = (approval.content_hash, approval.operations_hash, approval.digest)
    if named != (plan.content_hash, plan.operations_hash, plan.digest):
        raise DigestMismatch(
            f"The approval is for {approval.digest[:12]}…, but the plan is {plan.digest[:12]}….",
            "assent review",
        )
    if is_expired(approval, now):
        raise Expired(f"The approval expired at {approval.expires_at}.", "assent approve")
    return ApprovedPlan(plan, approval, _CHECKED)


def is_expired(approval: Approval, now: str, latest: str = "") -> bool:
    """Tells whether an approval has expired; it has if the clock went back before it, too.

    `latest` is the latest time recorded after it: an approval that had expired then stays so.
    """
    if not approval.expires_at:
        return False
    if latest >= approval.expires_at:
        return True
    return not approval.approved_at <= now < approval.expires_at
