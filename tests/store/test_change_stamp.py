"""What another process recorded shows in a stamp, which reads nothing and writes nothing."""

from pathlib import Path

from assent.core.event import PlanDiscarded
from assent.ports import EventBatch
from assent.store.sqlite import SqliteEventStore


def added(store: SqliteEventStore, after: int) -> None:
    store.append(EventBatch("plan/a", after, "2026-01-01T12:00:00.000Z", (PlanDiscarded(),)))


def test_an_event_of_another_store_shows_and_reading_does_not(tmp_path: Path) -> None:
    ours, theirs = SqliteEventStore(tmp_path / "log.db"), SqliteEventStore(tmp_path / "log.db")
    assert ours.stamp() == ()
    added(theirs, 0)
    first = ours.stamp()
    assert first
    assert ours.last() == 1
    assert len(theirs.read("plan/a")) == 1
    assert ours.stamp() == first == theirs.stamp()
    added(theirs, 1)
    assert ours.stamp() != first
    theirs.close()
    closed = ours.stamp()
    added(ours, 2)
    assert ours.stamp() != closed
    ours.close()
