"""Opens the skills of a workspace, and the tool that offers them."""

from collections.abc import Callable

from assent.app.settings import locate_workspace, open_workspace_trust, user_paths
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


def skill_problems(folder: str) -> tuple[str, ...]:
    """Says of each skill of the user and of a folder's project that is not offered, why."""
    _, root = locate_workspace(folder)
    here = user_paths()
    trusted = open_workspace_trust(root, here)
    return load_skills(SkillFolders(here.skills, root), Disk().open, trusted.holds)[1]
