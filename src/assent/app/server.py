"""Opens what a server keeps for its user: the log of who may use it, its lock, and its address."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from assent.app.settings import user_paths
from assent.core.decoding import decode_json
from assent.ports import CacheFile
from assent.ports.storage import Clock, EventStore, Locks

FOLDER = "serve"  # in the state directory, and the name of the lock
FORMAT = b"server address 2"
LOCK_S = 1.0  # for which a start waits for a server that is just ending
ADDRESS_S = 5.0  # for which a command waits for the address of a server that is just starting
POLL_S = 0.05


class ServerAddress(msgspec.Struct, frozen=True):
    """Where a server listens, or listened last: the same port is taken again."""

    url: str = ""
    port: int = 0
    pid: int = 0
    started: str = ""  # when the process began: another one may have its id now


class BrowserPage(Protocol):
    """A private file that is shown in the user's browser."""

    def write(self, content: bytes) -> None: ...
    def show(self) -> None: ...
    def remove(self) -> None: ...


class ServerState(msgspec.Struct, frozen=True):
    """What every command about the server works on."""

    store: EventStore
    clock: Clock
    locks: Locks
    file: CacheFile
    page: BrowserPage

    def address(self) -> ServerAddress:
        """Returns where the server listens, or listened last."""
        try:
            return decode_json(self.file.read() or b"{}", ServerAddress)
        except msgspec.MsgspecError:
            return ServerAddress()

    def remember(self, url: str, port: int, pid: int) -> None:
        """Records where the server listens, and which process it is."""
        self.file.write(msgspec.json.encode(ServerAddress(url, port, pid, process_start(pid))))

    def running(self) -> ServerAddress | None:
        """Returns the address of the server that runs now; None if none does.

        It is that of the process that has the lock: never one that a server left behind.
        """
        until = time.monotonic() + ADDRESS_S
        while self.locks.is_held(FOLDER):
            found = self.address()
            if found.pid and process_start(found.pid) == found.started:
                return found
            if time.monotonic() > until:
                return ServerAddress()
            time.sleep(POLL_S)
        return None

    def wait_for_end(self, seconds: float) -> bool:
        """Waits until no server runs; tells whether that is so."""
        until = time.monotonic() + seconds
        while self.locks.is_held(FOLDER):
            if time.monotonic() > until:
                return False
            time.sleep(POLL_S)
        return True


def process_start(pid: int) -> str:
    """Returns when a process began, as its system tells it; empty if it is gone or cannot say."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]  # after the name, which may itself have brackets


@contextmanager
def open_server_state() -> Iterator[ServerState]:
    """Opens it for the current user; nothing of a workspace is needed."""
    from assent.sandbox.browser import open_in_browser
    from assent.store.cache_file import LocalCacheFile
    from assent.store.clock import SystemClock
    from assent.store.locks import FileLocks
    from assent.store.private_file import PrivateFile
    from assent.store.sqlite import SqliteEventStore

    class Page(PrivateFile):
        def show(self) -> None:
            open_in_browser(self.path)

    here = user_paths()
    store = SqliteEventStore(here.state / "log.db")
    file = LocalCacheFile(str(here.state / FOLDER / "address"), lambda: FORMAT)
    locks, page = FileLocks(here.state / "locks", LOCK_S), Page(here.state / FOLDER / "login.html")
    try:
        yield ServerState(store, SystemClock(), locks, file, page)
    finally:
        store.close()
