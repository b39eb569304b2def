"""The log in SQLite, as one process sees it."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest
from tests.store.logs import AT, filled, note, texts

from assent.core.errors import ConcurrentChange, StoreError
from assent.store.database import MAX_WAL_BYTES, Database
from assent.store.sqlite import CHANGED_QUERY, SqliteEventStore


def test_reading_a_missing_log_makes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state" / "store.db"
    assert texts(path) == []
    assert list(tmp_path.iterdir()) == []


def test_events_are_there_after_closing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    written = filled(path, 3)
    assert texts(path) == written
    with closing(SqliteEventStore(path)) as store:
        assert store.append(note("more", 3))[0].position == 4
    assert texts(path) == [*written, "more"]


def test_closed_log_is_one_private_file_with_its_lock_and_anchor(tmp_path: Path) -> None:
    path = tmp_path / "state" / "store.db"
    filled(path, 3)
    modes = {file.name: oct(file.stat().st_mode) for file in path.parent.iterdir()}
    names = ("store.db", "store.db-anchor", "store.lock")
    assert modes == dict.fromkeys(names, "0o100600")
    assert oct(path.parent.stat().st_mode) == "0o40700"


def test_companions_of_an_open_log_are_private(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteEventStore(path)) as store:
        store.append(note("one", 0))
        modes = {oct(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == {"0o100600"}


def test_appends_are_synced_and_nothing_checkpoints_by_itself(tmp_path: Path) -> None:
    database = Database(str(tmp_path / "store.db"))
    with closing(database), database.transaction() as connection:
        settings = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "wal_autocheckpoint")
        }
    assert settings == {"journal_mode": "wal", "synchronous": 2, "wal_autocheckpoint": 0}


def test_two_stores_see_each_other(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteEventStore(path)) as one, closing(SqliteEventStore(path)) as other:
        assert other.read("a") == []
        first = one.append(note("one", 0))
        assert other.read("a") == list(first)
        second = other.append(note("two", 1))
        assert one.read("a") == [*first, *second]
        with pytest.raises(ConcurrentChange) as caught:
            one.append(note("late", 1))
    assert caught.value.message == (
        "a is at event 2, but this change is based on event 1: another process changed it. "
        "Nothing was recorded; reload and retry."
    )


def test_what_changed_is_found_without_walking_through_the_log(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    filled(path, 3)
    with closing(SqliteEventStore(path)) as store:
        store.append(note("one", 0, "b"))
        assert store.changed_streams("", 2) == ["a", "b"]
        assert store.changed_streams("", 3) == ["b"]
        assert store.changed_streams("a", 3) == []
    with closing(sqlite3.connect(path)) as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {CHANGED_QUERY}", (2, "")).fetchall()
    assert "INTEGER PRIMARY KEY (rowid>?)" in plan[0][3]


def test_grown_wal_is_moved_into_the_database(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    wal = tmp_path / "store.db-wal"
    text = "x" * 500_000
    sizes = []
    with closing(SqliteEventStore(path)) as store:
        for n in range(12):
            store.append(note(text, n))
            sizes.append(wal.stat().st_size)
    assert max(sizes) <= MAX_WAL_BYTES
    assert 0 in sizes
    assert texts(path) == [text] * 12


def test_reader_at_work_does_not_hold_up_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteEventStore(path)) as store:
        store.append(note("first", 0))
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as reader:
            reader.execute("BEGIN")
            assert reader.execute("SELECT stream FROM events").fetchall() == [("a",)]
            for n in range(1, 11):
                store.append(note("x" * 1_000_000, n))
            assert reader.execute("SELECT count(*) FROM events").fetchone() == (1,)
    assert len(texts(path)) == 11


def test_folder_deleted_under_a_running_process(tmp_path: Path) -> None:
    path = tmp_path / "state" / "store.db"
    with closing(SqliteEventStore(path)) as store:
        store.append(note("old", 0))
        for file in path.parent.iterdir():
            file.unlink()
        path.parent.rmdir()
        assert store.read("a") == []
        with pytest.raises(ConcurrentChange):
            store.append(note("next", 1))
        store.append(note("anew", 0))
    assert texts(path) == ["anew"]


def test_database_replaced_under_a_running_process(tmp_path: Path) -> None:
    path, other = tmp_path / "store.db", tmp_path / "other" / "store.db"
    filled(path, 1)
    filled(other, 3)
    with closing(SqliteEventStore(path)) as store:
        assert len(store.read("a")) == 1
        other.replace(path)
        assert len(store.read("a")) == 3
        store.append(note("more", 3))
    assert len(texts(path)) == 4


def test_missing_database_with_a_wal_is_not_an_empty_log(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteEventStore(path)) as store:
        store.append(note("in the wal", 0))
        path.unlink()
        with pytest.raises(StoreError, match="its -wal file is still there") as caught:
            store.read("a")
        with pytest.raises(StoreError, match="its -wal file is still there"):
            store.append(note("anew", 0))
    assert caught.value.next == f"mkdir {tmp_path}/aside && mv {path}* {tmp_path}/aside/"
    assert (tmp_path / "store.db-wal").stat().st_size > 0


def test_event_of_a_newer_version_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    filled(path, 1)
    with closing(sqlite3.connect(path)) as newer, newer:
        row = ("a", 2, AT, "plan_sung", '{"type":"plan_sung"}')
        newer.execute("INSERT INTO events (stream, seq, at, kind, body) VALUES (?,?,?,?,?)", row)
    with closing(SqliteEventStore(path)) as store:
        with pytest.raises(StoreError, match="'plan_sung', which this version"):
            store.read("a")
        assert store.append(note("after it", 2))[0].seq == 3


def test_odd_names_of_folders_are_no_options(tmp_path: Path) -> None:
    path = tmp_path / "50%?mode=memory#x" / "store.db"
    written = filled(path, 2)
    assert texts(path) == written
    assert path.stat().st_size > 0


def test_folder_whose_name_is_not_text(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")) / "store.db"
    written = filled(path, 2)
    assert texts(path) == written


def test_threads_may_share_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteEventStore(path)) as store:

        def work(stream: str) -> None:
            for n in range(20):
                store.append(note(stream, n, stream))
                assert len(store.read(stream)) == n + 1

        threads = [Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [one.position for one in store.read_all([""])] == list(range(1, 81))
        assert {name: len(store.read(name)) for name in "abcd"} == dict.fromkeys("abcd", 20)
