"""Disks that misbehave on purpose, and a few words to set up files with."""

import gc
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from assent.core.digest import sha256
from assent.core.plan.operation import FileState
from assent.executor.disk import Disk


class WatchedDisk(Disk):
    """Tells of every call before it happens; whoever listens may count, change files, or raise."""

    def __init__(self, before: Callable[[str], None] = lambda call: None) -> None:
        self.calls: Counter[str] = Counter()
        self.before = before

    def __getattribute__(self, name: str) -> object:
        found = object.__getattribute__(self, name)
        if name in Disk.__dict__ and not name.startswith("_"):
            self.calls[name] += 1
            self.before(name)
        return found


def failing(call: str, code: int) -> WatchedDisk:
    """Returns a disk on which one kind of call always fails."""

    def refuse(name: str) -> None:
        if name == call:
            raise OSError(code, os.strerror(code))

    return WatchedDisk(refuse)


def file_state(content: bytes, mode: int = 0o644) -> FileState:
    return FileState(sha256(content), len(content), mode)


def link_state(target: bytes) -> FileState:
    return FileState(sha256(target), len(target), 0o777, "link")


def put(root: Path, path: bytes, content: bytes = b"", mode: int = 0o644) -> bytes:
    """Writes a file below a folder, with an old date, and returns its full path."""
    full = os.fsencode(root) + b"/" + path
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "wb") as file:
        file.write(content)
    os.chmod(full, mode)
    os.utime(full, (1_000_000_000, 1_000_000_000))
    return full


def edit_unseen(full: bytes, content: bytes) -> None:
    """Changes a file in place and sets its modification time back, as some tools do."""
    before = os.stat(full)
    while os.stat(full).st_ctime_ns == before.st_ctime_ns:  # until the system's clock ticks
        with open(full, "r+b") as file:
            file.write(content)
        os.utime(full, ns=(before.st_atime_ns, before.st_mtime_ns))


def an_hour_later() -> int:
    """Returns a time at which every file is old enough for its digest to be remembered."""
    return time.time_ns() + 3_600_000_000_000


def content_of(root: Path, path: bytes) -> bytes:
    with open(os.fsencode(root) + b"/" + path, "rb") as file:
        return file.read()


def tree(root: Path) -> dict[bytes, bytes | None]:
    """Returns everything below a folder: files' contents, symlinks' targets, None for folders."""
    found: dict[bytes, bytes | None] = {}
    top = os.fsencode(root)
    for folder, folders, files in os.walk(top):
        for name in [*folders, *files]:
            full = folder + b"/" + name
            path = full[len(top) + 1 :]
            if os.path.islink(full):
                found[path] = b"-> " + os.readlink(full)
            else:
                found[path] = None if os.path.isdir(full) else content_of(root, path)
    return found


def open_descriptors() -> int:
    """Counts this process's descriptors, without those that nobody can reach any more."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))
