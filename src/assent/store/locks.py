"""File locks between processes, which the kernel releases if a process dies."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from assent.core.errors import Busy
from assent.store.files import make_folder, store_errors

TIMEOUT_S = 10.0
_SHORTEST, _LONGEST = 0.001, 0.05
_SHOWN = 200


class FileLocks:
    """Implements ports.Locks with one file per lock; the text in the file is for display only."""

    def __init__(self, folder: str | os.PathLike[str], patience: float = TIMEOUT_S) -> None:
        self._folder = os.fspath(folder)
        self._patience = patience

    @contextmanager
    def hold(self, name: str, owner: str) -> Iterator[None]:
        """Holds a lock; a process that waits too long sees the owner and this process's id."""
        path = os.path.join(self._folder, f"{name}.lock")
        with store_errors("lock", path):
            make_folder(self._folder)
            lock = acquired(path, self._patience)
        if lock is None:
            raise _busy(path)
        try:
            _sign(lock, f"{os.getpid()}\n{owner}".encode("utf-8", "replace"))
            yield
        finally:
            _sign(lock, b"")
            release(lock)

    def is_held(self, name: str) -> bool:
        """Tells whether the lock is held right now."""
        path = os.path.join(self._folder, f"{name}.lock")
        with store_errors("lock", path):
            # Shared: a check must not keep others from checking.
            lock = acquired(path, 0, fcntl.LOCK_SH) if os.path.exists(path) else -1
        if lock is not None and lock >= 0:
            release(lock)
        return lock is None

    def holder(self, name: str) -> str:
        """Returns who holds the lock right now, with the process; empty if it is free."""
        if not self.is_held(name):
            return ""
        return _signed(os.path.join(self._folder, f"{name}.lock"))[0]


def acquired(path: str, patience: float, how: int = fcntl.LOCK_EX) -> int | None:
    """Opens a file and locks it; returns None if it stayed locked until the timeout."""
    deadline = time.monotonic() + patience
    pause = _SHORTEST
    while True:
        lock = _tried(path, how)
        if lock is not None or time.monotonic() >= deadline:
            return lock
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST)


def release(lock: int) -> None:
    """Releases at once, even if a process that is just being started has a copy of it."""
    fcntl.flock(lock, fcntl.LOCK_UN)
    os.close(lock)


def _tried(path: str, how: int) -> int | None:
    access = os.O_RDWR | os.O_CREAT if how == fcntl.LOCK_EX else os.O_RDONLY
    lock = os.open(path, access | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
        # A file that has been deleted no longer keeps others out.
        if os.path.samestat(os.fstat(lock), os.stat(path)):
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(lock)
        raise
    os.close(lock)
    return None


def _sign(lock: int, text: bytes) -> None:
    with suppress(OSError):  # a full disk must not prevent holding a lock
        os.ftruncate(lock, 0)
        os.pwrite(lock, text, 0)


def _busy(path: str) -> Busy:
    who, pid = _signed(path)
    return Busy(
        f"Busy: in use by {who}. Nothing was changed. Try again when it has finished.",
        f"ps -fp {pid}" if pid.isdecimal() else f"fuser -v {path}",
    )


def _signed(path: str) -> tuple[str, str]:
    """Returns the owner that is written in a lock, and the process id."""
    with store_errors("read", path), open(path, encoding="utf-8", errors="replace") as file:
        pid, _, owner = file.read(_SHOWN).partition("\n")
    shown = "".join(c if c.isprintable() else "?" for c in owner) or "another process"
    return (f"{shown} (process {pid})" if pid.isdecimal() else shown), pid
