"""Todos as lines: a sign and a word say the state of each (F127)."""

from collections.abc import Iterator, Sequence
from typing import Final

from assent.core.masking import masked
from assent.core.session_event import Status, Todo
from assent.views.lines import Line, Style
from assent.views.visible import visible_line

_STATES: Final[dict[Status, tuple[str, str, Style]]] = {
    "pending": ("○", "", "plain"),
    "in_progress": ("▶", "now: ", "heading"),
    "completed": ("✓", "done: ", "dim"),
    "cancelled": ("✗", "dropped: ", "dim"),
}
NONE: Final = "No todos."
_OVER: Final = ("completed", "cancelled")


def todo_lines(todos: Sequence[Todo]) -> Iterator[Line]:
    """Renders a session's todos in their order."""
    if not todos:
        yield Line("dim", NONE)
    for todo in todos:
        sign, word, style = _STATES[todo.status]
        yield Line(style, f"{sign} {word}{visible_line(masked(todo.content))}")


def todo_count(todos: Sequence[Todo]) -> str:
    """Returns how many todos are over, of how many; nothing if there are none."""
    over = sum(todo.status in _OVER for todo in todos)
    return f"{over}/{len(todos)}" if todos else ""
