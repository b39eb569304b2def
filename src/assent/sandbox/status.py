"""The sandbox status as far as it is known without a test, and how to install bubblewrap."""

import os
import stat
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

import assent
from assent.core.decoding import decode_json
from assent.core.shell.process import SandboxStatus

# Finds bubblewrap, if only root can have put it there.


TOOLS: Final = (b"/usr/bin/bwrap", b"/usr/local/bin/bwrap", b"/run/current-system/sw/bin/bwrap")


def find_bwrap() -> bytes | None:
    """Returns an installed bubblewrap that can be trusted."""
    return next((tool for tool in TOOLS if is_root_owned(tool)), None)


def is_root_owned(path: bytes | str) -> bool:
    """Tells whether root owns a program and no one else can write it."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return found.st_uid == 0 and not others and os.access(path, os.X_OK)


# The command that installs a package on this machine, by the package manager that is here.


FOLDERS: Final = ("/usr/local/bin", "/usr/bin", "/bin", "/run/current-system/sw/bin")

# By the program that installs: how it is called.
INSTALLERS: Final = {
    "apt-get": "sudo apt install",
    "dnf": "sudo dnf install",
    "pacman": "sudo pacman -S",
    "apk": "sudo apk add",
    "zypper": "sudo zypper install",
}


def install_command(package: str) -> str:
    """Returns the command that installs a package here."""
    for program, command in INSTALLERS.items():
        if any(os.access(f"{folder}/{program}", os.X_OK) for folder in FOLDERS):
            return f"{command} {package}"
    return f"Install {package} with your system's package manager."


# What the last self-test found, kept until the machine, the program or the sandbox changes.


BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
FILE: Final = "sandbox.json"

_LARGEST: Final = 1 << 16


class CachedStatus(msgspec.Struct, frozen=True):
    """The stored result of a self-test: its conditions, and what it found."""

    key: str
    standing: SandboxStatus


def cached_status(file: Path, tool: bytes) -> SandboxStatus | None:
    """Returns the stored result, if it is still valid."""
    kept = _read(file)
    return kept.standing if kept and kept.key == cache_key(tool) else None


def cache_key(tool: bytes) -> str:
    """Returns a key for everything that the result of a self-test depends on."""
    with suppress(OSError):
        found = os.stat(tool)
        facts = (
            BOOT.read_text("utf-8"), assent.__version__, _source(), os.fsdecode(tool),
            found.st_size, found.st_mtime_ns, os.uname().release, os.uname().machine, os.geteuid(),
            _surroundings(),
        )  # fmt: skip
        return sha256(repr(facts).encode()).hexdigest()
    return ""


def _surroundings() -> tuple[object, ...]:
    """Returns what a container or the parent process may forbid this process and allow others."""
    namespaces = [os.readlink(f"/proc/self/ns/{kind}") for kind in ("user", "mnt", "pid")]
    status = Path("/proc/self/status").read_text("utf-8").splitlines()
    rights = [line for line in status if line.startswith(("Cap", "NoNewPrivs", "Seccomp"))]
    return (*namespaces, *rights)


@cache
def _source() -> str:
    """Returns the digest of the sandbox's own code, all of it."""
    whole = sha256()
    package = os.path.dirname(__file__)
    for folder, _, names in sorted(os.walk(package)):
        for name in sorted(name for name in names if name.endswith(".py")):
            with open(os.path.join(folder, name), "rb", buffering=0) as file:
                whole.update(file.read())
    return whole.hexdigest()


def _read(file: Path) -> CachedStatus | None:
    """Reads what was remembered; what others could have written does not count."""
    try:
        opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(opened)
        private = not stat.S_IMODE(found.st_mode) & 0o077 and found.st_uid == os.geteuid()
        if not stat.S_ISREG(found.st_mode) or not private or found.st_size > _LARGEST:
            return None
        return decode_json(os.read(opened, _LARGEST), CachedStatus)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    finally:
        os.close(opened)


def write_status(file: Path, tested: CachedStatus) -> None:
    """Stores a result; if that fails, the next call tests again."""
    young = file.with_name(f"{file.name}.{os.urandom(8).hex()}")
    with suppress(OSError):
        os.makedirs(file.parent, 0o700, exist_ok=True)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with open(os.open(young, flags, 0o600), "wb") as opened:
                opened.write(msgspec.json.encode(tested))
            os.replace(young, file)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(young)
