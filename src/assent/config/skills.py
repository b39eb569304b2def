"""Loads skills: folders with a `SKILL.md`, of the user and of the project.

A project's skill is only offered when the user trusts exactly its content (law 9). Of the front
matter only name and description count: what other programs let a skill allow is ignored.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

from assent.config.config_file import Opener, ownership_problem, read_content
from assent.config.front_matter import (
    UnusableFile,
    ignored_warning,
    one_line_path,
    read_yaml,
    split_front_matter,
)
from assent.config.paths import PROJECT_SKILLS, path_within
from assent.core.errors import UsageError
from assent.core.paths import display_path, one_line
from assent.core.session.skill import Skill
from assent.core.text.hidden_chars import visible_line, visible_text

SKILL_FILE: Final = "SKILL.md"
MAX_SKILL_BYTES: Final = 32 << 10  # of a SKILL.md, as of an instruction file
MAX_SKILLS: Final = 50  # that are offered
MAX_FOLDERS: Final = 200  # that are looked at, of each place
MAX_NAME_CHARS: Final = 64
MAX_DESCRIPTION_CHARS: Final = 1024
SKILL_SKIPPED: Final = "The skill was skipped."
DESCRIBING: Final = ("name", "description", "license", "compatibility", "metadata", "version")
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


class SkillFolders(msgspec.Struct, frozen=True):
    """The folders that are searched for skills: the user's, and the workspace's."""

    user: Path
    root: bytes


class SkillText(msgspec.Struct, frozen=True):
    """A parsed `SKILL.md`; `ignored` names the fields of its front matter that have no effect."""

    name: str
    description: str
    text: str
    ignored: tuple[str, ...] = ()


def parse_skill(content: bytes) -> SkillText:
    """Returns what a `SKILL.md` says, hidden characters written out; raises UnusableFile."""
    if len(content) > MAX_SKILL_BYTES:
        raise UnusableFile(f"it is longer than {MAX_SKILL_BYTES} bytes")
    front, body = split_front_matter(content)
    members = read_yaml(front) if front.strip() else {}
    if not isinstance(members, dict):
        raise UnusableFile("its front matter is not a table")
    name, description = _text(members, "name"), _text(members, "description")
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_CHARS:
        raise UnusableFile(
            f"its name must have 1 to {MAX_NAME_CHARS} lower-case letters, digits and hyphens"
        )
    if not 0 < len(description) <= MAX_DESCRIPTION_CHARS:
        raise UnusableFile(f"its description must have 1 to {MAX_DESCRIPTION_CHARS} characters")
    if not body.strip():
        raise UnusableFile("it has no text")
    ignored = tuple(visible_line(str(key)) for key in members if key not in DESCRIBING)
    text = visible_text(body.strip().replace("\r\n", "\n"))
    return SkillText(name, visible_line(description), text, ignored)


def load_skills(
    places: SkillFolders, opener: Opener, is_trusted: Callable[[str, bytes], bool]
) -> tuple[dict[str, Skill], tuple[str, ...]]:
    """Returns the skills by name, and warnings about those that cannot be used.

    `is_trusted` tells whether the user trusts a file, relative to the root, with this content. Of
    two with one name the user's counts; of a project's, the one in `.opencode/skills`.
    """
    loader = _SkillLoader(places, opener, is_trusted)
    for folder in _folders(places.user, loader.warnings):
        loader.take(folder, "user")
    for at in PROJECT_SKILLS:
        for folder in _folders(Path(os.fsdecode(places.root)) / at, loader.warnings):
            loader.take(folder, "project")
    return loader.found()


def untrusted_skills_text(names: Iterable[str]) -> str:
    """Returns that skills of the project are not offered, and what would change that."""
    return (
        f"Project skills are not offered, because you do not trust them: {', '.join(names)}. Run "
        "`assent trust give` to review and trust them."
    )


def project_skill_files(root: bytes) -> Iterator[str]:
    """Yields where a project's skills would be, relative to its root."""
    for at in PROJECT_SKILLS:
        for folder in _folders(Path(os.fsdecode(root)) / at, []):
            # A name that cannot be shown cannot be trusted either.
            if folder.name.isprintable():
                yield f"{at}/{folder.name}/{SKILL_FILE}"


class _SkillLoader:
    """Takes in one folder after another; the first skill of a name counts."""

    def __init__(
        self, places: SkillFolders, opener: Opener, is_trusted: Callable[[str, bytes], bool]
    ) -> None:
        self._root = places.root
        self._opener = opener
        self._is_trusted = is_trusted
        self._skills: dict[str, Skill] = {}
        self._untrusted: list[str] = []
        self.warnings: list[str] = []

    def take(self, folder: Path, source: Literal["user", "project"]) -> None:
        path = folder / SKILL_FILE
        try:
            content = self._own(path) if source == "user" else self._project(path)
            if content is None:
                return
            said = parse_skill(content)
        except (UnusableFile, UsageError) as error:
            self.warnings.append(ignored_warning(path, error, SKILL_SKIPPED))
            return
        known = self._skills.get(said.name)
        if known is not None:
            self.warnings.append(
                f"{one_line_path(path)} has the name of another skill, {said.name}, in "
                f"{known.folder}. {SKILL_SKIPPED}"
            )
            return
        where = os.fsencode(folder)
        if source == "project":
            where = where[len(self._root.rstrip(b"/")) + 1 :]
        self._skills[said.name] = Skill(
            said.name, said.description, said.text, source, display_path(where)
        )

    def found(self) -> tuple[dict[str, Skill], tuple[str, ...]]:
        """Returns what was taken in."""
        names, warnings = [*self._skills], self.warnings
        if self._untrusted:
            warnings.append(untrusted_skills_text(self._untrusted))
        if len(names) > MAX_SKILLS:
            warnings.append(f"{len(names)} skills were found; the first {MAX_SKILLS} are offered.")
        return {name: self._skills[name] for name in names[:MAX_SKILLS]}, tuple(warnings)

    def _own(self, path: Path) -> bytes | None:
        try:
            source, content = read_content(path, self._opener, follow=True)
        except FileNotFoundError:
            return None  # a folder without skill
        if why := ownership_problem(source, self._root):
            raise UnusableFile(why)
        return content

    def _project(self, path: Path) -> bytes | None:
        if path_within(self._root, os.fsencode(path.parent)) is None:
            raise UnusableFile("it points outside the workspace through a symlink")
        try:
            _, content = read_content(path, self._opener, follow=False)
        except FileNotFoundError:
            return None
        name = f"{path.parent.parent.parent.name}/skills/{path.parent.name}/{SKILL_FILE}"
        if not self._is_trusted(name, content):
            self._untrusted.append(one_line(os.fsencode(path.parent.name)))
            return None
        return content


def _text(members: dict[str, object], key: str) -> str:
    found = members.get(key, "")
    if not isinstance(found, str):
        raise UnusableFile(f"`{key}` in its front matter is not a text")
    return " ".join(found.split())


def _folders(place: Path, warnings: list[str]) -> list[Path]:
    """Lists the folders of a place, by name, whatever is in them."""
    try:
        names = sorted(os.listdir(place))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        warnings.append(f"{one_line_path(place)} cannot be read: {error.strerror}. It is ignored.")
        return []
    found = [place / name for name in names if os.path.isdir(place / name)]
    if len(found) > MAX_FOLDERS:
        warnings.append(
            f"{one_line_path(place)} has {len(found)} folders; the first {MAX_FOLDERS} are read."
        )
    return found[:MAX_FOLDERS]
