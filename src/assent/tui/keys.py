"""The table of keys: what each does and where, for the bindings and for the help alike."""

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

import msgspec
from textual.binding import Binding

Where: TypeAlias = Literal["anywhere", "prompt", "conversation"]


class Key(msgspec.Struct, frozen=True):
    """One key. Without an action its widget binds it itself, and the help only tells of it."""

    keys: str  # as Textual names them; several by commas
    shown: str
    what: str
    where: Where = "anywhere"
    action: str = ""
    priority: bool = False  # before whatever has the focus


KEYS: Final = (
    Key("enter", "Enter", "say what is typed", "prompt"),
    Key("ctrl+j", "Ctrl+J", "begin another line; so does Alt+Enter", "prompt"),
    Key("up,down", "Up, Down", "what was said before and after", "prompt"),
    Key("ctrl+r", "Ctrl+R", "search what was said before", "prompt"),
    Key("at", "@", "complete a file's name", "prompt"),
    Key("slash", "/", "a command; Tab completes it", "prompt"),
    Key("exclamation_mark", "!", "run a command line of your own", "prompt"),
    Key("question_mark", "?", "this help, where nothing is typed", "prompt"),
    Key("shift+tab", "Shift+Tab", "next mode: plan, ask, auto-edit", action="cycle_mode",
        priority=True),
    Key("escape", "Esc", "interrupt what is at work; twice: go back to an earlier message",
        action="step_back"),
    Key("ctrl+c", "Ctrl+C", "take an answer back, or clear what is typed; twice: leave",
        action="clear_or_leave", priority=True),
    Key("ctrl+d", "Ctrl+D", "leave, where nothing is typed", action="leave_if_empty"),
    Key("ctrl+b", "Ctrl+B", "show or hide the side area", action="toggle_side", priority=True),
    Key("tab", "Tab", "to the side area and back; there 1 to 4 choose a part, Enter opens"),
    Key("ctrl+t", "Ctrl+T", "review the plan", action="review", priority=True),
    Key("ctrl+g", "Ctrl+G", "open the plan's text in your editor", action="edit_plan",
        priority=True),
    Key("f2", "F2", "open the question that waits", action="question", priority=True),
    Key("f9", "F9", "the demo, which needs no model", action="demo"),
    Key("ctrl+p", "Ctrl+P", "everything that can be done, by name", action="palette"),
    Key("ctrl+o", "Ctrl+O", "unfold or fold results and reasoning; a click does it for one",
        "conversation", "fold"),
    Key("pageup", "PgUp", "scroll back", "conversation", "page_back", priority=True),
    Key("pagedown", "PgDn", "scroll on", "conversation", "page_on", priority=True),
    Key("ctrl+home", "Ctrl+Home", "to the beginning", "conversation", "to_start", priority=True),
    Key("ctrl+end", "Ctrl+End", "to the end, and stay there", "conversation", "to_end",
        priority=True),
)  # fmt: skip
PLACES: Final[tuple[Where, ...]] = ("anywhere", "prompt", "conversation")


def bindings() -> list[Binding]:
    """Returns the bindings of the screen."""
    return [
        Binding(row.keys, f"do('{row.action}')", row.what, show=False, priority=row.priority)
        for row in KEYS
        if row.action
    ]


def rows_of(where: Where) -> Iterator[tuple[str, str]]:
    """Returns the keys of one place with what they do, for the help."""
    return ((row.shown, row.what) for row in KEYS if row.where == where)
