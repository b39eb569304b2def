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


def _nothing_written(workspace: DoctorWorkspace) -> None:
    require_safeguard(workspace.content(FILE) is None, f"{FILE} was written.")
    require_safeguard(workspace.content("kept.txt") == b"kept\n", "kept.txt was changed.")


def _new(workspace: DoctorWorkspace) -> PlanRecord:
    return workspace.proposed({FILE: WANTED})


def _forged(workspace: DoctorWorkspace, record: PlanRecord) -> Approval:
    """Returns an approval in which only the signature is wrong."""
    plan = workspace.engine.plans.repository().plan(record)
    genuine = workspace.engine.approvals.sign(record.plan_id, plan, "", CHANNEL)
    changed = msgspec.structs.replace(genuine, approver=Approver("somebody", CHANNEL))
    return msgspec.structs.replace(changed, signature="00" * 64)


def _foreign(workspace: DoctorWorkspace, record: PlanRecord) -> Approval:
    """Returns an approval that another key has actually signed."""
    signer = FileSigner(workspace.place.at("another-key"))
    named = msgspec.structs.replace(_forged(workspace, record), key=signer.key())
    return msgspec.structs.replace(named, signature=signer.sign(signed_bytes(named)))


def unapproved(workspace: DoctorWorkspace) -> str:
    record = _new(workspace)
    words = refusal_text(lambda: workspace.build(record), NotApproved)
    _nothing_written(workspace)
    return words


def made_by_hand(workspace: DoctorWorkspace) -> str:
    record = _new(workspace)
    plan = workspace.engine.plans.repository().plan(record)
    words = refusal_text(
        lambda: ApprovedPlan(plan, _forged(workspace, record), object()), TypeError
    )
    _nothing_written(workspace)
    return words


def forged_signature(workspace: DoctorWorkspace) -> str:
    record = _new(workspace)
    return _not_genuine(workspace, record, _forged(workspace, record))


def foreign_key(workspace: DoctorWorkspace) -> str:
    record = _new(workspace)
    return _not_genuine(workspace, record, _foreign(workspace, record))


def _not_genuine(workspace: DoctorWorkspace, record: PlanRecord, approval: Approval) -> str:
    plan, at = workspace.engine.plans.repository().plan(record), approval.approved_at
    words = refusal_text(
        lambda: approved(plan, approval, at, workspace.engine.approvals.is_trusted_signature),
        Refused,
    )
    _nothing_written(workspace)
    return words


def forged_event(workspace: DoctorWorkspace) -> str:
    record = _new(workspace)
    repository = workspace.engine.plans.repository()
    repository.append(record, record.plan_id, PlanApproved(_forged(workspace, record)))
    words = refusal_text(lambda: workspace.build(record), Refused)
    _nothing_written(workspace)
    return words


def forged_copy(workspace: DoctorWorkspace) -> str:
    record = _new(workspace)
    consent = {
        "approval": msgspec.to_builtins(_forged(workspace, record)),
        "run": "",
        "void": False,
    }
    forged = {"plan_id": record.plan_id, "approvals": [consent]}
    name = f".opencode/assent/plans/{record.plan_id}/approvals.json"
    workspace.put(name, msgspec.json.encode(forged))
    words = refusal_text(lambda: workspace.build(record), NotApproved)
    _nothing_written(workspace)
    return words


def replayed(workspace: DoctorWorkspace) -> str:
    record = workspace.approved({FILE: WANTED})
    require_safeguard(workspace.build(record).outcome == "done", "The approved plan was not built.")
    workspace.place.remove(
        f"{PROJECT}/{FILE}"
    )  # as it was, so that nothing but the approval is used up
    words = refusal_text(lambda: workspace.build(record), ApprovalUsed, IllegalState)
    _nothing_written(workspace)
    return words


def other_digest(workspace: DoctorWorkspace) -> str:
    record = _new(workspace)
    words = refusal_text(
        lambda: workspace.engine.approvals.approve(record, "0" * 64, "", CHANNEL), DigestMismatch
    )
    refusal_text(lambda: workspace.build(record), NotApproved)
    _nothing_written(workspace)
    return words


def changed_plan(workspace: DoctorWorkspace) -> str:
    record = workspace.approved({FILE: WANTED})
    record = workspace.engine.drafts.write(record, b"other.txt", [b"other\n"], None).record
    record = workspace.engine.approvals.propose(record)
    words = refusal_text(lambda: workspace.build(record), NotApproved)
    _nothing_written(workspace)
    require_safeguard(workspace.content("other.txt") is None, "other.txt was written.")
    return words


def drifted(workspace: DoctorWorkspace) -> str:
    record = workspace.approved({"kept.txt": b"planned\n", FILE: WANTED})
    workspace.put("kept.txt", b"changed meanwhile\n")
    words = refusal_text(lambda: workspace.build(record), Drift)
    require_safeguard(
        workspace.content("kept.txt") == b"changed meanwhile\n", "kept.txt was overwritten."
    )
    require_safeguard(workspace.content(FILE) is None, f"{FILE} was written.")
    return words


def edited_text(workspace: DoctorWorkspace) -> str:
    record = workspace.approved({FILE: WANTED})
    workspace.put(record.path.decode(), b"# Another plan\n")
    words = refusal_text(lambda: workspace.build(record), PlanTextDiffers)
    _nothing_written(workspace)
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
