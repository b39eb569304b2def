"""The file writer on a local disk (law 1): slots, renames, folders, removal, sync."""

import errno
import os
from collections.abc import Container, Iterable, Mapping, Sequence
from errno import EBUSY, EEXIST, ENOTEMPTY
from stat import S_IFREG, S_ISDIR, S_ISGID
from threading import Thread
from typing import TypeAlias

import msgspec

from assent.core.digest import sha256
from assent.core.paths import STAGE, casefolded, is_inside, one_line, parent
from assent.core.plan.operation import FileOperation, FileState, WriteFile, footprint
from assent.core.run.orphan_slot import PROBES
from assent.core.run.slot_move import (
    PathState,
    SlotContent,
    SlotLayout,
    added_folders,
    needed_folders,
    removed_folders,
)
from assent.executor.disk import Disk, SymlinkInPath
from assent.executor.displaced_files import LocalDisplacedFiles
from assent.executor.file_states import (
    OPEN_READ,
    DigestCache,
    FileStates,
    OwnershipRights,
    attributes_of,
    process_rights,
)
from assent.executor.folder_handles import OPEN_FOLDER, FolderHandles
from assent.executor.pending_sync import PendingSync
from assent.executor.slots import SlotWriter, mounts_below, slot_layout_for

# Refuses plans in which two names are one file on a case-insensitive file system.


def refuse_case_collisions(
    disk: Disk, folders: FolderHandles, operations: Iterable[FileOperation]
) -> None:
    """Raises OSError if two operations are about one file; a move may change only the case."""
    if not _caseless(disk, folders):
        return
    known: dict[bytes, tuple[int, bytes]] = {}
    for index, op in enumerate(operations):
        for path, *_ in footprint(op):
            owner, name = known.setdefault(casefolded(path), (index, path))
            if owner != index:
                told = f"{one_line(name)} and {one_line(path)} are the same file here"
                raise OSError(EEXIST, told)


def _caseless(disk: Disk, folders: FolderHandles) -> bool:
    """Tells whether a folder of our own is found under its name in other case, too."""
    above, _, name = STAGE.rpartition(b"/")
    at = folders.open(above)
    try:
        return disk.lstat(name.upper(), at).st_ino == disk.lstat(name, at).st_ino
    except FileNotFoundError:
        return False


# Renames that never replace a file, also where kernel or file system have no flag for it.


FLAG_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)

_NO_LINK = (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EMLINK)

RenameEnd: TypeAlias = tuple[bytes, int]  # a name and the descriptor of its folder


def rename_without_flag(disk: Disk, source: RenameEnd, target: RenameEnd, *, private: bool) -> None:
    """Renames with other calls; a `private` target is a name that only Assent uses."""
    found = disk.lstat(*source)
    if private or S_ISDIR(found.st_mode):
        _check_and_rename(disk, source, target)
        return
    try:
        disk.link(*source, *target)  # unlike a rename, it fails if the name has been taken
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        _check_and_rename(disk, source, target)
        return
    disk.unlink(*source)


def finish_link(disk: Disk, source: RenameEnd, target: RenameEnd) -> None:
    """Finishes a rename that a crash interrupted between link and unlink, if there was one."""
    try:
        one, other = disk.lstat(*source), disk.lstat(*target)
    except FileNotFoundError:
        return
    same = (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
    if same and one.st_nlink > 1 and not S_ISDIR(one.st_mode):
        disk.unlink(*source)


def _check_and_rename(disk: Disk, source: RenameEnd, target: RenameEnd) -> None:
    try:
        disk.lstat(*target)
    except FileNotFoundError:
        disk.rename(*source, *target)
        return
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target[0])


# Removes large numbers of files in parallel, because most of that time is spent in the kernel.


MAX_FORGOTTEN_FILES = 16  # that a run replaced and that are not set aside, and bytes of each
MAX_FORGOTTEN_BYTES = 64 * 1024
PARALLEL_THRESHOLD = 512  # with fewer files than this, starting threads gains nothing

_THREADS = 8  # they mostly wait, so more than there are processors
_BATCH = 64  # folders that are open at once

RemovalJob: TypeAlias = tuple[
    int, bytes, bytes
]  # the descriptor of a folder, a name in it, the path


def remove_in_parallel(disk: Disk, folders: FolderHandles, paths: Sequence[bytes]) -> list[bytes]:
    """Removes files, in any order; returns those that could not be."""
    by_folder: dict[bytes, list[bytes]] = {}
    for path in paths:
        by_folder.setdefault(path.rpartition(b"/")[0], []).append(path)
    left: list[bytes] = []
    every = list(by_folder.items())
    for at in range(0, len(every), _BATCH):
        left += _remove_batch(disk, folders, dict(every[at : at + _BATCH]))
    return left


def _remove_batch(
    disk: Disk, folders: FolderHandles, by_folder: dict[bytes, list[bytes]]
) -> list[bytes]:
    jobs: list[RemovalJob] = []
    left: list[bytes] = []
    threads: list[Thread] = []
    own: list[int] = []  # a descriptor of `folders` is good until the next call only
    try:
        for folder, paths in by_folder.items():
            try:
                own.append(disk.open(b".", OPEN_FOLDER, 0, folders.open(folder)))
            except OSError:
                left += paths
                continue
            jobs += [(own[-1], path.rpartition(b"/")[2], path) for path in paths]
        shares = [jobs[at::_THREADS] for at in range(_THREADS)]
        threads = [Thread(target=_remove, args=(disk, share, left)) for share in shares]
        _finish(threads)
    finally:
        # While one still works, after an interrupt, its descriptors must not be reused for others.
        for fd in own if not any(thread.is_alive() for thread in threads) else ():
            disk.close(fd)
    return left


def _finish(threads: Sequence[Thread]) -> None:
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    finally:
        for thread in threads:
            thread.join()


def _remove(disk: Disk, jobs: Sequence[RemovalJob], left: list[bytes]) -> None:
    for at, name, path in jobs:
        try:
            disk.unlink(name, at)
        except OSError:
            left.append(path)


# Finds the folders that a run can move with one rename on this disk.


_HANDED_DOWN = "system.posix_acl_default"


def whole_folders(
    disk: Disk, folders: FolderHandles, mounts: Sequence[bytes], operations: Sequence[FileOperation]
) -> list[bytes]:
    """Returns the folders that one rename adds or removes as a whole."""
    wanted = _missing(folders, needed_folders(operations))
    new = added_folders(operations, wanted)
    if new and not _hands_nothing_down(disk, folders, STAGE):
        new = []
    new = [folder for folder in new if _hands_nothing_down(disk, folders, parent(folder))]
    gone = removed_folders(operations, lambda folder: _files(folders, folder))
    return [f for f in (*new, *gone) if not any(is_inside(mount, f) for mount in mounts)]


def without_folders_of(layout: SlotLayout, found: Sequence[bytes]) -> tuple[bytes, ...]:
    """Leaves out folders with files whose slots must be next to them."""
    aside = [path for path, _ in layout.beside]
    return tuple(folder for folder in found if not any(is_inside(path, folder) for path in aside))


def _missing(folders: FolderHandles, wanted: Sequence[bytes]) -> list[bytes]:
    missing: dict[bytes, None] = {}
    for folder in wanted:  # outermost first
        if parent(folder) in missing or not folders.exists(folder):
            missing[folder] = None
    return list(missing)


def _hands_nothing_down(disk: Disk, folders: FolderHandles, folder: bytes) -> bool:
    """Tells whether a folder made elsewhere has the same group and rights as one made in here."""
    fd = folders.open(folder)
    return not disk.stat(fd).st_mode & S_ISGID and _HANDED_DOWN not in attributes_of(disk, fd)


def _files(folders: FolderHandles, folder: bytes) -> list[bytes]:
    return [path for path, kind in folders.below(folder) if kind != "folder"]


_STUCK = (ENOTEMPTY, EEXIST, EBUSY)  # now in use, or a mount point
_PLACES = 3  # names that tell how far one motion got, and are asked about together
_PROBES = tuple(probe.rpartition(b"/")[2] for probe in PROBES)
_PROBE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class LocalFileWriter:
    """Implements FileWriter for one folder."""

    def __init__(
        self,
        root: bytes,
        disk: Disk | None = None,
        rights: OwnershipRights | None = None,
        digests: DigestCache | None = None,
        spares: LocalDisplacedFiles | None = None,
    ) -> None:
        self._root = root
        self._disk = disk or Disk()
        self._folders = FolderHandles(self._disk, root)
        self._states = FileStates(self._disk, self._folders, digests)
        self._slots = SlotWriter(self._disk, self._folders, rights or process_rights())
        self._unsynced = PendingSync(self._disk, self._folders)
        self._spares = spares
        self._exchanging: dict[int, bool] = {}  # whether file systems, by device, can exchange

    def read_states(self, paths: Iterable[bytes]) -> dict[bytes, PathState]:
        """Returns the state of each path, nothing below a symlink; OSError if one is special."""
        asked = tuple(paths)
        try:
            if len(asked) > _PLACES:
                return self._states.of_all(asked, paths if isinstance(paths, Mapping) else None)
            if len(asked) > 1:
                self._finish_links(asked)
            of = self._states.of
            return {path: of(path) for path in asked}
        except SymlinkInPath:
            return {path: self._unless_behind(path) for path in asked}

    def choose_layout(self, run: str, operations: Sequence[FileOperation]) -> SlotLayout:
        """Decides where the slots of a run are and which kernel calls work there."""
        self._folders.forget()
        self._slots.forget()
        self.create_folder(STAGE)  # what is wrong with it shows before the run starts
        refuse_case_collisions(self._disk, self._folders, operations)
        mounts = mounts_below(self._disk, self._root)
        layout = slot_layout_for(self._folders, mounts, run, operations)
        whole = without_folders_of(
            layout, whole_folders(self._disk, self._folders, mounts, operations)
        )
        replaces = any(isinstance(op, WriteFile) and op.before for op in operations)
        exchange = self._can_exchange() if replaces else layout.exchanges
        return msgspec.structs.replace(layout, exchanges=exchange, whole=whole)

    def missing_folders(self, folders: Iterable[bytes]) -> tuple[bytes, ...]:
        """Returns those folders that do not exist; a file in the place of one is not a folder."""
        gone: dict[bytes, None] = {}
        for folder in folders:
            if parent(folder) in gone or not self._folders.exists(folder):
                gone[folder] = None
        return tuple(gone)

    def write_slot(self, fill: SlotContent, content: Iterable[bytes]) -> None:
        """Writes a slot that must not exist, with mode, owner and attributes."""
        folder, _, name = fill.slot.rpartition(b"/")
        self._slots.create(fill, name, self._slot_folder(folder), content)
        if fill.after.kind == "file":
            self._unsynced.written(fill.slot, folder)
        else:
            self._unsynced.changed(folder)

    def restore_displaced(self, fill: SlotContent, displaced: bytes) -> bool:
        """Fills a slot with the file displaced from another slot; False if it does not fit."""
        if self._spares is None or fill.after.kind != "file":
            return False
        owner = None
        if fill.like is not None and (owner := self._slots.plain_owner(fill.like)) is None:
            return False  # its other attributes can only be copied to a new file
        folder = fill.slot.rpartition(b"/")[0]
        if not self._spares.give(displaced, fill, owner, self._slot_folder(folder)):
            return False
        self._unsynced.arrived(fill.slot, folder)
        return True

    def keep_displaced(self, run: str, old: Mapping[bytes, FileState]) -> bool:
        """Keeps the content of a run's slots for undo; False: the slots have to be emptied."""
        if self._spares is None or not self._spares.take(run, old, self._folders.open(STAGE)):
            return False
        self._unsynced.removed(SlotLayout(run).folder, STAGE)
        self._folders.forget()
        return True

    def are_only_content(self, old: Mapping[bytes, FileState]) -> bool:
        """Tells whether files in slots are few, small, unchanged, and no one can write to them."""
        sizes = [state.size for state in old.values()]
        if len(sizes) > MAX_FORGOTTEN_FILES or max(sizes, default=0) > MAX_FORGOTTEN_BYTES:
            return False
        try:
            return all(self._is_only_content(slot, state) for slot, state in old.items())
        except OSError:
            return False

    def _is_only_content(self, slot: bytes, state: FileState) -> bool:
        folder, _, name = slot.rpartition(b"/")
        try:
            fd = self._disk.open(name, OPEN_READ, 0, self._folders.open(folder))
        except FileNotFoundError:
            return True  # it was removed before a crash
        try:
            found = self._disk.stat(fd)
            if found.st_mode != S_IFREG | state.mode or found.st_nlink != 1:
                return False
            # In this order: what was written before it had no writer any more is read.
            return self._disk.has_no_writer(fd) and state.digest == sha256(
                self._disk.read(fd, MAX_FORGOTTEN_BYTES + 1)
            )
        finally:
            self._disk.close(fd)

    def rename_unless_taken(self, source: bytes, target: bytes) -> None:
        """Renames without ever replacing: FileExistsError if the target is taken."""
        from_folder, _, from_name = source.rpartition(b"/")
        to_folder, _, to_name = target.rpartition(b"/")
        from_at, to_at = self._folders.open_two(from_folder, to_folder)
        self._unsynced.renamed(source, from_folder, to_folder)
        try:
            self._disk.rename_noreplace(from_name, from_at, to_name, to_at)
        except OSError as error:
            if error.errno not in FLAG_UNSUPPORTED:
                raise
            ends = (from_name, from_at), (to_name, to_at)
            rename_without_flag(self._disk, *ends, private=_is_slot(target))
        self._folders.moved(source)

    def exchange(self, one: bytes, other: bytes) -> None:
        """Exchanges two paths in one step."""
        one_folder, _, one_name = one.rpartition(b"/")
        other_folder, _, other_name = other.rpartition(b"/")
        one_at, other_at = self._folders.open_two(one_folder, other_folder)
        self._disk.rename_exchange(one_name, one_at, other_name, other_at)
        self._folders.moved(one)
        self._folders.moved(other)
        self._unsynced.exchanged(one, one_folder, other, other_folder)

    def create_folder(self, path: bytes) -> bool:
        """Creates a folder and those above it; tells whether it was missing."""
        made = self._folders.make(path)
        for folder in made:
            self._unsynced.changed(parent(folder))
        return bool(made)

    def delete_empty_folder(self, path: bytes) -> bool:
        """Removes a folder, and empty folders in it, if it has no file; tells whether it did."""
        found = list(self._folders.below(path))
        if not path or any(kind != "folder" for _, kind in found):
            return False
        try:
            for folder in (*[inner for inner, _ in reversed(found)], path):
                above, _, name = folder.rpartition(b"/")
                self._disk.rmdir(name, self._folders.open(above))
                self._unsynced.removed(folder, above)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            if error.errno not in _STUCK:
                raise
            return False
        finally:
            self._folders.forget()
        return True

    def folder_holds_files(self, folder: bytes, besides: Container[bytes] = ()) -> bool:
        """Tells whether anything is below a folder except folders and these files."""
        return self._folders.holds_files(folder, besides)

    def delete_path(self, path: bytes) -> None:
        """Removes a file or symlink."""
        folder, _, name = path.rpartition(b"/")
        self._disk.unlink(name, self._folders.open(folder))
        self._unsynced.removed(path, folder)

    def delete_paths(self, paths: Sequence[bytes]) -> list[bytes]:
        """Removes files, in any order; returns those that could not be removed, for a retry."""
        if len(paths) < PARALLEL_THRESHOLD:
            return list(paths)
        for path in paths:
            self._unsynced.removed(path, parent(path))
        return remove_in_parallel(self._disk, self._folders, paths)

    def sync_to_disk(self, *, foreign: bool = False) -> None:
        """Returns when everything done so far is on disk; with `foreign`, also others' changes."""
        self._unsynced.sync(foreign=foreign)
        self._folders.forget()  # a check after this sees the folders as they are then

    def sync_besides_slots(self) -> None:
        """Returns when the contents of files are on disk, and all names but those of slots."""
        self._unsynced.sync_besides(STAGE)
        self._folders.forget()

    def _slot_folder(self, folder: bytes) -> int:
        """Opens the folder of a slot; one of ours is made with the first slot in it."""
        try:
            return self._folders.open(folder)
        except FileNotFoundError:
            if not is_inside(folder, STAGE):
                raise
            self.create_folder(folder)
            return self._folders.open(folder)

    def _unless_behind(self, path: bytes) -> PathState:
        """Looks at one name; a slot that cannot be reached does not count as empty."""
        try:
            return self._states.of(path)
        except SymlinkInPath:
            if _is_slot(path):
                raise
            return None

    def _finish_links(self, paths: tuple[bytes, ...]) -> None:
        """Empties slots whose content has reached its name: the end of a rename cut by a crash.

        Only where renames have no flag can a file be found under both names.
        """
        names = [path for path in paths if not _is_slot(path)]
        for slot in [path for path in paths if _is_slot(path)]:
            for name in names:
                self._finish_link(slot, name)

    def _finish_link(self, slot: bytes, path: bytes) -> None:
        folder, _, name = path.rpartition(b"/")
        slot_folder, _, slot_name = slot.rpartition(b"/")
        try:
            slot_at, at = self._folders.open_two(slot_folder, folder)
        except (FileNotFoundError, NotADirectoryError, SymlinkInPath):
            return
        finish_link(self._disk, (slot_name, slot_at), (name, at))

    def _can_exchange(self) -> bool:
        """Tries it on two files of our own: asking costs less than finding out in the middle."""
        device = self._folders.device(STAGE)
        if device not in self._exchanging:
            self._exchanging[device] = self._tried_exchange(self._folders.open(STAGE))
        return self._exchanging[device]

    def _tried_exchange(self, at: int) -> bool:
        for probe in _PROBES:
            self._disk.close(self._disk.open(probe, _PROBE, 0o600, at))
        try:
            self._disk.rename_exchange(_PROBES[0], at, _PROBES[1], at)
        except OSError as error:
            if error.errno not in FLAG_UNSUPPORTED:
                raise
            return False
        finally:
            for probe in _PROBES:
                self._disk.unlink(probe, at)
        return True


def _is_slot(path: bytes) -> bool:
    """Tells whether a name is one that only a run of ours uses."""
    return is_inside(path, STAGE) or path.rpartition(b"/")[2].startswith(b".assent-")
