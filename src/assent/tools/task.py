"""task: has a sub-agent work on something in a session of its own (F100)."""

from typing import Annotated

import msgspec

from assent.core.errors import UsageError
from assent.core.tool import Action, ResourceAccess, TaskEffect, ToolOutcome
from assent.tools.tool import Tool, ToolContext

MAX_PROMPT_CHARS, MAX_TITLE_CHARS = 100_000, 80  # characters


class TaskArgs(msgspec.Struct, frozen=True):
    prompt: str
    agent: Annotated[str, msgspec.Meta(description="kind of sub-agent")] = "explore"
    description: Annotated[str, msgspec.Meta(description="a title")] = ""
    session: Annotated[str, msgspec.Meta(description="continue this one")] = ""
    background: bool = False


def touches(args: TaskArgs, around: ToolContext) -> tuple[ResourceAccess, ...]:
    name = args.agent.strip()
    if around.kinds is not None and name not in around.kinds:
        listed = ", ".join(around.kinds) or "none"
        raise UsageError(
            f"There is no kind of sub-agent {name!a}. There are: {listed}. Nobody was started."
        )
    return (ResourceAccess(Action.TASK, name),)


def run(args: TaskArgs, around: ToolContext) -> ToolOutcome:
    """Returns the task, if somebody could work on it."""
    if not args.prompt.strip():
        raise UsageError("prompt: it is blank. Nobody was started.")
    if len(args.prompt) > MAX_PROMPT_CHARS:
        raise UsageError(f"prompt: {MAX_PROMPT_CHARS} characters at most. Nobody was started.")
    title = title_of(args)
    task = TaskEffect(args.prompt, title, args.agent.strip(), args.session.strip(), args.background)
    return ToolOutcome("A sub-agent works on it.", f"{task.agent}: {title}", effect=task)


def title_of(args: TaskArgs) -> str:
    return _title(args.description) or _title(args.prompt)


def _title(text: str) -> str:
    """Returns the first line of a text, cut where it is long."""
    words = " ".join(text.strip().partition("\n")[0].split())
    return words if len(words) <= MAX_TITLE_CHARS else f"{words[: MAX_TITLE_CHARS - 1]}…"


TASK = Tool("task", TaskArgs, touches, run, Action.TASK, title=title_of)
