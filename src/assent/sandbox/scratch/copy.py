"""A copy as real files: for workspaces over which no overlay can be mounted.

Where the file system can share blocks between files, it takes little room; elsewhere it takes as
much as the workspace. Ignored files are copied once, and stay as commands left them; of all others
every file is compared before each command.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import EINVAL, ENOSYS, ENOTTY, ENXIO, EOPNOTSUPP, EXDEV
from stat import S_IFMT, S_IMODE, S_ISDIR, S_ISLNK, S_ISREG
from typing import Final

from assent.core.paths import ancestors, casefolded, is_inside
from assent.core.plan.operation import FileState
from assent.core.scratch import ScratchBackendName, ScratchDraft, ScratchLimits, left_out
from assent.sandbox.scratch.changes import ContentOf, CopyRules, Touched
from assent.sandbox.scratch.folder_tree import (
    FolderTree,
    Stamp,
    entries_in,
    entry,
    names_in,
    set_mode,
    stamp_of,
    take_out_of_copy,
)
from assent.sandbox.scratch.layer import CopyMount, Progress
from assent.sandbox.scratch.quota import CopyQuota, DiskUsage, disk_usage

TREE: Final = b"tree"

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FICLONE: Final = 0x40049409
_NOT_SHARED: Final = (EOPNOTSUPP, EXDEV, EINVAL, ENOTTY)
_NOTHING: Final[tuple[Stamp, Stamp]] = ((0,) * 6, (0,) * 6)
_PIECE: Final = 64 << 20
_BUFFER: Final = 1 << 20
_TOLD: Final = 500  # files between two reports
_JUST_NOW: Final = 20_000_000  # nanoseconds in which a file may change again without a new time


class CopyFull(Exception):
    """The workspace does not fit into a copy; the message is the limit."""


class CopyFailed(Exception):
    """A file could not be copied."""


def quiet(files: int, seconds: float) -> None:
    """Reports nothing."""


class CopiedLayer:
    """Implements CopyLayer by a real copy of the workspace."""

    name: ScratchBackendName = "copy"

    def __init__(
        self, folder: bytes, root: bytes, progress: Progress = quiet, *, warm: bool = False
    ) -> None:
        """`warm` says that the copy was completed before, by another process maybe."""
        tree = folder + b"/" + TREE
        with suppress(FileExistsError):
            os.mkdir(tree, 0o700)
        self._tree, self._real = FolderTree(tree, ours=True), FolderTree(root)
        self._progress = progress
        self._known: dict[bytes, tuple[Stamp, Stamp]] = {}  # real, and its copy, as it was made
        self._put: dict[bytes, tuple[FileState | None, Stamp | None]] = {}
        self._had = warm
        self._warm: set[bytes] = set()  # ignored paths that were copied
        self._draft = ScratchDraft()
        self._quota: CopyQuota | None = None
        self._count, self._began = 0, 0.0

    def watched_by(self, quota: CopyQuota) -> "CopiedLayer":
        """Makes copying stop at the limits that commands have."""
        self._quota = quota
        return self

    def put_before(self, paths: Iterable[bytes]) -> None:
        self._put.update(dict.fromkeys(paths, (None, None)))

    def prepare(self, draft: ScratchDraft, content: ContentOf, rules: CopyRules) -> None:
        self._count, self._began = 0, time.monotonic()
        free = sorted(self._put.keys() - draft.files.keys())
        for path in free:
            self._tree.empty_in_copy(path)
        self._draft = draft
        self._sync(rules)
        for path in free:
            self._bring_back(path, rules)
        self._apply(draft, content)

    @contextmanager
    def mounted(self, prepare: Callable[[], None]) -> Iterator[CopyMount]:
        prepare()
        yield CopyMount(self._tree.path)

    def touched(self, rules: CopyRules, limits: ScratchLimits) -> Touched:
        found = Touched(limits.changes, limits.max_bytes)
        there: set[bytes] = set()
        for path, seen in self._walk(rules, found):
            if S_IFMT(seen.st_mode) == S_IFMT(self._known.get(path, _NOTHING)[0][2]):
                there.add(path)
            if S_ISDIR(seen.st_mode):
                ignored = rules.ignored.outermost(path, folder=True) is not None
                if path not in self._known and not self._made(path) and not ignored:
                    found.folders.add(path)
            elif not (S_ISREG(seen.st_mode) or S_ISLNK(seen.st_mode)):
                found.left_out[path] = "special"
            elif self._stamp(path) != stamp_of(seen):
                found.add(path, seen.st_size)
        for path, (real, _) in self._known.items():
            if path in there or path in self._draft.files:
                continue
            if S_ISDIR(real[2]):
                told = left_out(path, rules.own) is None and path not in rules.hidden
                found.gone |= {path} if told else set()
            else:
                self._missing(path, rules, found)
        for path, (state, stamp) in self._put.items():
            now = self._tree.lstat(path)
            if (stamp_of(now) if now else None) != stamp and (state or now):
                found.add(path, now.st_size if now else 0)
        return found

    def state(self, path: bytes) -> FileState | None:
        return self._tree.state(path)

    def content(self, path: bytes) -> Iterator[bytes]:
        return self._tree.content(path)

    def size(self) -> DiskUsage:
        return disk_usage(self._tree.path)

    def places(self) -> tuple[bytes, ...]:
        return (self._tree.path,)

    def close(self) -> None:
        self._tree.close()
        self._real.close()

    # Comparing the copy with the workspace, and with what it was before a command.

    def _stamp(self, path: bytes) -> Stamp | None:
        if path in self._put:
            return self._put[path][1]
        known = self._known.get(path)
        return known[1] if known else None

    def _made(self, folder: bytes) -> bool:
        """Tells whether the draft makes a folder."""
        return any(state and is_inside(path, folder) for path, state in self._draft.files.items())

    def _walk(self, rules: CopyRules, found: Touched) -> Iterator[tuple[bytes, os.stat_result]]:
        """Yields what is in the copy and not ignored; git's data only if it changed."""
        waiting = [b""]
        while waiting:
            folder = waiting.pop()
            with self._tree.folder(folder) as at:
                for path, _, seen in entries_in(at, folder):
                    is_folder = S_ISDIR(seen.st_mode)
                    why = left_out(path, rules.own)
                    if why is None and path in rules.hidden:
                        continue
                    if why is None and rules.ignored.covers(path, folder=is_folder):
                        found.ignored.add(rules.ignored.name(path, folder=is_folder))
                        continue
                    waiting += [path] if is_folder else []
                    if why is None:
                        yield path, seen
                    elif not is_folder and self._stamp(path) != stamp_of(seen):
                        found.left_out.setdefault(_top(path, rules), why)

    def _missing(self, path: bytes, rules: CopyRules, found: Touched) -> None:
        why = left_out(path, rules.own)
        if why is not None:
            if self._tree.lstat(path) is None:
                found.left_out.setdefault(_top(path, rules), why)
        elif path not in rules.hidden and not rules.ignored.covers_any(path):
            found.add(path)

    def _sync(self, rules: CopyRules) -> None:
        """Makes the copy equal to the workspace, but for what is ignored and was copied before."""
        known: dict[bytes, tuple[Stamp, Stamp]] = {}
        waiting = [(b"", False)]  # folders, and whether one is ignored
        while waiting:
            folder, ignored = waiting.pop()
            with (
                self._real.folder(folder) as theirs,
                self._tree.folder_in_copy(folder, self._real) as ours,
            ):
                there = set[bytes]()
                for path, name, found in entries_in(theirs, folder):
                    there.add(name)
                    if path in self._draft.files or casefolded(path) in rules.private:
                        continue
                    is_folder = S_ISDIR(found.st_mode)
                    out = ignored or self._is_ignored(path, rules, folder=is_folder)
                    if theirs is None or (out and not ignored and self._is_warm(path)):
                        continue
                    made = self._bring(path, name, found, (theirs, ours), rules)
                    if made is not None and not out:
                        known[path] = made
                    if is_folder and path not in rules.hidden:
                        waiting.append((path, out))
                if not ignored:
                    waiting += self._take_out(folder, ours, there, rules)
        self._known, self._had = known, True
        self._progress(self._count, time.monotonic() - self._began)

    def _is_ignored(self, path: bytes, rules: CopyRules, *, folder: bool) -> bool:
        return not left_out(path, rules.own) and rules.ignored.covers(path, folder=folder)

    def _is_warm(self, path: bytes) -> bool:
        """Tells whether an ignored path was copied before; whatever became of it stays."""
        known = self._had or path in self._warm
        self._warm.add(path)
        return known

    def _take_out(
        self, folder: bytes, ours: int, there: set[bytes], rules: CopyRules
    ) -> list[tuple[bytes, bool]]:
        """Removes what the workspace does not have, and the draft neither; ignored files stay.

        Returns folders that only the draft has: commands may have left something in them.
        """
        inner: list[tuple[bytes, bool]] = []
        for path, name, found in entries_in(ours, folder):
            drafted = path in self._draft.files
            if name in there and not drafted:
                continue
            is_folder = S_ISDIR(found.st_mode)
            ignored = not left_out(path, rules.own) and rules.ignored.covers(path, folder=is_folder)
            if drafted or self._made(path):
                inner += [(path, False)] if is_folder and not ignored else []
            elif not ignored:
                take_out_of_copy(name, ours)
        return inner

    def _bring(
        self,
        path: bytes,
        name: bytes,
        found: os.stat_result,
        folders: tuple[int, int],
        rules: CopyRules,
    ) -> tuple[Stamp, Stamp] | None:
        """Copies one entry, unless the copy has it already; returns its stamps there and here."""
        theirs, ours = folders
        real, mine = stamp_of(found), entry(name, ours)
        before = self._known.get(path)
        settled = time.time_ns() - max(real[-2:]) > _JUST_NOW
        if settled and before is not None and mine and before == (real, stamp_of(mine)):
            return before
        if S_ISDIR(found.st_mode):
            if mine is None or not S_ISDIR(mine.st_mode):
                take_out_of_copy(name, ours)
                os.mkdir(name, 0o700, dir_fd=ours)
            set_mode(name, ours, S_IMODE(found.st_mode) | 0o700)
        else:
            take_out_of_copy(name, ours)
            _copy_entry(name, found, theirs, ours, empty=path in rules.hidden)
            self._report()
        made = entry(name, ours)
        return (real, stamp_of(made)) if made is not None else None

    def _bring_back(self, path: bytes, rules: CopyRules) -> None:
        """Copies a file that the draft no longer has; of ignored folders nothing else is copied."""
        above, _, name = path.rpartition(b"/")
        with self._real.folder(above) as theirs:
            found = entry(name, theirs) if theirs is not None else None
            if theirs is None or found is None or self._tree.lstat(path) is not None:
                return
            with self._tree.folder_in_copy(above, self._real) as ours:
                self._bring(path, name, found, (theirs, ours), rules)

    def _report(self) -> None:
        self._count += 1
        if self._count % _TOLD:
            return
        self._progress(self._count, time.monotonic() - self._began)
        if self._quota is not None and (over := self._quota.exceeded()):
            raise CopyFull(over)

    def _apply(self, draft: ScratchDraft, content: ContentOf) -> None:
        put: dict[bytes, tuple[FileState | None, Stamp | None]] = {}
        for path, state in draft.files.items():
            if state is None:
                self._tree.empty_in_copy(path)
                put[path] = (None, None)
        for path, state in draft.files.items():
            if state is None:
                continue
            seen = self._tree.lstat(path)
            if self._put.get(path) == (state, stamp_of(seen) if seen else None):
                put[path] = self._put[path]
                continue
            pieces = content(state.digest)
            put[path] = (state, self._tree.put_in_copy(path, state, pieces, self._real))
        self._put = put
        for folder in draft.pruned:
            with self._tree.folder(folder) as at:
                bare = at is not None and not names_in(at)
            if bare:
                self._tree.empty_in_copy(folder)


def _top(path: bytes, rules: CopyRules) -> bytes:
    """Returns the outermost folder on the way to a path that is left out."""
    ways = [*reversed(ancestors(path)), path]
    return next((one for one in ways if left_out(one, rules.own)), path)


def _copy_entry(name: bytes, found: os.stat_result, theirs: int, ours: int, *, empty: bool) -> None:
    """Copies a file or a symlink; of a hidden file only its name, and of a socket nothing."""
    if S_ISLNK(found.st_mode):
        os.symlink(os.readlink(name, dir_fd=theirs), name, dir_fd=ours)
        return
    if not S_ISREG(found.st_mode):
        return
    with open(os.open(name, _NEW, 0o600, dir_fd=ours), "wb", buffering=0) as made:
        if not empty:
            try:
                source = os.open(name, _READ, dir_fd=theirs)
            except PermissionError:
                return  # no program of this user could read it either
            try:
                copy_content(source, made.fileno(), found.st_size)
            finally:
                os.close(source)
        os.fchmod(made.fileno(), S_IMODE(found.st_mode))
        os.utime(made.fileno(), ns=(found.st_atime_ns, found.st_mtime_ns))


def copy_content(source: int, made: int, size: int) -> None:
    """Copies a file's content: by sharing its blocks, else without its holes."""
    try:
        fcntl.ioctl(made, _FICLONE, source)
        return
    except OSError as error:
        if error.errno not in _NOT_SHARED:
            raise
    at = 0
    os.ftruncate(made, size)
    while at < size:
        try:
            at = os.lseek(source, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno == ENXIO:  # a hole up to the end
                return
            raise
        end = os.lseek(source, at, os.SEEK_HOLE)
        while at < end:
            moved = _copy_piece(source, made, at, min(_PIECE, end - at))
            if not moved:
                return
            at += moved


def _copy_piece(source: int, made: int, at: int, size: int) -> int:
    """Copies a piece of a file; two file systems may not be able to do that between them."""
    try:
        return os.copy_file_range(source, made, size, at, at)
    except OSError as error:
        if error.errno not in (*_NOT_SHARED, ENOSYS):
            raise
    return os.pwrite(made, os.pread(source, min(size, _BUFFER), at), at)
