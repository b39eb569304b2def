"""Ports to storage: the event log, blobs, keys, locks and the clock."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from assent.core.event import Event, StoredEvent

MAX_WHOLE_READ = 1 << 20  # content up to this size may be read at once; more is streamed


class EventBatch(msgspec.Struct, frozen=True):
    """Events that must directly follow event number `after` of a stream, and the head they make."""

    stream: str
    after: int
    at: str
    events: tuple[Event, ...]
    head: bytes | None = None


class LogCheck(msgspec.Struct, frozen=True):
    """What a look through the whole log found: the first event that is not as it was written.

    `anchored` is how far a mark outside the log vouches for it; nobody does for what follows.
    """

    events: int
    broken: str = ""  # empty: every event follows from the one before
    anchored: int = 0
    leftovers: bool = False  # of an empty log: something is kept that a log would tell of
    unanchored: str = ""  # why that mark cannot be used, and what makes a new one


class StreamTrace(msgspec.Struct, frozen=True):
    """The events of one stream that the chain of hashes vouches for, and where it is broken.

    The chain is followed from the stream's first event to the end of the log. `faults` are places
    where it does not hold, of whichever stream, each with the sentence that says so.
    """

    events: tuple[StoredEvent, ...]
    last: int = 0  # the highest number in the stream, sound or not
    faults: tuple[tuple[int, str], ...] = ()


class EventStore(Protocol):
    """The log. All batches of one `append` are one durable transaction, or nothing is."""

    def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
        """Raises Moved if any stream has gone past its batch's `after`."""

    def read(self, stream: str, after: int = 0) -> list[StoredEvent]: ...

    def read_all(self, prefixes: Sequence[str], after: int = 0) -> list[StoredEvent]:
        """Returns the events of all streams under the prefixes, in the order of the whole log."""

    def last(self) -> int:
        """Returns the position of the newest event of all; 0 if there is none."""

    def latest(self, stream: str, seq: int) -> str:
        """Returns the latest time that an event and all that came after it bear.

        If there is no such event, it is the latest time in the whole log.
        """

    def stamp(self) -> tuple[int, ...]:
        """Returns what another process's events would show in, without reading any."""

    def streams(self, prefix: str) -> list[str]: ...

    def verify(self) -> LogCheck:
        """Follows the chain of hashes through the whole log."""

    def trace(self, stream: str) -> StreamTrace:
        """Follows the chain from the first event of a stream on; damage is told, never raised."""

    def head(self, stream: str) -> tuple[int, bytes] | None:
        """Returns the kept fold of a stream with the seq that it reaches; it may lag behind."""

    def heads(self, prefix: str) -> dict[str, tuple[int, bytes]]:
        """Returns the kept folds of all streams under a prefix, but for those that lag behind."""

    def close(self) -> None: ...


class BlobStore(Protocol):
    """Contents by digest. What is kept is durable, and visible to others, after `flush`."""

    def keep(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        """Stores content and returns its digest and size."""

    def flush(self) -> None: ...

    def close(self) -> None:
        """Removes what was kept and never flushed: no event names it."""

    def has(self, digest: str) -> bool: ...

    def missing(self, digests: Iterable[str]) -> list[str]:
        """Returns those of many contents that are not kept, in their order."""

    def read(self, digest: str) -> bytes:
        """Returns the content, checked; raises StoreError if it is missing or damaged."""

    def chunks(self, digest: str) -> Iterator[bytes]:
        """Streams the content; raises StoreError at the end if it does not match its name."""


class CollectionResult(msgspec.Struct, frozen=True):
    """What a collection removed; `later` are bytes that nobody needs and that are too young."""

    contents: int = 0
    size: int = 0
    later: int = 0


class GarbageCollector(Protocol):
    """Removes contents that nothing names any more."""

    def due(self) -> bool:
        """Tells whether it is time to collect although nobody asked for it."""

    def collect(self, needed: Callable[[str], bool]) -> CollectionResult:
        """Removes what is not needed, but nothing that was kept within the last hour."""


class Signer(Protocol):
    """The key that says which machine's person approved; it never leaves the state directory."""

    def key(self) -> str:
        """Returns the public key as hex; the first call makes the pair."""

    def sign(self, payload: bytes) -> str:
        """Returns the signature as hex."""

    def verify(self, key: str, payload: bytes, signature: str) -> bool:
        """Tells whether this machine's key made the signature."""


class TrustedKeys(Protocol):
    """Whose signatures count besides this machine's own: those that its person or system lists."""

    def trusted(self, key: str) -> bool:
        """Tells whether a public key is listed and was not revoked."""

    def verify(self, key: str, payload: bytes, signature: str) -> bool:
        """Tells whether whoever holds this key made the signature, trusted or not."""


class Locks(Protocol):
    """One process at a time."""

    def hold(self, name: str, owner: str) -> AbstractContextManager[None]:
        """Raises Busy, naming the owner, if somebody else holds the lock."""

    def is_held(self, name: str) -> bool:
        """Tells whether anybody holds the lock at this moment."""

    def holder(self, name: str) -> str:
        """Names who holds the lock at this moment; an empty string if nobody does."""


class Clock(Protocol):
    """Time for display and expiry, never for order."""

    def now(self) -> str:
        """Returns the time in UTC as ISO 8601 with milliseconds and a Z."""

    def later(self, seconds: int) -> str: ...

    def new_id(self) -> str:
        """Returns an id that sorts by time and that nobody can guess."""
