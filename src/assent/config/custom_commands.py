"""Loads custom slash commands: Markdown files that `/name` expands to.

Those of a project only count when the user trusts exactly their content (law 9).
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from assent.config.config_file import ConfigFile, Opener, ownership_problem, read_content
from assent.config.front_matter import (
    UnusableFile,
    ignored_warning,
    one_line_path,
    read_front_matter,
)
from assent.config.paths import path_within
from assent.core.errors import UsageError
from assent.core.session.custom_command import SlashCommand

FOLDERS = ("command", "commands")
PROJECT = ".opencode"
BUILTIN_NAMES = frozenset({"help", "mode", "plan"})  # what Assent answers itself
MAX_FILES = 200  # files of a folder that are read
COMMAND_SKIPPED = "The command was skipped."
UNTRUSTED = (
    "it is a project file that you do not trust; run `assent trust give` to review and trust it"
)


class CommandFolders(msgspec.Struct, frozen=True):
    """The folders that are searched for commands: the user's, then the workspace's."""

    user: tuple[Path, ...]
    root: bytes

    @property
    def project(self) -> tuple[Path, ...]:
        return tuple(Path(os.fsdecode(self.root)) / PROJECT / name for name in FOLDERS)


class CommandFile(msgspec.Struct, frozen=True):
    """The front matter of a command file; fields of other programs are ignored."""

    description: str = ""
    agent: str = ""
    model: str = ""


def command_folders(config: Path, home: Path, root: bytes) -> CommandFolders:
    """Returns the default folders; `config` is Assent's own configuration folder."""
    opencode = home / ".config" / "opencode"
    return CommandFolders((*(opencode / name for name in FOLDERS), config / "commands"), root)


def load_custom_commands(
    places: CommandFolders,
    opener: Opener,
    is_trusted: Callable[[str, bytes], bool],
) -> tuple[dict[str, SlashCommand], tuple[str, ...]]:
    """Returns the commands by name, and a warning for each file that cannot be used.

    `is_trusted` tells whether the user trusts a file, relative to the root, with this content. A
    user's own command takes precedence over a project's command of the same name.
    """
    own, theirs, warnings = dict[str, SlashCommand](), dict[str, SlashCommand](), list[str]()
    for path in _files(places.user, warnings):
        try:
            source, text = read_content(path, opener, follow=True)
            _check_own(source, places.root)
            own[path.stem] = _command(path, text, "user")
        except (UnusableFile, UsageError, FileNotFoundError) as error:
            warnings.append(ignored_warning(path, error, COMMAND_SKIPPED))
    for path in _files(_unlinked(places, warnings), warnings):
        try:
            _, text = read_content(path, opener, follow=False)
            _check_trust(path, text, is_trusted)
            theirs[path.stem] = _command(path, text, "project")
        except (UnusableFile, UsageError, FileNotFoundError) as error:
            warnings.append(ignored_warning(path, error, COMMAND_SKIPPED))
    return {**theirs, **own}, tuple(warnings)


def _files(folders: tuple[Path, ...], warnings: list[str]) -> Iterator[Path]:
    """Lists the Markdown files in some folders, by name."""
    for folder in folders:
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            warnings.append(
                f"{one_line_path(folder)} cannot be read: {error.strerror}. It is ignored."
            )
            continue
        if len(names) > MAX_FILES:
            warnings.append(
                f"{one_line_path(folder)} has {len(names)} commands; the first {MAX_FILES} are "
                "used."
            )
        yield from (folder / name for name in names[:MAX_FILES])


def _unlinked(places: CommandFolders, warnings: list[str]) -> tuple[Path, ...]:
    """Returns a project's folders that are inside it and not reached through a symlink."""
    found = []
    for folder in places.project:
        if not os.path.lexists(folder):
            continue
        if path_within(places.root, os.fsencode(folder)) == f"{PROJECT}/{folder.name}".encode():
            found.append(folder)
        else:
            warnings.append(
                f"{one_line_path(folder)} points elsewhere through a symlink. It is ignored."
            )
    return tuple(found)


def _check_own(source: ConfigFile, root: bytes) -> None:
    if why := ownership_problem(source, root):
        raise UnusableFile(why)


def _check_trust(path: Path, text: bytes, is_trusted: Callable[[str, bytes], bool]) -> None:
    name = f"{PROJECT}/{path.parent.name}/{path.name}"
    if not is_trusted(name, text):
        raise UnusableFile(UNTRUSTED)


def _command(path: Path, text: bytes, source: str) -> SlashCommand:
    name = path.stem
    if not name[:1].isalpha() or not name.replace("-", "").replace("_", "").isalnum():
        raise UnusableFile(
            "its name must start with a letter and have only letters, digits, - and _"
        )
    if name in BUILTIN_NAMES:
        raise UnusableFile(f"/{name} is a built-in command")
    file, body = read_front_matter(text, CommandFile)
    if source == "project" and file.model.startswith("scripted:"):
        raise UnusableFile("it sets a scripted model, which only the user may choose")
    if not body.strip():
        raise UnusableFile("it has no text")
    described = " ".join(file.description.split())
    return SlashCommand(name, body.strip(), described, file.agent, file.model, source)
