"""What each key does in the approval panel: one table per stage."""

from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

from assent.tui.key_timing import CONFIRM_KEY


class ApprovalStage(StrEnum):
    """What the person is doing."""

    LOADING = "loading"  # what there is to decide is not on the screen yet
    READING = "reading"
    SKIPPING = "skipping"  # they were told what they have not seen
    CHOOSING = "choosing"  # they were asked for a yes
    EXITING = "exiting"  # they were asked whether to give the plan up
    PROPOSING = "proposing"  # they were asked whether the text as it is now is the plan
    FITTING = "fitting"  # they were asked whether the plan is to fit the files
    RECORDING = "recording"  # a decision is on its way


class ApprovalAction(StrEnum):
    """What a key asks for."""

    NOTHING = "nothing"
    BUILD = "build"  # approve what is shown, then apply it
    APPROVE = "approve"  # approve what is shown
    START = "start"  # apply what was approved before
    UNREAD = "unread"  # say why there is no question yet
    CLOSED = "closed"  # say why nothing can be approved
    FEEDBACK = "feedback"
    EXIT = "exit"
    MARK = "mark"
    PART = "part"  # show what is left without the marked operations
    WHOLE = "whole"  # show the whole plan again
    COMMENT = "comment"
    NOTE = "note"
    EDIT = "edit"
    PROPOSE = "propose"
    REBASE = "rebase"
    RISKS = "risks"
    HISTORY = "history"
    NEXT = "next"
    PREVIOUS = "previous"
    UP = "up"
    DOWN = "down"
    PAGE_UP = "page up"
    PAGE_DOWN = "page down"
    TOP = "top"
    END = "end"
    FIND = "find"
    LEAVE = "leave"


class ApprovalState(msgspec.Struct, frozen=True):
    """Everything that decides what a key does."""

    stage: ApprovalStage = ApprovalStage.LOADING
    open: bool = False  # it is a draft or a proposal: more can be said to it
    awaited: bool = False  # what is shown has a digest, and a yes to it is possible
    approved: bool = False  # a yes to it is on record and unused
    read: bool = False  # its end was on the screen
    marked: bool = False  # operations are marked to be left out
    part: bool = False  # what is shown is the plan without them
    undo: bool = False  # what is shown takes a run back: there is no plan to talk about


APPROVING: Final = frozenset({ApprovalAction.BUILD, ApprovalAction.APPROVE, ApprovalAction.START})
DECIDING: Final = APPROVING | {
    ApprovalAction.EXIT,
    ApprovalAction.PROPOSE,
    ApprovalAction.REBASE,
}  # what only an answer asks for

MOVING: Final[dict[str, ApprovalAction]] = {
    "up": ApprovalAction.UP,
    "k": ApprovalAction.UP,
    "down": ApprovalAction.DOWN,
    "j": ApprovalAction.DOWN,
    "pageup": ApprovalAction.PAGE_UP,
    "pagedown": ApprovalAction.PAGE_DOWN,
    "home": ApprovalAction.TOP,
    "end": ApprovalAction.END,
    "left_square_bracket": ApprovalAction.PREVIOUS,
    "right_square_bracket": ApprovalAction.NEXT,
    "slash": ApprovalAction.FIND,
    "r": ApprovalAction.RISKS,
    "h": ApprovalAction.HISTORY,
    "escape": ApprovalAction.LEAVE,
}
PLAN_ACTIONS: Final[dict[str, ApprovalAction]] = {
    "2": ApprovalAction.FEEDBACK,
    "c": ApprovalAction.COMMENT,
    "n": ApprovalAction.NOTE,
    "ctrl+g": ApprovalAction.EDIT,
    "p": ApprovalAction.PROPOSE,
    "b": ApprovalAction.REBASE,
}
ASK, SKIP, EXIT, MARK, WITHOUT = "1", "s", "3", "space", "w"
YES, ONLY, NOTED, DISCARD = "y", "o", "n", "ctrl+x"

_ASKED_BY: Final = {
    ApprovalStage.SKIPPING: SKIP,
    ApprovalStage.CHOOSING: ASK,
    ApprovalStage.EXITING: EXIT,
    ApprovalStage.PROPOSING: "p",
    ApprovalStage.FITTING: "b",
}
_ASKED_FIRST: Final = {
    ApprovalAction.PROPOSE: ApprovalStage.PROPOSING,
    ApprovalAction.REBASE: ApprovalStage.FITTING,
}
# The one key that answers, where it leads, and what it asks for; any other key goes back.
_ANSWERED: Final = {
    ApprovalStage.EXITING: (DISCARD, ApprovalStage.RECORDING, ApprovalAction.EXIT),
    ApprovalStage.PROPOSING: (CONFIRM_KEY, ApprovalStage.READING, ApprovalAction.PROPOSE),
    ApprovalStage.FITTING: (CONFIRM_KEY, ApprovalStage.READING, ApprovalAction.REBASE),
}

Answer: TypeAlias = tuple[ApprovalState, ApprovalAction]


def handle_approval_key(standing: ApprovalState, key: str) -> Answer:
    """Returns where a key leads, and what it asks for. What no table names does nothing."""
    if key == _ASKED_BY.get(standing.stage):  # held down, the key that asked is no answer
        return standing, ApprovalAction.NOTHING
    match standing.stage:
        case ApprovalStage.READING:
            return _reading(standing, key)
        case ApprovalStage.SKIPPING:
            return _at(standing, ApprovalStage.CHOOSING if key == ASK else ApprovalStage.READING)
        case ApprovalStage.CHOOSING:
            return _choosing(standing, key)
        case ApprovalStage.EXITING | ApprovalStage.PROPOSING | ApprovalStage.FITTING:
            answer, to, act = _ANSWERED[standing.stage]
            return _at(standing, to, act) if key == answer else _at(standing, ApprovalStage.READING)
        case _:  # LOADING, RECORDING: nothing is asked
            leaves = key == "escape" and standing.stage is ApprovalStage.LOADING
            return standing, ApprovalAction.LEAVE if leaves else ApprovalAction.NOTHING


def _reading(standing: ApprovalState, key: str) -> Answer:
    match key:
        case "1":
            return _asked(standing)
        case "s" if _can_skip(standing):
            return _at(standing, ApprovalStage.SKIPPING)
        case "3" if standing.open and not standing.undo:
            return _at(standing, ApprovalStage.EXITING)
        case "space" | "w":
            return standing, _left_out(standing, key)
        case _ if key in PLAN_ACTIONS and not standing.undo:
            return _of_plan(standing, PLAN_ACTIONS[key])
        case _:
            return standing, MOVING.get(key, ApprovalAction.NOTHING)


def _of_plan(standing: ApprovalState, act: ApprovalAction) -> Answer:
    if not standing.open:
        return standing, ApprovalAction.CLOSED
    if act in _ASKED_FIRST:
        return _at(standing, _ASKED_FIRST[act])
    return standing, act


def _asked(standing: ApprovalState) -> Answer:
    """Answers the wish to approve: with the question, or with what is in the way of it."""
    if not standing.awaited:
        return standing, ApprovalAction.CLOSED
    if standing.read or _to_be_left_out(standing):
        return _at(standing, ApprovalStage.CHOOSING)
    return standing, ApprovalAction.UNREAD


def _choosing(standing: ApprovalState, key: str) -> Answer:
    if _to_be_left_out(standing):
        wanted = key == WITHOUT
        return _at(
            standing,
            ApprovalStage.READING,
            ApprovalAction.PART if wanted else ApprovalAction.NOTHING,
        )
    if key == NOTED and not standing.undo and not standing.approved:
        return standing, ApprovalAction.NOTE
    if key == YES:
        return _at(
            standing,
            ApprovalStage.RECORDING,
            ApprovalAction.START if standing.approved else ApprovalAction.BUILD,
        )
    if key == ONLY and not standing.undo and not standing.approved:
        return _at(standing, ApprovalStage.RECORDING, ApprovalAction.APPROVE)
    return _at(standing, ApprovalStage.READING)


def _left_out(standing: ApprovalState, key: str) -> ApprovalAction:
    """Returns what the two keys about leaving operations out ask for."""
    if standing.part:
        return ApprovalAction.WHOLE if key == WITHOUT else ApprovalAction.NOTHING
    if key == MARK:
        return ApprovalAction.MARK if standing.awaited else ApprovalAction.NOTHING
    return ApprovalAction.PART if standing.marked else ApprovalAction.NOTHING


def _to_be_left_out(standing: ApprovalState) -> bool:
    """Tells whether marks stand that what is shown does not follow yet: no yes can mean them."""
    return standing.marked and not standing.part


def _can_skip(standing: ApprovalState) -> bool:
    return standing.awaited and not standing.read and not _to_be_left_out(standing)


def _at(
    standing: ApprovalState, stage: ApprovalStage, act: ApprovalAction = ApprovalAction.NOTHING
) -> Answer:
    return msgspec.structs.replace(standing, stage=stage), act
