"""The SQLite file of the log: opened so that several processes never damage it.

SQLite before 3.51.3 can corrupt a WAL database when two connections write and checkpoint at the
same moment. So every transaction, every checkpoint and every close of a writing connection
happens under one lock file, there are no automatic checkpoints, and readers open the file
read-only. The file is migrated by numbered SQL files, and its schema is checked.
"""

import fcntl
import os
import shlex
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from stat import S_ISREG
from threading import RLock
from typing import Any, Final, TypeAlias

from assent.core.errors import StoreError
from assent.store.files import (
    REPLACED_FILE_ERRORS,
    SAFE,
    damaged_log,
    make_folder,
    refuse_shared,
    store_errors,
    sync_folder,
    system_error,
)
from assent.store.hash_chain import chain_all_events
from assent.store.locks import TIMEOUT_S, acquired, release

# Migrates a log to the current schema with numbered SQL files.


FOLDER = os.path.join(os.path.dirname(__file__), "migrations")

# What SQL cannot compute is done after its step, in the same transaction.
_FILLS: dict[str, Callable[[sqlite3.Connection], None]] = {"0002_chain.sql": chain_all_events}


class Migrations:
    """All steps from an empty file to the newest schema; user_version counts those applied."""

    def __init__(self, folder: str = FOLDER) -> None:
        self._folder = folder
        self._files = sorted(name for name in os.listdir(folder) if name.endswith(".sql"))

    def check(self, connection: sqlite3.Connection, path: str) -> None:
        """Refuses a file that is not a log, or that a newer version of Assent wrote."""
        found, known = _version(connection), len(self._files)
        if found > known:
            raise StoreError(
                f"{path} was written by a newer version of Assent (format {found}; this version "
                f"supports {known}). Nothing was changed.",
                "pip install --upgrade assent",
            )
        if found < 1:
            raise damaged_log("use the log", path, "it has no Assent tables")

    def missing(self, connection: sqlite3.Connection) -> bool:
        """Tells whether a log lacks a step."""
        return _version(connection) < len(self._files)

    def apply(self, connection: sqlite3.Connection) -> None:
        """Applies the missing steps, each in one transaction; the caller holds the lock."""
        found = _version(connection)
        for number, name in enumerate(self._files[found:], found + 1):
            with open(os.path.join(self._folder, name), encoding="utf-8") as file:
                steps = file.read()
            with connection:  # rolls back what a failed script leaves open
                connection.executescript(f"BEGIN IMMEDIATE;\n{steps}")
                if fill := _FILLS.get(name):
                    fill(connection)
                connection.execute(f"PRAGMA user_version = {number}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


Rows: TypeAlias = list[tuple[Any, ...]]

NOT_REGULAR = "it is not a regular file"
MAX_WAL_BYTES = 4 * 1024 * 1024
_SYNCED, _UNSYNCED = "PRAGMA synchronous = FULL", "PRAGMA synchronous = NORMAL"

# What SQLite says where it cannot make the companions (-wal, -shm) that reading needs.
_FROZEN = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


class Database:
    """One file, opened when it is first needed; safe to call from several threads and processes."""

    def __init__(
        self,
        path: str,
        patience: float = TIMEOUT_S,
        migrations: Migrations | None = None,
        leave: Callable[[sqlite3.Connection], None] | None = None,
    ) -> None:
        self._path = os.path.abspath(path)
        self._folder = os.path.dirname(self._path)
        self._lock = os.path.join(self._folder, "store.lock")
        self._patience = patience
        self._migrations = migrations or Migrations()
        self._leave = leave  # is called, under the lock, before a writing connection is closed
        self._turn = RLock()  # of who writes, or opens connections; taken before the other one
        self._reads = RLock()  # so that others can read while the disk is waited for
        self._file: tuple[int, int] | None = None
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._synced = True  # whether the writer waits for the disk

    def rows(self, question: str, values: Sequence[object], *, complete: bool = False) -> Rows:
        """Runs a query on what is committed; a database that does not exist is empty.

        With `complete` it is refused if an event could be hidden from it.
        """
        with store_errors("read the log", self._path):
            with self._reads:
                if self._reader is not None and self._found() == self._file:
                    with suppress(sqlite3.OperationalError):
                        return self._asked(self._reader, question, values, complete=complete)
            with self._turn, self._reads:
                return self._opening(question, values, complete=complete)

    def _opening(self, question: str, values: Sequence[object], *, complete: bool) -> Rows:
        """Runs a query where the file may have to be opened first, or cannot be as usual."""
        if not self._exists():
            return []
        try:
            return self._asked(self._reading(), question, values, complete=complete)
        except sqlite3.OperationalError as error:
            if not self._frozen(error):
                raise
        held = self._locked(fcntl.LOCK_SH) if os.path.exists(self._lock) else nullcontext()
        with held, closing(self._opened("ro&immutable=1")) as connection:
            return self._asked(connection, question, values, complete=complete)

    def _asked(
        self,
        connection: sqlite3.Connection,
        question: str,
        values: Sequence[object],
        *,
        complete: bool,
    ) -> Rows:
        found = connection.execute(question, values).fetchall()
        if complete and connection.execute(HIDDEN).fetchone()[0]:
            raise damaged_log("read the log", self._path, HIDES)
        return found

    @contextmanager
    def transaction(self, *, sync: bool = True) -> Iterator[sqlite3.Connection]:
        """Commits everything in it durably or, after any exception, none of it.

        Without `sync` it is on disk with the next transaction: the -wal file is read up to the
        first record that is not complete, so what a failing machine loses is its end.
        """
        with self._turn, store_errors("write the log", self._path), self._locked():
            connection = self._writing()
            self._set_sync(connection, sync)
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                self._migrations.check(connection, self._path)  # a newer version may run now
                yield connection
            if _size(f"{self._path}-wal") > MAX_WAL_BYTES:
                _shrink(connection)

    def _set_sync(self, connection: sqlite3.Connection, sync: bool) -> None:
        if sync != self._synced:
            connection.execute(_SYNCED if sync else _UNSYNCED)
            self._synced = sync

    def close(self) -> None:
        """Closes the connections; the last one to close removes the files next to the database."""
        with self._turn, self._reads:
            lock = None
            if self._writer is not None:
                with suppress(OSError):
                    lock = acquired(self._lock, self._patience)
            if lock is not None:
                self._take_leave()
            # Even without the lock, SQLite lets only the last connection checkpoint here.
            self._disconnect()
            if lock is not None:
                release(lock)

    def _take_leave(self) -> None:
        """Does the final work while the lock is held; the log is complete without it."""
        with suppress(sqlite3.Error):
            if self._writer is not None and self._leave is not None:
                self._leave(self._writer)

    def _exists(self) -> bool:
        """Tells whether there is a database, and forgets connections to one that was replaced."""
        file = self._found()
        if file is None and _size(f"{self._path}-wal"):
            file = self._found()  # both are there if another process has just made them
            if file is None:
                with self._reads:
                    self._disconnect()
                reason = "it is missing; restore it, or move the remaining files away to start over"
                raise damaged_log("use the log", self._path, "its -wal file is still there", reason)
        if file != self._file:
            with self._reads:
                self._disconnect()
                self._refuse_shared()
                self._file = file
        return file is not None

    def _refuse_shared(self) -> None:
        """Refuses a log that another user could have written, before anything is read from it."""
        refuse_shared("The state directory", self._folder)
        for ending in ("", "-wal", "-shm"):
            refuse_shared("The log", f"{self._path}{ending}")

    def _found(self) -> tuple[int, int] | None:
        """Returns the identity of the database file; None if there is none."""
        try:
            found = os.lstat(self._path)
        except FileNotFoundError:
            return None
        if not S_ISREG(found.st_mode):
            refuse_shared("The log", self._path)
            raise damaged_log("use the log", self._path, NOT_REGULAR)
        if not found.st_size:  # never so by our own doing, and SQLite would discard the -wal
            raise damaged_log("use the log", self._path, "it is empty")
        return found.st_dev, found.st_ino

    def _reading(self) -> sqlite3.Connection:
        if self._reader is None:
            reader = self._opened("ro")
            if self._writer is None and self._migrations.missing(reader):
                with _closed_on_error(reader), self._locked():
                    self._writing()
            self._reader = reader
        return self._reader

    def _frozen(self, error: sqlite3.OperationalError) -> bool:
        """Tells whether the file is intact but in a folder where no files can be created."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        return code & 0xFF in _FROZEN and not _size(f"{self._path}-wal")

    def _writing(self) -> sqlite3.Connection:
        if not self._exists():
            self._create()
            self._exists()
        if self._writer is None:
            writer = self._opened("rw")
            with _closed_on_error(writer):
                writer.execute("PRAGMA journal_mode = WAL")  # a restored copy may have lost it
                writer.execute(_SYNCED)
                self._migrations.apply(writer)
            self._writer, self._synced = writer, True
        return self._writer

    def _opened(self, mode: str) -> sqlite3.Connection:
        connection = _connected(self._path, mode, self._patience)
        with _closed_on_error(connection):
            self._migrations.check(connection, self._path)
        return connection

    def _create(self) -> None:
        """Creates a database under another name first, so that no process ever sees half of one."""
        young = f"{self._path}.new"
        for name in (young, f"{young}-journal", f"{young}-wal", f"{young}-shm"):
            with suppress(FileNotFoundError):
                os.unlink(name)
        file = os.open(young, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with closing(_connected(young, "rw", self._patience)) as connection:
                # It is no database before it has its name, so it is waited for once, as a whole.
                connection.execute("PRAGMA journal_mode = MEMORY")
                connection.execute("PRAGMA synchronous = OFF")
                self._migrations.apply(connection)
                connection.execute("PRAGMA journal_mode = WAL")
            os.fsync(file)
        finally:
            os.close(file)
        os.rename(young, self._path)
        sync_folder(self._folder)

    def _disconnect(self) -> None:
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close()
        self._reader = self._writer = None

    @contextmanager
    def _locked(self, how: int = fcntl.LOCK_EX) -> Iterator[None]:
        make_folder(self._folder)
        refuse_shared("The state directory", self._folder)
        try:
            lock = acquired(self._lock, self._patience, how)
        except OSError as error:
            if error.errno not in REPLACED_FILE_ERRORS:
                raise
            raise system_error("lock the log with", self._lock, error) from error
        if lock is None:
            raise StoreError(
                f"Could not use the log {self._path}: another process has been writing to it for "
                f"{self._patience:g} seconds. {SAFE}",
                f"fuser -v {shlex.quote(self._lock)}",
            )
        try:
            yield
        finally:
            release(lock)


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _connected(path: str, mode: str, patience: float) -> sqlite3.Connection:
    name = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(
        f"file:{name}?mode={mode}",
        uri=True,
        timeout=patience,
        isolation_level=None,
        check_same_thread=False,  # the turn lets one thread in at a time
    )
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    return connection


def _shrink(connection: sqlite3.Connection) -> None:
    """Moves the content of the -wal file into the database; if that fails, it is as safe there."""
    patience = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA busy_timeout = 0")  # while another process reads: next time
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute(f"PRAGMA busy_timeout = {patience}")


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


# Checks that the tables of a log are exactly those that Assent creates.


SCHEMA_QUERY: Final = (
    "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master ORDER BY 1, 2"
)
INDEXES: Final = "PRAGMA integrity_check(1)"
# Hashes cover what is written and not how: as bytes, a name is none that a question finds.
_WRITTEN: Final = {
    "stream": "text",
    "seq": "integer",
    "at": "text",
    "kind": "text",
    "body": "text",
    "chain": "blob",
}
MISTYPED_QUERY: Final = f"""
    SELECT position, CAST(kind AS BLOB), CAST(seq AS BLOB), CAST(stream AS BLOB) FROM events
    WHERE {" OR ".join(f"typeof({name}) <> '{kind}'" for name, kind in _WRITTEN.items())}
    ORDER BY position LIMIT 1
"""
# Bytes are sorted after every text, so that an index answers this at once.
HIDDEN: Final = "SELECT EXISTS (SELECT 1 FROM events WHERE stream >= x'')"
HIDES: Final = "it contains events whose names are not text; `assent log --verify` lists them"


def schema_difference(found: Rows) -> str:
    """Returns what a log has that no migration creates, or lacks; empty if it is correct."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        Migrations().apply(connection)
        made = connection.execute(SCHEMA_QUERY).fetchall()
    here, due = set(map(_plain, found)), set(map(_plain, made))
    if not found or here == due:
        return ""
    kind, name, *_ = min(here - due or due - here)
    told = "was added or changed" if here - due else "is missing"
    return f"The {kind} {name} of the log {told}; Assent did not create it that way."


def mistyped_event(found: Rows) -> str:
    """Returns an event whose values were stored as another type than written."""
    for position, *rest in found:
        kind, seq, stream = [each.decode("utf-8", "backslashreplace") for each in rest]
        return (
            f"Event {position} ({kind}, number {seq} of {stream}) is stored with another value "
            "type than was written, which hides it from queries."
        )
    return ""


def index_damage(found: Rows) -> str:
    """Returns that the indexes of a log do not match its tables, if so."""
    details = next((str(row[0]) for row in found), "ok")
    return "" if details == "ok" else f"The log file is inconsistent: {details}."


def _plain(row: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple([" ".join(str(each).split()) for each in row])
