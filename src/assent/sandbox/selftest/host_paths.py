"""Paths of the host: the interpreter, what is read-only inside, and what is not shown."""

import os
import pwd
import sys
from pathlib import Path
from typing import Final

import assent
from assent.core.paths import is_inside
from assent.sandbox.profile.toolchains import ROOTS, system_paths

# The interpreter that runs Assent: how a self-test starts it, and what it needs to see of it.


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


DAEMONS: Final = (
    "/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock",
    "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket", "/run/systemd/private",
    "/run/systemd/journal/socket", "/run/snapd.socket", "/run/cups/cups.sock",
    "/tmp/.X11-unix/X0", f"/run/user/{os.getuid()}/bus",
)  # fmt: skip
# Folders of folders: no toolchain is one, and no PATH should name one.
HIDDEN_FOLDERS: Final = (
    "/root",
    "/home",
    "/var",
    "/etc",
    "/srv",
    "/mnt",
    "/media",
    "/opt",
    "/boot",
)
SECRETS: Final = (
    "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh", "/etc/ssl/private",
    "/usr/local/etc", "/var/log", "/var/backups",
)  # fmt: skip


def host_paths() -> dict[str, list[str]]:
    """Returns the paths of the machine that are tried, by attempt, if they exist."""
    system = [os.path.realpath(path) for path in ROOTS]
    etc = [os.path.realpath(os.fsdecode(path)) for path in system_paths()]
    return {
        "write_system": _there([*system, "/usr/local/share"]),
        "write_etc": _there([path for path in etc if path.startswith("/etc/")]),
        "machine_secrets": _there(list(SECRETS)),
        "daemons": _there(list(DAEMONS)),
    }


def private_folders() -> dict[str, list[int]]:
    """Returns folders that must not be visible inside, and how to tell each from an empty one."""
    home = pwd.getpwuid(os.getuid()).pw_dir if _has_name() else "/root"
    known = [os.fsdecode(path) for path in interpreter_folders()]
    paths = dict.fromkeys(
        os.path.realpath(path) for path in (*HIDDEN_FOLDERS, str(Path(home).parent), home)
    )
    hidden = [path for path in paths if path != "/" and not _within(path, known)]
    return {path: _identity(path) for path in _there(hidden)}


def _has_name() -> bool:
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return True


def _within(path: str, others: list[str]) -> bool:
    return any(is_inside(os.fsencode(path), os.fsencode(other)) for other in others)


def _there(paths: list[str]) -> list[str]:
    return [path for path in dict.fromkeys(paths) if os.path.exists(path)]


def _identity(path: str) -> list[int]:
    found = os.stat(path)
    return [found.st_dev, found.st_ino]
