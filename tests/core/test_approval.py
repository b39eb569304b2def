"""Laws 1 and 2: a plan runs only by a genuine approval, in time, of exactly its bytes (G2, G3)."""

import msgspec
import pytest
from tests.core.states import A, B

from assent.core.errors import AssentError, DigestMismatch, Expired, Refused
from assent.core.plan.approval import (
    Approval,
    ApprovedPlan,
    Approver,
    approved,
    is_expired,
    signed_bytes,
)
from assent.core.plan.operation import WriteFile
from assent.core.plan.plan import Plan

PLAN = Plan(b"# Text\n", (WriteFile(b"p", None, A),))
NOON, LATER, EVENING = (f"2026-01-01T{hour}:00:00.000Z" for hour in (12, 13, 18))
APPROVAL = Approval(
    "approval", "plan", PLAN.content_hash, PLAN.operations_hash, PLAN.digest,
    Approver("ann", "terminal"), "with care", NOON, "", "key", "signature",
)  # fmt: skip


def approval_of(plan: Plan, **fields: object) -> Approval:
    named = {
        "content_hash": plan.content_hash,
        "operations_hash": plan.operations_hash,
        "digest": plan.digest,
    }
    return msgspec.structs.replace(APPROVAL, **{**named, **fields})


def is_genuine(_: Approval) -> bool:
    return True


def test_law_1_a_fitting_approval_makes_an_approved_plan() -> None:
    asked: list[Approval] = []

    def genuine(approval: Approval) -> bool:
        asked.append(approval)
        return True

    fitting = approved(PLAN, APPROVAL, LATER, genuine)
    assert (fitting.plan, fitting.approval, asked) == (PLAN, APPROVAL, [APPROVAL])


@pytest.mark.parametrize("checked", [None, True, object(), "checked"])
def test_law_1_an_approved_plan_cannot_be_made_otherwise(checked: object) -> None:
    with pytest.raises(TypeError, match=r"Only approved\(\) may create"):
        ApprovedPlan(PLAN, APPROVAL, checked)


@pytest.mark.parametrize(
    ("approval", "error", "message"),
    [
        (
            approval_of(Plan(b"# Other\n", PLAN.operations)),
            DigestMismatch,
            "The approval is for {theirs}…, but the plan is {ours}….",
        ),
        (
            approval_of(Plan(PLAN.text, (WriteFile(b"p", None, B),))),
            DigestMismatch,
            "The approval is for {theirs}…, but the plan is {ours}….",
        ),
        (
            approval_of(Plan(PLAN.text, PLAN.operations, workspace="other")),
            DigestMismatch,
            "The approval is for {theirs}…, but the plan is {ours}….",
        ),
        # A record whose parts do not belong together fits nothing.
        (approval_of(PLAN, content_hash="0"), DigestMismatch, "The approval is for"),
        (approval_of(PLAN, operations_hash="0"), DigestMismatch, "The approval is for"),
        (approval_of(PLAN, digest=""), DigestMismatch, "The approval is for"),
        (
            approval_of(PLAN, expires_at=LATER),
            Expired,
            f"The approval expired at {LATER}.",
        ),
    ],
)
def test_f45_an_approval_that_does_not_fit_is_refused(
    approval: Approval, error: type[AssentError], message: str
) -> None:
    with pytest.raises(error) as caught:
        approved(PLAN, approval, LATER, is_genuine)
    names = {"theirs": approval.digest[:12], "ours": PLAN.digest[:12]}
    assert caught.value.message.startswith(message.format(**names))
    assert caught.value.next.startswith("assent ")


def test_g3_a_forged_approval_is_refused_before_anything_else() -> None:
    for approval in (APPROVAL, approval_of(PLAN, digest="0"), approval_of(PLAN, expires_at=NOON)):
        with pytest.raises(Refused) as caught:
            approved(PLAN, approval, LATER, lambda _: False)
        assert caught.value.message == "The approval has an invalid signature."


@pytest.mark.parametrize(
    ("now", "expires_at", "wanted"),
    [
        (EVENING, "", False),
        ("2020-01-01T00:00:00.000Z", "", False),
        (NOON, EVENING, False),
        (LATER, EVENING, False),
        (EVENING, EVENING, True),
        ("2027-01-01T00:00:00.000Z", EVENING, True),
        ("2026-01-01T11:59:59.999Z", EVENING, True),  # the clock went back before the yes
        (NOON, NOON, True),
    ],
)
def test_f53_an_approval_expires(now: str, expires_at: str, wanted: bool) -> None:
    assert is_expired(approval_of(PLAN, expires_at=expires_at), now) is wanted


def test_g3_the_signature_covers_every_field() -> None:
    fields = [field.name for field in msgspec.structs.fields(Approval)]
    others = [
        msgspec.structs.replace(APPROVAL, **{name: getattr(APPROVAL, name) + "x"})
        for name in fields
        if name not in ("approver", "signature")
    ]
    others += [
        msgspec.structs.replace(APPROVAL, approver=approver)
        for approver in (Approver("annx", "terminal"), Approver("ann", "terminalx"))
    ]
    others.append(msgspec.structs.replace(APPROVAL, approver=Approver("annterminal", "")))
    others.append(msgspec.structs.replace(APPROVAL, id="approvalplan", plan_id=""))
    payloads = {signed_bytes(other) for other in others}
    assert signed_bytes(APPROVAL) not in payloads
    assert len(payloads) == len(others) == len(fields) + 2
    unsigned = msgspec.structs.replace(APPROVAL, signature="")
    assert signed_bytes(unsigned) == signed_bytes(APPROVAL)
