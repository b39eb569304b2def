"""Events as rows of the log: encoded and chained, each hash covering the one before it.

An event is appended only after the last one that the writer saw.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TypeAlias, get_args

import msgspec

from assent.core.decoding import json_decoder
from assent.core.digest import pack
from assent.core.errors import ConcurrentChange, StoreError
from assent.core.event import Event, StoredEvent, event_tag
from assent.ports import EventBatch

Fields: TypeAlias = tuple[bytes, ...]  # stream, seq, at, kind and body of an event, as bytes

START = hashlib.sha256(b"assent.chain.1").digest()
CHANGED = (
    "is not what was written: it was changed, or events just before it were removed, inserted or "
    "reordered."
)
PAGE = 2000  # events that are held in memory at once
# As bytes, because a value that was tampered with may no longer be text.
FIELDS = ", ".join(f"CAST({name} AS BLOB)" for name in ("stream", "seq", "at", "kind", "body"))
_ROWS = f"SELECT position, {FIELDS} FROM events WHERE position > ? ORDER BY position LIMIT ?"
_SET = "UPDATE events SET chain = ? WHERE position = ?"


def link_hash(before: bytes, position: int, fields: Fields) -> bytes:
    """Returns the hash of an event that follows the one with the hash `before`."""
    return hashlib.sha256(pack(before, b"%d" % position, *fields)).digest()


def hashed_fields(stream: str, seq: int, *texts: str) -> Fields:
    """Returns what the hash of an event covers, except its position; `texts`: at, kind and body."""
    return (stream.encode(), b"%d" % seq, *[text.encode() for text in texts])


def chain_all_events(connection: sqlite3.Connection) -> None:
    """Chains the events of a log that was written without a chain."""
    before, reached = START, 0
    while rows := connection.execute(_ROWS, (reached, PAGE)).fetchall():
        links = []
        for position, *covered in rows:
            before = link_hash(before, position, tuple(covered))
            links.append((before, position))
        connection.executemany(_SET, links)
        reached = rows[-1][0]


class ChainVerifier:
    """Follows the chain event by event, and remembers the first that does not match."""

    def __init__(self, watched: int = 0, reached: int = 0, before: bytes = START) -> None:
        self.events = 0
        self.broken = ""
        self.seen = b""  # the hash that the watched event carries
        self.reached = reached
        self._before = before
        self._watched = watched

    def follow(self, events: Iterable[tuple[int, Fields, bytes]]) -> None:
        """Checks events in log order, each with its stored hash."""
        for position, covered, carried in events:
            if not self.broken:
                self.broken = self._fault(position, covered, carried)
            if position == self._watched:
                self.seen = carried
            self.events += 1
            self._before, self.reached = carried, position

    def trace(self, position: int, covered: Fields, carried: bytes) -> tuple[bool, str]:
        """Checks one event; tells whether it follows from the one before, and what is wrong.

        If events are missing before it, it is still valid if it was written after their loss.
        """
        fault = self._fault(position, covered, carried)
        follows = carried == link_hash(self._before, position, covered)
        self._before, self.reached = carried, position
        return follows, fault

    def _fault(self, position: int, covered: Fields, carried: bytes) -> str:
        due = self.reached + 1
        if position != due:
            last = position - 1
            gone = f"Event {due} is" if last == due else f"Events {due} to {last} are"
            return f"{gone} missing from the log: events were removed or renumbered."
        stream, seq, _, kind, _ = [each.decode("utf-8", "backslashreplace") for each in covered]
        name = f"Event {position} ({kind}, number {seq} of {stream})"
        if not carried:
            return f"{name} was not written by Assent: it has no hash."
        if carried != link_hash(self._before, position, covered):
            return f"{name} {CHANGED}"
        return ""


# Encodes events as rows of the log, and decodes them.


EventRow: TypeAlias = tuple[int, str, int, str, str, str]

KINDS: Mapping[str, type[Event]] = {str(c.__struct_config__.tag): c for c in get_args(Event)}

_encoder = msgspec.json.Encoder()


@cache
def _decoder(kind: str) -> msgspec.json.Decoder[Event]:
    """Returns the decoder of one kind: for all of them it takes milliseconds, and few are met."""
    return json_decoder(KINDS[kind])


def encode_event(event: Event) -> tuple[str, str]:
    """Returns the kind and the body of an event as stored in the log."""
    return event_tag(event), _encoder.encode(event).decode()


def decode_event(row: EventRow) -> StoredEvent:
    """Returns the event of a row: position, stream, seq, at, kind and body."""
    position, stream, seq, at, word, body = row
    if not type(stream) is type(at) is type(word) is type(body) is str or type(seq) is not int:
        raise _unreadable(row, "its values have other types than were written")
    if word not in KINDS:
        raise _unreadable(row, "its kind is unknown")
    try:
        return StoredEvent(position, stream, seq, at, _decoder(word).decode(body))
    except (msgspec.DecodeError, UnicodeError) as error:
        raise _unreadable(row, str(error)) from error


def _unreadable(row: EventRow, details: str) -> StoreError:
    position, stream, seq, _, word, _ = row
    name = f"Event {seq} of {stream} (number {position} in the log)"
    safe = "Nothing was changed."
    if isinstance(word, str) and word not in KINDS:
        return StoreError(
            f"{name} has the kind {word!a}, which this version of Assent does not know; a newer "
            f"version wrote it. {safe}",
            "pip install --upgrade assent",
        )
    return StoreError(
        f"{name} cannot be read ({details}): it is damaged or was written by a newer version of "
        f"Assent. {safe}",
        "assent log --verify",
    )


# Checks that a batch directly follows the last event that its writer saw.


def require_last_seq(batch: EventBatch, last: int) -> None:
    """Refuses a batch that does not follow its stream's last event."""
    if batch.after != last:
        raise ConcurrentChange(
            f"{batch.stream} is at event {last}, but this change is based on event {batch.after}: "
            "another process changed it. Nothing was recorded; reload and retry."
        )
