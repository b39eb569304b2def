"""Reads Markdown files with front matter in OpenCode's format, such as those of agents.

It also creates the warning about an unusable file.
"""

import os
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from assent.core.decoding import convert, is_too_deep
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
    raise UnusableFile("its front matter is not closed")


PROJECT = "project"


def agent_from_file(name: str, file: AgentFile, source: str) -> Agent:
    """Returns the agent that a file describes."""
    steps = file.steps or file.maxSteps or 0
    if file.mode not in KINDS:
        raise UnusableFile(f"mode is {file.mode!r}, but must be one of {', '.join(KINDS)}")
    if steps < 0 or not 0 <= (file.temperature or 0) <= MAX_TEMPERATURE:
        raise UnusableFile("steps or temperature is out of range")
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
    """Returns a table by permission; one whose last rule denies everything is a plain deny."""
    table = {"*": written} if isinstance(written, str) else written
    return {name: "deny" if _denies(row) else row for name, row in table.items()}


def _denies(row: str | dict[str, str]) -> bool:
    return isinstance(row, dict) and [*row.items()][-1:] == [("*", "deny")]


T = TypeVar("T")


def read_front_matter(text: bytes, kind: type[T]) -> tuple[T, str]:
    """Returns the members of a file's front matter, and the text below; raises UnusableFile."""
    front, body = split_front_matter(text)
    try:
        return convert(read_yaml(front) if front.strip() else {}, kind), body
    except msgspec.ValidationError as error:
        raise UnusableFile(str(error)) from None


def one_line_path(path: Path) -> str:
    """Returns a path on one line."""
    return one_line(os.fsencode(path))


def ignored_warning(
    path: Path, error: UnusableFile | UsageError | FileNotFoundError, out: str
) -> str:
    """Returns the warning that says why a file is ignored, and what that means."""
    match error:
        case UsageError():
            return f"{error.message} {out}"
        case FileNotFoundError():
            return f"{one_line_path(path)} is a broken symlink. {out}"
        case _:
            return f"{one_line_path(path)} cannot be used: {error}. {out}"


# Parses YAML: plain values only, without tags and aliases.


def read_yaml(text: str) -> Any:
    """Returns the values of a YAML document; raises UnusableFile if it is none."""
    import yaml  # type: ignore[import-untyped]

    class PlainYamlLoader(yaml.SafeLoader):  # type: ignore[misc]
        """Refuses aliases, which can expand a few lines to gigabytes."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise UnusableFile("its front matter has an alias, which is not supported")
            return super().compose_node(parent, index)

    try:
        found = yaml.load(text, PlainYamlLoader) or {}
    except yaml.YAMLError as error:
        raise UnusableFile(f"its front matter is not valid YAML: {_line(error)}") from None
    except (ValueError, OverflowError) as error:
        raise UnusableFile(f"its front matter has an invalid value: {error}") from None
    except RecursionError:
        raise UnusableFile("its front matter is nested too deeply") from None
    if is_too_deep(found):
        raise UnusableFile("its front matter is nested too deeply")
    return found


def _line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "it cannot be read"
    return f"{problem}, line {mark.line + 1}" if mark else str(problem)
