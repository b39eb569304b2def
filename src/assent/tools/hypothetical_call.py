"""Hypothetical calls: a tool call made only from a resource, to be judged and never run."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from assent.core.errors import UsageError
from assent.core.llm import ToolCall
from assent.tools.aliases import ALIASES, UNSUPPORTED, normalized_name

Args: TypeAlias = dict[str, Any]
ARROW: Final = " -> "
# Words of rules that are neither a tool's name nor an alias of one.
PERMISSION_TOOLS: Final = {"plan": "write_plan"}


def tool_named(word: str) -> str:
    """Returns the tool for a word: a permission, a name or an alias; else the word itself."""
    return PERMISSION_TOOLS.get(word) or ALIASES.get(normalized_name(word), word)


def unsupported_reason(word: str) -> str:
    """Returns why a tool of other programs is not supported here; mostly nothing."""
    return UNSUPPORTED.get(normalized_name(word), "")


def hypothetical_call(tool: str, resource: str) -> ToolCall:
    """Returns a call of a built-in tool on a resource."""
    return ToolCall("explained", tool, ARGUMENT_BUILDERS[tool](resource))


def _one(name: str, **rest: Any) -> Callable[[str], Args]:
    return lambda resource: {name: resource, **rest}


def _patch(path: str) -> Args:
    lines = ("*** Begin Patch", f"*** Update File: {path}", "@@", "-a", "+b", "*** End Patch")
    return {"patch": "\n".join(lines)}


def _move(paths: str) -> Args:
    path, arrow, to = paths.partition(ARROW)
    if not arrow:
        raise UsageError(f"Give both paths: `PATH{ARROW}PATH`.")
    return {"path": path, "to": to}


def _git(line: str) -> Args:
    command, _, path = line.partition(" ")
    return {"command": command, "path": path}


ARGUMENT_BUILDERS: Final[dict[str, Callable[[str], Args]]] = {
    "read": _one("path"),
    "list": _one("path"),
    "glob": _one("pattern"),
    "grep": _one("pattern"),
    "search": _one("name"),
    "git": _git,
    "shell": _one("command"),
    "fetch": _one("url"),
    "write": _one("path", content=""),
    "edit": _one("path", old="a", new="b"),
    "patch": _patch,
    "delete": _one("path"),
    "move": _move,
    "notebook_edit": _one("path", cell="0", source=""),
    "write_plan": lambda resource: {"text": ""},
    "todo": lambda resource: {"todos": []},
    "question": lambda resource: {"questions": []},
    "present_plan": lambda resource: {},
    "options": lambda resource: {},
    "enter_plan": lambda resource: {},
    "remember": _one("fact"),
    "task": _one("agent", prompt="x"),
    "more_tools": lambda resource: {"names": [resource]},
}
