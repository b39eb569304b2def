"""Opens what a server keeps for its user: the log of who may use it, its lock, and its address."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from assent.app.settings import user_paths
from assent.ports.storage import Clock, EventStore, Locks

if TYPE_CHECKING:
    from assent.ports import CacheFile

FOLDER = "serve"
FORMAT = b"server address 1"


class ServerAddress(msgspec.Struct, frozen=True):
    """Where a server listens, or listened last: the same port is taken again."""

    url: str = ""
    port: int = 0
    pid: int = 0


class ServerState(msgspec.Struct, frozen=True):
    """What every command about the server works on."""

    store: EventStore
    clock: Clock
    locks: Locks
    file: "CacheFile"

    def address(self) -> ServerAddress:
        """Returns where the server listens, or listened last."""
        try:
            return msgspec.json.decode(self.file.read() or b"{}", type=ServerAddress)
        except msgspec.MsgspecError:
            return ServerAddress()

    def remember(self, address: ServerAddress) -> None:
        self.file.write(msgspec.json.encode(address))

    def running(self) -> ServerAddress | None:
        """Returns the address of the server that runs now, if one does."""
        return self.address() if self.locks.is_held(FOLDER) else None


@contextmanager
def open_server_state() -> Iterator[ServerState]:
    """Opens it for the current user; nothing of a workspace is needed."""
    from assent.store.cache_file import LocalCacheFile
    from assent.store.clock import SystemClock
    from assent.store.locks import FileLocks
    from assent.store.sqlite import SqliteEventStore

    here = user_paths()
    store = SqliteEventStore(here.state / "log.db")
    file = LocalCacheFile(str(here.state / FOLDER / "address"), lambda: FORMAT)
    try:
        yield ServerState(store, SystemClock(), FileLocks(here.state / "locks"), file)
    finally:
        store.close()
