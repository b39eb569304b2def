"""Reads file states: kind, mode, size, digest and attributes of what stands under a name."""

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Mapping
from stat import S_IFBLK, S_IFCHR, S_IFDIR, S_IFIFO, S_IFLNK, S_IFMT, S_IFREG, S_IFSOCK

import msgspec

from assent.core.digest import sha256
from assent.core.paths import STAGE
from assent.core.plan.operation import FileState
from assent.core.run.slot_move import PathState
from assent.executor.disk import Disk, UnsupportedFileType
from assent.executor.folder_handles import FolderHandles

CHUNK = 1 << 20  # read at once
OPEN_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_TRIES = 5  # for a file that changes while it is read
_SETTLED = 2_000_000_000  # ns: some file systems keep times in steps of two seconds
_FINE = 10_000_000  # ns: a tick of the system, by which it tells the time of a change
_SETTLED_FINE = 10 * _FINE
_MANY = 1 << 18  # digests remembered

_ODD = {
    S_IFIFO: "a pipe",
    S_IFSOCK: "a socket",
    S_IFBLK: "a device",
    S_IFCHR: "a device",
    S_IFDIR: "a folder",
}


class DigestCache:
    """Digests of files, remembered by inode while size, mtime and ctime of a file stay the same.

    This trusts that the system sets ctime with every change: any program can set mtime back, but
    none ctime, short of setting the clock or writing to the device. Two changes escape: one on a
    file system that does not keep ctime itself, and one through a memory map that was written to
    before, until the system flushes it. A rename sets ctime too, so what a run displaced is read.
    """

    def __init__(self, clock: Callable[[], int] = time.time_ns) -> None:
        self.now = clock
        self._known: dict[tuple[int, int], tuple[tuple[int, int, int], str]] = {}

    def get(self, found: os.stat_result) -> str | None:
        """Returns the digest of a file that is unchanged, as far as its times show."""
        known = self._known.get((found.st_dev, found.st_ino)) if self._known else None
        return known[1] if known and known[0] == _times(found) else None

    def put(self, found: os.stat_result, digest: str, began: int) -> None:
        """Keeps a digest, unless the file is so new that it could change without new times."""
        settled = _SETTLED_FINE if _is_fine(found) else _SETTLED
        if began - max(found.st_mtime_ns, found.st_ctime_ns) < settled:
            return
        if len(self._known) >= _MANY:
            self._known.clear()
        self._known[found.st_dev, found.st_ino] = (_times(found), digest)


class FileStates:
    """Reads the state of paths."""

    def __init__(
        self, disk: Disk, folders: FolderHandles, digests: DigestCache | None = None
    ) -> None:
        self._disk = disk
        self._folders = folders
        self._digests = digests or DigestCache()

    def of(self, path: bytes) -> PathState:
        """Returns the state of a path; OSError if it is special, unreadable or keeps changing."""
        for _ in range(_TRIES):
            try:
                return self._glance(path)
            except _ChangedWhileRead:
                continue
        raise OSError(errno.EAGAIN, "it keeps changing while it is read", path)

    def of_all(
        self, paths: Iterable[bytes], wanted: Mapping[bytes, PathState] | None = None
    ) -> dict[bytes, PathState]:
        """Reads many paths; paths of one folder that follow each other share one open folder."""
        seen: dict[bytes, PathState] = {}
        last: bytes | None = None
        at: int | None = None
        hoped = (wanted or {}).get
        for path in paths:
            folder, _, name = path.rpartition(b"/")
            if folder != last:
                last, at = folder, self._way(folder)
            state = hoped(path)
            try:
                if at is None or not path:
                    seen[path] = None if path else "folder"
                elif type(state) is FileState and self._is_still(name, at, state):
                    seen[path] = state
                else:
                    seen[path] = self._stands(name, at, path)
            except _ChangedWhileRead:
                last, seen[path] = None, self.of(path)
        return seen

    def _is_still(self, name: bytes, at: int, state: FileState) -> bool:
        """Tells whether a small file is in a state; False for others, which need a closer look.

        Mode and content were both as they should be during this check, which is all that a check
        can say of them. To know what else a file is, both have to be of one moment.
        """
        disk, size = self._disk, state.size
        if size >= CHUNK or state.kind != "file":
            return False
        try:
            found = disk.lstat(name, at)
            if found.st_mode != S_IFREG | state.mode or found.st_size != size:
                return False
            if known := self._digests.get(found):
                return known == state.digest
            fd = disk.open(name, OPEN_READ, 0, at)
        except OSError:
            return False
        try:
            content = disk.read(fd, size + 1)
        finally:
            disk.close(fd)
        return len(content) == size and hashlib.sha256(content).hexdigest() == state.digest

    def _way(self, folder: bytes) -> int | None:
        """Opens a folder; None if there is none."""
        # A slot's folder is ours: what is in it counts, whatever its name is now.
        ours = folder.startswith(STAGE)
        try:
            return self._folders.open(folder) if ours else self._folders.open_now(folder)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _glance(self, path: bytes) -> PathState:
        if not path:
            return "folder"
        folder, _, name = path.rpartition(b"/")
        at = self._way(folder)
        return None if at is None else self._stands(name, at, path)

    def _stands(self, name: bytes, at: int, path: bytes) -> PathState:
        """Returns what stands under a name in a folder."""
        try:
            found = self._disk.lstat(name, at)
        except FileNotFoundError:
            return None
        kind = S_IFMT(found.st_mode)
        if kind == S_IFREG:
            digest = self._digest(name, at, found)
            return FileState(digest, found.st_size, found.st_mode & 0o7777)
        if kind == S_IFDIR:
            return "folder"
        if kind == S_IFLNK:
            return self._link(name, at)
        raise unsupported_file_type(found, path)

    def _link(self, name: bytes, at: int) -> FileState:
        try:
            target = self._disk.readlink(name, at)
        except OSError as error:
            raise _moving(error) from error
        return FileState(sha256(target), len(target), 0o777, "link")

    def _digest(self, name: bytes, at: int, found: os.stat_result) -> str:
        known = self._digests.get(found)
        if known is not None:
            return known
        began, disk = self._digests.now(), self._disk
        size = found.st_size
        try:
            fd = disk.open(name, OPEN_READ, 0, at)
        except OSError as error:
            raise _moving(error) from error
        try:
            chunk = disk.read(fd, size + 1 if size < CHUNK else CHUNK)
            if len(chunk) == size:
                digest = hashlib.sha256(chunk).hexdigest()
            else:
                digest, size = self._hash(fd, chunk, size)
            now = disk.stat(fd)
        finally:
            disk.close(fd)
        if size != found.st_size or not _is_same(now, found):
            raise _ChangedWhileRead
        self._digests.put(found, digest, began)
        return digest

    def _hash(self, fd: int, chunk: bytes, size: int) -> tuple[str, int]:
        """Reads on after a first piece."""
        digest, total = hashlib.sha256(), 0
        while chunk and total <= size:  # one that grows while it is read would never end
            digest.update(chunk)
            total += len(chunk)
            chunk = self._disk.read(fd, CHUNK)
        return digest.hexdigest(), total


class _ChangedWhileRead(Exception):
    """The name or its content changed between two calls."""


def unsupported_file_type(found: os.stat_result, path: bytes) -> UnsupportedFileType:
    """Returns the error for something that is neither file, symlink nor folder."""
    return UnsupportedFileType(errno.ENOTSUP, _ODD.get(S_IFMT(found.st_mode), "not a file"), path)


def _moving(error: OSError) -> Exception:
    """Tells a name that was replaced a moment ago from one that cannot be read."""
    replaced = error.errno in (errno.ENOENT, errno.ELOOP, errno.EINVAL, errno.ENXIO)
    return _ChangedWhileRead() if replaced else error


def _is_fine(found: os.stat_result) -> bool:
    """Tells whether a file's times are this machine's, and no coarser than its ticks.

    If a file system has no device, its times may come from another machine.
    """
    return os.major(found.st_dev) != 0 and bool(
        found.st_mtime_ns % _FINE and found.st_ctime_ns % _FINE
    )


def _times(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _is_same(now: os.stat_result, found: os.stat_result) -> bool:
    """Tells whether a file is the same one and has not changed at all."""
    return (
        now.st_ctime_ns == found.st_ctime_ns
        and now.st_mtime_ns == found.st_mtime_ns
        and now.st_size == found.st_size
        and now.st_ino == found.st_ino
        and now.st_dev == found.st_dev
    )


# File attributes other than content and mode, and which of them a replacement can keep.


_ACL = "system.posix_acl_access"
_LABEL = "security.selinux"  # assigned by the system's policy, so it is neither copied nor lost


class OwnershipRights(msgspec.Struct, frozen=True):
    """Which owners and attributes this process may give a file."""

    user: int
    groups: frozenset[int]

    @property
    def root(self) -> bool:
        return self.user == 0

    def carries(self, attribute: str) -> bool:
        """Tells whether an extended attribute can be given to another file."""
        if attribute.startswith("user.") or attribute == _ACL:
            return True
        return self.root and attribute.startswith(("security.", "trusted."))


def process_rights() -> OwnershipRights:
    """Returns the rights of this process."""
    return OwnershipRights(os.geteuid(), frozenset((os.getegid(), *os.getgroups())))


def lost_attributes(
    found: os.stat_result, attributes: list[str], rights: OwnershipRights
) -> tuple[str, ...]:
    """Names the attributes that a replacement of this file cannot keep."""
    lost = []
    if not rights.root and found.st_uid != rights.user:
        lost.append("owner")
    if not rights.root and found.st_gid not in rights.groups:
        lost.append("group")
    lost += [name for name in attributes if name != _LABEL and not rights.carries(name)]
    return tuple(lost)


def new_owner(
    found: os.stat_result, made: os.stat_result, rights: OwnershipRights
) -> tuple[int, int] | None:
    """Returns user and group to give the new file, -1 to keep one, None to keep both."""
    user = group = -1
    if found.st_uid != made.st_uid and rights.root:
        user = found.st_uid
    if found.st_gid != made.st_gid and (rights.root or found.st_gid in rights.groups):
        group = found.st_gid
    return None if user == group == -1 else (user, group)


def attributes_of(disk: Disk, fd: int) -> list[str]:
    """Lists a file's extended attributes; none where the file system has none."""
    try:
        return disk.list_xattrs(fd)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return []
        raise


def has_no_attributes(disk: Disk, name: bytes, at: int) -> bool:
    """Tells quickly that a file has no extended attribute; False: open it and look."""
    try:
        return not disk.list_xattrs_of(name, at)
    except OSError:
        return False


def copy_attributes(disk: Disk, source: int, target: int, rights: OwnershipRights) -> bool:
    """Copies the extended attributes that can be copied; tells whether there were any."""
    found = attributes_of(disk, source)
    carried = [name for name in found if name != _LABEL and rights.carries(name)]
    for name in carried:
        disk.set_xattr(target, name, disk.get_xattr(source, name))
    return bool(carried)
