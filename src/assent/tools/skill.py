"""skill: loads the text of a skill, or a file of a user's own skill.

The tool is offered only where there are skills. What it returns is text: it allows nothing.
"""

from collections.abc import Mapping
from typing import Annotated, Protocol

import msgspec

from assent.core.errors import Refused, UsageError
from assent.core.session.skill import Skill, skill_lines
from assent.core.text import counted
from assent.core.text.hidden_chars import visible_text
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.outcome import limited_outcome
from assent.tools.text_search import BINARY_PROBE_BYTES
from assent.tools.tool import Tool, ToolContext, description

SKILL_TOOL = "skill"


class SkillFileReader(Protocol):
    """Reads the other files of a user's own skill, and nothing outside its folder."""

    def names(self, skill: Skill) -> tuple[str, ...]:
        """Returns some of a skill's other files."""

    def read(self, skill: Skill, file: str) -> bytes:
        """Returns the content of one; raises Refused or NotFound."""


class SkillArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(description="one of the list")]
    file: Annotated[str, msgspec.Meta(description="another file of the skill")] = ""


def skill_tool(skills: Mapping[str, Skill], files: SkillFileReader) -> Tool:
    """Returns the tool that offers these skills by name and one line."""

    def touches(args: SkillArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
        return (ResourceAccess(Action.SKILL, _found(skills, args.name).name),)

    def run(args: SkillArgs, context: ToolContext) -> ToolOutcome:
        skill = _found(skills, args.name)
        return _file(skill, args.file, files) if args.file else _loaded(skill, files)

    tool = Tool(SKILL_TOOL, SkillArgs, touches, run, Action.SKILL)
    text = f"{description(tool)}\n{skill_lines(skills.values())}"
    return msgspec.structs.replace(tool, text=text)


def _found(skills: Mapping[str, Skill], name: str) -> Skill:
    skill = skills.get(name.strip())
    if skill is None:
        raise UsageError(f"Skill {name!a} not found. Available: {', '.join(sorted(skills))}.")
    return skill


def _loaded(skill: Skill, files: SkillFileReader) -> ToolOutcome:
    if skill.source == "project":
        note = f"The other files of this skill are in {skill.folder}; use `read`."
    else:
        names = files.names(skill)
        note = f"Other files of this skill, for `file`: {', '.join(names)}." if names else ""
    return limited_outcome(skill.text, skill.name, [note] if note else [])


def _file(skill: Skill, file: str, files: SkillFileReader) -> ToolOutcome:
    if skill.source == "project":
        raise Refused(f"This skill is in the workspace: use `read` for {skill.folder}/{file}.")
    content = files.read(skill, file)
    if b"\0" in content[:BINARY_PROBE_BYTES]:
        raise Refused(
            f"{file!a} is binary ({counted(len(content), 'byte')}); it has no lines to read."
        )
    text = content.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
    return limited_outcome(visible_text(text), f"{skill.name}/{file}")
