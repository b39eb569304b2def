"""The footer of the approval panel: the open question, and the keys that work now."""

from typing import Final

from assent.render.lines import Line, Style
from assent.tui.panels.approval.state import ApprovalStage, ApprovalState

SHORT: Final = 12
READ_TO_END: Final = "Read to the end first (End, PgDn), or press s to skip the rest."
ASKING: Final = (
    ApprovalStage.SKIPPING,
    ApprovalStage.CHOOSING,
    ApprovalStage.EXITING,
    ApprovalStage.PROPOSING,
    ApprovalStage.FITTING,
)
OTHER_KEY: Final = "any other key: back"
MOVES: Final = "↑↓ PgUp PgDn Home End · [ ] operation · / search · r risks · h history · Esc close"


def action_lines(standing: ApprovalState, digest: str, told: str, unseen: str = "") -> list[Line]:
    """Renders what can be decided now; `told` is what came of the last key."""
    lines = [Line("said", told)] if told else []
    match standing.stage:
        case ApprovalStage.LOADING:
            return lines or [Line("dim", "reading…")]
        case ApprovalStage.RECORDING:
            return [*lines, Line("dim", "recording…")]
        case ApprovalStage.SKIPPING:
            return [Line("risk", f"Not shown yet: {unseen}."), Line("plain", _SKIP)]
        case ApprovalStage.CHOOSING:
            return _question(standing, digest)
        case ApprovalStage.EXITING | ApprovalStage.PROPOSING | ApprovalStage.FITTING:
            style, asked, answer = _ASKED[standing.stage]
            return [Line(style, asked), Line("plain", f"{answer} · {OTHER_KEY}")]
        case ApprovalStage.READING:
            return [*lines, *_actions(standing)]


def key_line(standing: ApprovalState) -> str:
    """Returns the keys that move and that work on the plan; none while a question is open."""
    if standing.stage in ASKING:
        return "Only these keys answer."
    if standing.undo:
        return f"space only this operation · w all of it · {MOVES.replace('history', 'runs')}"
    return f"space leave out · w what is left · c comment · n note · Ctrl+G edit · {MOVES}"


_SKIP: Final = f"Press 1 to decide without having seen it · {OTHER_KEY}"
_EXIT: Final = (
    "Exit planning? The plan is discarded with all its operations; its file stays. "
    "Nothing is written."
)
_ASKED: Final[dict[ApprovalStage, tuple[Style, str, str]]] = {
    ApprovalStage.EXITING: ("risk", _EXIT, "Ctrl+X give it up"),
    ApprovalStage.PROPOSING: (
        "digest",
        "Propose the plan as its file is now? It gets a digest, and nobody has approved that.",
        "Ctrl+Y propose it",
    ),
    ApprovalStage.FITTING: (
        "digest",
        "Make the plan fit the files as they are now? It gets a new digest, and needs a new yes.",
        "Ctrl+Y make it fit",
    ),
}


def _question(standing: ApprovalState, digest: str) -> list[Line]:
    if standing.marked and not standing.part:
        return [
            Line("risk", "Operations are marked to be left out, so this is not what you approve."),
            Line("plain", f"w show the plan that is left · {OTHER_KEY}"),
        ]
    name = f"{digest[:SHORT]}…"
    if standing.undo:
        asked = f"Take it back, as {name} says? y yes, do it now · {OTHER_KEY}"
        return [Line("digest", asked)]
    if standing.approved:
        return [Line("digest", f"{name} is approved. y build it now · {OTHER_KEY}")]
    less = " without what is marked" if standing.part else ""
    return [
        Line("digest", f"Approve {name}{less}?"),
        Line("plain", f"y approve and build · o approve only · n with a note · {OTHER_KEY}"),
    ]


def _actions(standing: ApprovalState) -> list[Line]:
    if standing.undo:
        return [Line("plain", f"1 take it back {_condition(standing)}".rstrip())]
    if not standing.open:
        return [Line("dim", "There is nothing to decide about this plan.")]
    first = "1 build" if standing.approved else "1 approve"
    if standing.marked and not standing.part:
        first = "1 approve without what is marked"
    actions = f"{first} {_condition(standing)}".rstrip()
    return [Line("plain", f"{actions} · 2 feedback · 3 exit planning")]


def _condition(standing: ApprovalState) -> str:
    if not standing.awaited:
        return "(not now)"
    left_out = standing.marked and not standing.part
    return "" if standing.read or left_out else "(at the end, or s to skip)"
