"""Finds the project files that take full effect only once the person trusts them."""

import os
from collections.abc import Iterator
from pathlib import Path

from assent.config.config_file import Opener, read_content
from assent.config.loader import PROJECT
from assent.config.paths import path_within
from assent.config.permissions import PROJECT_FILES
from assent.core.digest import sha256
from assent.core.errors import UsageError
from assent.core.permission.trust import ProjectFile

COMMANDS = (".opencode/commands", ".opencode/command")
MAX_FILES = 200  # files of a folder


def project_files(root: bytes, opener: Opener) -> tuple[tuple[ProjectFile, ...], tuple[str, ...]]:
    """Returns the files that there are, each read once, and a warning for each that cannot be."""
    found, warnings = list[ProjectFile](), list[str]()
    for path in (PROJECT, *PROJECT_FILES, *_commands(root)):
        try:
            file = project_file(root, path, opener)
        except UsageError as error:
            warnings.append(f"{error.message} It does nothing, and cannot be trusted.")
            continue
        found += [file] if file is not None else []
    return tuple(found), tuple(warnings)


def project_file(root: bytes, path: str, opener: Opener) -> ProjectFile | None:
    """Returns a file of the workspace, or None if there is none; symlinks are refused."""
    if path_within(root, os.path.join(root, os.fsencode(os.path.dirname(path)))) is None:
        raise UsageError(f"{path} leads out of the workspace, through a symlink.")
    try:
        full, reserved = Path(os.fsdecode(root)) / path, path in PROJECT_FILES
        _, text = read_content(full, opener, follow=False, placeholder=reserved)
    except FileNotFoundError:
        return None
    return ProjectFile(path, text, sha256(text))


def _commands(root: bytes) -> Iterator[str]:
    """Yields the custom slash commands, by name."""
    for folder in COMMANDS:
        try:
            names = os.listdir(os.path.join(root, os.fsencode(folder)))
        except OSError:
            continue
        texts = sorted(os.fsdecode(name) for name in names if name.endswith(b".md"))
        # A name that cannot be shown is no name of a command either.
        yield from [f"{folder}/{name}" for name in texts if name.isprintable()][:MAX_FILES]
