"""The event store in SQLite, with an anchor file next to it that reveals truncation.

A stream only grows if the writer has seen its last event.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from errno import EINTR
from shlex import quote
from stat import S_ISREG
from threading import Lock, current_thread, main_thread
from typing import Annotated, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec

from assent.core.decoding import decode_json
from assent.core.errors import ConcurrentChange, StoreError
from assent.core.event import Event, StoredEvent
from assent.ports import EventBatch, LogCheck, StreamTrace
from assent.store.database import (
    HIDDEN,
    HIDES,
    INDEXES,
    MISTYPED_QUERY,
    NOT_REGULAR,
    SCHEMA_QUERY,
    Database,
    Rows,
    index_damage,
    mistyped_event,
    schema_difference,
)
from assent.store.files import damaged_log, system_error
from assent.store.hash_chain import (
    FIELDS,
    PAGE,
    START,
    ChainVerifier,
    decode_event,
    encode_event,
    hashed_fields,
    link_hash,
    require_last_seq,
)
from assent.store.locks import TIMEOUT_S

# Lets threads that append at the same time share a transaction and a wait for the disk.


Item = TypeVar("Item")
Result = TypeVar("Result")


class Waiting(Generic[Item, Result]):
    """What one thread has to record, and what came of it."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.result: Result | None = None
        self.error: Exception | None = None
        self.is_over = False
        self.leads = False  # its thread records for all that wait
        self.is_left = False  # its thread no longer waits
        self.wakes = Lock()
        self.wakes.acquire()

    def succeed(self, result: Result) -> None:
        self.result, self.is_over = result, True

    def fail(self, error: Exception) -> None:
        self.error, self.is_over = error, True


class GroupCommit(Generic[Item, Result]):
    """Lets one of the waiting threads record for all of them; alone, a thread does not wait.

    `commit` gets what waits, oldest first, and says of each what came of it; it lets one thread in
    at a time. What it leaves open, because something ended it, is recorded by the next thread.

    Only the main thread is ever interrupted, and that at any point. So it records alone, and
    no other thread depends on how far it got.
    """

    def __init__(self, commit: Callable[[Sequence[Waiting[Item, Result]]], None]) -> None:
        self._commit = commit
        self._lock = Lock()
        self._queue: list[Waiting[Item, Result]] = []
        self._leads = False  # whether some thread records, or is about to

    def add(self, item: Item) -> Result:
        """Returns what came of recording an item, or raises it."""
        mine: Waiting[Item, Result] = Waiting(item)
        if current_thread() is main_thread():
            self._commit([mine])
        else:
            self._join(mine)
        if mine.error is not None:
            raise mine.error
        assert mine.result is not None
        return mine.result

    def _join(self, mine: Waiting[Item, Result]) -> None:
        """Waits until another thread has recorded an item, or records all that waits."""
        group: list[Waiting[Item, Result]] = []
        try:
            with self._lock:
                self._queue.append(mine)
                mine.leads, self._leads = not self._leads, True
            if not mine.leads:
                mine.wakes.acquire()
            if mine.leads:
                with self._lock:
                    group, self._queue = self._queue, []
                self._commit(group)
        finally:
            if mine.leads or not mine.is_over:
                self._leave(mine, group)

    def _leave(self, mine: Waiting[Item, Result], group: list[Waiting[Item, Result]]) -> None:
        """Wakes those whose item is recorded; if this thread led, has the next one record."""
        with self._lock:
            mine.is_left = True
            waiting = [each for each in group if not each.is_over] + self._queue
            self._queue = [each for each in waiting if not each.is_left]
            for each in group:
                if each.is_over and not each.is_left:
                    each.wakes.release()
            if mine.leads:
                self._leads = bool(self._queue)
                if self._queue:
                    self._queue[0].leads = True
                    self._queue[0].wakes.release()


# The anchor file next to the log, which records its end so that truncation is noticed.


_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LARGEST = 4096

Position = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]  # as SQLite counts
ChainHash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]*$")]


class LogAnchor(msgspec.Struct, frozen=True):
    """The newest event when the log was last closed, and the hash that it carried."""

    position: Position = 0
    chain: ChainHash = ""


class AnchorFile:
    """Reads and writes the anchor; it is optional: without it the log still works."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self) -> LogAnchor:
        """Returns the anchor; an empty one proves nothing."""
        return self.found()[0]

    def found(self) -> tuple[LogAnchor, str]:
        """Returns the anchor, and what is wrong with its file; a missing one is not an error."""
        try:
            file = os.open(self._path, _OPEN)
        except FileNotFoundError:
            return LogAnchor(), ""
        except OSError as error:
            return LogAnchor(), os.strerror(error.errno or 0)
        try:
            if not S_ISREG(os.fstat(file).st_mode):
                return LogAnchor(), NOT_REGULAR
            return decode_json(os.read(file, _LARGEST), LogAnchor), ""
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            return LogAnchor(), str(error)
        finally:
            os.close(file)

    def write(self, anchor: LogAnchor) -> None:
        """Replaces the anchor in one step."""
        young = f"{self._path}.new"
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open(young, flags, 0o600)
            try:
                os.write(file, msgspec.json.encode(anchor))
            finally:
                os.close(file)
            os.rename(young, self._path)


_EVENT = "position, stream, seq, at, kind, body"
_READ = f"SELECT {_EVENT} FROM events WHERE stream = ? AND seq > ? ORDER BY seq"
_READ_ALL = f"""
    SELECT DISTINCT {_EVENT}
    FROM json_each(?) AS prefix
    JOIN events ON stream >= prefix.value AND stream < prefix.value || char(0x10FFFF)
    WHERE position > ?{{}} ORDER BY position
"""
_READ_SINCE = f"""
    SELECT DISTINCT {_EVENT}
    FROM events CROSS JOIN json_each(?1) AS prefix
    WHERE position > ?2 AND +stream >= prefix.value AND +stream < prefix.value || char(0x10FFFF){{}}
    ORDER BY position
"""
# With plain names, SQLite walks through the names of all events to list each of them once.
CHANGED_QUERY = """
    SELECT DISTINCT +stream FROM events
    WHERE position > ?1 AND +stream >= ?2 AND +stream < ?2 || char(0x10FFFF)
"""
_READ_AFTER = f"SELECT {_EVENT} FROM events WHERE position > ? ORDER BY position LIMIT ?"
_OF_KINDS = " AND kind IN (SELECT value FROM json_each(?))"
_STREAMS = """
    SELECT stream FROM events
    WHERE seq = 1 AND stream >= ?1 AND stream < ?1 || char(0x10FFFF) ORDER BY stream
"""
_NEWEST = "SELECT coalesce(max(position), 0) FROM events"
_LATEST = """
    SELECT coalesce(max(CAST(at AS TEXT)), '') FROM events
    WHERE position >= coalesce((SELECT position FROM events WHERE stream = ? AND seq = ?), 0)
"""
# A head that reaches further than its stream is of events that the log has lost.
_HEAD = """
    SELECT seq, body FROM heads WHERE stream = ?1
    AND seq <= (SELECT coalesce(max(seq), 0) FROM events WHERE stream = ?1)
"""
_HEADS = """
    SELECT stream, seq, body FROM heads
    WHERE stream >= ?1 AND stream < ?1 || char(0x10FFFF)
    AND seq = (SELECT max(seq) FROM events WHERE events.stream = heads.stream)
"""
_LAST = "SELECT coalesce(max(seq), 0) FROM events WHERE stream = ?"
_ADD = f"INSERT INTO events ({_EVENT}, chain) VALUES (?, ?, ?, ?, ?, ?, ?)"
# Numbers are never used twice, so that a gap shows that events were removed.
_GIVEN = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)"
_END = f"""
    SELECT max(({_GIVEN}), coalesce((SELECT max(position) FROM events), 0)),
    (SELECT CAST(chain AS BLOB) FROM events ORDER BY position DESC LIMIT 1)
"""
_CHAIN = "SELECT CAST(chain AS BLOB) FROM events WHERE position = ?"
_LINKS = f"""
    SELECT position, CAST(chain AS BLOB), {FIELDS} FROM events
    WHERE position > ? ORDER BY position LIMIT {PAGE}
"""
_FIRST = "SELECT min(position), max(seq) FROM events WHERE stream = ?"
_BEFORE = """
    SELECT position, CAST(chain AS BLOB) FROM events
    WHERE position < ? ORDER BY position DESC LIMIT 1
"""
_KEEP_HEAD = "INSERT OR REPLACE INTO heads (stream, seq, body) VALUES (?, ?, ?)"


class SqliteEventStore:
    """Implements ports.EventStore with one database file; nothing is opened before it is needed."""

    def __init__(self, path: str | os.PathLike[str], patience: float = TIMEOUT_S) -> None:
        self._path = os.path.abspath(path)
        self._database = Database(self._path, patience, leave=self._mark_end)
        # With a name that goes where the log goes, if that is set aside.
        self._anchor = AnchorFile(f"{self._path}-anchor")
        self._appends = GroupCommit(self._append_group)

    def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
        """Records all batches or, if any stream has moved on, none of them.

        Threads that wait for the log at the same time share a transaction (decision 0078); the
        main thread has its own.
        """
        return self._appends.add([_EncodedBatch.of(batch) for batch in batches])

    def _append_group(self, group: Sequence["_WaitingAppend"]) -> None:
        """Records what several threads append, in their order; each gets its own answer."""
        inserted = False
        try:
            with self._transaction(group) as connection:
                log = _LogWriter(connection)
                found = [(one, log.add_all(one.item)) for one in group]
                inserted = True
        except Exception as error:
            if len(group) == 1 or inserted:  # it is theirs, or is about what is on disk
                _fail_all(group, error)
                return
            for one in group:
                self._append_group([one])
            return
        except BaseException:
            if inserted:  # it may be on disk, and must not be recorded twice
                unknown = InterruptedError(EINTR, os.strerror(EINTR))
                _fail_all(group, system_error("write the log", self._path, unknown))
            raise
        for one, result in found:
            if isinstance(result, ConcurrentChange):
                one.fail(result)
            else:
                one.succeed(result)

    @contextmanager
    def _transaction(self, group: Sequence["_WaitingAppend"]) -> Iterator[sqlite3.Connection]:
        synced = any(not one.item or any(each.batch.synced for each in one.item) for one in group)
        with self._database.transaction(sync=synced) as connection:
            if connection.execute(HIDDEN).fetchone()[0]:
                raise damaged_log("write the log", self._path, HIDES)
            yield connection

    def read(self, stream: str, after: int = 0) -> list[StoredEvent]:
        found = [decode_event(row) for row in self._rows(_READ, (stream, after))]
        for seq, one in enumerate(found, after + 1):
            if one.seq != seq:  # folding the rest would tell another story
                raise damaged_log("read the log", self._path, f"event {seq} of {stream} is missing")
        return found

    def read_all(
        self, prefixes: Sequence[str], after: int = 0, kinds: Sequence[type[Event]] = ()
    ) -> list[StoredEvent]:
        # What came after a position is little, and what is under a prefix may be very much.
        query = _READ_SINCE if after else _READ_ALL
        question, values = query.format(""), [_json(prefixes), after]
        if kinds:
            names = [str(kind.__struct_config__.tag) for kind in kinds]
            question, values = query.format(_OF_KINDS), [*values, _json(names)]
        return [decode_event(row) for row in self._rows(question, values)]

    def changed_streams(self, prefix: str, after: int) -> list[str]:
        return [stream for (stream,) in self._rows(CHANGED_QUERY, (after, prefix))]

    def read_after(self, position: int, limit: int) -> list[StoredEvent]:
        """Returns the next events of all streams after a position of the log."""
        return [decode_event(row) for row in self._rows(_READ_AFTER, (position, limit))]

    def last(self) -> int:
        return next((int(position) for (position,) in self._database.rows(_NEWEST, ())), 0)

    def latest(self, stream: str, seq: int) -> str:
        return next((str(at) for (at,) in self._rows(_LATEST, (stream, seq))), "")

    def stamp(self) -> tuple[int, ...]:
        return _stamp(f"{self._path}-wal") or _stamp(self._path)

    def streams(self, prefix: str) -> list[str]:
        return [stream for (stream,) in self._rows(_STREAMS, (prefix,))]

    def head(self, stream: str) -> tuple[int, bytes] | None:
        return next(((seq, body) for seq, body in self._database.rows(_HEAD, (stream,))), None)

    def heads(self, prefix: str) -> dict[str, tuple[int, bytes]]:
        return {stream: (seq, body) for stream, seq, body in self._rows(_HEADS, (prefix,))}

    def verify(self) -> LogCheck:
        anchor, odd = self._anchor.found()  # before the log, which may grow in between
        ask = self._database.rows
        foreign = schema_difference(ask(SCHEMA_QUERY, ()))
        given = next((int(given) for (given,) in ask(_GIVEN, ())), 0)
        follower = ChainVerifier(anchor.position)
        while rows := ask(_LINKS, (follower.reached,)):
            follower.follow((position, tuple(rest), carried) for position, carried, *rest in rows)
        broken = foreign or follower.broken or _cut_off(follower, anchor, given)
        broken = broken or mistyped_event(ask(MISTYPED_QUERY, ())) or index_damage(ask(INDEXES, ()))
        return LogCheck(follower.events, broken, anchor.position, unanchored=self._unanchored(odd))

    def _unanchored(self, odd: str) -> str:
        """Returns that the anchor is damaged, if it is: it is not needed, and is recreated."""
        if not odd:
            return ""
        path = f"{self._path}-anchor"
        return (
            f"The anchor {path} cannot be used ({odd}), so events removed from the end would not "
            f"be noticed. Move it away and a new one is created: mv {quote(path)} "
            f"{quote(path)}.aside"
        )

    def trace(self, stream: str) -> StreamTrace:
        ask, name = self._database.rows, stream.encode()
        first, last = next(iter(ask(_FIRST, (stream,))), (None, None))
        if first is None:
            return StreamTrace(())
        reached, before = next(iter(ask(_BEFORE, (first,))), (first - 1, START))
        follower = ChainVerifier(reached=reached, before=before or b"")
        found: list[StoredEvent] = []
        faults: list[tuple[int, str]] = []
        while rows := ask(_LINKS, (follower.reached,)):
            for position, carried, *covered in rows:
                follows, fault = follower.trace(position, _fields(covered), carried or b"")
                if fault:
                    faults.append((position, fault))
                if follows and covered[0] == name:
                    found += _readable(position, covered)
        given = next((int(given) for (given,) in ask(_GIVEN, ())), 0)
        if cut := _cut_off(follower, LogAnchor(self._anchor.read().position), given, ends=True):
            faults.append((follower.reached + 1, cut))
        return StreamTrace(tuple(found), last if isinstance(last, int) else 0, tuple(faults))

    def close(self) -> None:
        self._database.close()

    def _rows(self, question: str, values: Sequence[object]) -> Rows:
        """Runs a query, unless an event could be hidden from it."""
        return self._database.rows(question, values, complete=True)

    def _is_on_disk(self) -> bool:
        """Waits until all of the log is on disk; tells whether that is known."""
        try:
            fd = os.open(f"{self._path}-wal", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return True  # it is all in the database, which SQLite syncs
        try:
            os.fdatasync(fd)
            return True
        except OSError:
            return False
        finally:
            os.close(fd)

    def _mark_end(self, connection: sqlite3.Connection) -> None:
        """Moves the anchor to the newest event, unless the log has lost the anchored one."""
        known = self._anchor.read()
        found = connection.execute(_CHAIN, (known.position,)).fetchone()
        end = _LogEnd(connection)
        whole = not known.position or (found is not None and found[0].hex() == known.chain)
        # Another may not have waited for the disk, and the anchor is never ahead of the log.
        if whole and end.position > known.position and self._is_on_disk():
            self._anchor.write(LogAnchor(end.position, end.chain.hex()))


def _json(texts: Sequence[str]) -> str:
    return msgspec.json.encode([*texts]).decode()


def _stamp(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


class _LogEnd:
    """The end of the log: its newest number, and the hash that the next event must cover."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        position, chain = connection.execute(_END).fetchone()
        self.position: int = position
        self.chain: bytes = START if chain is None else chain

    def add(self, covered: tuple[bytes, ...]) -> tuple[int, bytes]:
        """Returns the number and the hash of one more event."""
        self.position += 1
        self.chain = link_hash(self.chain, self.position, covered)
        return self.position, self.chain


def _fields(covered: Sequence[bytes | None]) -> tuple[bytes, ...]:
    return tuple([each or b"" for each in covered])


def _readable(position: int, covered: Sequence[bytes]) -> list[StoredEvent]:
    """Returns the event of a row, or nothing if this version of Assent cannot read it."""
    try:
        stream, seq, *rest = [each.decode() for each in covered]
        return [decode_event((position, stream, int(seq), rest[0], rest[1], rest[2]))]
    except (StoreError, ValueError):
        return []


def cut_off_text(reached: int, had: int) -> str:
    """Returns that the log ends before an event that it had."""
    return (
        f"The log ends at event {reached}, but it had {had}: the newest events were removed, or an "
        "older copy replaced the log."
    )


def _cut_off(follower: ChainVerifier, anchor: LogAnchor, given: int, *, ends: bool = False) -> str:
    """Returns that the newest events are gone, if so; with `ends`, checks nothing else."""
    had = max(anchor.position, given)
    if had > follower.reached:
        return cut_off_text(follower.reached, had)
    if not ends and anchor.position and follower.seen.hex() != anchor.chain:
        return (
            f"Event {anchor.position} differs from when the log was last closed: the log was "
            "rewritten."
        )
    return ""


class _EncodedBatch(NamedTuple):
    """A batch, and its events as they are stored: the thread that wants it makes them."""

    batch: EventBatch
    rows: list[tuple[str, int, str, str, str]]  # stream, seq, at, kind and body
    covered: list[tuple[bytes, ...]]  # the same, as their hashes cover them

    @classmethod
    def of(cls, batch: EventBatch) -> "_EncodedBatch":
        rows = [
            (batch.stream, seq, batch.at, *encode_event(event))
            for seq, event in enumerate(batch.events, batch.after + 1)
        ]
        return cls(batch, rows, [hashed_fields(*row) for row in rows])


_WaitingAppend: TypeAlias = Waiting[list[_EncodedBatch], tuple[StoredEvent, ...]]


def _fail_all(group: Sequence[_WaitingAppend], error: Exception) -> None:
    for one in group:
        one.fail(error)


class _LogWriter:
    """Adds batches to the log in one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._end = _LogEnd(connection)
        self._last: dict[str, int] = {}  # events of streams

    def add_all(self, batches: list[_EncodedBatch]) -> tuple[StoredEvent, ...] | ConcurrentChange:
        """Adds all of them, or none; then returns why."""
        last: dict[str, int] = {}
        for batch, rows, _ in batches:
            stream = batch.stream
            known = last.get(stream, self._last.get(stream))
            if known is None:
                known = self._connection.execute(_LAST, (stream,)).fetchone()[0]
            try:
                require_last_seq(batch, known)
            except ConcurrentChange as moved:
                return moved
            last[stream] = known + len(rows)
        self._last |= last
        return tuple([stored for each in batches for stored in self._add(each)])

    def _add(self, encoded: _EncodedBatch) -> list[StoredEvent]:
        batch, rows, covered = encoded
        added, values = [], []
        for event, row, fields in zip(batch.events, rows, covered, strict=True):
            position, chain = self._end.add(fields)
            values.append((position, *row, chain))
            added.append(StoredEvent(position, batch.stream, row[1], batch.at, event))
        self._connection.executemany(_ADD, values)
        if batch.head is not None:
            self._connection.execute(
                _KEEP_HEAD, (batch.stream, batch.after + len(rows), batch.head)
            )
        return added
