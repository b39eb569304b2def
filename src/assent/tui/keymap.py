"""The table of keys: what each does and where, for the bindings and for the help."""

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

import msgspec
from textual.binding import Binding

Where: TypeAlias = Literal["anywhere", "prompt", "conversation"]


class KeyHelp(msgspec.Struct, frozen=True):
    """One key. Without an action its widget binds it itself, and only the help lists it."""

    keys: str  # as Textual names them; several by commas
    shown: str
    what: str
    where: Where = "anywhere"
    action: str = ""
    priority: bool = False  # before whatever has the focus


KEYS: Final = (
    KeyHelp("enter", "Enter", "say what is typed", "prompt"),
    KeyHelp("ctrl+j", "Ctrl+J", "begin another line; so does Alt+Enter", "prompt"),
    KeyHelp("up,down", "Up, Down", "what was said before and after", "prompt"),
    KeyHelp("ctrl+r", "Ctrl+R", "search what was said before", "prompt"),
    KeyHelp("at", "@", "complete a file's name", "prompt"),
    KeyHelp("slash", "/", "a command; Tab completes it", "prompt"),
    KeyHelp("exclamation_mark", "!", "run a command line of your own", "prompt"),
    KeyHelp("question_mark", "?", "this help, where nothing is typed", "prompt"),
    KeyHelp("shift+tab", "Shift+Tab", "next mode: plan, ask, auto-edit", action="cycle_mode",
        priority=True),
    KeyHelp("escape", "Esc", "interrupt what is at work; twice: go back to an earlier message",
        action="step_back"),
    KeyHelp("ctrl+c", "Ctrl+C", "take an answer back, or clear what is typed; twice: leave",
        action="clear_or_leave", priority=True),
    KeyHelp("ctrl+d", "Ctrl+D", "leave, where nothing is typed", action="leave_if_empty"),
    KeyHelp("ctrl+b", "Ctrl+B", "show or hide the side area", action="toggle_side", priority=True),
    KeyHelp("tab", "Tab", "to the side area and back; there 1 to 4 choose a part, Enter opens"),
    KeyHelp("ctrl+t", "Ctrl+T", "review the plan", action="review", priority=True),
    KeyHelp("ctrl+g", "Ctrl+G", "open the plan's text in your editor", action="edit_plan",
        priority=True),
    KeyHelp("f2", "F2", "open the question that waits", action="question", priority=True),
    KeyHelp("f9", "F9", "the demo, which needs no model", action="demo"),
    KeyHelp("ctrl+p", "Ctrl+P", "everything that can be done, by name", action="palette"),
    KeyHelp("ctrl+o", "Ctrl+O", "unfold or fold results and reasoning; a click does it for one",
        "conversation", "fold"),
    KeyHelp("pageup", "PgUp", "scroll back", "conversation", "page_back", priority=True),
    KeyHelp("pagedown", "PgDn", "scroll on", "conversation", "page_on", priority=True),
    KeyHelp("ctrl+home", "Ctrl+Home", "to the beginning", "conversation", "to_start",
        priority=True),
    KeyHelp("ctrl+end", "Ctrl+End", "to the end, and stay there", "conversation", "to_end",
        priority=True),
)  # fmt: skip
KEY_CONTEXTS: Final[tuple[Where, ...]] = ("anywhere", "prompt", "conversation")


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
