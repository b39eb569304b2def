"""The event store and the blob store in memory, with the same guarantees except durability."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from assent.core.digest import sha256
from assent.core.errors import StoreError
from assent.core.event import Event, StoredEvent
from assent.ports import EventBatch, LogCheck, StreamTrace
from assent.store.hash_chain import (
    START,
    ChainVerifier,
    Fields,
    encode_event,
    hashed_fields,
    link_hash,
    require_last_seq,
)


class MemoryEventStore:
    """Implements ports.EventStore for one process."""

    def __init__(self) -> None:
        self._log: list[StoredEvent] = []
        self._chain: list[bytes] = []
        self._anchored = 0
        self._ends: dict[str, int] = {}
        self._heads: dict[str, tuple[int, bytes]] = {}

    def copy(self) -> "MemoryEventStore":
        """Returns a separate store with the same events."""
        other = MemoryEventStore()
        other._log, other._chain = list(self._log), list(self._chain)
        other._anchored = self._anchored
        other._ends, other._heads = dict(self._ends), dict(self._heads)
        return other

    def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
        """Records all batches or, if any stream has moved on, none of them."""
        added: list[StoredEvent] = []
        ends: dict[str, int] = {}
        heads: dict[str, tuple[int, bytes]] = {}
        for batch in batches:
            require_last_seq(batch, ends.get(batch.stream, self._ends.get(batch.stream, 0)))
            for seq, event in enumerate(batch.events, batch.after + 1):
                position = len(self._log) + len(added) + 1
                added.append(StoredEvent(position, batch.stream, seq, batch.at, event))
            ends[batch.stream] = batch.after + len(batch.events)
            if batch.head is not None:
                heads[batch.stream] = (ends[batch.stream], batch.head)
        self._chain += self._links(added)
        self._log += added
        self._ends |= ends
        self._heads |= heads
        return tuple(added)

    def read(self, stream: str, after: int = 0) -> list[StoredEvent]:
        return [one for one in self._log if one.stream == stream and one.seq > after]

    def read_all(
        self, prefixes: Sequence[str], after: int = 0, kinds: Sequence[type[Event]] = ()
    ) -> list[StoredEvent]:
        found = [one for one in self._log[after:] if one.stream.startswith(tuple(prefixes))]
        return [one for one in found if not kinds or isinstance(one.event, tuple(kinds))]

    def changed_streams(self, prefix: str, after: int) -> list[str]:
        return sorted({one.stream for one in self._log[after:] if one.stream.startswith(prefix)})

    def stamp(self) -> tuple[int, ...]:
        return (len(self._log),)

    def read_after(self, position: int, limit: int) -> list[StoredEvent]:
        return [one for one in self._log if one.position > position][:limit]

    def last(self) -> int:
        return len(self._log)

    def latest(self, stream: str, seq: int) -> str:
        first = next((o.position for o in self._log if (o.stream, o.seq) == (stream, seq)), 0)
        return max((one.at for one in self._log if one.position >= first), default="")

    def streams(self, prefix: str) -> list[str]:
        return sorted({one.stream for one in self._log if one.stream.startswith(prefix)})

    def head(self, stream: str) -> tuple[int, bytes] | None:
        return self._heads.get(stream)

    def heads(self, prefix: str) -> dict[str, tuple[int, bytes]]:
        last = {one.stream: one.seq for one in self._log if one.stream.startswith(prefix)}
        whole = [stream for stream in last if self._heads.get(stream, (0, b""))[0] >= last[stream]]
        return {stream: self._heads[stream] for stream in whole}

    def verify(self) -> LogCheck:
        follower = ChainVerifier()
        pairs = zip(self._log, self._chain, strict=True)
        follower.follow((one.position, _fields(one), carried) for one, carried in pairs)
        return LogCheck(follower.events, follower.broken, self._anchored)

    def trace(self, stream: str) -> StreamTrace:
        found = tuple(self.read(stream))
        return StreamTrace(found, found[-1].seq if found else 0)

    def close(self) -> None:
        """Keeps everything: the object still has the log."""
        self._anchored = len(self._log)

    def _links(self, added: Sequence[StoredEvent]) -> list[bytes]:
        links = [self._chain[-1] if self._chain else START]
        for one in added:
            links.append(link_hash(links[-1], one.position, _fields(one)))
        return links[1:]


class MemoryBlobStore:
    """Implements ports.BlobStore for one process; a test can damage `contents`."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}

    def keep(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        content = b"".join(chunks)
        digest = sha256(content)
        self.contents[digest] = content
        return digest, len(content)

    def flush(self) -> None:
        """Does nothing: memory has no durability."""

    def close(self) -> None:
        """Does nothing: there is nothing to remove."""

    def has(self, digest: str) -> bool:
        return digest in self.contents

    def is_stored(self, digest: str) -> bool:
        return digest in self.contents

    def missing(self, digests: Iterable[str]) -> list[str]:
        return [digest for digest in digests if digest not in self.contents]

    def holders(self, sizes: Mapping[str, int]) -> dict[str, str]:
        there = self.contents
        return {each: each for each in sizes if each in there and len(there[each]) == sizes[each]}

    def lost(self, holders: Iterable[str]) -> list[str]:
        return self.missing(holders)

    def read(self, digest: str) -> bytes:
        content = self.contents.get(digest)
        if content is None or sha256(content) != digest:
            raise StoreError(f"The content {digest[:12]}… is missing or damaged.")
        return content

    def chunks(self, digest: str) -> Iterator[bytes]:
        yield self.read(digest)


def _fields(one: StoredEvent) -> Fields:
    return hashed_fields(one.stream, one.seq, one.at, *encode_event(one.event))
