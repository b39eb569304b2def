"""task: lets a sub-agent work on something in its own session (F100)."""

from typing import Annotated

import msgspec

from assent.core.errors import UsageError
from assent.core.tool import Action, ResourceAccess, TaskEffect, ToolOutcome
from assent.tools.tool import Tool, ToolContext

MAX_PROMPT_CHARS, MAX_TITLE_CHARS = 100_000, 80  # characters


class TaskArgs(msgspec.Struct, frozen=True):
    prompt: str
    agent: Annotated[str, msgspec.Meta(description="sub-agent type")] = "explore"
    description: Annotated[str, msgspec.Meta(description="short title")] = ""
    session: Annotated[str, msgspec.Meta(description="session to continue")] = ""
    background: bool = False


def touches(args: TaskArgs, around: ToolContext) -> tuple[ResourceAccess, ...]:
    name = args.agent.strip()
    if around.kinds is not None and name not in around.kinds:
        listed = ", ".join(around.kinds) or "none"
        raise UsageError(
            f"Sub-agent type {name!a} not found. Available: {listed}. No sub-agent was started."
        )
    return (ResourceAccess(Action.TASK, name),)


def run(args: TaskArgs, around: ToolContext) -> ToolOutcome:
    """Returns the task, if an agent is available for it."""
    if not args.prompt.strip():
        raise UsageError("prompt: must not be blank. No sub-agent was started.")
    if len(args.prompt) > MAX_PROMPT_CHARS:
        raise UsageError(
            f"prompt: {MAX_PROMPT_CHARS} characters at most. No sub-agent was started."
        )
    title = title_of(args)
    task = TaskEffect(args.prompt, title, args.agent.strip(), args.session.strip(), args.background)
    return ToolOutcome("A sub-agent is working on it.", f"{task.agent}: {title}", effect=task)


def title_of(args: TaskArgs) -> str:
    return _title(args.description) or _title(args.prompt)


def _title(text: str) -> str:
    """Returns the first line of a text, shortened."""
    words = " ".join(text.strip().partition("\n")[0].split())
    return words if len(words) <= MAX_TITLE_CHARS else f"{words[: MAX_TITLE_CHARS - 1]}…"


TASK = Tool("task", TaskArgs, touches, run, Action.TASK, title=title_of)
