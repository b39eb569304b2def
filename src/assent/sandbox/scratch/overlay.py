"""A copy as an overlay: the workspace below, read-only, and a folder for what changes above it.

It is mounted in a namespace of its own, and only while a command runs; the mount ends with the last
process in there. It is not mounted over the workspace but over an empty folder in the state
directory, which the sandbox then shows under the workspace's path: a program that does not reach
the namespace finds the empty folder, and never the real files with the right to write.
"""

import os
import select
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from stat import S_IMODE, S_ISDIR
from typing import Final

from assent.core.errors import Refused
from assent.core.paths import ancestors, folders_above, is_inside
from assent.core.plan.operation import FileState
from assent.core.scratch import ScratchBackendName, ScratchDraft, ScratchLimits, left_out
from assent.sandbox.runner.process_tree import wait_or_kill
from assent.sandbox.scratch.changes import (
    ContentOf,
    CopyRules,
    Touched,
    not_as_drafted,
    touched_in_upper,
)
from assent.sandbox.scratch.folder_tree import (
    FolderTree,
    Stamp,
    clear_opaque,
    entries_in,
    entry,
    is_whiteout,
    names_in,
    set_mode,
    stamp_of,
    take_out_of_copy,
)
from assent.sandbox.scratch.layer import CopyMount
from assent.sandbox.scratch.quota import DiskUsage, disk_usage
from assent.sandbox.status import is_root_owned

UPPER, WORK, MERGED = b"upper", b"work", b"merged"

_FOLDERS: Final = (b"/usr/bin/", b"/bin/", b"/run/current-system/sw/bin/")
# Layers are opened in there: those of another namespace cannot be mounted. A `:` in a path then
# means nothing, and no real path is in the mount table.
_LAYERS: Final = "lowerdir=/proc/self/fd/5,upperdir=/proc/self/fd/6,workdir=/proc/self/fd/7"
OPTIONS: Final = f"userxattr,index=off,xino=off,metacopy=off,redirect_dir=nofollow,{_LAYERS}"
# Without it, the end of the mount waits until everything on the disk is written. An old kernel
# does not know it, and then the mount is as usual.
VOLATILE: Final = "volatile"
# It is started while the copy is still prepared, and mounts it when it is told to.
_HOLDS: Final = (
    "read -r prepared || exit 1; "
    'mounts() { "$0" -n -i --no-canonicalize -t overlay -o "$1" overlay "$2"; }; '
    'exec 5<"$3" 6<"$4" 7<"$5" && '
    '{ test -n "$6" && mounts "$6,$1" "$2" 2>/dev/null || mounts "$1" "$2"; } '
    "&& exec 5<&- 6<&- 7<&- && echo ready && read -r over"
)
_PREPARED: Final = b"prepared\n"
_READY: Final = b"ready\n"
_PATIENCE: Final = 10.0  # seconds
_LONGEST: Final = 300
_UNKNOWN: Final[tuple[FileState | None, Stamp]] = (None, ())


class OverlayFailed(Exception):
    """No overlay can be mounted; the message says what the kernel or a program said."""


class MountNamespace:
    """Starts processes that hold an overlay's namespace, and says how others enter it."""

    def __init__(self, *, user: bool) -> None:
        """With `user`, in a user namespace, too: only root can do without."""
        self._user = user

    @contextmanager
    def held(
        self,
        lower: bytes,
        folder: bytes,
        prepare: Callable[[], None] = lambda: None,
        *,
        volatile: bool = False,
    ) -> Iterator[CopyMount]:
        """Mounts the overlay of a copy's folder once it is prepared; the mount ends when this ends.

        The process that holds it ends with this one, too: nothing is left to read for it. What is
        `volatile` is never flushed, so it is for a copy that no one uses after the machine stopped.
        """
        layers = (lower, folder + b"/" + UPPER, folder + b"/" + WORK)
        merged = folder + b"/" + MERGED
        more = VOLATILE.encode() if volatile else b""
        holder = self._started((OPTIONS.encode(), merged, *layers, more))
        assert holder.stdin is not None, "it reads a pipe"
        try:
            prepare()
            with suppress(BrokenPipeError):  # it ended; what it said is read below
                os.write(holder.stdin.fileno(), _PREPARED)
            self._wait(holder)
            yield CopyMount(merged, self._enter(holder.pid))
        finally:
            with suppress(OSError):
                holder.stdin.close()
            wait_or_kill(holder, _PATIENCE)
            assert holder.stdout is not None, "it writes a pipe"
            holder.stdout.close()

    def _started(self, arguments: Sequence[bytes]) -> subprocess.Popen[bytes]:
        own = [b"--user", b"--map-current-user", b"--keep-caps"] if self._user else []
        begin = [tool("unshare"), *own, b"--mount", b"--propagation", b"private", b"--"]
        try:
            return subprocess.Popen(
                [*begin, b"/bin/sh", b"-c", _HOLDS.encode(), tool("mount"), *arguments],
                cwd="/",
                env={"LC_ALL": "C"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise OverlayFailed(f"unshare could not be started: {error.strerror}") from error

    def _wait(self, holder: subprocess.Popen[bytes]) -> None:
        assert holder.stdout is not None, "it writes a pipe"
        said, stream = b"", holder.stdout.fileno()
        while not said.endswith(_READY):
            if not select.select([stream], [], [], _PATIENCE)[0]:
                raise OverlayFailed("mounting took too long")
            more = os.read(stream, 4096)
            said += more
            if not more or len(said) > (1 << 16):
                words = " ".join(said.decode("utf-8", "replace").split())[:_LONGEST]
                raise OverlayFailed(words or "unshare ended without a word")

    def _enter(self, pid: int) -> tuple[bytes, ...]:
        own = [b"--user=/proc/%d/ns/user" % pid, b"--preserve-credentials"] if self._user else []
        return (tool("nsenter"), *own, b"--mount=/proc/%d/ns/mnt" % pid, b"--")


def tool(name: str) -> bytes:
    """Returns a program of the system; raises OverlayFailed if it is missing."""
    paths = [folder + name.encode() for folder in _FOLDERS]
    found = next((path for path in paths if is_root_owned(path)), None)
    if found is None:
        raise OverlayFailed(f"{name} is not installed")
    return found


def namespaces() -> list[MountNamespace]:
    """Returns the ways to hold a mount, the best first: root's files have more than one owner."""
    by_user = MountNamespace(user=True)
    return [MountNamespace(user=False), by_user] if os.geteuid() == 0 else [by_user]


def make_overlay_folder(folder: bytes, root: bytes) -> None:
    """Makes the folders of an overlay; the merged root has the mode of the upper one."""
    mode = S_IMODE(os.stat(root).st_mode) | 0o700
    for name in (WORK, MERGED, UPPER):
        with suppress(FileExistsError):
            os.mkdir(folder + b"/" + name, 0o700)
    os.chmod(folder + b"/" + UPPER, mode)


def _forget_mount(work: bytes) -> None:
    """Removes the mark of an earlier volatile mount, after which the kernel refuses another one.

    It guards against what a machine that stopped lost; here the same process mounted it before.
    """
    at = os.open(work, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        take_out_of_copy(WORK, at)
    finally:
        os.close(at)


class OverlayLayer:
    """Implements CopyLayer by an overlay mount."""

    name: ScratchBackendName = "overlay"

    def __init__(
        self, folder: bytes, root: bytes, namespace: MountNamespace, *, volatile: bool = False
    ) -> None:
        """With `volatile`, nothing in it is flushed to disk."""
        make_overlay_folder(folder, root)
        self._volatile = volatile
        self._folder, self._root, self._namespace = folder, root, namespace
        self._upper = FolderTree(folder + b"/" + UPPER, ours=True)
        self._lower = FolderTree(root)
        self._put: dict[bytes, tuple[FileState | None, Stamp]] = {}  # the draft, as it was put
        self._draft = ScratchDraft()

    def put_before(self, paths: Iterable[bytes]) -> None:
        self._put.update(dict.fromkeys(paths, _UNKNOWN))

    def prepare(self, draft: ScratchDraft, content: ContentOf, rules: CopyRules) -> None:
        coming = folders_above(path for path, state in draft.files.items() if state)
        self._take_out(draft, rules, coming)
        self._draft = draft
        for path in (path for path, state in draft.files.items() if state is None):
            covered = any(draft.files.get(above) for above in ancestors(path))  # by a file
            if not (covered or path in self._put or self._replaced(path, coming)):
                self._hide(path)
        new = {path: state for path, state in draft.files.items() if path not in self._put}
        files = {path: state for path, state in new.items() if state is not None}
        for path, stamp in self._upper.put_all_in_copy(files, content, self._lower):
            self._put[path] = (files[path], stamp)
        for folder in draft.pruned:
            self._prune(folder)

    @contextmanager
    def mounted(self, prepare: Callable[[], None]) -> Iterator[CopyMount]:
        def prepared() -> None:
            prepare()
            if self._volatile:
                _forget_mount(self._folder + b"/" + WORK)

        held = self._namespace.held(self._root, self._folder, prepared, volatile=self._volatile)
        try:
            with held as mount:
                yield mount
        except OverlayFailed as error:
            text = f"The scratch copy could not be mounted ({error}). Nothing was changed."
            raise Refused(text, "assent doctor") from error

    def touched(self, rules: CopyRules, limits: ScratchLimits) -> Touched:
        stamps = {path: stamp for path, (_, stamp) in self._put.items()}
        found = touched_in_upper(self._upper, self._lower, rules, limits, stamps)
        for path, state in self._draft.files.items():
            if path in found.as_put:
                continue
            seen = self._upper.lstat(path)
            known = self._put.get(path)
            if known is not None and seen is not None and stamp_of(seen) == known[1]:
                found.paths.discard(path)  # as it was put
            elif known is not None or state is not None:
                found.add(path, seen.st_size if seen is not None else 0)
        drafted = self._draft.files
        found.ignored = not_as_drafted(found.ignored, self._upper, drafted, stamps)
        return found

    def state(self, path: bytes) -> FileState | None:
        return self._upper.state(path)

    def content(self, path: bytes) -> Iterator[bytes]:
        return self._upper.content(path)

    def size(self) -> DiskUsage:
        return disk_usage(self._folder + b"/" + UPPER)

    def places(self) -> tuple[bytes, ...]:
        return (self._folder,)

    def close(self) -> None:
        self._upper.close()
        self._lower.close()

    def _replaced(self, path: bytes, coming: set[bytes]) -> bool:
        """Tells whether a folder of the draft is already in the place of a file."""
        found = self._upper.lstat(path) if path in coming else None
        return found is not None and S_ISDIR(found.st_mode)

    def _hide(self, path: bytes) -> None:
        if self._lower.lstat(path) is not None:
            self._put[path] = (None, self._upper.hide_in_copy(path, self._lower))
        else:
            self._upper.empty_in_copy(path)  # a command may have made it, where all is ignored

    def _prune(self, folder: bytes) -> None:
        """Removes a folder that the draft leaves empty."""
        with self._upper.folder(folder) as above, self._lower.folder(folder) as below:
            names = names_in(above) if above is not None else []
            kept = [name for name in names if above is not None and not _hides(name, above)]
            shown = set(names_in(below) if below is not None else ()).difference(names)
            if kept or shown or (above is None and below is None):
                return
            lower = below is not None
        for path in [path for path in self._put if is_inside(path, folder)]:
            del self._put[path]
        if lower:
            self._upper.hide_in_copy(folder, self._lower)
        else:
            self._upper.empty_in_copy(folder)

    def _take_out(self, draft: ScratchDraft, rules: CopyRules, coming: set[bytes]) -> None:
        """Removes from the upper folder what is not ignored, and is not the draft as it was put.

        Folders in which files of the draft are to be are `coming`.
        """
        for path in self._put.keys() - draft.files.keys():
            self._upper.empty_in_copy(path)  # also in ignored folders, where nothing else goes
        kept: dict[bytes, tuple[FileState | None, Stamp]] = {}
        left: list[bytes] = []  # folders that may be empty afterwards
        waiting = [b""]
        while waiting:
            folder = waiting.pop()
            with self._upper.folder(folder) as above, self._lower.folder(folder) as below:
                if above is None:
                    continue
                if folder:
                    left.append(folder)
                if folder and below is not None:
                    clear_opaque(above)
                for path, name, found in entries_in(above, folder):
                    known = self._put.get(path)
                    as_put = path in draft.files and known == (draft.files[path], stamp_of(found))
                    if known is not None and as_put:
                        kept[path] = known
                    elif not self._stays(path, name, found, below, coming, rules):
                        take_out_of_copy(name, above)
                    elif S_ISDIR(found.st_mode) and not rules.ignored.covers(path, folder=True):
                        waiting.append(path)
        self._put = kept
        for folder in reversed(left):
            self._settle(folder)

    def _stays(
        self,
        path: bytes,
        name: bytes,
        found: os.stat_result,
        below: int | None,
        coming: set[bytes],
        rules: CopyRules,
    ) -> bool:
        """Tells whether an entry stays: it is ignored, or a folder that is still needed."""
        if left_out(path, rules.own):
            return False
        theirs = entry(name, below) if below is not None else None
        lower_folder = theirs is not None and S_ISDIR(theirs.st_mode)
        is_folder = S_ISDIR(found.st_mode)
        if rules.ignored.covers(path, folder=lower_folder if is_whiteout(found) else is_folder):
            return True
        return is_folder and (lower_folder or path in coming)

    def _settle(self, folder: bytes) -> None:
        """Removes an empty folder, or gives it back the mode that it has below."""
        above, _, name = folder.rpartition(b"/")
        with self._upper.folder(folder) as at:
            bare = at is not None and not names_in(at)
        with self._upper.folder(above) as at:
            if at is None:
                return
            if bare:
                os.rmdir(name, dir_fd=at)
                return
            theirs = self._lower.lstat(folder)
            if theirs is not None and S_ISDIR(theirs.st_mode):
                set_mode(name, at, S_IMODE(theirs.st_mode) | 0o700)


def _hides(name: bytes, at: int) -> bool:
    found = entry(name, at)
    return found is not None and is_whiteout(found)
