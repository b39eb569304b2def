"""Removes stored contents that no workspace of the store needs any more."""

from collections.abc import Sequence

from assent.core.blob_references import blob_references, streams_with_blobs
from assent.core.errors import Busy, StoreError
from assent.core.event import CommandEnded, CommandStarted, StoredEvent
from assent.planning.ports import Ports
from assent.ports import CollectionResult

LOCK_NAME = "collect"


class StoreGarbageCollection:
    """Removes contents that nothing refers to; where the log is unsound, none."""

    def __init__(self, doors: Ports) -> None:
        self._doors = doors

    def due(self) -> bool:
        """Tells whether the last collection was long ago."""
        return self._doors.garbage_collector.due()

    def collect(self) -> CollectionResult:
        """Removes unneeded contents, unless somebody else does so already (Busy)."""
        doors = self._doors
        with doors.locks.hold(LOCK_NAME, "collecting contents"):
            checked = doors.store.verify()
            if checked.broken:
                raise StoreError(
                    f"{checked.broken} Nothing was removed: what a log names that is not as it "
                    "was written cannot be known.",
                    "assent log --verify",
                )
            streams = streams_with_blobs(doors.store.streams(""))
            events = doors.store.read_all(streams) if streams else []
            self._check_at_rest(events)
            needed = blob_references(events, doors.blobs.read, doors.blobs.has)
            return doors.garbage_collector.collect(needed.__contains__)

    def _check_at_rest(self, events: Sequence[StoredEvent]) -> None:
        """Refuses while a session's command runs: what it may yet change is on no record."""
        books: dict[str, CommandStarted | None] = {}
        for one in events:
            match one.event:
                case CommandStarted() as begun:
                    books[one.stream] = begun
                case CommandEnded():
                    books[one.stream] = None
                case _:
                    pass
        for stream, open_one in books.items():
            if open_one is not None and self._doors.locks.is_held(stream.rpartition("/")[2]):
                raise Busy(
                    f"A command of session {open_one.session} is running; no contents were "
                    "removed.",
                    "assent status",
                )
