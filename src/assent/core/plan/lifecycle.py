"""The plan lifecycle: states and allowed actions in one table; anything else is refused."""

from enum import StrEnum

from assent.core.errors import IllegalState


class PlanState(StrEnum):
    """Where a plan stands."""

    DRAFTING = "DRAFTING"
    AWAITING_APPROVAL = "AWAITING_APPROVAL"
    EXECUTING = "EXECUTING"
    COMPLETED = "COMPLETED"
    HALTED = "HALTED"
    DISCARDED = "DISCARDED"


class PlanAction(StrEnum):
    """What can happen to a plan."""

    DRAFT = "draft"
    PROPOSE = "propose"
    REVISE = "revise"
    REJECT = "reject"
    APPROVE = "approve"
    BUILD = "build"
    FINISH = "finish"
    ROLL_BACK = "roll back"
    HALT = "halt"
    RESUME = "resume"
    ACCEPT = "accept"
    DISCARD = "discard"


TRANSITIONS: dict[tuple[PlanState, PlanAction], PlanState] = {
    (PlanState.DRAFTING, PlanAction.DRAFT): PlanState.DRAFTING,
    (PlanState.DRAFTING, PlanAction.PROPOSE): PlanState.AWAITING_APPROVAL,
    (PlanState.AWAITING_APPROVAL, PlanAction.REVISE): PlanState.DRAFTING,
    (PlanState.AWAITING_APPROVAL, PlanAction.REJECT): PlanState.DRAFTING,
    (PlanState.AWAITING_APPROVAL, PlanAction.APPROVE): PlanState.AWAITING_APPROVAL,
    (PlanState.AWAITING_APPROVAL, PlanAction.BUILD): PlanState.EXECUTING,
    (PlanState.EXECUTING, PlanAction.FINISH): PlanState.COMPLETED,
    (PlanState.EXECUTING, PlanAction.ROLL_BACK): PlanState.AWAITING_APPROVAL,
    (PlanState.EXECUTING, PlanAction.HALT): PlanState.HALTED,
    (PlanState.HALTED, PlanAction.RESUME): PlanState.EXECUTING,
    (PlanState.HALTED, PlanAction.ACCEPT): PlanState.COMPLETED,
    (PlanState.DRAFTING, PlanAction.DISCARD): PlanState.DISCARDED,
    (PlanState.AWAITING_APPROVAL, PlanAction.DISCARD): PlanState.DISCARDED,
    (PlanState.COMPLETED, PlanAction.DISCARD): PlanState.DISCARDED,
    (PlanState.HALTED, PlanAction.DISCARD): PlanState.DISCARDED,
}

_STANDS = {
    PlanState.DRAFTING: "is still a draft",
    PlanState.AWAITING_APPROVAL: "is proposed and waits for a decision",
    PlanState.EXECUTING: "is being built",
    PlanState.HALTED: "stopped in the middle and waits for you",
    PlanState.COMPLETED: "is done",
    PlanState.DISCARDED: "was discarded",
}
_DEEDS = {
    PlanAction.DRAFT: "changed",
    PlanAction.PROPOSE: "proposed",
    PlanAction.REVISE: "revised",
    PlanAction.REJECT: "rejected",
    PlanAction.APPROVE: "approved",
    PlanAction.BUILD: "built",
    PlanAction.FINISH: "finished",
    PlanAction.ROLL_BACK: "rolled back",
    PlanAction.HALT: "halted",
    PlanAction.RESUME: "resumed",
    PlanAction.ACCEPT: "accepted",
    PlanAction.DISCARD: "discarded",
}
_WAYS_ON = {
    PlanState.DRAFTING: "assent propose",
    PlanState.AWAITING_APPROVAL: "assent review",
    PlanState.EXECUTING: "assent recover",
    PlanState.HALTED: "assent recover",
    PlanState.COMPLETED: "assent plan new NAME",
    PlanState.DISCARDED: "assent plan new NAME",
}


def next_state(state: PlanState, moment: PlanAction) -> PlanState:
    """Returns the state after a moment, or refuses what the table does not know."""
    try:
        return TRANSITIONS[state, moment]
    except KeyError:
        told = f"This plan {_STANDS[state]}, so it cannot be {_DEEDS[moment]}."
        raise IllegalState(told, _WAYS_ON[state]) from None
