"""The machine: versions of programs, which ones are missing, and how to install them."""

import platform
import re
import sqlite3
import subprocess
from contextlib import suppress
from typing import Final

import msgspec

import assent
from assent.sandbox.status import FOLDERS, INSTALLERS, install_command, is_root_owned

_PATIENCE: Final = 5
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)+\S*")


class HostProgram(msgspec.Struct, frozen=True):
    """A program that Assent uses, what for, and its package if that has another name."""

    name: str
    why: str
    programs: tuple[str, ...] = ()
    package: str = ""
    packages: tuple[tuple[str, str], ...] = ()  # by installer

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.programs)


_FD: Final = (("apk", "fd"), ("pacman", "fd"), ("zypper", "fd"))
TOOLS: Final = (
    HostProgram("bwrap", "the sandbox; without it fewer commands can run", (), "bubblewrap"),
    HostProgram("git", "history and diffs while planning"),
    HostProgram("rg", "fast search while planning", (), "ripgrep"),
    HostProgram("fd", "finding files while planning", ("fdfind",), "fd-find", _FD),
    HostProgram("jq", "reading JSON while planning"),
    HostProgram("tree", "listing folders while planning"),
    HostProgram("file", "detecting file types while planning"),
    HostProgram("awk", "reading tables while planning", ("gawk", "mawk"), "gawk"),
)  # fmt: skip


class MissingProgram(msgspec.Struct, frozen=True):
    """A program that is not installed."""

    name: str
    why: str
    install: str


def versions() -> dict[str, str]:
    """Returns the versions of everything that affects what Assent can do here."""
    tools = {tool.name: _version(path) for tool in TOOLS if (path := find_program(tool))}
    return {
        "assent": assent.__version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "kernel": platform.release(),
        "system": _system(),
        **tools,
    }


def missing_programs() -> tuple[MissingProgram, ...]:
    """Returns the programs that are not installed, and how to install each."""
    return tuple(
        MissingProgram(tool.name, tool.why, _install(tool))
        for tool in TOOLS
        if find_program(tool) is None
    )


def find_program(tool: HostProgram) -> str | None:
    """Returns the path of a program, if only root can have put it there."""
    paths = [f"{folder}/{name}" for name in tool.names for folder in FOLDERS]
    return next((path for path in paths if is_root_owned(path)), None)


def _install(tool: HostProgram) -> str:
    usual = install_command(tool.package or tool.name)
    for installer, package in tool.packages:
        if usual.startswith(INSTALLERS[installer]):
            return install_command(package)
    return usual


def _version(path: str) -> str:
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            [path, "--version"],
            env={"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_PATIENCE,
        )
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        if number := _NUMBER.search(said):
            return number[0].rstrip(",;)")
    return "unknown"


def _system() -> str:
    with suppress(OSError):
        return platform.freedesktop_os_release().get("PRETTY_NAME", "") or platform.system()
    return platform.system()
