"""The log in SQLite: streams of events that grow only where the writer has seen the end of them."""

import os
import sqlite3
from collections.abc import Sequence

import msgspec

from assent.core.event import Recorded
from assent.ports import Batch
from assent.store.codec import encoded, recorded
from assent.store.database import Database
from assent.store.faults import damaged
from assent.store.locks import PATIENCE
from assent.store.log import require_end

_EVENT = "position, stream, seq, at, kind, body"
_READ = f"SELECT {_EVENT} FROM events WHERE stream = ? AND seq > ? ORDER BY seq"
_READ_ALL = f"""
    SELECT DISTINCT {_EVENT}
    FROM json_each(?) AS prefix
    JOIN events ON stream >= prefix.value AND stream < prefix.value || char(0x10FFFF)
    WHERE position > ? ORDER BY position
"""
_STREAMS = """
    SELECT stream FROM events
    WHERE seq = 1 AND stream >= ?1 AND stream < ?1 || char(0x10FFFF) ORDER BY stream
"""
_NEWEST = "SELECT coalesce(max(position), 0) FROM events"
_HEAD = "SELECT seq, body FROM heads WHERE stream = ?"
_LAST = "SELECT coalesce(max(seq), 0) FROM events WHERE stream = ?"
_ADD = "INSERT INTO events (stream, seq, at, kind, body) VALUES (?, ?, ?, ?, ?)"
_KEEP_HEAD = "INSERT OR REPLACE INTO heads (stream, seq, body) VALUES (?, ?, ?)"


class SqliteStore:
    """Implements ports.Store with one database file; nothing is opened before it is needed."""

    def __init__(self, path: str | os.PathLike[str], patience: float = PATIENCE) -> None:
        self._path = os.path.abspath(path)
        self._database = Database(self._path, patience)

    def append(self, *batches: Batch) -> tuple[Recorded, ...]:
        """Records all batches or, if any stream has moved on, none of them."""
        with self._database.transaction() as connection:
            return tuple(one for batch in batches for one in _added(connection, batch))

    def read(self, stream: str, after: int = 0) -> list[Recorded]:
        found = [recorded(row) for row in self._database.rows(_READ, (stream, after))]
        for seq, one in enumerate(found, after + 1):
            if one.seq != seq:  # folding the rest would tell another story
                raise damaged("read the log", self._path, f"{stream} has lost its event {seq}")
        return found

    def read_all(self, prefixes: Sequence[str], after: int = 0) -> list[Recorded]:
        rows = self._database.rows(_READ_ALL, (msgspec.json.encode([*prefixes]).decode(), after))
        return [recorded(row) for row in rows]

    def last(self) -> int:
        return next((int(position) for (position,) in self._database.rows(_NEWEST, ())), 0)

    def streams(self, prefix: str) -> list[str]:
        return [stream for (stream,) in self._database.rows(_STREAMS, (prefix,))]

    def head(self, stream: str) -> tuple[int, bytes] | None:
        return next(((seq, body) for seq, body in self._database.rows(_HEAD, (stream,))), None)

    def close(self) -> None:
        self._database.close()


def _added(connection: sqlite3.Connection, batch: Batch) -> list[Recorded]:
    last = connection.execute(_LAST, (batch.stream,)).fetchone()[0]
    require_end(batch, last)
    added = []
    for seq, event in enumerate(batch.events, batch.after + 1):
        row = (batch.stream, seq, batch.at, *encoded(event))
        position = connection.execute(_ADD, row).lastrowid or 0
        added.append(Recorded(position, batch.stream, seq, batch.at, event))
    if batch.head is not None:
        connection.execute(_KEEP_HEAD, (batch.stream, batch.after + len(added), batch.head))
    return added
