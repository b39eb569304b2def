"""Trees of real files as values: planted, looked at and compared whole, with no code of Assent."""

import os
import stat
from typing import Literal, TypeAlias

import msgspec

_PART = 1 << 20  # bytes read at once

Kind = Literal["file", "link", "folder"]


class Entry(msgspec.Struct, frozen=True):
    """What stands under a name."""

    kind: Kind
    mode: int
    content: bytes = b""


Tree: TypeAlias = dict[bytes, Entry]


def file(content: bytes, mode: int = 0o644) -> Entry:
    return Entry("file", mode, content)


def link(target: bytes) -> Entry:
    return Entry("link", 0o777, target)


def folder(mode: int = 0o755) -> Entry:
    return Entry("folder", mode)


def tree(entries: Tree) -> Tree:
    """Returns the entries together with the folders above them."""
    whole: Tree = {}
    for path in sorted(entries):
        parts = path.split(b"/")
        for depth in range(1, len(parts)):
            whole.setdefault(b"/".join(parts[:depth]), folder())
        whole[path] = entries[path]
    return whole


def plant(root: bytes, entries: Tree) -> None:
    """Makes the entries below a folder that exists."""
    for path in sorted(entries):
        entry, full = entries[path], root + b"/" + path
        if entry.kind == "link":
            os.symlink(entry.content, full)
        elif entry.kind == "folder":
            os.mkdir(full)
        else:
            _write(full, entry.content)
    for path, entry in entries.items():
        if entry.kind != "link":
            os.chmod(root + b"/" + path, entry.mode)


def _write(path: bytes, content: bytes) -> None:
    """Makes a file without the layers of `open`: sweeps plant millions."""
    made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC)
    try:
        while content:
            content = content[os.write(made, content) :]
    finally:
        os.close(made)


def seen(root: bytes, *, without: bytes = b".opencode") -> Tree:
    """Returns everything below a folder, but for one name at its top."""
    found: Tree = {}
    waiting = [b""]
    while waiting:
        here = waiting.pop()
        for name in os.listdir(root + b"/" + here):
            path = here + b"/" + name if here else name
            if path == without:
                continue
            found[path] = look(root + b"/" + path)
            if found[path].kind == "folder":
                waiting.append(path)
    return found


def look(path: bytes) -> Entry:
    """Returns what stands under one name."""
    status = os.lstat(path)
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return Entry("link", mode, os.readlink(path))
    if stat.S_ISDIR(status.st_mode):
        return Entry("folder", mode)
    return Entry("file", mode, _read(path))


def _read(path: bytes) -> bytes:
    """Reads a file without the layers of `open`: sweeps look at millions."""
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(opened, _PART):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(opened)


def wipe(root: bytes) -> None:
    """Empties a folder."""
    with os.scandir(root) as found:
        entries = list(found)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            wipe(entry.path)
            os.rmdir(entry.path)
        else:
            os.unlink(entry.path)
