"""A workspace and a journal in memory, with power failures and a crash at any step."""

import errno
from collections.abc import Container, Iterable, Mapping, Sequence
from copy import copy

import msgspec

from assent.core.digest import sha256
from assent.core.paths import STAGE, ancestors, is_inside, parent
from assent.core.plan.operation import FileKind, FileOperation, FileState
from assent.core.run.journal import JournalEntry
from assent.core.run.slot_move import (
    PathState,
    SlotContent,
    SlotLayout,
    added_folders,
    needed_folders,
    removed_folders,
)

# Crashes a run at a chosen step, so that every crash point can be tested.


class SimulatedCrash(BaseException):
    """The process is gone: nothing after this happens, and no handler may catch it."""


class CrashInjector:
    """Counts the steps of a run and crashes at number `at`; without one it only counts."""

    def __init__(self, at: int | None = None) -> None:
        self.at = at
        self.count = 0

    @property
    def crashed(self) -> bool:
        return self.at is not None and self.count > self.at

    def step(self) -> None:
        """Counts one step."""
        self.count += 1
        if self.at is not None and self.count == self.at + 1:
            raise SimulatedCrash


class MemoryNode(msgspec.Struct, frozen=True):
    """A file or symlink in memory."""

    content: bytes
    mode: int = 0o644
    kind: FileKind = "file"

    @property
    def state(self) -> FileState:
        return FileState(sha256(self.content), len(self.content), self.mode, self.kind)


class MemoryFileWriter:
    """Implements FileWriter on dictionaries; each change is one step of the crash injector."""

    def __init__(self, files: dict[bytes, MemoryNode], fuse: CrashInjector | None = None) -> None:
        self.files = dict(files)
        self.folders = {above for path in files for above in ancestors(path)}
        self.fuse = fuse or CrashInjector()
        self.exchanges = True
        self.keeps_spares = True
        self.spares: dict[bytes, MemoryNode] = {}  # by the slots that they were in
        self.foreign: set[bytes] = set()  # paths that others wrote, and that are not on disk yet
        self.synced = (dict(self.files), set(self.folders), dict(self.spares))

    def twin(self, fuse: CrashInjector) -> "MemoryFileWriter":
        """Returns a separate copy of this workspace."""
        twin = copy(self)
        twin.fuse, twin.files, twin.folders = fuse, dict(self.files), set(self.folders)
        twin.spares, twin.foreign = dict(self.spares), set(self.foreign)
        return twin

    def lose_power(self) -> None:
        """Forgets everything since the last sync."""
        files, folders, spares = self.synced
        self.files, self.folders, self.spares = dict(files), set(folders), dict(spares)

    def read_states(self, paths: Iterable[bytes]) -> dict[bytes, PathState]:
        return {path: self._seen(path) for path in paths}

    def choose_layout(self, run: str, operations: Sequence[FileOperation]) -> SlotLayout:
        missing = self.missing_folders(needed_folders(operations))
        whole = (*added_folders(operations, missing), *removed_folders(operations, self._below))
        return SlotLayout(run, exchanges=self.exchanges, whole=whole)

    def missing_folders(self, folders: Iterable[bytes]) -> tuple[bytes, ...]:
        return tuple(folder for folder in folders if folder not in self.folders)

    def write_slot(self, fill: SlotContent, content: Iterable[bytes]) -> None:
        self.fuse.step()
        whole = b"".join(content)
        if fill.source is not None:
            whole = self.files[fill.source].content
        self._free(fill.slot)
        self.folders.update(ancestors(fill.slot))
        # A crash in the middle of writing leaves a torn slot.
        self.files[fill.slot] = MemoryNode(
            whole[: len(whole) // 2], fill.after.mode, fill.after.kind
        )
        self.fuse.step()
        self.files[fill.slot] = MemoryNode(whole, fill.after.mode, fill.after.kind)

    def restore_displaced(self, fill: SlotContent, displaced: bytes) -> bool:
        node = self.spares.get(displaced)
        if node is None or node.state != fill.after:
            return False
        self.fuse.step()
        self._free(fill.slot)
        self.folders.update(ancestors(fill.slot))
        self.files[fill.slot] = self.spares.pop(displaced)
        return True

    def keep_displaced(self, run: str, old: Mapping[bytes, FileState]) -> bool:
        folder = SlotLayout(run).folder
        below = self._below(folder)
        if not below or not self.keeps_spares:
            return False
        self.fuse.step()
        self.spares |= {path: self.files.pop(path) for path in below}
        self.folders = {path for path in self.folders if not is_inside(path, folder)}
        return True

    def are_only_content(self, old: Mapping[bytes, FileState]) -> bool:
        return False

    def rename_unless_taken(self, source: bytes, target: bytes) -> None:
        self.fuse.step()
        self._free(target)
        if parent(target) and parent(target) not in self.folders:
            raise FileNotFoundError(errno.ENOENT, "No such folder")
        if source in self.files:
            self.files[target] = self.files.pop(source)
        elif source in self.folders:
            self._rename_folder(source, target)
        else:
            raise FileNotFoundError(errno.ENOENT, "No such file")

    def exchange(self, one: bytes, other: bytes) -> None:
        self.fuse.step()
        if other in self.folders and one in self.files:
            file = self.files.pop(one)
            self._rename_folder(other, one)
            self.files[other] = file
            return
        if one not in self.files or other not in self.files:
            raise FileNotFoundError(errno.ENOENT, "No such file")
        self.files[one], self.files[other] = self.files[other], self.files[one]

    def create_folder(self, path: bytes) -> bool:
        missing = bool(path) and path not in self.folders
        for folder in [*reversed(ancestors(path)), path] if missing else []:
            if folder in self.files:
                raise NotADirectoryError(errno.ENOTDIR, "Not a folder")
            if folder not in self.folders:
                self.fuse.step()
                self.folders.add(folder)
        return missing

    def delete_empty_folder(self, path: bytes) -> bool:
        if path not in self.folders or self.folder_holds_files(path):
            return False
        self.fuse.step()
        self.folders = {folder for folder in self.folders if not is_inside(folder, path)}
        return True

    def folder_holds_files(self, folder: bytes, besides: Container[bytes] = ()) -> bool:
        return any(path not in besides for path in self._below(folder))

    def delete_path(self, path: bytes) -> None:
        if path not in self.files:
            raise FileNotFoundError(errno.ENOENT, "No such file")
        self.fuse.step()
        del self.files[path]

    def delete_paths(self, paths: Sequence[bytes]) -> list[bytes]:
        return list(paths)  # one by one, so that each is a moment of the fuse

    def sync_to_disk(self, *, foreign: bool = False) -> None:
        self.fuse.step()
        late = set() if foreign else self.foreign
        kept = {path: node for path, node in self.synced[0].items() if path in late}
        files = {path: node for path, node in self.files.items() if path not in late}
        self.synced = ({**files, **kept}, set(self.folders), dict(self.spares))
        self.foreign = late

    def sync_besides_slots(self) -> None:
        self.fuse.step()
        before = {path: node for path, node in self.synced[0].items() if is_inside(path, STAGE)}
        files = {path: node for path, node in self.files.items() if not is_inside(path, STAGE)}
        folders = {path for path in self.folders if not is_inside(path, STAGE)}
        folders |= {path for path in self.synced[1] if is_inside(path, STAGE)}
        self.synced = ({**files, **before}, folders, dict(self.spares))

    def _below(self, folder: bytes) -> list[bytes]:
        return [path for path in self.files if is_inside(path, folder)]

    def _seen(self, path: bytes) -> PathState:
        if path in self.files:
            return self.files[path].state
        return "folder" if path in self.folders else None

    def _free(self, target: bytes) -> None:
        if target in self.files or target in self.folders:
            raise FileExistsError(errno.EEXIST, "File exists")

    def _rename_folder(self, source: bytes, target: bytes) -> None:
        def moved(path: bytes) -> bytes:
            return target + path[len(source) :] if is_inside(path, source) else path

        self.files = {moved(path): node for path, node in self.files.items()}
        self.folders = {moved(path) for path in self.folders}


# A journal in memory, with a crash point before and after each entry is durable.


class MemoryJournal:
    """Implements ports.Journal; each write is two steps of the crash injector."""

    def __init__(self, fuse: CrashInjector | None = None) -> None:
        self.runs: dict[str, list[JournalEntry]] = {}
        self.fuse = fuse or CrashInjector()

    def twin(self, fuse: CrashInjector) -> "MemoryJournal":
        """Returns a separate copy of this journal."""
        twin = MemoryJournal(fuse)
        twin.runs = {run: list(entries) for run, entries in self.runs.items()}
        return twin

    def read(self, run: str) -> list[JournalEntry]:
        return list(self.runs.get(run, []))

    def write(self, run: str, entry: JournalEntry) -> None:
        self.fuse.step()
        self.runs.setdefault(run, []).append(entry)
        self.fuse.step()
