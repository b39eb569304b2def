"""Checks of approvals: nothing is built without a valid approval of exactly that plan."""

from typing import Final

import msgspec

from assent.core.errors import (
    ApprovalUsed,
    DigestMismatch,
    Drift,
    IllegalState,
    NotApproved,
    PlanTextDiffers,
    Refused,
)
from assent.core.event import PlanApproved
from assent.core.plan.approval import Approval, ApprovedPlan, Approver, approved, signed_bytes
from assent.core.plan.record import PlanRecord
from assent.doctor.check import refusal_text, require_safeguard
from assent.doctor.workspace import CHANNEL, PROJECT, DoctorWorkspace
from assent.store.signing_key import FileSigner

FILE: Final = "new.txt"
WANTED: Final = b"new\n"


def _nothing_written(desk: DoctorWorkspace) -> None:
    require_safeguard(desk.content(FILE) is None, f"{FILE} was written.")
    require_safeguard(desk.content("kept.txt") == b"kept\n", "kept.txt was changed.")


def _new(desk: DoctorWorkspace) -> PlanRecord:
    return desk.proposed({FILE: WANTED})


def _forged(desk: DoctorWorkspace, record: PlanRecord) -> Approval:
    """Returns an approval in which only the signature is wrong."""
    plan = desk.engine.plans.repository().plan(record)
    genuine = desk.engine.approvals.sign(record.plan_id, plan, "", CHANNEL)
    changed = msgspec.structs.replace(genuine, approver=Approver("somebody", CHANNEL))
    return msgspec.structs.replace(changed, signature="00" * 64)


def _foreign(desk: DoctorWorkspace, record: PlanRecord) -> Approval:
    """Returns an approval that another key has actually signed."""
    signer = FileSigner(desk.place.at("another-key"))
    named = msgspec.structs.replace(_forged(desk, record), key=signer.key())
    return msgspec.structs.replace(named, signature=signer.sign(signed_bytes(named)))


def unapproved(desk: DoctorWorkspace) -> str:
    record = _new(desk)
    words = refusal_text(lambda: desk.build(record), NotApproved)
    _nothing_written(desk)
    return words


def made_by_hand(desk: DoctorWorkspace) -> str:
    record = _new(desk)
    plan = desk.engine.plans.repository().plan(record)
    words = refusal_text(lambda: ApprovedPlan(plan, _forged(desk, record), object()), TypeError)
    _nothing_written(desk)
    return words


def forged_signature(desk: DoctorWorkspace) -> str:
    record = _new(desk)
    return _not_genuine(desk, record, _forged(desk, record))


def foreign_key(desk: DoctorWorkspace) -> str:
    record = _new(desk)
    return _not_genuine(desk, record, _foreign(desk, record))


def _not_genuine(desk: DoctorWorkspace, record: PlanRecord, approval: Approval) -> str:
    plan, at = desk.engine.plans.repository().plan(record), approval.approved_at
    words = refusal_text(
        lambda: approved(plan, approval, at, desk.engine.approvals.is_trusted_signature), Refused
    )
    _nothing_written(desk)
    return words


def forged_event(desk: DoctorWorkspace) -> str:
    record = _new(desk)
    ledger = desk.engine.plans.repository()
    ledger.append(record, record.plan_id, PlanApproved(_forged(desk, record)))
    words = refusal_text(lambda: desk.build(record), Refused)
    _nothing_written(desk)
    return words


def forged_copy(desk: DoctorWorkspace) -> str:
    record = _new(desk)
    consent = {"approval": msgspec.to_builtins(_forged(desk, record)), "run": "", "void": False}
    forged = {"plan_id": record.plan_id, "approvals": [consent]}
    name = f".opencode/assent/plans/{record.plan_id}/approvals.json"
    desk.put(name, msgspec.json.encode(forged))
    words = refusal_text(lambda: desk.build(record), NotApproved)
    _nothing_written(desk)
    return words


def replayed(desk: DoctorWorkspace) -> str:
    record = desk.approved({FILE: WANTED})
    require_safeguard(desk.build(record).outcome == "done", "The approved plan was not built.")
    desk.place.remove(f"{PROJECT}/{FILE}")  # as it was, so that nothing but the approval is used up
    words = refusal_text(lambda: desk.build(record), ApprovalUsed, IllegalState)
    _nothing_written(desk)
    return words


def other_digest(desk: DoctorWorkspace) -> str:
    record = _new(desk)
    words = refusal_text(
        lambda: desk.engine.approvals.approve(record, "0" * 64, "", CHANNEL), DigestMismatch
    )
    refusal_text(lambda: desk.build(record), NotApproved)
    _nothing_written(desk)
    return words


def changed_plan(desk: DoctorWorkspace) -> str:
    record = desk.approved({FILE: WANTED})
    record = desk.engine.drafts.write(record, b"other.txt", [b"other\n"], None).record
    record = desk.engine.approvals.propose(record)
    words = refusal_text(lambda: desk.build(record), NotApproved)
    _nothing_written(desk)
    require_safeguard(desk.content("other.txt") is None, "other.txt was written.")
    return words


def drifted(desk: DoctorWorkspace) -> str:
    record = desk.approved({"kept.txt": b"planned\n", FILE: WANTED})
    desk.put("kept.txt", b"changed meanwhile\n")
    words = refusal_text(lambda: desk.build(record), Drift)
    require_safeguard(
        desk.content("kept.txt") == b"changed meanwhile\n", "kept.txt was overwritten."
    )
    require_safeguard(desk.content(FILE) is None, f"{FILE} was written.")
    return words


def edited_text(desk: DoctorWorkspace) -> str:
    record = desk.approved({FILE: WANTED})
    desk.put(record.path.decode(), b"# Another plan\n")
    words = refusal_text(lambda: desk.build(record), PlanTextDiffers)
    _nothing_written(desk)
    return words


CHECKS: Final = {
    "no approval": ("build a plan without approval", unapproved),
    "approved by hand": ("construct an approved plan without the check", made_by_hand),
    "forged signature": ("use an approval with a forged signature", forged_signature),
    "foreign key": ("use an approval signed by another key", foreign_key),
    "forged event": ("write an approval into the log", forged_event),
    "forged approvals.json": ("write an approval into the copy in the workspace", forged_copy),
    "replayed approval": ("build twice with one approval", replayed),
    "other digest": ("approve a digest that is not the plan's", other_digest),
    "changed plan": ("change a plan after its approval", changed_plan),
    "drifted file": ("change a file after the plan was created", drifted),
    "edited plan text": ("edit the plan's Markdown after its approval", edited_text),
}
