"""The life of a plan, as one table. What the table does not name is refused."""

from enum import StrEnum

from assent.core.errors import IllegalStep


class State(StrEnum):
    """Where a plan stands."""

    DRAFTING = "DRAFTING"
    AWAITING_APPROVAL = "AWAITING_APPROVAL"
    EXECUTING = "EXECUTING"
    COMPLETED = "COMPLETED"
    HALTED = "HALTED"
    DISCARDED = "DISCARDED"


class Moment(StrEnum):
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


LIFE: dict[tuple[State, Moment], State] = {
    (State.DRAFTING, Moment.DRAFT): State.DRAFTING,
    (State.DRAFTING, Moment.PROPOSE): State.AWAITING_APPROVAL,
    (State.AWAITING_APPROVAL, Moment.REVISE): State.DRAFTING,
    (State.AWAITING_APPROVAL, Moment.REJECT): State.DRAFTING,
    (State.AWAITING_APPROVAL, Moment.APPROVE): State.AWAITING_APPROVAL,
    (State.AWAITING_APPROVAL, Moment.BUILD): State.EXECUTING,
    (State.EXECUTING, Moment.FINISH): State.COMPLETED,
    (State.EXECUTING, Moment.ROLL_BACK): State.AWAITING_APPROVAL,
    (State.EXECUTING, Moment.HALT): State.HALTED,
    (State.HALTED, Moment.RESUME): State.EXECUTING,
    (State.HALTED, Moment.ACCEPT): State.COMPLETED,
    (State.DRAFTING, Moment.DISCARD): State.DISCARDED,
    (State.AWAITING_APPROVAL, Moment.DISCARD): State.DISCARDED,
    (State.COMPLETED, Moment.DISCARD): State.DISCARDED,
    (State.HALTED, Moment.DISCARD): State.DISCARDED,
}

_STANDS = {
    State.DRAFTING: "is still a draft",
    State.AWAITING_APPROVAL: "is proposed and waits for a decision",
    State.EXECUTING: "is being built",
    State.HALTED: "stopped in the middle and waits for you",
    State.COMPLETED: "is done",
    State.DISCARDED: "was discarded",
}
_DEEDS = {
    Moment.DRAFT: "changed",
    Moment.PROPOSE: "proposed",
    Moment.REVISE: "revised",
    Moment.REJECT: "rejected",
    Moment.APPROVE: "approved",
    Moment.BUILD: "built",
    Moment.FINISH: "finished",
    Moment.ROLL_BACK: "rolled back",
    Moment.HALT: "halted",
    Moment.RESUME: "resumed",
    Moment.ACCEPT: "accepted",
    Moment.DISCARD: "discarded",
}
_WAYS_ON = {
    State.DRAFTING: "assent propose",
    State.AWAITING_APPROVAL: "assent review",
    State.EXECUTING: "assent recover",
    State.HALTED: "assent recover",
    State.COMPLETED: "assent plan new NAME",
    State.DISCARDED: "assent plan new NAME",
}


def advance(state: State, moment: Moment) -> State:
    """Returns the state after a moment, or refuses what the table does not know."""
    try:
        return LIFE[state, moment]
    except KeyError:
        told = f"This plan {_STANDS[state]}, so it cannot be {_DEEDS[moment]}."
        raise IllegalStep(told, _WAYS_ON[state]) from None
