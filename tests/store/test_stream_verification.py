"""What the chain vouches for of one stream is told, and damage elsewhere does not touch it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from tests.store.logs import note

from assent.ports import StreamTrace
from assent.store.sqlite import SqliteEventStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed log: an event of another stream before, between and after three of ours."""
    found = tmp_path / "store.db"
    with closing(SqliteEventStore(found)) as store:
        for number, stream in enumerate(("x", "run", "x", "run", "run", "x")):
            after = len(store.read(stream))
            store.append(note(str(number), after, stream))
    return found


def traced(path: Path, statement: str = "", *values: object) -> StreamTrace:
    if statement:
        with closing(sqlite3.connect(path)) as database, database:
            assert database.execute(statement, values).rowcount
    with closing(SqliteEventStore(path)) as store:
        return store.trace("run")


def test_a_whole_stream_is_vouched_for(path: Path) -> None:
    found = traced(path)
    assert [one.seq for one in found.events] == [1, 2, 3]
    assert (found.last, found.faults) == (3, ())


def test_a_stream_that_is_not_there_has_nothing(path: Path) -> None:
    with closing(SqliteEventStore(path)) as store:
        assert store.trace("none") == StreamTrace(())


def test_what_came_before_a_stream_is_not_looked_at(path: Path) -> None:
    assert traced(path, "UPDATE events SET body = '{}' WHERE position = 1").faults == ()


@pytest.mark.parametrize("column", ["body", "kind", "at", "stream"])
def test_a_changed_event_is_left_out_and_told(column: str, path: Path) -> None:
    found = traced(path, f"UPDATE events SET {column} = 'other' WHERE position = 4")
    assert [one.seq for one in found.events] == [1, 3]
    assert [position for position, _ in found.faults] == [4]


def test_a_removed_event_shows_in_the_next(path: Path) -> None:
    found = traced(path, "DELETE FROM events WHERE position = 4")
    assert [one.seq for one in found.events] == [1]
    assert [position for position, _ in found.faults] == [5]


def test_a_lost_end_is_told(path: Path) -> None:
    found = traced(path, "DELETE FROM events WHERE position > ?", 4)
    assert [one.seq for one in found.events] == [1, 2]
    assert [position for position, _ in found.faults] == [5]


def test_what_is_written_after_a_loss_is_vouched_for_again(path: Path) -> None:
    traced(path, "DELETE FROM events WHERE position > ?", 4)
    with closing(SqliteEventStore(path)) as store:
        store.append(note("9", 2, "run"))
    found = traced(path)
    assert [one.seq for one in found.events] == [1, 2, 3]
    assert [position for position, _ in found.faults] == [7]  # and the gap stays visible


def test_a_head_of_events_that_are_lost_does_not_count(path: Path) -> None:
    with closing(SqliteEventStore(path)) as store:
        store.append(msgspec.structs.replace(note("9", 3, "run"), head=b"head of four"))
        assert store.head("run") == (4, b"head of four")
        assert store.heads("run") == {"run": (4, b"head of four")}
    traced(path, "DELETE FROM events WHERE stream = 'run' AND seq = 4")
    with closing(SqliteEventStore(path)) as store:
        assert store.head("run") is None
        assert store.heads("run") == {}
