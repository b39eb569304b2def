"""Finds the paths on disk that rules hide from programs, or make read-only for them."""

import os
from functools import partial

from assent.core.paths import parent
from assent.core.permission.rule import PathLimits, PathPredicate
from assent.sandbox.profile.scanner import FileStamp, HiddenPathScanner, ScannedFolder


class LimitedPathFinder:
    """Finds what path limits cover in one workspace; caches folders as HiddenPathScanner does.

    Symlinks stand for what they lead to, here as everywhere.
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
        """Returns what no program may change, also folders that rules name and nobody made yet."""
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
