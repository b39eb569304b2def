"""Hands that are watched: a test may act, or let a call fail, before or after any of them."""

import errno
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from assent.core.paths import is_inside
from assent.core.plan.operation import FileOperation, FileState
from assent.core.run.slot_move import PathState, SlotContent, SlotLayout
from assent.testing.memory_workspace import MemoryFileWriter, MemoryNode


class Call(msgspec.Struct, frozen=True):
    """One use of the hands: its number, and which names it is about."""

    number: int
    verb: str
    names: tuple[bytes, ...] = ()


Watcher = Callable[[Call], None]


class WatchedHands:
    """Implements FileWriter on a disk in memory; `before` and `after` see every call."""

    def __init__(self, files: dict[bytes, MemoryNode], layout: SlotLayout | None = None) -> None:
        self.disk = MemoryFileWriter(files)
        self.disk.keeps_spares = False  # so that slots are emptied one by one, as on two disks
        self.before: list[Watcher] = []
        self.after: list[Watcher] = []
        self.calls: list[Call] = []
        self._layout = layout

    def read_states(self, paths: Iterable[bytes]) -> dict[bytes, PathState]:
        names = tuple(paths)
        with self._watched("look", *names):
            return self.disk.read_states(names)

    def choose_layout(self, run: str, operations: Sequence[FileOperation]) -> SlotLayout:
        with self._watched("layout"):
            if self._layout is not None:
                return msgspec.structs.replace(self._layout, run=run)
            return self.disk.choose_layout(run, operations)

    def missing_folders(self, folders: Iterable[bytes]) -> tuple[bytes, ...]:
        names = tuple(folders)
        with self._watched("missing", *names):
            return self.disk.missing_folders(names)

    def write_slot(self, fill: SlotContent, content: Iterable[bytes]) -> None:
        with self._watched("create", fill.slot):
            self.disk.write_slot(fill, content)

    def restore_displaced(self, fill: SlotContent, displaced: bytes) -> bool:
        with self._watched("bring_back", fill.slot):
            return self.disk.restore_displaced(fill, displaced)

    def keep_displaced(self, run: str, old: Mapping[bytes, FileState]) -> bool:
        with self._watched("set_aside"):
            return self.disk.keep_displaced(run, old)

    def are_only_content(self, old: Mapping[bytes, FileState]) -> bool:
        with self._watched("are_only_content"):
            return self.disk.are_only_content(old)

    def rename_unless_taken(self, source: bytes, target: bytes) -> None:
        with self._watched("rename", source, target):
            self.disk.rename_unless_taken(source, target)

    def exchange(self, one: bytes, other: bytes) -> None:
        with self._watched("exchange", one, other):
            # An exchange has no direction, also where one of the two is a folder.
            self.disk.exchange(*((other, one) if one in self.disk.folders else (one, other)))

    def create_folder(self, path: bytes) -> bool:
        with self._watched("make_folder", path):
            return self.disk.create_folder(path)

    def delete_empty_folder(self, path: bytes) -> bool:
        with self._watched("remove_folder", path):
            return self.disk.delete_empty_folder(path)

    def folder_holds_files(self, folder: bytes, besides: Container[bytes] = ()) -> bool:
        with self._watched("holds_files", folder):
            below = [path for path in self.disk.files if is_inside(path, folder) and path != folder]
            return any(path not in besides for path in below)

    def delete_path(self, path: bytes) -> None:
        with self._watched("remove", path):
            if path in self.disk.folders:
                raise IsADirectoryError(errno.EISDIR, "Is a folder")
            self.disk.delete_path(path)

    def delete_paths(self, paths: Sequence[bytes]) -> list[bytes]:
        return list(paths)

    def sync_to_disk(self, *, foreign: bool = False) -> None:
        with self._watched("sync"):
            self.disk.sync_to_disk(foreign=foreign)

    def sync_besides_slots(self) -> None:
        with self._watched("sync"):
            self.disk.sync_besides_slots()

    @contextmanager
    def _watched(self, verb: str, *names: bytes) -> Iterator[None]:
        call = Call(len(self.calls), verb, names)
        self.calls.append(call)
        for watcher in self.before:
            watcher(call)
        yield
        for watcher in self.after:
            watcher(call)


def failing(error: int, wanted: Callable[[Call], bool]) -> Watcher:
    """Lets the calls that are wanted fail."""

    def fail(call: Call) -> None:
        if wanted(call):
            raise OSError(error, f"E{error}")

    return fail
