"""Somebody else at work: what can happen to a name right before the executor touches it."""

from collections.abc import Callable

from tests.executor.file_writers import Call, WatchedHands

from assent.core.paths import STAGE, ancestors, base_name, is_inside
from assent.testing.memory_workspace import MemoryFileWriter, MemoryNode

Deed = Callable[[MemoryFileWriter, bytes], None]
THEIRS = MemoryNode(b"somebody else's", 0o600)
THEIR_LINK = MemoryNode(b"somebody/else", 0o777, "link")


class Meddler:
    """Does a deed to the name that a rename or exchange is about, right before it, once."""

    def __init__(self, hands: WatchedHands, at: int, deed: Deed) -> None:
        self.path = b""
        self.destroyed: list[MemoryNode] = []
        self.brought: list[MemoryNode] = []
        self._disk = hands.disk
        self._left = at
        self._deed = deed

    def __call__(self, call: Call) -> None:
        if call.verb not in ("rename", "exchange") or self.path:
            return
        self._left -= 1
        if self._left < 0:
            self.path = next(path for path in call.names if not is_slot(path))
            there = self._disk.files
            self._deed(self._disk, self.path)
            self.destroyed = [n for p, n in there.items() if self._disk.files.get(p) != n]
            self.brought = [n for p, n in self._disk.files.items() if there.get(p) != n]


def is_slot(path: bytes) -> bool:
    return is_inside(path, STAGE) or base_name(path).startswith(b".assent-")


def delete(disk: MemoryFileWriter, path: bytes) -> None:
    disk.files = {name: node for name, node in disk.files.items() if not is_inside(name, path)}
    disk.folders = {folder for folder in disk.folders if not is_inside(folder, path)}


def replace(disk: MemoryFileWriter, path: bytes) -> None:
    delete(disk, path)
    disk.files[path] = THEIRS


def link(disk: MemoryFileWriter, path: bytes) -> None:
    delete(disk, path)
    disk.files[path] = THEIR_LINK


def empty_folder(disk: MemoryFileWriter, path: bytes) -> None:
    delete(disk, path)
    disk.folders.add(path)


def folder(disk: MemoryFileWriter, path: bytes) -> None:
    empty_folder(disk, path)
    disk.files[path + b"/theirs"] = THEIRS


def fill_folder(disk: MemoryFileWriter, path: bytes) -> None:
    disk.folders |= {path, *ancestors(path)}
    disk.files[path + b"/theirs"] = THEIRS


DEEDS: dict[str, Deed] = {
    "changed": replace,
    "symlink": link,
    "empty folder": empty_folder,
    "folder": folder,
    "deleted": delete,
}
