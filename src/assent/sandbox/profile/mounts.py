"""Reads the mount table, because binding a folder brings along what is mounted below it."""

import re
from typing import Final

import msgspec

TABLE: Final = "/proc/self/mountinfo"

_MACHINE: Final = frozenset(
    b"autofs binfmt_misc bpf cgroup cgroup2 configfs debugfs devpts devtmpfs efivarfs fusectl"
    b" hugetlbfs mqueue nsfs proc pstore rpc_pipefs securityfs selinuxfs sysfs tracefs".split()
)
_ESCAPE: Final = re.compile(rb"\\([0-7]{3})")


class Mount(msgspec.Struct, frozen=True):
    """Where something is mounted, and whether that is /proc, /sys or the like instead of files."""

    point: bytes
    machine: bool


def mounts(table: bytes) -> list[Mount]:
    """Reads a table of mounts as the kernel writes it."""
    found = []
    for line in table.splitlines():
        about, _, kind = line.partition(b" - ")
        point = _ESCAPE.sub(_byte, about.split(b" ")[4])
        found.append(Mount(point, kind.partition(b" ")[0] in _MACHINE))
    return found


def read_table() -> bytes:
    """Returns the mounts of this process; nothing where the kernel does not tell."""
    try:
        with open(TABLE, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _byte(escape: re.Match[bytes]) -> bytes:
    return bytes([int(escape[1], 8)])
