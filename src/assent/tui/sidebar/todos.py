"""Renders todos as lines: a sign and a word say the state of each (F127)."""

from collections.abc import Iterator, Sequence
from typing import Final

from assent.core.session.event import Todo, TodoStatus
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.lines import Line, Style

_STATES: Final[dict[TodoStatus, tuple[str, str, Style]]] = {
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
        yield Line(style, f"{sign} {word}{visible_line(redact(todo.content))}")


def todo_count(todos: Sequence[Todo]) -> str:
    """Returns how many todos are over, of how many; nothing if there are none."""
    over = sum(todo.status in _OVER for todo in todos)
    return f"{over}/{len(todos)}" if todos else ""
