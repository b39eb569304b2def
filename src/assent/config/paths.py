"""Where state and the user's configuration are stored on this machine."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

PROJECT_SKILLS = (".opencode/skills", ".claude/skills")  # the first takes precedence


class AppPaths(msgspec.Struct, frozen=True):
    """The two folders of Assent outside every workspace, and the system's file."""

    state: Path
    config: Path
    system: Path = Path("/etc/assent/config.toml")

    @property
    def file(self) -> Path:
        """The user's configuration."""
        return self.config / "config.toml"

    @property
    def skills(self) -> Path:
        """The user's own skills, a folder each."""
        return self.config / "skills"

    @property
    def keys(self) -> Path:
        """The keys that the user trusts, as `assent keys` maintains them."""
        return self.config / "keys.toml"

    @property
    def credentials(self) -> Path:
        """The API keys that `assent login` stored, or where it stored them."""
        return self.config / "credentials"


def app_paths(environment: Mapping[str, str], home: Path) -> AppPaths:
    """Returns the paths by the XDG variables; a relative path in one of them is ignored."""
    return AppPaths(
        _folder(environment.get("XDG_STATE_HOME", ""), home / ".local" / "state") / "assent",
        _folder(environment.get("XDG_CONFIG_HOME", ""), home / ".config") / "assent",
    )


def path_within(root: bytes, path: bytes) -> bytes | None:
    """Returns where a path leads, relative to the workspace's root; None if it is outside."""
    here, below = os.path.realpath(path), b""
    place = _identity(root)
    while not (here == root or (place is not None and _identity(here) == place)):
        above, name = os.path.split(here)
        if above == here:
            return None
        here, below = above, os.path.join(name, below) if below else name
    return below


def leads_within(root: bytes, path: bytes) -> bool:
    """Tells whether an absolute path, or a folder on the way to it, leads into the workspace.

    It is asked at every command. So each folder is looked at once, and a path without symlinks is
    resolved once: the folders above it lead nowhere else.
    """
    real = os.path.realpath(path)
    led = [real] if real == path else [os.path.realpath(way) for way in (path, *_above(path))]
    ends = {end for one in led for end in (one, *_above(one))}
    place = _identity(root)
    return root in ends or (place is not None and any(_identity(end) == place for end in ends))


def private_paths(here: AppPaths, root: bytes, *others: Path) -> tuple[bytes, ...]:
    """Returns where state and the user's configuration are in a workspace, if they are."""
    own = (here.state, here.config, here.file, *others)
    found = [path_within(root, os.fsencode(path)) for path in own]
    return tuple(dict.fromkeys(path for path in found if path is not None))


def _identity(path: bytes) -> tuple[int, int] | None:
    """Returns what two names of one folder share: if case is ignored, it has many spellings."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_dev, state.st_ino


def _above(path: bytes) -> list[bytes]:
    """Returns the folders above an absolute path, the nearest first."""
    found: list[bytes] = []
    while (above := os.path.dirname(path)) != path:
        found.append(above)
        path = above
    return found


def _folder(named: str, otherwise: Path) -> Path:
    return Path(named) if named.startswith("/") else otherwise
