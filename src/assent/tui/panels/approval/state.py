"""What each key does in the approval panel, one table per stage, and the panel's footer.

The footer shows the open question and the keys that work now.
"""

from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

from assent.render.lines import Line, Style
from assent.tui.keys import CONFIRM_KEY


class ApprovalStage(StrEnum):
    """What the user is doing."""

    LOADING = "loading"  # what there is to decide is not on the screen yet
    READING = "reading"
    SKIPPING = "skipping"  # they were told what they have not seen
    CHOOSING = "choosing"  # they were asked for approval
    EXITING = "exiting"  # they were asked whether to give the plan up
    PROPOSING = "proposing"  # they were asked whether the text as it is now is the plan
    FITTING = "fitting"  # they were asked whether the plan is to fit the files
    RECORDING = "recording"  # a decision is on its way


class ApprovalAction(StrEnum):
    """What a key requests."""

    NOTHING = "nothing"
    BUILD = "build"  # approve what is shown, then apply it
    APPROVE = "approve"  # approve what is shown
    START = "start"  # apply what was approved before
    REST = "rest"  # show what was not shown yet, and then ask
    CLOSED = "closed"  # say why nothing can be approved
    EARLY = "early"  # say which key comes before the one that approves
    FEEDBACK = "feedback"
    EXIT = "exit"
    MARK = "mark"
    PART = "part"  # show what remains without the marked operations
    WHOLE = "whole"  # show the whole plan again
    COMMENT = "comment"
    FINDING = "finding"  # go to the critic's next comment
    KEEP = "keep"  # the critic's comment under the cursor
    DISMISS = "dismiss"
    NOTE = "note"
    EDIT = "edit"
    PROPOSE = "propose"
    REBASE = "rebase"
    RISKS = "risks"
    HISTORY = "history"
    PREVIEW = "preview"  # show the text as rendered Markdown
    HELP = "help"  # show all keys
    LAYOUT = "layout"  # show diffs in one column, or side by side
    OPTION = "option"  # show the next of several plans to choose from
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
    """Everything that determines what a key does."""

    stage: ApprovalStage = ApprovalStage.LOADING
    open: bool = False  # it is a draft or a proposal: more can be said to it
    awaited: bool = False  # what is shown has a digest, and can be approved
    approved: bool = False  # an approval of it is on record and unused
    read: bool = False  # its end was on the screen
    marked: bool = False  # operations are marked to be left out
    part: bool = False  # what is shown is the plan without them
    undo: bool = False  # what is shown undoes a run: there is no plan to talk about
    again: bool = False  # of an undo: it is a redo
    suggested: bool = False  # a critic's comments wait to be kept or dismissed
    rewind: bool = False  # of an undo: the session is rewound with it, so it is all or nothing
    others: str = ""  # labels of the options that an approval discards
    high: bool = False  # of high risk, or not rated: not reading it takes a step of its own
    skipped: bool = False  # the question says what was not shown


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
    "question_mark": ApprovalAction.HELP,
    "d": ApprovalAction.LAYOUT,
    "v": ApprovalAction.PREVIEW,
    "escape": ApprovalAction.LEAVE,
}
PLAN_ACTIONS: Final[dict[str, ApprovalAction]] = {
    "2": ApprovalAction.FEEDBACK,
    "c": ApprovalAction.COMMENT,
    "f": ApprovalAction.FINDING,
    "plus": ApprovalAction.KEEP,
    "minus": ApprovalAction.DISMISS,
    "m": ApprovalAction.NOTE,
    "ctrl+g": ApprovalAction.EDIT,
    "t": ApprovalAction.PROPOSE,
    "b": ApprovalAction.REBASE,
}
ASK, SKIP, EXIT, MARK, WITHOUT = "1", "s", "3", "space", "w"
ONE: Final = "i"  # of an undo: only the operation under the cursor
OPTION: Final = "tab"  # and no letter: a letter could answer a question that is just asked
YES, ONLY, NOTED = "y", "o", "m"

_ASKED_BY: Final = {
    ApprovalStage.SKIPPING: (SKIP,),
    ApprovalStage.CHOOSING: (ASK, SKIP),
    ApprovalStage.EXITING: (EXIT,),
    ApprovalStage.PROPOSING: ("t",),
    ApprovalStage.FITTING: ("b",),
}
_ASKED_FIRST: Final = {
    ApprovalAction.PROPOSE: ApprovalStage.PROPOSING,
    ApprovalAction.REBASE: ApprovalStage.FITTING,
}
# The one key that answers, where it leads, and what it asks for; any other key goes back.
_ANSWERED: Final = {
    ApprovalStage.EXITING: (CONFIRM_KEY, ApprovalStage.RECORDING, ApprovalAction.EXIT),
    ApprovalStage.PROPOSING: (CONFIRM_KEY, ApprovalStage.READING, ApprovalAction.PROPOSE),
    ApprovalStage.FITTING: (CONFIRM_KEY, ApprovalStage.READING, ApprovalAction.REBASE),
}

Answer: TypeAlias = tuple[ApprovalState, ApprovalAction]


def handle_approval_key(standing: ApprovalState, key: str) -> Answer:
    """Returns the next stage and the action of a key; an unlisted key does nothing."""
    if key in _ASKED_BY.get(standing.stage, ()):  # held down, the key that asked is no answer
        return standing, ApprovalAction.NOTHING
    match standing.stage:
        case ApprovalStage.READING:
            return _reading(standing, key)
        case ApprovalStage.SKIPPING:
            return _skipped(standing) if key == ASK else _at(standing, ApprovalStage.READING)
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
            return _at(standing, ApprovalStage.SKIPPING) if standing.high else _skipped(standing)
        case "3" if standing.open and not standing.undo:
            return _at(standing, ApprovalStage.EXITING)
        case "tab":
            return standing, ApprovalAction.OPTION if standing.others else ApprovalAction.NOTHING
        case "v" if standing.undo:
            return standing, ApprovalAction.NOTHING
        case "y" if standing.awaited:
            return standing, ApprovalAction.EARLY
        case "o" if standing.awaited and not standing.undo and not standing.approved:
            return standing, ApprovalAction.EARLY
        case "i" | "w" | "h" if standing.rewind:
            return standing, ApprovalAction.NOTHING
        case "i" if standing.undo:
            return standing, _left_out(standing, MARK)
        case "space" if standing.undo:
            return standing, ApprovalAction.NOTHING
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
    """Returns the answer to the approve key: the question, or what prevents it."""
    if not standing.awaited:
        return standing, ApprovalAction.CLOSED
    if _to_be_left_out(standing):  # what is shown is not what would be approved
        return standing, ApprovalAction.PART
    if standing.read:
        return _at(standing, ApprovalStage.CHOOSING)
    return standing, ApprovalAction.REST


def _skipped(standing: ApprovalState) -> Answer:
    """Returns the question about something that was not read, which says so."""
    return _at(msgspec.structs.replace(standing, skipped=True), ApprovalStage.CHOOSING)


def _choosing(standing: ApprovalState, key: str) -> Answer:
    if _to_be_left_out(standing):  # no question is asked about it
        return _at(standing, ApprovalStage.READING)
    if key == NOTED and not standing.undo and not standing.approved:
        return standing, ApprovalAction.NOTE
    if key in (YES, ONLY) and not (standing.read or standing.skipped):
        return standing, ApprovalAction.NOTHING  # its end is not on the screen yet
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
    """Returns the actions of the two keys that exclude operations."""
    if standing.part:
        return ApprovalAction.WHOLE if key == WITHOUT else ApprovalAction.NOTHING
    if key == MARK:
        return ApprovalAction.MARK if standing.awaited else ApprovalAction.NOTHING
    return ApprovalAction.PART if standing.marked else ApprovalAction.NOTHING


def _to_be_left_out(standing: ApprovalState) -> bool:
    """Tells whether some marks are not applied to what is shown: no approval can cover them."""
    return standing.marked and not standing.part


def _can_skip(standing: ApprovalState) -> bool:
    return standing.awaited and not standing.read and not _to_be_left_out(standing)


def _at(
    standing: ApprovalState, stage: ApprovalStage, act: ApprovalAction = ApprovalAction.NOTHING
) -> Answer:
    skipped = standing.skipped and stage is not ApprovalStage.READING
    return msgspec.structs.replace(standing, stage=stage, skipped=skipped), act


# The footer of the approval panel: the open question, and the keys that work now.


READ_ON: Final = "There is more: 1 turns the page, End goes to the end, s skips the rest."
ASKING: Final = (
    ApprovalStage.SKIPPING,
    ApprovalStage.CHOOSING,
    ApprovalStage.EXITING,
    ApprovalStage.PROPOSING,
    ApprovalStage.FITTING,
)
OTHER_KEY: Final = "any other key: back"
FOOTER: Final = 76  # columns of a line of keys on a terminal of 80
LAST: Final = ("? keys", "Esc close")


def early_text(standing: ApprovalState) -> str:
    """Returns which key comes before the one that approves, and why."""
    if _to_be_left_out(standing):
        return "w comes first: it shows the plan without the excluded operations."
    what = f"what you {_verb(standing)}" if standing.undo else "what you approve"
    return f"1 comes first: it shows {what}, then asks for y."


def action_lines(standing: ApprovalState, digest: str, told: str, unseen: str = "") -> list[Line]:
    """Renders the open question; without one `told`, which is the result of the last key."""
    lines = [Line("said", told)] if told else []
    match standing.stage:
        case ApprovalStage.LOADING:
            return lines or [Line("dim", "reading…")]
        case ApprovalStage.RECORDING:
            return [*lines, Line("dim", "recording…")]
        case ApprovalStage.SKIPPING:
            return [Line("risk", f"Not shown yet: {unseen}. Decide without reading it?")]
        case ApprovalStage.CHOOSING:
            skipped = [Line("risk", f"Not shown yet: {unseen}.")] if standing.skipped else []
            return [*skipped, *_question(standing, digest)]
        case ApprovalStage.EXITING | ApprovalStage.PROPOSING | ApprovalStage.FITTING:
            style, asked, _ = _ASKED[standing.stage]
            if standing.others and standing.stage is ApprovalStage.EXITING:
                asked = _EXIT_ALL.format(others=standing.others)
            return [Line(style, asked)]
        case ApprovalStage.READING:
            return lines


def key_line(standing: ApprovalState) -> str:
    """Returns the keys that work now, on one line: those that decide first, then what fits."""
    match standing.stage:
        case ApprovalStage.LOADING:
            return "Esc close"
        case ApprovalStage.RECORDING:
            return ""
        case ApprovalStage.READING:
            return _fitting(_decisions(standing), [*_own_keys(standing), "/ search"])
        case _:
            return f"{_answers(standing)} · {OTHER_KEY}"


def _fitting(always: list[str], more: list[str]) -> str:
    """Returns the keys that always stand there, and as many others as fit on the line."""
    shown = [*always]
    for key in more:
        if len(" · ".join([*shown, key, *LAST])) <= FOOTER:
            shown.append(key)
    return " · ".join([*shown, *LAST])


def _own_keys(standing: ApprovalState) -> list[str]:
    """Returns the other keys, those first that matter most now."""
    skip = ["s skip"] if _can_skip(standing) else []
    if standing.rewind:
        return [*skip, "[ ] operation"]
    if standing.undo:
        whole = "w all" if standing.part else "i only this operation"
        return [*skip, *([] if standing.again else [whole]), "h runs"]
    found = ["f next finding", "+ keep", "- dismiss"] if standing.suggested else []
    marked = ["w whole plan"] if standing.part else []
    options = ["Tab next option"] if standing.others else []
    plan = ["3 exit"] if standing.open else []
    return [*options, *found, *marked, *skip, *plan, "Space exclude", "c comment", "v rendered"]


_EXIT: Final = (
    "Exit planning? The plan and its operations are discarded; its file stays. No other file "
    "changes."
)
_EXIT_ALL: Final = (
    "Exit planning? This option and the others ({others}) are discarded; their files stay. No "
    "other file changes."
)
_ASKED: Final[dict[ApprovalStage, tuple[Style, str, str]]] = {
    ApprovalStage.EXITING: ("risk", _EXIT, "Ctrl+Y discard it"),
    ApprovalStage.PROPOSING: (
        "digest",
        "Propose the plan from its current file? It gets a new digest and needs approval.",
        "Ctrl+Y propose it",
    ),
    ApprovalStage.FITTING: (
        "digest",
        "Rebase the plan onto the current files? It gets a new digest and needs approval.",
        "Ctrl+Y rebase it",
    ),
}


def _question(standing: ApprovalState, digest: str) -> list[Line]:
    whole = Line("digest", digest)
    if standing.undo:
        return [Line("heading", f"{_verb(standing).capitalize()} exactly this?"), whole]
    if standing.approved:
        return [Line("heading", "This plan is approved. Build it?"), whole]
    less = " without excluded operations" if standing.part else ""
    others = f" This discards the other options: {standing.others}." if standing.others else ""
    return [Line("heading", f"Approve exactly this plan{less}?{others}"), whole]


def _answers(standing: ApprovalState) -> str:
    """Returns the keys that answer the open question."""
    if standing.stage is ApprovalStage.SKIPPING:
        return "1 go on without reading it"
    if standing.stage is not ApprovalStage.CHOOSING:
        discards = standing.others and standing.stage is ApprovalStage.EXITING
        return "Ctrl+Y discard them" if discards else _ASKED[standing.stage][2]
    if standing.undo:
        return f"y {_verb(standing)} now"
    if standing.approved:
        return "y build it now"
    return "y approve and build · o approve only · m add a note"


def _decisions(standing: ApprovalState) -> list[str]:
    """Returns the keys that decide, with what comes first."""
    if standing.undo:
        return [f"1 {_verb(standing)}{_condition(standing)}"]
    if not standing.open:
        return ["nothing to decide"]
    first = "1 build" if standing.approved else "1 approve"
    if _to_be_left_out(standing):
        first = "w preview without excluded"
    return [f"{first}{_condition(standing)}", "2 feedback"]


def _verb(standing: ApprovalState) -> str:
    if standing.rewind:
        return "rewind with files"
    return "redo" if standing.again else "undo"


def _condition(standing: ApprovalState) -> str:
    if not standing.awaited:
        return " (not now)"
    return "" if standing.read or _to_be_left_out(standing) else " (rest first)"
