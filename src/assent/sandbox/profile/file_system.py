"""Facts about the file system: symlinks in paths, beginnings of files, mounts."""

import errno
import os
import re
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from stat import S_ISREG
from typing import Final

import msgspec

from assent.core.paths import is_inside

# Reads the beginning of a file, without blocking and without following a symlink.


SMALL = 64 << 10


def read_beginning(path: bytes, size: int = SMALL) -> bytes:
    """Returns the beginning of a regular file; raises OSError for anything else."""
    # Without O_NONBLOCK, opening a pipe would wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{os.fsdecode(path)} is not a regular file.")
        return os.read(descriptor, size)
    finally:
        os.close(descriptor)


def read_small_text(path: bytes) -> bytes:
    """Returns a small settings file; nothing if it is missing, unreadable or too long."""
    try:
        content = read_beginning(path, SMALL + 1)
    except OSError:
        return b""
    return content if len(content) <= SMALL else b""


# Symlinks: those on the way to a path, and the real file or folder at the end.


_HOPS = 40  # symlinks followed before it counts as a loop, as the kernel does


def symlink_chain(path: bytes, known: dict[bytes, bytes] | None = None) -> tuple[bytes, ...]:
    """Returns each symlink in a path under its real parent, then the real path; () if none.

    Where many paths are asked for at one moment, `known` remembers what was on the way to others:
    the target of a symlink, and nothing for what is none.
    """
    known = {} if known is None else known
    waiting = path.split(b"/")[::-1]
    done, links = b"", list[bytes]()
    while waiting:
        name = waiting.pop()
        if name in (b"", b"."):
            continue
        if name == b"..":
            done = done.rpartition(b"/")[0]
            continue
        here = done + b"/" + name
        target = known.get(here)
        if target is None:
            try:
                target = os.readlink(here)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    return ()
                target = b""
            known[here] = target
        if not target:
            done = here
            continue
        links.append(here)
        if len(links) > _HOPS:
            return ()
        done = b"" if target.startswith(b"/") else done
        waiting += target.split(b"/")[::-1]
    return (*dict.fromkeys(links), done or b"/")


def outermost_paths(paths: Iterable[bytes]) -> tuple[bytes, ...]:
    """Returns the paths in order, without those that are inside another one."""
    kept: list[bytes] = []
    for path in sorted(set(paths), key=lambda path: path + b"/"):
        if not kept or not is_inside(path, kept[-1]):
            kept.append(path)
    return tuple(kept)


def covered_by(folders: Container[bytes]) -> Callable[[bytes], bool]:
    """Returns what tells the same as `is_covered` of many paths: each folder is looked up once."""
    known: dict[bytes, bool] = {b"": False}

    def is_below_one(path: bytes) -> bool:
        passed: list[bytes] = []
        while path not in known and path not in folders:
            passed.append(path)
            path = path.rpartition(b"/")[0]
        found = known.get(path, True)
        known.update(dict.fromkeys(passed, found))
        return found

    return is_below_one


def is_covered(path: bytes, folders: Container[bytes]) -> bool:
    """Tells whether a path is one of these folders or is below one; fast with a set."""
    while path:
        if path in folders:
            return True
        path = path.rpartition(b"/")[0]
    return False


# Reads the mount table, because binding a folder brings along what is mounted below it.


TABLE: Final = "/proc/self/mountinfo"

_MACHINE: Final = frozenset(
    b"autofs binfmt_misc bpf cgroup cgroup2 configfs debugfs devpts devtmpfs efivarfs fusectl"
    b" hugetlbfs mqueue nsfs proc pstore rpc_pipefs securityfs selinuxfs sysfs tracefs".split()
)
_ESCAPE: Final = re.compile(rb"\\([0-7]{3})")


class Mount(msgspec.Struct, frozen=True):
    """A mount point, whether it is /proc, /sys or the like instead of files, device and type."""

    point: bytes
    machine: bool
    device: int
    kind: bytes


def mounts(table: bytes) -> list[Mount]:
    """Reads a mount table in the kernel's format."""
    found = []
    for line in table.splitlines():
        about, _, kind = line.partition(b" - ")
        _, _, numbers, _, point, *_ = about.split(b" ")
        major, _, minor = numbers.partition(b":")
        kind = kind.partition(b" ")[0]
        device = os.makedev(int(major), int(minor))
        found.append(Mount(_ESCAPE.sub(_byte, point), kind in _MACHINE, device, kind))
    return found


# Local file systems, which give a folder a new time whenever a name in it changes. On others the
# clock is another machine's, times are coarse or cached, or nobody sets them.
_LOCAL: Final = frozenset(b"bcachefs btrfs ext2 ext3 ext4 f2fs overlay tmpfs xfs zfs".split())
_OWN_DEVICES: Final = b"btrfs"  # each subvolume has its own, which the table does not list


def local_devices(table: Iterable[Mount]) -> frozenset[int]:
    """Returns the devices of the local file systems in a mount table."""
    local = [mount for mount in table if mount.kind in _LOCAL]
    found = {mount.device for mount in local}
    for mount in local:
        if mount.kind == _OWN_DEVICES:
            with suppress(OSError):
                found.add(os.lstat(mount.point).st_dev)
    return frozenset(found)


def read_table() -> bytes:
    """Returns the mounts of this process; nothing if the kernel does not list them."""
    try:
        with open(TABLE, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _byte(escape: re.Match[bytes]) -> bytes:
    return bytes([int(escape[1], 8)])
