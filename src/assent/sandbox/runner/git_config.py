"""The user's git settings that a commit in the sandbox needs: identity and line endings.

The user's files may contain passwords and name programs, so git reads them in a separate sandbox,
and only these settings are passed on. The user's filters do not run.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from assent.sandbox.profile.file_system import read_small_text

ARGUMENTS: Final = (b"config", b"--includes", b"--null", b"--list")

_KEPT: Final = re.compile(r"(?:user|author|committer)\.(?:name|email)|core\.(?:autocrlf|eol)")
_FILTER: Final = re.compile(r"filter\.(.+)\.[^.]+", re.DOTALL)
_INCLUDES: Final = re.compile(rb"^[ \t]*path[ \t]*=[ \t]*\"?([^\"\n#;\0]+?)\"?[ \t]*$", re.M | re.I)
_DEEPEST: Final = 4  # files that name files
_MOST: Final = 64
_NO_FILTER: Final = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))

# The rest of the user's settings stays outside; these would start programs or make up a name.
_FIXED: Final = (
    ("user.useConfigOnly", "true"),
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("commit.gpgSign", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("diff.ignoreSubmodules", "all"),
    ("status.submoduleSummary", "false"),
    ("safe.directory", "*"),  # owners look changed in the sandbox; no program of theirs runs
)
_OWN: Final = tuple(
    f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
)


def git_config_files(home: bytes, environment: Mapping[str, str]) -> list[bytes]:
    """Returns the user's own settings files, and those that they include, if they exist."""
    named = environment.get("GIT_CONFIG_GLOBAL")
    own = environment.get("XDG_CONFIG_HOME") or os.fsdecode(home) + "/.config"
    first = [named] if named else [f"{os.fsdecode(home)}/.gitconfig", f"{own}/git/config"]
    found: list[bytes] = []
    waiting = [(os.fsencode(path), _DEEPEST) for path in first]
    while waiting and len(found) < _MOST:
        path, left = waiting.pop(0)
        if path not in found and os.path.isfile(path):
            found.append(path)
            waiting += [(more, left - 1) for more in _included(path, home)] if left else []
    return found


def git_config_environment(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Returns the variables by which git finds the user's settings."""
    names = ("GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME")
    return tuple((name, environment[name]) for name in names if environment.get(name))


def commit_environment(
    listed: bytes, environment: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Returns the variables that give git in the sandbox the user's settings."""
    settings = (*_kept(listed), *_FIXED)
    numbered = [
        (f"GIT_CONFIG_{what}_{number}", value)
        for number, pair in enumerate(settings)
        for what, value in zip(("KEY", "VALUE"), pair, strict=True)
    ]
    own = [(name, environment[name]) for name in _OWN if environment.get(name)]
    away = (("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1"))
    return (
        *away,
        ("GIT_EDITOR", "false"),
        *own,
        ("GIT_CONFIG_COUNT", str(len(settings))),
        *numbered,
    )


def _kept(listed: bytes) -> Iterator[tuple[str, str]]:
    filters: dict[str, None] = {}
    for row in filter(None, listed.decode("utf-8", "surrogateescape").split("\0")):
        key, _, value = row.partition("\n")
        if _KEPT.fullmatch(key):
            yield key, value
        elif found := _FILTER.fullmatch(key):
            filters[found[1]] = None
    for name in filters:
        yield from ((f"filter.{name}.{key}", value) for key, value in _NO_FILTER)


def _included(path: bytes, home: bytes) -> Sequence[bytes]:
    folder = os.path.dirname(path)
    names = [name.strip() for name in _INCLUDES.findall(read_small_text(path))]
    return [
        home + name[1:] if name.startswith(b"~/") else os.path.join(folder, name) for name in names
    ]
