"""What a person, or another program, may do to a file while Assent is not looking."""

import os
import shutil
from collections.abc import Callable
from typing import TypeAlias

Meddling: TypeAlias = Callable[[bytes], None]

MINE = b"my own work, not to be lost\n"


def rewritten(path: bytes) -> None:
    """Another file is put in its place, as most editors do."""
    write(path + b".swp")
    os.replace(path + b".swp", path)


def overwritten(path: bytes) -> None:
    """The same file gets other content of the same size and the same time."""
    found = os.lstat(path)
    with open(path, "r+b") as file:
        file.write(MINE.ljust(found.st_size, b"!")[: found.st_size] or MINE)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def linked(path: bytes) -> None:
    """It becomes a symlink to a file with the very same content."""
    twin = path + b".twin"
    os.rename(path, twin)
    os.symlink(os.path.basename(twin), path)


def made_a_folder(path: bytes) -> None:
    """It becomes a folder with a file in it."""
    remove(path)
    os.mkdir(path)
    write(path + b"/inside")


def removed(path: bytes) -> None:
    remove(path)


def chmodded(path: bytes) -> None:
    os.chmod(path, 0o604)


def taken_by_a_file(path: bytes) -> None:
    write(path)


def taken_by_a_link(path: bytes) -> None:
    os.symlink(b"to/nowhere", path)


def taken_by_a_folder(path: bytes) -> None:
    os.mkdir(path)
    write(path + b"/inside")


ON_FILES: tuple[Meddling, ...] = (
    rewritten, overwritten, linked, made_a_folder, removed, chmodded,
)  # fmt: skip
ON_LINKS: tuple[Meddling, ...] = (rewritten, made_a_folder, removed)
ON_FOLDERS: tuple[Meddling, ...] = (linked,)
ON_NOTHING: tuple[Meddling, ...] = (taken_by_a_file, taken_by_a_link, taken_by_a_folder)


def choices(path: bytes) -> tuple[Meddling, ...]:
    """Returns what can be done to whatever stands under a name."""
    if os.path.islink(path):
        return ON_LINKS
    if os.path.isdir(path):
        return ON_FOLDERS
    return ON_FILES if os.path.exists(path) else ON_NOTHING


def write(path: bytes) -> None:
    with open(path, "wb") as file:
        file.write(MINE)


def remove(path: bytes) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
