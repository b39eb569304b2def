"""The scanner: finds what secrets and rules hide below a folder, and remembers it."""

import os
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import TypeAlias

from assent.core.file_times import is_settled
from assent.core.paths import parent
from assent.core.permission.rule import PathLimits, PathPredicate
from assent.core.permission.sensitive_paths import SECRET_FILES, SECRET_FOLDERS, secret_file
from assent.ports import CacheFile, NoCacheFile
from assent.sandbox.profile.file_system import read_beginning
from assent.sandbox.profile.scan_memory import (
    FileStamp,
    ScannedFolder,
    decode_memory,
    encode_memory,
    scan_rules,
)

FolderLister: TypeAlias = Callable[[bytes, FileStamp], ScannedFolder]
OpenScanCache: TypeAlias = Callable[[bytes], CacheFile]  # by what is searched for

_NAME_DECIDES = -1  # instead of a row whose marks to look for


class HiddenPathScanner:
    """Finds what to hide, and remembers folders while they stay the same, to read each once.

    Every search looks at the stamp of every folder. What earlier processes remembered counts
    between `recall` and `keep`, and only on devices that `recall` names.
    """

    def __init__(
        self,
        clock: Callable[[], int] = time.time_ns,
        lists: FolderLister | None = None,
        cache: Callable[[], CacheFile] = NoCacheFile,
        about: bytes = b"",
    ) -> None:
        """`about` identifies what `lists` looks for; with another one, `cache` says nothing."""
        self._clock = clock
        self._lists = lists or _listed  # returns the entries of a folder that matter
        self._cache = cache
        self._about = about
        self._devices: frozenset[int] = frozenset()
        self._recalled: dict[bytes, ScannedFolder] | None = None
        self._latest = 0  # when the last search began
        self._new = 0  # names looked at that the cache does not know
        self._folders: dict[bytes, ScannedFolder] = {}
        self._judged: dict[tuple[bytes, int], tuple[FileStamp, bool]] = {}
        self.read = 0  # folders that had to be listed, for measurements

    def recall(self, devices: frozenset[int]) -> None:
        """Begins a search: what the cache has about folders on these devices counts.

        If the clock was set back, equal times prove nothing, and everything is forgotten.
        """
        now = self._clock()
        if now < self._latest:
            self._folders, self._judged, self._recalled = {}, {}, {}
        if self._recalled is None:
            content = self._cache().read()
            self._recalled = decode_memory(content, self._about, now) if content else {}
        self._devices, self._latest = devices, now

    def keep(self) -> None:
        """Ends a search: writes the cache if to look again would cost later processes more."""
        if not self._new or self._new < len(self._folders):
            return
        self._new = 0
        folders = self._folders.copy()  # another thread may search at the same time
        known = {path: seen for path, seen in folders.items() if seen.stamp.device in self._devices}
        self._cache().write(encode_memory(self._about, self._latest, known))

    def below(
        self,
        folder: bytes,
        skip: Collection[bytes] = (),
        *,
        depth: int = sys.maxsize,
        closed: bool = False,
    ) -> list[bytes]:
        """Lists what to hide in a folder and below, without following symlinks or skipped folders.

        `depth` is how many folders deep it looks; 0 is the folder itself only. With `closed`, a
        folder that cannot be listed or entered is hidden as a whole: a program may know a name in
        there, or open it where it can write.
        """
        now = self._clock()  # before any look: a slow one must not make its result seem settled
        left_out, found = frozenset(skip), list[bytes]()
        waiting = [(folder, depth)]
        while waiting:
            path, left = waiting.pop()
            try:
                seen = None if path in left_out else self._look(path, now)
            except PermissionError:
                found += [_closed_folder(path)] if closed else []
                continue
            if seen is None:
                continue
            if seen.secrets or seen.doubtful or seen.links:
                found += self._hidden(path + b"/", seen)
                found += [path] if closed and not os.access(path, os.X_OK) else []
            if left and seen.folders:
                waiting += [(path + b"/" + name, left - 1) for name in seen.folders]
        return found

    def _look(self, path: bytes, now: int) -> ScannedFolder | None:
        """Returns what a folder holds; None if it is gone, PermissionError if it is closed."""
        try:
            stamp = _stamp(path)
            known = self._folders.get(path) or self._of_others(path, stamp)
            if known is not None and known.stamp == stamp:
                return known
            seen = self._lists(path, stamp)
        except OSError as error:
            self._folders.pop(path, None)
            if isinstance(error, PermissionError):
                raise
            return None
        self.read += 1
        self._folders.pop(path, None)
        if is_settled((stamp.modified, stamp.changed), now):
            self._folders[path] = seen
            if stamp.device in self._devices:
                self._new += 1 + seen.entries
        return seen

    def _of_others(self, path: bytes, stamp: FileStamp) -> ScannedFolder | None:
        """Returns what another process found in a folder, if it is still as it was."""
        if not self._recalled or stamp.device not in self._devices:
            return None
        known = self._recalled.pop(path, None)
        if known is None or known.stamp != stamp:
            return None
        self._folders[path] = known
        return known

    def _hidden(self, place: bytes, seen: ScannedFolder) -> Iterator[bytes]:
        for name in seen.secrets:
            yield place + name
        for name, row in seen.doubtful:
            if self._holds(place + name, row):
                yield place + name
        for name, row in seen.links:
            target = os.path.realpath(place + name)
            fits = os.path.isdir(target) == _names_folder(name) and os.path.lexists(target)
            if fits and (row == _NAME_DECIDES or self._holds(target, row)):
                yield target

    def _holds(self, path: bytes, row: int) -> bool:
        """Tells whether a file's content makes it a secret; one that cannot be read counts."""
        now = self._clock()
        try:
            stamp = _stamp(path)
            known = self._judged.get((path, row))
            if known is not None and known[0] == stamp:
                return known[1]
            held = re.search(SECRET_FILES[row].marks, read_beginning(path)) is not None
        except FileNotFoundError:
            return False
        except OSError:
            return True
        self._judged.pop((path, row), None)
        if is_settled((stamp.modified, stamp.changed), now):
            self._judged[path, row] = (stamp, held)
        return held


def secret_scanner(cache: OpenScanCache) -> HiddenPathScanner:
    """Returns the scanner for secrets, and for what one can talk to."""
    kind = b"secrets"
    return HiddenPathScanner(cache=partial(cache, kind), about=scan_rules(kind))


def no_scan_cache(kind: bytes) -> CacheFile:
    """Opens no cache: every process searches for itself."""
    return NoCacheFile()


def _closed_folder(path: bytes) -> bytes:
    """Returns the folder that cannot be listed, or the one above it that cannot be entered."""
    try:
        os.lstat(path)
    except OSError:
        return parent(path)
    return path


def _stamp(path: bytes) -> FileStamp:
    state = os.lstat(path)
    return FileStamp(state.st_dev, state.st_ino, state.st_mtime_ns, state.st_ctime_ns)


def _listed(path: bytes, stamp: FileStamp) -> ScannedFolder:
    count = 0
    folders: list[bytes] = []
    secrets: list[bytes] = []
    links: list[tuple[bytes, int]] = []
    doubtful: list[tuple[bytes, int]] = []
    above = path.rpartition(b"/")[2]
    with os.scandir(path) as entries:
        for entry in entries:
            name = entry.name
            count += 1
            if entry.is_dir(follow_symlinks=False):
                (secrets if _names_folder(name) else folders).append(name)
                continue
            row = secret_file(above, name)
            number = SECRET_FILES.index(row) if row and row.marks else _NAME_DECIDES
            if entry.is_symlink():
                links += [(name, number)] if row or _names_folder(name) else []
            elif not entry.is_file(follow_symlinks=False):  # through any mount one can talk to it
                secrets.append(name)
            elif row and row.marks:
                doubtful.append((name, number))
            elif row:
                secrets.append(name)
    return ScannedFolder(
        stamp, count, tuple(folders), tuple(secrets), tuple(links), tuple(doubtful)
    )


def _names_folder(name: bytes) -> bool:
    return name.lower() in SECRET_FOLDERS


# Finds the paths on disk that rules hide from programs, or make read-only for them.


class LimitedPathFinder:
    """Finds what path limits cover in one workspace; caches folders as HiddenPathScanner does.

    Symlinks count as what they point to.
    """

    def __init__(
        self,
        fence: PathLimits,
        root: bytes,
        cache: OpenScanCache = no_scan_cache,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._fence = fence
        self._root = root
        self._cache = cache
        self._clock = clock
        self._hides = self._scanner(fence.hides, fence.hides_key)
        self._keeps = self._scanner(fence.keeps, fence.keeps_key)

    def hidden(self, devices: frozenset[int] = frozenset()) -> list[bytes]:
        """Returns what no program may read, folders as a whole where a rule covers them."""
        return _searched(self._hides, self._root, devices) if self._hides else []

    def read_only(self, devices: frozenset[int] = frozenset()) -> list[bytes]:
        """Returns what no program may change, also missing folders that rules name."""
        if self._fence.keeps is None or self._keeps is None:
            return []
        if self._fence.keeps(b"", True):
            return [self._root]
        named = [self._root + b"/" + path for path in self._fence.named]
        missing = [path for path in named if not os.path.lexists(path) and _stands(parent(path))]
        return [*_searched(self._keeps, self._root, devices), *missing]

    def _scanner(self, covers: PathPredicate | None, key: bytes) -> HiddenPathScanner | None:
        if covers is None:
            return None
        lists = partial(_list_folder, covers, self._root)
        if not key:
            return HiddenPathScanner(self._clock, lists)
        about = scan_rules(key + b"\0" + self._root)
        return HiddenPathScanner(self._clock, lists, partial(self._cache, key), about)


def _searched(scanner: HiddenPathScanner, root: bytes, devices: frozenset[int]) -> list[bytes]:
    scanner.recall(devices)
    found = scanner.below(root)
    scanner.keep()
    return found


def _stands(folder: bytes) -> bool:
    return os.path.isdir(folder) and os.path.realpath(folder) == folder


def _list_folder(
    covers: PathPredicate, root: bytes, path: bytes, stamp: FileStamp
) -> ScannedFolder:
    count = 0
    folders: list[bytes] = []
    found: list[bytes] = []
    with os.scandir(path) as entries:
        for entry in entries:
            count += 1
            if entry.is_symlink():
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if covers(entry.path[len(root) + 1 :], is_folder):
                found.append(entry.name)
            elif is_folder:
                folders.append(entry.name)
    return ScannedFolder(stamp, count, tuple(folders), tuple(found))
