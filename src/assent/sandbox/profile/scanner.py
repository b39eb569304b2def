"""The scanner: finds what secrets and rules hide below a folder, and remembers it."""

import os
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Final, TypeAlias

import msgspec

from assent.core.paths import parent
from assent.core.permission.rule import PathLimits, PathPredicate
from assent.core.permission.sensitive_paths import SECRET_FOLDERS, secret_file
from assent.sandbox.profile.file_system import read_beginning

# A folder that changed this recently may change again within the same tick of its clock.
MTIME_GRANULARITY_NS: Final = 2_000_000_000


class FileStamp(msgspec.Struct, frozen=True):
    """The properties of a file or folder that change whenever it changes."""

    device: int
    inode: int
    modified: int
    changed: int


class ScannedFolder(msgspec.Struct, frozen=True):
    """What matters in one folder; for `doubtful` files the content decides.

    A symlink with a secret's name is in `links`: what it points to is the secret.
    """

    stamp: FileStamp
    folders: tuple[bytes, ...] = ()
    secrets: tuple[bytes, ...] = ()
    links: tuple[tuple[bytes, bytes], ...] = ()
    doubtful: tuple[tuple[bytes, bytes], ...] = ()


FolderLister: TypeAlias = Callable[[bytes, FileStamp], ScannedFolder]


class HiddenPathScanner:
    """Finds what to hide, and remembers folders while they stay the same, to read each once."""

    def __init__(
        self, clock: Callable[[], int] = time.time_ns, lists: FolderLister | None = None
    ) -> None:
        self._clock = clock
        self._lists = lists or _listed  # returns the entries of a folder that matter
        self._folders: dict[bytes, ScannedFolder] = {}
        self._judged: dict[bytes, tuple[FileStamp, bool]] = {}
        self.read = 0  # folders that had to be listed, for measurements

    def below(
        self, folder: bytes, skip: Collection[bytes] = (), *, depth: int = sys.maxsize
    ) -> list[bytes]:
        """Lists what to hide in a folder and below, without following symlinks or skipped folders.

        `depth` is how many folders deep it looks; 0 is the folder itself only.
        """
        found = self._walk(folder, frozenset(skip), depth)
        return [path for seen in found for path in self._hidden(seen)]

    def _walk(self, top: bytes, skip: frozenset[bytes], depth: int) -> Iterator[ScannedFolder]:
        waiting = [(top, depth)]
        while waiting:
            path, left = waiting.pop()
            if path in skip:
                continue
            seen = self._look(path)
            if seen is not None:
                yield seen
                waiting += [(folder, left - 1) for folder in seen.folders] if left else []

    def _look(self, path: bytes) -> ScannedFolder | None:
        """Returns what a folder holds; None if it is gone or closed to us and our programs."""
        now = self._clock()  # before the look: a slow one must not make its result seem settled
        try:
            stamp = _stamp(path)
            known = self._folders.get(path)
            if known is not None and known.stamp == stamp:
                return known
            seen = self._lists(path, stamp)
        except OSError:
            self._folders.pop(path, None)
            return None
        self.read += 1
        self._folders.pop(path, None)
        if _is_older(stamp, now):
            self._folders[path] = seen
        return seen

    def _hidden(self, seen: ScannedFolder) -> Iterator[bytes]:
        yield from seen.secrets
        yield from (path for path, marks in seen.doubtful if self._holds(path, marks))
        for link, marks in seen.links:
            target = os.path.realpath(link)
            fits = os.path.isdir(target) == _names_folder(link) and os.path.lexists(target)
            if fits and (not marks or self._holds(target, marks)):
                yield target

    def _holds(self, path: bytes, marks: bytes) -> bool:
        """Tells whether a file's content makes it a secret; one that cannot be read counts."""
        now = self._clock()
        try:
            stamp = _stamp(path)
            known = self._judged.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            held = re.search(marks, read_beginning(path)) is not None
        except FileNotFoundError:
            return False
        except OSError:
            return True
        self._judged.pop(path, None)
        if _is_older(stamp, now):
            self._judged[path] = (stamp, held)
        return held


def _is_older(stamp: FileStamp, now: int) -> bool:
    return now - max(stamp.modified, stamp.changed) > MTIME_GRANULARITY_NS


def _stamp(path: bytes) -> FileStamp:
    state = os.lstat(path)
    return FileStamp(state.st_dev, state.st_ino, state.st_mtime_ns, state.st_ctime_ns)


def _listed(path: bytes, stamp: FileStamp) -> ScannedFolder:
    folders: list[bytes] = []
    secrets: list[bytes] = []
    links: list[tuple[bytes, bytes]] = []
    doubtful: list[tuple[bytes, bytes]] = []
    above = path.rpartition(b"/")[2]
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                (secrets if _names_folder(entry.name) else folders).append(entry.path)
                continue
            row = secret_file(above, entry.name)
            marks = row.marks if row else b""
            if entry.is_symlink():
                links += [(entry.path, marks)] if row or _names_folder(entry.name) else []
            elif not entry.is_file(follow_symlinks=False):  # through any mount one can talk to it
                secrets.append(entry.path)
            elif marks:
                doubtful.append((entry.path, marks))
            elif row:
                secrets.append(entry.path)
    return ScannedFolder(stamp, tuple(folders), tuple(secrets), tuple(links), tuple(doubtful))


def _names_folder(path: bytes) -> bool:
    return path.rpartition(b"/")[2].lower() in SECRET_FOLDERS


# Finds the paths on disk that rules hide from programs, or make read-only for them.


class LimitedPathFinder:
    """Finds what path limits cover in one workspace; caches folders as HiddenPathScanner does.

    Symlinks count as what they point to.
    """

    def __init__(self, fence: PathLimits, root: bytes) -> None:
        self._fence = fence
        self._root = root
        hides, keeps = fence.hides, fence.keeps
        self._hides = hides and HiddenPathScanner(lists=partial(_list_folder, hides, root))
        self._keeps = keeps and HiddenPathScanner(lists=partial(_list_folder, keeps, root))

    def hidden(self) -> list[bytes]:
        """Returns what no program may read, folders as a whole where a rule covers them."""
        return self._hides.below(self._root) if self._hides else []

    def read_only(self) -> list[bytes]:
        """Returns what no program may change, also missing folders that rules name."""
        if self._fence.keeps is None or self._keeps is None:
            return []
        if self._fence.keeps(b"", True):
            return [self._root]
        named = [self._root + b"/" + path for path in self._fence.named]
        missing = [path for path in named if not os.path.lexists(path) and _stands(parent(path))]
        return [*self._keeps.below(self._root), *missing]


def _stands(folder: bytes) -> bool:
    return os.path.isdir(folder) and os.path.realpath(folder) == folder


def _list_folder(
    covers: PathPredicate, root: bytes, path: bytes, stamp: FileStamp
) -> ScannedFolder:
    folders: list[bytes] = []
    found: list[bytes] = []
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_symlink():
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if covers(entry.path[len(root) + 1 :], is_folder):
                found.append(entry.path)
            elif is_folder:
                folders.append(entry.path)
    return ScannedFolder(stamp, tuple(folders), tuple(found))
