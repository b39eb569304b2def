"""What a key does while a plan is read and decided on: a table for each stage, and nothing else."""

from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

from assent.tui.quiet import AGREE


class Stage(StrEnum):
    """What the person is doing."""

    LOADING = "loading"  # what there is to decide is not on the screen yet
    READING = "reading"
    SKIPPING = "skipping"  # they were told what they have not seen
    CHOOSING = "choosing"  # they were asked for a yes
    EXITING = "exiting"  # they were asked whether to give the plan up
    PROPOSING = "proposing"  # they were asked whether the text as it is now is the plan
    FITTING = "fitting"  # they were asked whether the plan is to fit the files
    RECORDING = "recording"  # a decision is on its way


class Act(StrEnum):
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


class Standing(msgspec.Struct, frozen=True):
    """Everything that decides what a key does."""

    stage: Stage = Stage.LOADING
    open: bool = False  # it is a draft or a proposal: more can be said to it
    awaited: bool = False  # what is shown has a digest, and a yes to it is possible
    approved: bool = False  # a yes to it is on record and unused
    read: bool = False  # its end was on the screen
    marked: bool = False  # operations are marked to be left out
    part: bool = False  # what is shown is the plan without them
    undo: bool = False  # what is shown takes a run back: there is no plan to talk about


APPROVING: Final = frozenset({Act.BUILD, Act.APPROVE, Act.START})
DECIDING: Final = APPROVING | {Act.EXIT, Act.PROPOSE, Act.REBASE}  # what only an answer asks for

MOVING: Final[dict[str, Act]] = {
    "up": Act.UP,
    "k": Act.UP,
    "down": Act.DOWN,
    "j": Act.DOWN,
    "pageup": Act.PAGE_UP,
    "pagedown": Act.PAGE_DOWN,
    "home": Act.TOP,
    "end": Act.END,
    "left_square_bracket": Act.PREVIOUS,
    "right_square_bracket": Act.NEXT,
    "slash": Act.FIND,
    "r": Act.RISKS,
    "h": Act.HISTORY,
    "escape": Act.LEAVE,
}
OF_PLAN: Final[dict[str, Act]] = {
    "2": Act.FEEDBACK,
    "c": Act.COMMENT,
    "n": Act.NOTE,
    "ctrl+g": Act.EDIT,
    "p": Act.PROPOSE,
    "b": Act.REBASE,
}
ASK, SKIP, EXIT, MARK, WITHOUT = "1", "s", "3", "space", "w"
YES, ONLY, NOTED, GIVE_UP = "y", "o", "n", "ctrl+x"

_ASKED_BY: Final = {
    Stage.SKIPPING: SKIP,
    Stage.CHOOSING: ASK,
    Stage.EXITING: EXIT,
    Stage.PROPOSING: "p",
    Stage.FITTING: "b",
}
_ASKED_FIRST: Final = {Act.PROPOSE: Stage.PROPOSING, Act.REBASE: Stage.FITTING}
# The one key that answers, where it leads, and what it asks for; any other key goes back.
_ANSWERED: Final = {
    Stage.EXITING: (GIVE_UP, Stage.RECORDING, Act.EXIT),
    Stage.PROPOSING: (AGREE, Stage.READING, Act.PROPOSE),
    Stage.FITTING: (AGREE, Stage.READING, Act.REBASE),
}

Answer: TypeAlias = tuple[Standing, Act]


def press(standing: Standing, key: str) -> Answer:
    """Returns where a key leads, and what it asks for. What no table names does nothing."""
    if key == _ASKED_BY.get(standing.stage):  # held down, the key that asked is no answer
        return standing, Act.NOTHING
    match standing.stage:
        case Stage.READING:
            return _reading(standing, key)
        case Stage.SKIPPING:
            return _at(standing, Stage.CHOOSING if key == ASK else Stage.READING)
        case Stage.CHOOSING:
            return _choosing(standing, key)
        case Stage.EXITING | Stage.PROPOSING | Stage.FITTING:
            answer, to, act = _ANSWERED[standing.stage]
            return _at(standing, to, act) if key == answer else _at(standing, Stage.READING)
        case _:  # LOADING, RECORDING: nothing is asked
            leaves = key == "escape" and standing.stage is Stage.LOADING
            return standing, Act.LEAVE if leaves else Act.NOTHING


def _reading(standing: Standing, key: str) -> Answer:
    match key:
        case "1":
            return _asked(standing)
        case "s" if _can_skip(standing):
            return _at(standing, Stage.SKIPPING)
        case "3" if standing.open and not standing.undo:
            return _at(standing, Stage.EXITING)
        case "space" | "w":
            return standing, _left_out(standing, key)
        case _ if key in OF_PLAN and not standing.undo:
            return _of_plan(standing, OF_PLAN[key])
        case _:
            return standing, MOVING.get(key, Act.NOTHING)


def _of_plan(standing: Standing, act: Act) -> Answer:
    if not standing.open:
        return standing, Act.CLOSED
    if act in _ASKED_FIRST:
        return _at(standing, _ASKED_FIRST[act])
    return standing, act


def _asked(standing: Standing) -> Answer:
    """Answers the wish to approve: with the question, or with what is in the way of it."""
    if not standing.awaited:
        return standing, Act.CLOSED
    if standing.read or _to_be_left_out(standing):
        return _at(standing, Stage.CHOOSING)
    return standing, Act.UNREAD


def _choosing(standing: Standing, key: str) -> Answer:
    if _to_be_left_out(standing):
        wanted = key == WITHOUT
        return _at(standing, Stage.READING, Act.PART if wanted else Act.NOTHING)
    if key == NOTED and not standing.undo and not standing.approved:
        return standing, Act.NOTE
    if key == YES:
        return _at(standing, Stage.RECORDING, Act.START if standing.approved else Act.BUILD)
    if key == ONLY and not standing.undo and not standing.approved:
        return _at(standing, Stage.RECORDING, Act.APPROVE)
    return _at(standing, Stage.READING)


def _left_out(standing: Standing, key: str) -> Act:
    """Returns what the two keys about leaving operations out ask for."""
    if standing.part:
        return Act.WHOLE if key == WITHOUT else Act.NOTHING
    if key == MARK:
        return Act.MARK if standing.awaited else Act.NOTHING
    return Act.PART if standing.marked else Act.NOTHING


def _to_be_left_out(standing: Standing) -> bool:
    """Tells whether marks stand that what is shown does not follow yet: no yes can mean them."""
    return standing.marked and not standing.part


def _can_skip(standing: Standing) -> bool:
    return standing.awaited and not standing.read and not _to_be_left_out(standing)


def _at(standing: Standing, stage: Stage, act: Act = Act.NOTHING) -> Answer:
    return msgspec.structs.replace(standing, stage=stage), act
