"""Infers what a call is about from its arguments, where it was refused before it was read.

Nothing is judged by this; people see it in execution plans and in the record of decisions.
"""

from assent.core.llm import ToolCall
from assent.core.tool import Action, ResourceAccess
from assent.tools.tool import Tool

SUBJECTS = ("path", "to", "command", "url")


def inferred_access(call: ToolCall, tool: Tool | None) -> tuple[ResourceAccess, ...]:
    """Returns the requests that a call seems to make; an unknown tool could do anything."""
    args = call.args or {}
    named = [value for name in SUBJECTS if isinstance(value := args.get(name), str) and value]
    if tool is None:
        return (ResourceAccess(Action.TOOL, " ".join([call.tool, *named])),)
    return tuple(ResourceAccess(tool.action, value) for value in named or (tool.name,))
