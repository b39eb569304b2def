"""Ports to storage: the event log, blobs, keys, locks and the clock."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from assent.core.event import Event, StoredEvent

MAX_WHOLE_READ = 1 << 20  # content up to this size may be read at once; more is streamed


class EventBatch(msgspec.Struct, frozen=True):
    """Events that must directly follow event `after` of a stream, and the resulting head.

    Without `synced` they are stored, and all processes see them, but their writer does not wait
    until they are on disk: that is at the latest with the next batch of any process that is
    waited for. If the machine fails before, the log lacks its last events, and no others.
    """

    stream: str
    after: int
    at: str
    events: tuple[Event, ...]
    head: bytes | None = None
    synced: bool = True


class LogCheck(msgspec.Struct, frozen=True):
    """The result of checking the whole log: the first event that is not as it was written.

    `anchored` is how far a marker outside the log confirms it; later events are unconfirmed.
    """

    events: int
    broken: str = ""  # empty: every event follows from the one before
    anchored: int = 0
    leftovers: bool = False  # of an empty log: something is kept that a log would mention
    unanchored: str = ""  # why that mark cannot be used, and what makes a new one


class StreamTrace(msgspec.Struct, frozen=True):
    """The events of one stream that the hash chain confirms, and where it is broken.

    The chain is followed from the stream's first event to the end of the log. `faults` are the
    places where it is broken, in any stream, each with a sentence that says so.
    """

    events: tuple[StoredEvent, ...]
    last: int = 0  # the highest number in the stream, sound or not
    faults: tuple[tuple[int, str], ...] = ()


class EventStore(Protocol):
    """The log; all batches of one `append` are one durable transaction, or nothing is stored."""

    def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
        """Raises ConcurrentChange if any stream has events after its batch's `after`."""

    def read(self, stream: str, after: int = 0) -> list[StoredEvent]: ...

    def read_all(
        self, prefixes: Sequence[str], after: int = 0, kinds: Sequence[type[Event]] = ()
    ) -> list[StoredEvent]:
        """Returns the events of all streams under the prefixes, in log order.

        With kinds, only events of those: no other is read.
        """

    def changed_streams(self, prefix: str, after: int) -> list[str]:
        """Returns the streams under a prefix that have events after a position of the log."""

    def read_after(self, position: int, limit: int) -> list[StoredEvent]:
        """Returns the next events of all streams after a position, at most `limit`."""

    def last(self) -> int:
        """Returns the position of the newest event; 0 if there is none."""

    def latest(self, stream: str, seq: int) -> str:
        """Returns the latest time of an event and all events after it.

        If there is no such event, it is the latest time in the whole log.
        """

    def stamp(self) -> tuple[int, ...]:
        """Returns a stamp that changes with events of other processes, without reading any."""

    def streams(self, prefix: str) -> list[str]: ...

    def verify(self) -> LogCheck:
        """Follows the hash chain through the whole log."""

    def trace(self, stream: str) -> StreamTrace:
        """Follows the chain from a stream's first event on; damage is reported, never raised."""

    def head(self, stream: str) -> tuple[int, bytes] | None:
        """Returns the stored fold of a stream with the seq that it reaches; it may be outdated."""

    def heads(self, prefix: str) -> dict[str, tuple[int, bytes]]:
        """Returns the stored folds of all streams under a prefix, except outdated ones."""

    def close(self) -> None: ...


class BlobStore(Protocol):
    """Contents by digest; what is kept is durable, and visible to others, after `flush`."""

    def keep(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        """Stores content and returns its digest and size."""

    def flush(self) -> None: ...

    def close(self) -> None:
        """Removes what was kept and never flushed: no event refers to it."""

    def has(self, digest: str) -> bool: ...

    def is_stored(self, digest: str) -> bool:
        """Tells what `has` tells, but does not count as a use: for those who collect."""

    def missing(self, digests: Iterable[str]) -> list[str]:
        """Returns the digests that are not stored, in their order."""

    def holders(self, sizes: Mapping[str, int]) -> dict[str, str]:
        """Returns for each content that is stored the name of what holds it, maybe with others.

        For contents that are not read again: one of another size than given is not intact, and the
        rest is durable after the next flush.
        """

    def lost(self, holders: Iterable[str]) -> list[str]:
        """Returns which of these hold nothing any more; the rest is durable after the next flush.

        A holder never changes: as long as it exists, it holds what it held.
        """

    def read(self, digest: str) -> bytes:
        """Returns the content, checked; raises StoreError if it is missing or damaged."""

    def chunks(self, digest: str) -> Iterator[bytes]:
        """Streams the content; raises StoreError at the end if it does not match its digest."""


class CacheFile(Protocol):
    """A file that may be lost at any time: its user can do without it, only more slowly."""

    def read(self) -> bytes:
        """Returns what was written last; empty if that is missing, damaged or of something else."""

    def write(self, content: bytes) -> None:
        """Replaces the content in one step, if that is possible."""


class NoCacheFile:
    """Implements CacheFile where nothing is cached."""

    def read(self) -> bytes:
        return b""

    def write(self, content: bytes) -> None:
        """Does nothing."""


class CollectionResult(msgspec.Struct, frozen=True):
    """What a collection removed; `later` are unneeded bytes that are too recent."""

    contents: int = 0
    size: int = 0
    later: int = 0


class GarbageCollector(Protocol):
    """Removes blobs that nothing refers to any more."""

    def due(self) -> bool:
        """Tells whether an automatic collection is due."""

    def collect(self, needed: Callable[[str], bool]) -> CollectionResult:
        """Removes unneeded blobs, but nothing that was kept within the last hour."""


class Signer(Protocol):
    """The key that shows on which machine a plan was approved; it stays in the state directory."""

    def key(self) -> str:
        """Returns the public key as hex; the first call creates the pair."""

    def sign(self, payload: bytes) -> str:
        """Returns the signature as hex."""

    def verify(self, key: str, payload: bytes, signature: str) -> bool:
        """Tells whether this machine's key made the signature."""


class TrustedKeys(Protocol):
    """The keys, listed by user or system, whose signatures count in addition to this machine's."""

    def trusted(self, key: str) -> bool:
        """Tells whether a public key is listed and was not revoked."""

    def verify(self, key: str, payload: bytes, signature: str) -> bool:
        """Tells whether this key's owner made the signature, trusted or not."""


class Locks(Protocol):
    """Locks between processes."""

    def hold(self, name: str, owner: str) -> AbstractContextManager[None]:
        """Raises Busy, naming the owner, if another process holds the lock."""

    def is_held(self, name: str) -> bool:
        """Tells whether the lock is held right now."""

    def holder(self, name: str) -> str:
        """Returns who holds the lock right now; empty if it is free."""


class Clock(Protocol):
    """Time for display and expiry, never for order."""

    def now(self) -> str:
        """Returns the time in UTC as ISO 8601 with milliseconds and a Z."""

    def later(self, seconds: int) -> str: ...

    def new_id(self) -> str:
        """Returns an id that sorts by time and cannot be guessed."""
