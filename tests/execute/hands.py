"""Hands that are watched: a test may act, or let a call fail, before or after any of them."""

import errno
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from assent.core.motion import Fill, Layout, Seen
from assent.core.operation import FileOperation, FileState
from assent.core.paths import inside
from assent.testing.memory_workspace import MemoryHands, Node


class Call(msgspec.Struct, frozen=True):
    """One use of the hands: its number, and which names it is about."""

    number: int
    verb: str
    names: tuple[bytes, ...] = ()


Watcher = Callable[[Call], None]


class WatchedHands:
    """Implements ports.Hands on a disk in memory; `before` and `after` see every call."""

    def __init__(self, files: dict[bytes, Node], layout: Layout | None = None) -> None:
        self.disk = MemoryHands(files)
        self.disk.keeps_spares = False  # so that slots are emptied one by one, as on two disks
        self.before: list[Watcher] = []
        self.after: list[Watcher] = []
        self.calls: list[Call] = []
        self._layout = layout

    def look(self, paths: Iterable[bytes]) -> dict[bytes, Seen]:
        names = tuple(paths)
        with self._watched("look", *names):
            return self.disk.look(names)

    def layout(self, run: str, operations: Sequence[FileOperation]) -> Layout:
        with self._watched("layout"):
            if self._layout is not None:
                return msgspec.structs.replace(self._layout, run=run)
            return self.disk.layout(run, operations)

    def missing(self, folders: Iterable[bytes]) -> tuple[bytes, ...]:
        names = tuple(folders)
        with self._watched("missing", *names):
            return self.disk.missing(names)

    def create(self, fill: Fill, content: Iterable[bytes]) -> None:
        with self._watched("create", fill.slot):
            self.disk.create(fill, content)

    def bring_back(self, fill: Fill, spare: bytes) -> bool:
        with self._watched("bring_back", fill.slot):
            return self.disk.bring_back(fill, spare)

    def set_aside(self, run: str, old: Mapping[bytes, FileState]) -> bool:
        with self._watched("set_aside"):
            return self.disk.set_aside(run, old)

    def rename(self, source: bytes, target: bytes) -> None:
        with self._watched("rename", source, target):
            self.disk.rename(source, target)

    def exchange(self, one: bytes, other: bytes) -> None:
        with self._watched("exchange", one, other):
            # An exchange has no direction, also where one of the two is a folder.
            self.disk.exchange(*((other, one) if one in self.disk.folders else (one, other)))

    def make_folder(self, path: bytes) -> bool:
        with self._watched("make_folder", path):
            return self.disk.make_folder(path)

    def remove_folder(self, path: bytes) -> bool:
        with self._watched("remove_folder", path):
            return self.disk.remove_folder(path)

    def holds_files(self, folder: bytes, besides: Container[bytes] = ()) -> bool:
        with self._watched("holds_files", folder):
            below = [path for path in self.disk.files if inside(path, folder) and path != folder]
            return any(path not in besides for path in below)

    def remove(self, path: bytes) -> None:
        with self._watched("remove", path):
            if path in self.disk.folders:
                raise IsADirectoryError(errno.EISDIR, "Is a folder")
            self.disk.remove(path)

    def remove_all(self, paths: Sequence[bytes]) -> list[bytes]:
        return list(paths)

    def sync(self, *, foreign: bool = False) -> None:
        with self._watched("sync"):
            self.disk.sync(foreign=foreign)

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
