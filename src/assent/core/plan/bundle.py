"""Bundles: a plan with every content it names, who requests it, and who approved it."""

from collections.abc import Mapping

import msgspec

from assent.core.digest import pack
from assent.core.plan.approval import Approval
from assent.core.plan.operation import (
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
    footprint,
)
from assent.core.plan.plan import Plan

MAX_SHOWN_BYTES = 8 << 20  # bytes of an old content that a diff would still show


class BundleOrigin(msgspec.Struct, frozen=True):
    """Who asks for the plan, signed with the key of the machine where it was made.

    `risks` are those that were found there, by operation: a reader elsewhere has not the files.
    """

    plan_id: str
    name: str
    session: str
    digest: str
    requested_at: str
    user: str
    key: str
    risks: tuple[tuple[str, ...], ...] = ()
    signature: str = ""


class Bundle(msgspec.Struct, frozen=True):
    """A portable plan and all that a person elsewhere needs to read it, and a machine to do it."""

    origin: BundleOrigin
    plan: Plan
    contents: Mapping[str, bytes]
    approvals: tuple[Approval, ...] = ()

    def with_approval(self, approval: Approval) -> "Bundle":
        """Returns the same bundle with one more approval, which replaces others with its key."""
        others = [each for each in self.approvals if each.key != approval.key]
        return msgspec.structs.replace(self, approvals=(*others, approval))


def origin_bytes(origin: BundleOrigin) -> bytes:
    """Returns what the signature of whoever asks covers: every field but the signature itself."""
    fields = (
        origin.plan_id,
        origin.name,
        origin.session,
        origin.digest,
        origin.requested_at,
        origin.user,
        origin.key,
    )
    risks = [pack(*[code.encode() for code in codes]) for codes in origin.risks]
    return pack(b"assent.bundle.1", *[field.encode() for field in fields], pack(*risks))


def required_contents(plan: Plan) -> dict[str, int]:
    """Returns the new contents that no machine can do without, with their sizes."""
    written = [op.after for op in plan.operations if isinstance(op, WriteFile)]
    return {state.digest: state.size for state in written}


def review_contents(plan: Plan) -> dict[str, int]:
    """Returns the old contents that a review shows, with their sizes."""
    found = [state for op in plan.operations for state in _shown(op)]
    wanted = required_contents(plan)
    return {state.digest: state.size for state in found if state.digest not in wanted}


def _shown(op: Operation) -> list[FileState]:
    """A diff needs what a write or a removal replaces; of a rename, where a symlink leads."""
    match op:
        case RunCommand():
            return []
        case MoveFile(before=state):
            return [state] if state.kind == "link" and state.size <= MAX_SHOWN_BYTES else []
        case _:
            states = [before for _, before, _ in footprint(op)]
            return [state for state in states if state and state.size <= MAX_SHOWN_BYTES]
