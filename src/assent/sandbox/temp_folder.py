"""Temporary folders: created for one purpose, private to their owner, and always removed."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from stat import S_ISLNK, S_ISREG
from typing import TypeAlias

from assent.core.errors import Refused

PREFIX = "assent-"

# Everything about a file that a program could change; reading it does not change it.
FileFingerprint: TypeAlias = tuple[
    int, int, int, int, int, int, bytes, tuple[tuple[str, bytes], ...]
]


class TempFolder:
    """A temporary folder; nothing outside it can be reached from here."""

    def __init__(self, top: Path) -> None:
        self.top = Path(os.path.realpath(top))

    def at(self, name: str) -> Path:
        """Returns the path of something in the folder; refuses one outside it."""
        path = self.top / name
        if path == self.top:
            return path
        parent = Path(os.path.realpath(path.parent))
        if path.name == ".." or (parent != self.top and self.top not in parent.parents):
            raise Refused(f"{name!a} points outside the scratch folder.")
        return parent / path.name

    def folder(self, name: str) -> Path:
        """Creates a folder and those above it."""
        path = self.at(name)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    def write(self, name: str, content: bytes, mode: int = 0o600) -> Path:
        """Creates or overwrites a file."""
        self.folder(os.path.dirname(name) or ".")
        path = self.at(name)
        path.write_bytes(content)
        path.chmod(mode)
        return path

    def link(self, name: str, target: str | Path) -> Path:
        """Creates a symlink to anywhere."""
        path = self.at(name)
        path.symlink_to(target)
        return path

    def remove(self, name: str) -> None:
        """Removes a file, a symlink, or a folder with all that is in it."""
        path = self.at(name)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

    def read(self, name: str) -> bytes | None:
        """Returns a file's content; None if there is none."""
        path = self.at(name)
        return path.read_bytes() if path.is_file() and not path.is_symlink() else None

    def seen(self) -> dict[str, FileFingerprint]:
        """Returns everything in the folder, in enough detail to show any change."""
        return {str(path.relative_to(self.top)): _seen(path) for path in (self.top, *self._all())}

    def _all(self) -> list[Path]:
        return sorted(self.top.rglob("*"))


@contextmanager
def temp_folder(parent: Path | None = None) -> Iterator[TempFolder]:
    """Creates a folder in the system's temporary one, or another, and always removes it."""
    top = tempfile.mkdtemp(prefix=PREFIX, dir=parent)
    try:
        yield TempFolder(Path(top))
    finally:
        _remove(top)


def _seen(path: Path) -> FileFingerprint:
    found = os.lstat(path)
    content = b""
    if S_ISREG(found.st_mode):
        content = sha256(path.read_bytes()).digest()
    elif S_ISLNK(found.st_mode):
        content = os.fsencode(os.readlink(path))
    return (
        found.st_mode,
        found.st_uid,
        found.st_gid,
        found.st_nlink,
        found.st_mtime_ns,
        found.st_ctime_ns,
        content,
        _attributes(path),
    )


def _attributes(path: Path) -> tuple[tuple[str, bytes], ...]:
    try:
        names = sorted(os.listxattr(path, follow_symlinks=False))
        return tuple((name, os.getxattr(path, name, follow_symlinks=False)) for name in names)
    except (OSError, AttributeError):
        return ()  # a file system, or a system, without attributes has none to change


def _remove(top: str) -> None:
    for folder, names, _ in os.walk(top):
        below = [os.path.join(folder, name) for name in names]
        for path in [path for path in below if not os.path.islink(path)]:
            with suppress(OSError):
                os.chmod(path, 0o700)
    shutil.rmtree(top, ignore_errors=True)
