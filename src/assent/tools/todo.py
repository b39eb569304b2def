"""todo: replaces the todo list (F127)."""

import msgspec

from assent.core.errors import UsageError
from assent.core.session.event import Todo, TodoStatus
from assent.core.tool import Action, ResourceAccess, TodosEffect, ToolOutcome
from assent.tools.tool import Tool, ToolContext

MAX_TODOS = 100
MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}


class TodoItemArgs(msgspec.Struct, frozen=True):
    content: str
    status: TodoStatus = "pending"


class TodoArgs(msgspec.Struct, frozen=True):
    todos: list[TodoItemArgs]


def touches(args: TodoArgs, around: ToolContext) -> tuple[ResourceAccess, ...]:
    return (ResourceAccess(Action.PLAN, "todos", "todowrite"),)


def run(args: TodoArgs, around: ToolContext) -> ToolOutcome:
    """Returns the list, if it is consistent."""
    _check(args.todos)
    todos = tuple(Todo(" ".join(item.content.split()), item.status) for item in args.todos)
    lines = [f"{MARKS[todo.status]} {todo.content}" for todo in todos]
    done = sum(todo.status == "completed" for todo in todos)
    text = "\n".join(lines) or "The list is empty."
    return ToolOutcome(text, f"{done} of {len(todos)} done", effect=TodosEffect(todos))


def _check(items: list[TodoItemArgs]) -> None:
    if len(items) > MAX_TODOS:
        raise UsageError(f"todos: {len(items)} items given; the limit is {MAX_TODOS}.")
    blank = [at for at, item in enumerate(items) if not item.content.strip()]
    if blank:
        raise UsageError(f"todos[{blank[0]}].content: must not be blank. The list was not changed.")
    going = [at for at, item in enumerate(items) if item.status == "in_progress"]
    if len(going) > 1:
        places = ", ".join(f"todos[{at}]" for at in going)
        raise UsageError(f"{places}: only one may be in_progress. The list was not changed.")


TODO = Tool("todo", TodoArgs, touches, run, Action.PLAN)
