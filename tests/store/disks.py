"""Disks for blobs that count, fail or die at a chosen call."""

import os
from typing import Any

from assent.store.packs import BlobDisk
from assent.testing.memory_workspace import SimulatedCrash

CALLS = (
    "open", "read", "pread", "write", "pwrite", "truncate", "close", "fsync", "syncfs", "rename",
    "mkdir", "stat", "fstat", "utime", "unlink", "listdir",
)  # fmt: skip


class WatchedDisk(BlobDisk):
    """Notes every call by its name and the file it is about."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self._files: dict[int, str] = {}
        for name in CALLS:
            setattr(self, name, self._watched(name, getattr(BlobDisk(), name)))

    def before(self, name: str) -> None:
        """Is told of each call just before it is made."""

    def _watched(self, name: str, call: Any) -> Any:
        def watched(subject: Any, *rest: Any) -> Any:
            self.calls.append((name, self._files.get(subject, str(subject))))
            self.before(name)
            answer = call(subject, *rest)
            if name == "open":
                self._files[answer] = subject
            return answer

        return watched


class FailingDisk(WatchedDisk):
    """Fails one call with an error number; remembers which."""

    def __init__(self, at: int, number: int) -> None:
        super().__init__()
        self.failed = ""
        self._at, self._number = at, number

    def before(self, name: str) -> None:
        if len(self.calls) == self._at:
            self.failed = name
            raise OSError(self._number, os.strerror(self._number))


class DyingDisk(WatchedDisk):
    """Is gone from one call on, like the process that made it."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self._at = at

    def before(self, name: str) -> None:
        if len(self.calls) >= self._at:
            raise SimulatedCrash


class SlowDisk(BlobDisk):
    """Writes no more than a few bytes at once, as a disk may."""

    write = staticmethod(lambda fd, content: os.write(fd, content[:3]))
    pwrite = staticmethod(lambda fd, content, at: os.pwrite(fd, content[:3], at))


class OldDisk(WatchedDisk):
    """Knows no syncfs."""

    def before(self, name: str) -> None:
        if name == "syncfs":
            raise OSError(38, os.strerror(38))
