"""Checks that a configuration file could only have been written by its user."""

import os
import shlex
from pathlib import Path
from stat import S_IWGRP, S_IWOTH

from assent.config.config_file import ConfigFile, path_text
from assent.config.paths import path_within


def ownership_problem(source: ConfigFile, root: bytes) -> str:
    """Says why a file cannot speak for its user in this workspace; empty if it can."""
    path = Path(os.path.abspath(source.path))
    if any(path_within(root, os.fsencode(way)) is not None for way in (path, *path.parents)):
        return "it lies in the workspace, where plans and agents write"
    if source.owner not in (0, os.geteuid()):
        return "it belongs to somebody else"
    if source.mode & (S_IWGRP | S_IWOTH):
        return f"others can write it; `chmod go-w {_quoted(source.path)}` changes that"
    return ""


def _quoted(path: Path) -> str:
    return shlex.quote(path_text(path))
