"""Skills: texts that a model may load when a task calls for them, offered by name and one line."""

from collections.abc import Iterable
from typing import Final, Literal

import msgspec

MAX_LINE_CHARS: Final = 500  # of a description, where skills are offered


class Skill(msgspec.Struct, frozen=True):
    """The text of a `SKILL.md`. It is only text: nothing in it allows, runs or chooses anything."""

    name: str
    description: str
    text: str
    source: Literal["user", "project"]
    folder: str  # a project's relative to the workspace's root, the user's absolute


def skill_lines(skills: Iterable[Skill]) -> str:
    """Returns the skills as a model is offered them: name and one line each, by name."""
    rows = sorted((skill.name, skill.description) for skill in skills)
    return "\n".join(f"- {name}: {_cut(description)}" for name, description in rows)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_LINE_CHARS else f"{text[: MAX_LINE_CHARS - 1]}…"
