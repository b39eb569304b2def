"""A log is brought to the newest form in whole steps, and never back."""

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.store.logs import filled, note, texts

from assent.core.errors import StoreError
from assent.store.database import FOLDER, Database, Migrations
from assent.store.sqlite import SqliteEventStore

NEXT = "ALTER TABLE events ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';"
MOODS = "SELECT mood FROM events"


def more_steps(folder: Path, next_step: str = NEXT) -> Migrations:
    """Migrations of a later version, which has one step more."""
    shutil.copytree(FOLDER, folder)
    (folder / "0005_mood.sql").write_text(next_step, encoding="utf-8")
    return Migrations(str(folder))


def test_migrations_are_numbered_without_gaps() -> None:
    names = sorted(path.name for path in Path(FOLDER).iterdir())
    assert [re.fullmatch(r"(\d{4})_\w+\.sql", name)[1] for name in names] == [  # type: ignore[index]
        f"{n:04}" for n in range(1, len(names) + 1)
    ]


def test_reading_brings_an_older_log_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    filled(path, 2)
    with closing(Database(str(path), 1, more_steps(tmp_path / "later"))) as later:
        assert later.rows(MOODS, ()) == [("calm",), ("calm",)]


def test_writing_brings_an_older_log_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    filled(path, 2)
    with closing(Database(str(path), 1, more_steps(tmp_path / "later"))) as later:
        with later.transaction() as connection:
            connection.execute("UPDATE events SET mood = 'glad'")
        assert later.rows(MOODS, ()) == [("glad",), ("glad",)]


def test_new_log_has_all_steps(tmp_path: Path) -> None:
    later = Database(str(tmp_path / "store.db"), 1, more_steps(tmp_path / "later"))
    with closing(later), later.transaction() as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (6,)


def test_failed_step_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    written = filled(path, 2)
    broken = more_steps(tmp_path / "later", f"{NEXT}\nINSERT INTO nowhere VALUES (1);")
    with closing(Database(str(path), 1, broken)) as later:
        for _ in range(2):
            with pytest.raises(StoreError, match="no such table: nowhere"):
                later.rows(MOODS, ())
    assert texts(path) == written
    with closing(SqliteEventStore(path)) as store:
        store.append(note("goes on", 2))


def test_log_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    filled(path, 2)
    with closing(Database(str(path), 1, more_steps(tmp_path / "later"))) as later:
        later.rows(MOODS, ())
    with closing(SqliteEventStore(path)) as store:
        with pytest.raises(StoreError) as reading:
            store.read("a")
        with pytest.raises(StoreError) as writing:
            store.append(note("old words", 2))
    assert reading.value.message == writing.value.message
    assert reading.value.message == (
        f"{path} was written by a newer version of Assent (format 6; this version supports 5). "
        "Nothing was changed."
    )
    assert reading.value.next == "pip install --upgrade assent"


def test_version_before_edits_of_drafts_refuses_a_log_that_may_have_them(tmp_path: Path) -> None:
    """It would read the head of a plan, and in it an old draft, without seeing the edits."""
    path, older = tmp_path / "store.db", tmp_path / "older"
    filled(path, 2)
    older.mkdir()
    for name in ("0001_log.sql", "0002_chain.sql"):
        shutil.copy(Path(FOLDER) / name, older / name)
    with (
        closing(Database(str(path), 1, Migrations(str(older)))) as before,
        pytest.raises(StoreError, match=r"newer version of Assent \(format 5; .* supports 2\)"),
    ):
        before.rows("SELECT body FROM heads", ())


def test_version_before_the_file_of_small_contents_refuses_the_log(tmp_path: Path) -> None:
    """It would not find the plans in that file, and collect the contents that they name."""
    path, older = tmp_path / "store.db", tmp_path / "older"
    filled(path, 2)
    shutil.copytree(FOLDER, older)
    (older / "0004_small_blobs.sql").unlink()
    (older / "0005_draft_places.sql").unlink()
    with (
        closing(Database(str(path), 1, Migrations(str(older)))) as before,
        pytest.raises(StoreError, match=r"newer version of Assent \(format 5; .* supports 3\)"),
    ):
        before.rows("SELECT body FROM heads", ())


def test_version_before_places_in_edits_refuses_the_log(tmp_path: Path) -> None:
    """It would put what was changed in the middle of a draft at its end."""
    path, older = tmp_path / "store.db", tmp_path / "older"
    filled(path, 2)
    shutil.copytree(FOLDER, older)
    (older / "0005_draft_places.sql").unlink()
    with (
        closing(Database(str(path), 1, Migrations(str(older)))) as before,
        pytest.raises(StoreError, match=r"newer version of Assent \(format 5; .* supports 4\)"),
    ):
        before.rows("SELECT body FROM heads", ())


def test_log_without_that_step_is_opened_and_counted_up(tmp_path: Path) -> None:
    path, older = tmp_path / "store.db", tmp_path / "older"
    older.mkdir()
    for name in ("0001_log.sql", "0002_chain.sql"):
        shutil.copy(Path(FOLDER) / name, older / name)
    before = Database(str(path), 1, Migrations(str(older)))
    with closing(before), before.transaction() as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    with closing(SqliteEventStore(path)) as store:
        store.append(note("goes on", 0))
        assert store.verify().broken == ""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (5,)


def test_newer_version_that_comes_while_we_run_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteEventStore(path)) as store:
        store.append(note("one", 0))
        with closing(Database(str(path), 1, more_steps(tmp_path / "later"))) as later:
            assert later.rows(MOODS, ()) == [("calm",)]
        with pytest.raises(StoreError, match="newer version"):
            store.append(note("two", 1))


def test_other_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as foreign, foreign:
        foreign.execute("CREATE TABLE songs (title TEXT)")
    before = path.read_bytes()
    with closing(SqliteEventStore(path)) as store:
        with pytest.raises(StoreError, match="not an Assent log"):
            store.read("a")
        with pytest.raises(StoreError, match="not an Assent log"):
            store.append(note("one", 0))
    assert path.read_bytes() == before
