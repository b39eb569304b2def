"""Host paths around a scratch folder: those that are read-only inside, and those not shown."""

import os
import pwd
from pathlib import Path
from typing import Final

from assent.core.paths import is_inside
from assent.sandbox.profile.system_paths import ROOTS, system_paths
from assent.sandbox.selftest.interpreter import interpreter_folders

DAEMONS: Final = (
    "/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock",
    "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket", "/run/systemd/private",
    "/run/systemd/journal/socket", "/run/snapd.socket", "/run/cups/cups.sock",
    "/tmp/.X11-unix/X0", f"/run/user/{os.getuid()}/bus",
)  # fmt: skip
# Folders of folders: no toolchain is one, and nobody's PATH should name one.
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
    """Returns what is tried of the machine itself, by attempt, as far as it is there."""
    system = [os.path.realpath(path) for path in ROOTS]
    etc = [os.path.realpath(os.fsdecode(path)) for path in system_paths()]
    return {
        "write_system": _there([*system, "/usr/local/share"]),
        "write_etc": _there([path for path in etc if path.startswith("/etc/")]),
        "machine_secrets": _there(list(SECRETS)),
        "daemons": _there(list(DAEMONS)),
    }


def private_folders() -> dict[str, list[int]]:
    """Returns folders that nobody inside should see, each by what tells it from an empty twin."""
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
