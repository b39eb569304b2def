"""Opens the skills of a workspace, and the tool that offers them."""

from collections.abc import Callable

from assent.app.settings import open_workspace_trust
from assent.config.paths import AppPaths
from assent.config.skills import SkillFolders, load_skills
from assent.executor.disk import Disk
from assent.tools.skill import skill_tool
from assent.tools.tool import Tool
from assent.workspace.skill_files import SkillFiles


def open_skill_tool(root: bytes, here: AppPaths, warn: Callable[[str], object]) -> tuple[Tool, ...]:
    """Returns the tool for the skills of the user and the project; none if there are no skills."""
    places = SkillFolders(here.skills, root)
    trusted = open_workspace_trust(root, here)
    skills, warnings = load_skills(places, Disk().open, trusted.holds)
    for words in warnings:
        warn(words)
    return (skill_tool(skills, SkillFiles()),) if skills else ()
