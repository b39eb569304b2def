"""Renders a bundle: who requested it, who approved it with which key, and if that counts."""

from collections.abc import Iterator, Sequence
from shlex import quote

import msgspec

from assent.core.plan.approval import Approval
from assent.core.plan.bundle import BundleOrigin
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, table_lines, wrapped_lines
from assent.render.rows import Row


class BundleApproval(msgspec.Struct, frozen=True):
    """An approval in a bundle, and why it does not count here, if it does not."""

    approval: Approval
    word: str = ""
    why: str = ""

    @property
    def counts(self) -> bool:
        return not self.word


def bundle_row(origin: BundleOrigin, standings: Sequence[BundleApproval]) -> Row:
    """Returns who asks for a bundle and who agreed, as JSON shows it."""
    approvals = [
        {**approval_row(each.approval), "counts": each.counts, "why": each.word or None}
        for each in standings
    ]
    return {
        "plan_id": origin.plan_id,
        "requested_at": origin.requested_at,
        "requester": {"user": origin.user, "key": origin.key},
        "approvals": approvals,
    }


def approval_row(approval: Approval) -> Row:
    """Returns an approval as JSON shows it."""
    return {
        "id": approval.id,
        "user": approval.approver.user,
        "channel": approval.approver.channel,
        "key": approval.key,
        "note": approval.note,
        "approved_at": approval.approved_at,
        "expires_at": approval.expires_at or None,
    }


def bundle_lines(origin: BundleOrigin, standings: Sequence[BundleApproval]) -> Iterator[Line]:
    """Renders who asks for a plan that came from elsewhere, and each yes that came with it."""
    yield Line("heading", "A plan from elsewhere")
    yield from table_lines(
        "plain",
        [
            ("asked for by", visible_line(origin.user)),
            ("with the key", visible_line(origin.key)),
            ("at", visible_line(origin.requested_at)),
        ],
    )
    for each in standings:
        yield from _approval_lines(each)
    if not standings:
        yield Line("plain", "Nobody has approved it.")
    yield BLANK


def bundle_written_lines(file: str, digest: str, size: int) -> Iterator[Line]:
    """Renders what was written, and where it goes from there."""
    name = visible_line(file)
    yield Line("plain", f"Wrote {name}, {size} bytes: the plan and every content it names.")
    yield Line("digest", f"Digest: {digest}")
    yield Line("plain", f"Next, wherever somebody decides: assent approve {quote(name)}")


def bundle_approved_lines(file: str, approval: Approval, build: str) -> Iterator[Line]:
    """Renders a yes that travels: where it is, which key it has, and how long it holds."""
    name = visible_line(file)
    yield Line("plain", f"Approved. The signed yes is in {name}")
    yield from table_lines(
        "plain",
        [
            ("digest", visible_line(approval.digest)),
            ("key", visible_line(approval.key)),
            ("expires", visible_line(approval.expires_at) or "never"),
        ],
    )
    yield Line("plain", f"Next, where it is to be applied: {visible_line(build)}")


def _approval_lines(standing: BundleApproval) -> Iterator[Line]:
    yes = standing.approval
    who = f"{visible_line(yes.approver.user)} ({visible_line(yes.approver.channel)})"
    until = f", until {visible_line(yes.expires_at)}" if yes.expires_at else ""
    note = f": {visible_line(yes.note)}" if yes.note else ""
    when = visible_line(yes.approved_at)
    yield from wrapped_lines("plain", f"Approved by {who} at {when}{until}{note}")
    if standing.counts:
        yield Line("plain", f"  with the key {visible_line(yes.key)}, which counts here.")
    else:
        yield from wrapped_lines("risk", f"  It does not count here. {visible_line(standing.why)}")
