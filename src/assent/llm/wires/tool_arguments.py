"""Parses the arguments of a tool call, and repairs what is unambiguous."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from assent.core.json_depth import is_too_deep
from assent.core.llm import ToolCall

_FENCE = "```"
# A string that has no end reaches to the end: so no part of it is looked at twice.
_STRING_OR_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|,(?=\s*+[}\]])', re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")
_DEPTH = 2  # a string in which there is JSON; deeper is no accident any more


def tool_call(id: str, tool: str, raw: str) -> ToolCall:
    """Makes a call; arguments that mean nothing are None, and stay there to be read."""
    args = parse_arguments(raw)
    return ToolCall(id, tool, args, raw if args is None else "")


def parse_arguments(raw: str) -> dict[str, Any] | None:
    """Returns the arguments, or None where they can only be guessed."""
    for mend in _MENDINGS:
        found = _read(mend(raw), _DEPTH)
        if found is not None:
            return found
    return None


def _read(text: str, depth: int) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(text) if text.strip() else {}
    except (msgspec.DecodeError, RecursionError):
        return None
    match value:
        case dict():
            return None if is_too_deep(value) else value
        case None:
            return {}
        case str() if depth:
            return _read(value, depth - 1)
        case _:
            return None


def _as_it_is(raw: str) -> str:
    return raw


def _unfenced(raw: str) -> str:
    text = raw.strip()
    if len(text) < 2 * len(_FENCE) or not (text.startswith(_FENCE) and text.endswith(_FENCE)):
        return raw
    first, line_end, rest = text[len(_FENCE) : -len(_FENCE)].partition("\n")
    return rest if line_end and first.strip() in ("", "json") else raw


def _tidied(raw: str) -> str:
    """Leaves out commas before a closing bracket, and escapes line ends in strings."""
    return _STRING_OR_COMMA.sub(lambda found: _escaped(found[1] or ""), _unfenced(raw))


def _escaped(string: str) -> str:
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", string)


_MENDINGS: tuple[Callable[[str], str], ...] = (_as_it_is, _unfenced, _tidied)
