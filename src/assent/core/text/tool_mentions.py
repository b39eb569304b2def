"""Removes advice about tools that a model does not have from texts that it reads."""

import re
from collections.abc import Collection
from functools import cache
from typing import Final

# Every tool of Assent's own, offered or not.
TOOL_NAMES: Final = (
    "read", "list", "glob", "grep", "search", "git", "shell", "fetch", "write", "edit",
    "multi_edit", "patch", "delete", "move", "notebook_edit", "write_plan", "todo", "question",
    "remember", "task", "present_plan", "enter_plan",
)  # fmt: skip
_MARKER: Final = r"\s*(?:\d+\.|[-*])\s+|\s*"  # of an item in a list
_SENTENCE: Final = r"(?<=[.!?])\s+"
_TURNS: Final = re.compile(r"[:;] | \(")  # where the reason ends and the advice begins


def missing_tools(offered: Collection[str]) -> frozenset[str]:
    """Returns Assent's own tools that are not among these."""
    return frozenset(TOOL_NAMES) - frozenset(offered)


def mentions_tool(text: str, tools: Collection[str]) -> bool:
    """Tells whether a text names one of some tools: in backticks, or by a name of two words."""
    return bool(tools) and _mention(frozenset(tools)).search(text) is not None


def without_missing_tools(text: str, absent: Collection[str]) -> str:
    """Returns one of Assent's texts without advice about tools that are not offered.

    In a list only their names are removed; otherwise the advice is removed and its reason stays.
    """
    if not mentions_tool(text, absent):
        return text
    lines = [_fitting(line, frozenset(absent)) for line in text.split("\n")]
    return "\n".join(line for line in lines if line is not None)


def _fitting(line: str, absent: frozenset[str]) -> str | None:
    """Returns a line without its advice; None if there was nothing else in it."""
    if not mentions_tool(line, absent):
        return line
    marker = re.match(_MARKER, line)
    begin = marker[0] if marker else ""
    sentences = [_sentence(each, absent) for each in re.split(_SENTENCE, line[len(begin) :])]
    kept = " ".join(filter(None, sentences))
    return begin + kept if kept else None


def _sentence(sentence: str, absent: frozenset[str]) -> str:
    """Returns a sentence up to where it names such a tool; nothing, if that says nothing."""
    sentence = re.sub(_LISTED, lambda found: _listed(found[0], absent), sentence)
    found = _mention(absent).search(sentence)
    if found is None:
        return sentence
    turns = [turn.start() for turn in _TURNS.finditer(sentence, 0, found.start() + 1)]
    return f"{sentence[: turns[-1]]}." if turns else ""


def _listed(listed: str, absent: frozenset[str]) -> str:
    """Returns an enumeration of tools without those; the same where no other would be left."""
    tools = re.findall(r"`(\w+)`", listed)
    left = [f"`{tool}`" for tool in tools if tool not in absent]
    if not left or len(left) == len(tools):
        return listed
    last = " or " if " or " in listed else " and "
    return last.join(filter(None, [", ".join(left[:-1]), left[-1]]))


_TOOL: Final = f"`(?:{'|'.join(TOOL_NAMES)})`"
_LISTED: Final = rf"{_TOOL}(?:(?:, | and | or ){_TOOL})+"


@cache
def _mention(tools: frozenset[str]) -> re.Pattern[str]:
    quoted = "|".join(sorted(map(re.escape, tools)))
    whole = "|".join(sorted(re.escape(tool) for tool in tools if "_" in tool))
    return re.compile(rf"`(?:{quoted})`" + (rf"|\b(?:{whole})\b" if whole else ""))
