"""Short ways to fill a log and to look at one."""

from contextlib import closing
from pathlib import Path

from assent.core.event import PlanSelected, StoredEvent
from assent.ports import EventBatch
from assent.store.sqlite import SqliteEventStore

AT = "2026-01-01T00:00:00.000Z"


def note(text: str, after: int, stream: str = "a") -> EventBatch:
    """A batch of one event that carries a text."""
    return EventBatch(stream, after, AT, (PlanSelected(text),))


def texts(path: Path, stream: str = "a") -> list[str]:
    """The texts in a stream, read by a process that has just started."""
    with closing(SqliteEventStore(path)) as store:
        return [text_of(one) for one in store.read(stream)]


def text_of(recorded: StoredEvent) -> str:
    assert isinstance(recorded.event, PlanSelected)
    return recorded.event.plan_id


def filled(path: Path, count: int, size: int = 1) -> list[str]:
    """Appends events one by one, closes the log and returns their texts."""
    written = [f"{n:04}" + "x" * size for n in range(count)]
    with closing(SqliteEventStore(path)) as store:
        for n, text in enumerate(written):
            store.append(note(text, n))
    return written
