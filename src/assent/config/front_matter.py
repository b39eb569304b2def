"""Reads Markdown files with front matter in OpenCode's format, such as those of agents.

It also words the warning about an unusable file.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from assent.core.errors import UsageError
from assent.core.paths import one_line
from assent.core.permission.rule import InvalidRuleTable, PermissionRule, parse_rules
from assent.core.session.agent import Agent

# Parses an agent file: front matter in OpenCode's format, then the prompt.


FRONT_MATTER_FENCE = "---"
KINDS = ("primary", "subagent", "all")
MAX_TEMPERATURE = 2.0


class UnusableFile(Exception):
    """A file that cannot be used, and why."""


class AgentFile(msgspec.Struct, frozen=True):
    """The front matter of an agent file; fields of other programs are ignored."""

    description: str = ""
    mode: str = "all"
    model: str = ""
    temperature: float | None = None
    steps: int | None = None
    maxSteps: int | None = None
    tools: dict[str, bool] = {}
    permission: str | dict[str, Any] = {}
    disable: bool = False
    prompt: str = ""


def split_front_matter(content: bytes) -> tuple[str, str]:
    """Returns the front matter and the rest of a file."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnusableFile(f"byte {error.start} is not UTF-8") from None
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].rstrip() != FRONT_MATTER_FENCE:
        return "", text
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == FRONT_MATTER_FENCE:
            return "".join(lines[1:number]), "".join(lines[number + 1 :])
    raise UnusableFile("its front matter has no end")


PROJECT = "project"


def agent_from_file(name: str, file: AgentFile, source: str) -> Agent:
    """Returns the agent that a file describes."""
    steps = file.steps or file.maxSteps or 0
    if file.mode not in KINDS:
        raise UnusableFile(f"mode is {file.mode!r}, and not one of {', '.join(KINDS)}")
    if steps < 0 or not 0 <= (file.temperature or 0) <= MAX_TEMPERATURE:
        raise UnusableFile("steps or temperature is out of bounds")
    return Agent(
        name,
        " ".join(file.description.split()),
        file.mode,  # type: ignore[arg-type]
        file.prompt,
        "" if source == PROJECT else file.model,
        file.temperature,
        steps,
        file.tools,
        _permission(file.permission),
        source,
        file.model if source == PROJECT else "",
        _rules(name, file),
    )


def _rules(name: str, file: AgentFile) -> tuple[PermissionRule, ...]:
    try:
        return parse_rules(file.permission, f"the agent {name}")
    except InvalidRuleTable as error:
        raise UnusableFile(str(error)) from None


def _permission(written: str | dict[str, Any]) -> dict[str, Any]:
    """Returns a table by permission; one whose last word denies everything is a plain deny."""
    table = {"*": written} if isinstance(written, str) else written
    return {name: "deny" if _denies(row) else row for name, row in table.items()}


def _denies(row: str | dict[str, str]) -> bool:
    return isinstance(row, dict) and [*row.items()][-1:] == [("*", "deny")]


T = TypeVar("T")

# Turns front matter into plain values; made when the first file needs it, because it loads slowly.
Reader: TypeAlias = Callable[[str], Any]


def read_front_matter(text: bytes, kind: type[T], reader: Callable[[], Reader]) -> tuple[T, str]:
    """Returns the members of a file's front matter, and the text below; raises Bad."""
    front, body = split_front_matter(text)
    try:
        return msgspec.convert(reader()(front) if front.strip() else {}, kind), body
    except msgspec.ValidationError as error:
        raise UnusableFile(str(error)) from None


def one_line_path(path: Path) -> str:
    """Returns a path on one line."""
    return one_line(os.fsencode(path))


def ignored_warning(
    path: Path, error: UnusableFile | UsageError | FileNotFoundError, out: str
) -> str:
    """Says why a file is of no use, and what follows from that."""
    match error:
        case UsageError():
            return f"{error.message} {out}"
        case FileNotFoundError():
            return f"{one_line_path(path)} leads nowhere. {out}"
        case _:
            return f"{one_line_path(path)} cannot be used: {error}. {out}"
