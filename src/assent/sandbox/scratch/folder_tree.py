"""A folder tree that programs have written: read and changed without following any symlink.

A program in the copy could leave a symlink to anywhere, and wait for Assent to write through it. So
every step of every path is opened on its own, as a folder, from the descriptor of the one above.
"""

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from stat import S_IFCHR, S_IMODE, S_ISCHR, S_ISDIR, S_ISLNK, S_ISREG
from threading import Thread
from typing import Final

from assent.core.plan.operation import FileState
from assent.core.scratch import RealIdentity

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_GONE: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)
_REPLACED: Final = (*_GONE, errno.ENXIO, errno.EINVAL)  # by a socket or whiteout; no symlink now
_WHITEOUT: Final = os.makedev(0, 0)
_OPAQUE: Final = "user.overlay.opaque"
_CHUNK: Final = 1 << 20
_OPEN_TO_US: Final = 0o700
_NEW_FOLDER: Final = 0o755
_THREADS: Final = 8
_ALONE: Final = 0.010  # seconds; files that were never flushed are gone by then, without threads

Stamp = tuple[int, ...]


def is_whiteout(found: os.stat_result) -> bool:
    """Tells whether an entry of an upper folder says that a lower one is deleted."""
    return S_ISCHR(found.st_mode) and found.st_rdev == _WHITEOUT


def stamp_of(found: os.stat_result) -> Stamp:
    """Returns what is different after any change of a file; programs cannot set its ctime."""
    return (
        found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns,
        found.st_ctime_ns,
    )  # fmt: skip


def identity_of(found: os.stat_result) -> RealIdentity:
    """Returns which file of the workspace this is."""
    return RealIdentity(
        found.st_dev, found.st_ino, found.st_size, found.st_mode, found.st_mtime_ns,
        found.st_ctime_ns,
    )  # fmt: skip


class FolderTree:
    """A folder and all below it; paths are relative to it, and the empty path is itself.

    Only one that is `ours`, in the state directory, is ever changed, in its modes, too.
    """

    def __init__(self, path: bytes, *, ours: bool = False) -> None:
        self.path = path
        self._ours = ours
        self._top = os.open(path, _FOLDER)

    def close(self) -> None:
        os.close(self._top)

    @contextmanager
    def folder(self, path: bytes) -> Iterator[int | None]:
        """Opens a folder; None if there is none under exactly this path."""
        at = os.open(b".", _FOLDER, dir_fd=self._top)
        try:
            for name in path.split(b"/") if path else ():
                try:
                    below = self._below(name, at)
                except OSError as error:
                    if error.errno not in _GONE:
                        raise
                    yield None
                    return
                os.close(at)
                at = below
            yield at
        finally:
            os.close(at)

    def lstat(self, path: bytes) -> os.stat_result | None:
        """Returns what is at a path, if its parents are real folders."""
        above, _, name = path.rpartition(b"/")
        with self.folder(above) as at:
            return entry(name or b".", at) if at is not None else None

    def state(self, path: bytes) -> FileState | None:
        """Returns the state of a file or symlink; None for anything else.

        A program that runs meanwhile may have put something else there since it was looked at.
        """
        try:
            return self._state(path)
        except OSError as error:
            if error.errno not in _REPLACED:
                raise
            return None

    def _state(self, path: bytes) -> FileState | None:
        above, _, name = path.rpartition(b"/")
        with self.folder(above) as at:
            if at is None:
                return None
            found = entry(name, at)
            if found is None:
                return None
            if S_ISLNK(found.st_mode):
                target = os.readlink(name, dir_fd=at)
                return FileState(hashlib.sha256(target).hexdigest(), len(target), 0o777, "link")
            if not S_ISREG(found.st_mode):
                return None
            digest, size = hashlib.sha256(), 0
            for chunk in self._chunks(name, at, found):
                digest.update(chunk)
                size += len(chunk)
            return FileState(digest.hexdigest(), size, S_IMODE(found.st_mode))

    def content(self, path: bytes) -> Iterator[bytes]:
        """Yields the content of a file, or the target of a symlink."""
        above, _, name = path.rpartition(b"/")
        with self.folder(above) as at:
            found = entry(name, at) if at is not None else None
            if at is None or found is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            if S_ISLNK(found.st_mode):
                yield os.readlink(name, dir_fd=at)
            elif S_ISREG(found.st_mode):
                yield from self._chunks(name, at, found)
            else:
                raise OSError(errno.EINVAL, "Not a file")

    def _below(self, name: bytes, at: int) -> int:
        """Opens a folder; one of ours that a program closed to us is opened to us."""
        try:
            return os.open(name, _FOLDER, dir_fd=at)
        except PermissionError:
            if not self._ours:
                raise
            set_mode(name, at, _OPEN_TO_US)
            return os.open(name, _FOLDER, dir_fd=at)

    def _chunks(self, name: bytes, at: int, found: os.stat_result) -> Iterator[bytes]:
        try:
            opened = os.open(name, _FILE, dir_fd=at)
        except PermissionError:
            if not self._ours:
                raise
            opened = _opened_closed(name, at, found)
        if not S_ISREG(os.fstat(opened).st_mode):
            os.close(opened)
            raise OSError(errno.ENXIO, "Not a file")
        with open(opened, "rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                yield chunk

    # What changes a copy. No file of the workspace is ever changed from here (law 1): a tree that
    # is changed is one in the state directory.

    @contextmanager
    def folder_in_copy(self, path: bytes, like: "FolderTree") -> Iterator[int]:
        """Opens a folder, and makes it with those above it, with the modes of another tree."""
        self._check()
        at = os.open(b".", _FOLDER, dir_fd=self._top)
        done = b""
        try:
            for name in path.split(b"/") if path else ():
                done = done + b"/" + name if done else name
                _make_folder(name, at, like.lstat(done))
                below = self._below(name, at)
                os.close(at)
                at = below
            yield at
        finally:
            os.close(at)

    def put_in_copy(
        self, path: bytes, state: FileState, content: Iterable[bytes], like: "FolderTree"
    ) -> Stamp:
        """Gives a path this state, whatever was there."""
        self._check()
        above, _, name = path.rpartition(b"/")
        with self.folder_in_copy(above, like) as at:
            return _put(name, at, state, content)

    def put_all_in_copy(
        self,
        files: Mapping[bytes, FileState],
        content: Callable[[str], Iterable[bytes]],
        like: "FolderTree",
    ) -> Iterator[tuple[bytes, Stamp]]:
        """Gives many paths their states, each folder opened once; yields how each was left."""
        self._check()
        folders: dict[bytes, list[tuple[bytes, bytes, FileState]]] = {}
        for path, state in files.items():
            above, _, name = path.rpartition(b"/")
            folders.setdefault(above, []).append((path, name, state))
        for folder, each in folders.items():
            with self.folder_in_copy(folder, like) as at:
                for path, name, state in each:
                    yield path, _put(name, at, state, content(state.digest))

    def hide_in_copy(self, path: bytes, lower: "FolderTree") -> Stamp:
        """Makes a path of the lower tree look deleted."""
        self._check()
        above, _, name = path.rpartition(b"/")
        with self.folder_in_copy(above, lower) as at:
            take_out_of_copy(name, at)
            os.mknod(name, S_IFCHR, _WHITEOUT, dir_fd=at)
            return stamp_of(os.lstat(name, dir_fd=at))

    def empty_in_copy(self, path: bytes) -> None:
        """Removes whatever is at a path; its parents stay."""
        self._check()
        above, _, name = path.rpartition(b"/")
        with self.folder(above) as at:
            if at is not None:
                take_out_of_copy(name, at)

    def _check(self) -> None:
        if not self._ours:
            raise PermissionError(errno.EPERM, "Only a copy is changed")


def entry(name: bytes, at: int) -> os.stat_result | None:
    """Returns what has a name in an open folder, without following it."""
    try:
        return os.lstat(name, dir_fd=at)
    except OSError as error:
        if error.errno not in _GONE:
            raise
        return None


def entries_in(at: int | None, folder: bytes) -> Iterator[tuple[bytes, bytes, os.stat_result]]:
    """Yields the path, the name and the state of each entry of an open folder, in order."""
    for name in names_in(at) if at is not None else ():
        found = entry(name, at) if at is not None else None
        if found is not None:
            yield folder + b"/" + name if folder else name, name, found


def names_in(at: int) -> list[bytes]:
    """Lists an open folder, sorted."""
    return sorted(os.fsencode(name) for name in os.listdir(at))


def is_opaque(folder: int) -> bool:
    """Tells whether a folder of an upper tree hides all that the lower one has."""
    try:
        return os.getxattr(folder, _OPAQUE) == b"y"
    except OSError:
        return False


def clear_opaque(folder: int) -> None:
    """Lets the lower folder show through again."""
    with suppress(OSError):
        os.removexattr(folder, _OPAQUE)


def _put(name: bytes, at: int, state: FileState, content: Iterable[bytes]) -> Stamp:
    """Makes a file or symlink of a copy; what was there goes first, if there was anything."""
    if state.kind == "link":
        take_out_of_copy(name, at)
        os.symlink(b"".join(content), name, dir_fd=at)
        return stamp_of(os.lstat(name, dir_fd=at))
    mode = state.mode & 0o777
    try:
        new = os.open(name, _NEW, mode, dir_fd=at)
    except FileExistsError:
        take_out_of_copy(name, at)
        new = os.open(name, _NEW, mode, dir_fd=at)
    try:
        for chunk in content:
            written = os.write(new, chunk)
            while written < len(chunk):
                written += os.write(new, memoryview(chunk)[written:])
        found = os.fstat(new)
        if S_IMODE(found.st_mode) != state.mode:  # less than wanted, as the user's mask says
            os.fchmod(new, state.mode)
            found = os.fstat(new)
        return stamp_of(found)
    finally:
        os.close(new)


def _make_folder(name: bytes, at: int, like: os.stat_result | None) -> None:
    """Makes a folder of a copy in place of anything else, with the mode of another one."""
    found = entry(name, at)
    if found is not None and S_ISDIR(found.st_mode):
        return
    if found is not None:
        os.unlink(name, dir_fd=at)
    mode = S_IMODE(like.st_mode) if like and S_ISDIR(like.st_mode) else _NEW_FOLDER
    os.mkdir(name, _OPEN_TO_US, dir_fd=at)
    os.chmod(name, mode | _OPEN_TO_US, dir_fd=at)


def take_out_of_copy(name: bytes, at: int) -> None:
    """Removes an entry of an open folder, with all below it; nothing is followed."""
    found = entry(name, at)
    if found is None:
        return
    if not S_ISDIR(found.st_mode):
        os.unlink(name, dir_fd=at)
        return
    top = _opened_to_us(name, at)
    try:
        # A program may nest folders deeper than a process can follow, so each is moved to the top.
        waiting = _emptied(top, top)
        while 0 < len(waiting) < _THREADS:
            waiting = [*waiting[1:], *_taken(waiting[0], top)]
        _take_out_all(waiting, top)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=at)


def _take_out_all(waiting: Sequence[bytes], top: int) -> None:
    """Removes folders; if that takes long, by threads, which mostly wait while files are freed."""
    until, waiting = time.monotonic() + _ALONE, list(waiting)
    while waiting and time.monotonic() < until:
        waiting += _taken(waiting.pop(), top)
    failed: list[OSError] = []

    def remove(share: list[bytes]) -> None:
        try:
            while share and not failed:
                share += _taken(share.pop(), top)
        except OSError as error:
            failed.append(error)

    shares = [list(waiting[number::_THREADS]) for number in range(_THREADS)] if waiting else []
    threads = [Thread(target=remove, args=(share,)) for share in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def _taken(name: bytes, top: int) -> list[bytes]:
    """Removes a folder of the top one; returns those that were in it, which are there now."""
    below = _opened_to_us(name, top)
    try:
        more = _emptied(below, top)
    finally:
        os.close(below)
    os.rmdir(name, dir_fd=top)
    return more


def _emptied(folder: int, top: int) -> list[bytes]:
    """Removes the files of a folder and moves its folders to the top; returns their names there."""
    moved: list[bytes] = []
    for name in names_in(folder):
        try:
            os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            continue
        except (IsADirectoryError, PermissionError):
            found = entry(name, folder)
            if found is None or not S_ISDIR(found.st_mode):
                raise
            if S_IMODE(found.st_mode) & _OPEN_TO_US != _OPEN_TO_US:
                set_mode(name, folder, _OPEN_TO_US)
            moved.append(_moved_up(name, folder, top))
    return moved


def _moved_up(name: bytes, folder: int, top: int) -> bytes:
    if folder == top:
        return name
    while True:
        other = b"." + os.urandom(16).hex().encode()
        if entry(other, top) is None:
            os.rename(name, other, src_dir_fd=folder, dst_dir_fd=top)
            return other


def _opened_to_us(name: bytes, at: int) -> int:
    """Opens a folder; the kernel's own below `work` has mode 0, and a program may close others."""
    if S_IMODE(os.lstat(name, dir_fd=at).st_mode) & _OPEN_TO_US != _OPEN_TO_US:
        set_mode(name, at, _OPEN_TO_US)
    return os.open(name, _FOLDER, dir_fd=at)


def set_mode(name: bytes, at: int, mode: int) -> None:
    """Sets the mode of exactly this entry of a copy, also if it became a symlink."""
    one = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    try:
        if not S_ISLNK(os.fstat(one).st_mode):
            os.chmod(f"/proc/self/fd/{one}", mode)
    finally:
        os.close(one)


def _opened_closed(name: bytes, at: int, found: os.stat_result) -> int:
    """Opens a file of a copy that a program made unreadable, and leaves it so."""
    mode = S_IMODE(found.st_mode)
    set_mode(name, at, mode | 0o400)
    try:
        return os.open(name, _FILE, dir_fd=at)
    finally:
        set_mode(name, at, mode)
