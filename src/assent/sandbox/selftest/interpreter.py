"""The interpreter that runs Assent: how a self-test starts it, and what it needs to see of it."""

import os
import sys
from pathlib import Path
from typing import Final

import assent

PACKAGE: Final = Path(os.path.realpath(assent.__file__)).parent
_FOLDER, _NAME = os.path.split(os.path.abspath(sys.executable))
PYTHON: Final = os.path.join(os.path.realpath(_FOLDER), _NAME)  # may itself be a symlink

# Isolated and without site-packages: it starts fast, and nothing but its own files counts.
COMMAND: Final = (PYTHON, "-I", "-S")

# What is installed is named, because isolation also ignores the variable that may have named it.
_PACKAGES: Final = ("site-packages", "dist-packages")
_INSTALLED: Final = [path for path in sys.path if os.path.basename(path) in _PACKAGES]


def _started(paths: list[str], code: str) -> str:
    return f"import sys; sys.path[:0] = {paths!r}; {code}"


PROBE: Final = (
    *COMMAND,
    "-c",
    _started(
        [str(PACKAGE.parent)], "from assent.sandbox.selftest.probe import main; main(sys.argv[1:])"
    ),
)
ASSENT: Final = (
    *COMMAND,
    "-c",
    _started([str(PACKAGE.parent), *_INSTALLED], "from assent.cli import main; main()"),
)


def interpreter_folders() -> tuple[bytes, ...]:
    """Returns the folders that the interpreter and Assent need to run, as real paths."""
    prefixes = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    folders = [*prefixes, *_INSTALLED, os.path.dirname(PYTHON), str(PACKAGE)]
    found = {os.path.realpath(folder) for folder in folders if os.path.isdir(folder)}
    return tuple(sorted(os.fsencode(path) for path in found if path != "/"))
