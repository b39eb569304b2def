"""What somebody did to the log behind our back is found, and named by its place (F60)."""

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.store.logs import filled, note, texts

from assent.core.errors import StoreError
from assent.ports import LogCheck
from assent.render.log import log_check_lines
from assent.store.database import FOLDER, Database, Migrations
from assent.store.hash_chain import START, hashed_fields, link_hash
from assent.store.sqlite import AnchorFile, LogAnchor, SqliteEventStore

CHANGED = (
    "is not what was written: it was changed, or events just before it were removed, inserted or "
    "reordered."
)
COUNT = 6


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed log of six events."""
    found = tmp_path / "store.db"
    filled(found, COUNT)
    return found


@contextmanager
def edited(path: Path) -> Iterator[sqlite3.Connection]:
    """Opens the database as anybody can."""
    with closing(sqlite3.connect(path)) as connection, connection:
        yield connection


def verified(path: Path) -> LogCheck:
    with closing(SqliteEventStore(path)) as store:
        return store.verify()


def named(position: int) -> str:
    return f"Event {position} (plan_selected, number {position} of a) "


def test_f60_a_log_that_nobody_touched_holds(path: Path) -> None:
    assert verified(path) == LogCheck(COUNT, "", COUNT)


@pytest.mark.parametrize(
    "change",
    [
        "body = replace(body, '0002', '0009')",
        "body = body || ' '",
        "body = CAST(body || 'x' AS BLOB)",
        "body = x'ff'",
        "at = '2025-01-01T00:00:00.000Z'",
        "kind = 'plan_revised'",
        "stream = 'b'",
        "seq = 99",
        "chain = zeroblob(32)",
    ],
)
def test_f60_an_edited_event_is_named(path: Path, change: str) -> None:
    with edited(path) as log:
        log.execute(f"UPDATE events SET {change} WHERE position = 3")
    checked = verified(path)
    assert checked.broken.startswith("Event 3 (")
    assert checked.broken.endswith(CHANGED)
    assert (checked.events, checked.anchored) == (COUNT, COUNT)


def test_f60_a_removed_event_is_named(path: Path) -> None:
    with edited(path) as log:
        log.execute("DELETE FROM events WHERE position = 3")
    gone = "Event 3 is missing from the log: events were removed or renumbered."
    assert verified(path) == LogCheck(COUNT - 1, gone, COUNT)


def test_f60_removed_events_cannot_be_hidden_by_new_numbers(path: Path) -> None:
    with edited(path) as log:
        log.execute("DELETE FROM events WHERE position IN (2, 3)")
        log.execute("UPDATE events SET position = position - 2, seq = seq - 2 WHERE position > 3")
    assert verified(path).broken == named(2) + CHANGED


def test_f60_an_inserted_event_is_named(path: Path) -> None:
    with edited(path) as log:
        log.execute(
            "INSERT INTO events (stream, seq, at, kind, body) "
            "SELECT stream, 7, at, kind, body FROM events WHERE position = 1"
        )
    assert verified(path).broken == (named(7) + "was not written by Assent: it has no hash.")


def test_f60_events_in_another_order_are_named(path: Path) -> None:
    with edited(path) as log:
        for then, now in ((2, 100), (3, 2), (100, 3)):
            log.execute("UPDATE events SET position = ?, seq = ? WHERE seq = ?", (now, now, then))
    assert verified(path).broken == named(2) + CHANGED


@pytest.mark.parametrize("counter", [True, False])
def test_f60_a_cut_end_is_found(path: Path, counter: bool) -> None:
    with edited(path) as log:
        log.execute("DELETE FROM events WHERE position > 4")
        if counter:
            log.execute("UPDATE sqlite_sequence SET seq = 4")
    cut = (
        "The log ends at event 4, but it had 6: the newest events were removed, or an older copy "
        "replaced the log."
    )
    assert verified(path) == LogCheck(4, cut, COUNT)


def test_f60_a_cut_end_stays_found_after_more_was_written(path: Path) -> None:
    with edited(path) as log:
        log.execute("DELETE FROM events WHERE position > 4")
        log.execute("UPDATE sqlite_sequence SET seq = 4")
    with closing(SqliteEventStore(path)) as store:
        for n in range(4, 9):
            store.append(note("other", n))
    assert verified(path) == LogCheck(
        9,
        "Event 6 differs from when the log was last closed: the log was rewritten.",
        COUNT,
    )


def test_f60_numbers_are_not_given_out_twice_after_a_cut(path: Path) -> None:
    with edited(path) as log:
        log.execute("DELETE FROM events WHERE position > 4")
    Path(f"{path}-anchor").unlink()
    with closing(SqliteEventStore(path)) as store:
        store.append(note("other", 4))
    assert verified(path).broken == (
        "Events 5 to 6 are missing from the log: events were removed or renumbered."
    )


def test_f60_a_log_that_is_gone_is_missed(path: Path) -> None:
    path.unlink()
    assert verified(path).broken.startswith("The log ends at event 0, but it had 6:")


def test_f60_what_follows_the_anchor_is_vouched_for_by_nobody(path: Path) -> None:
    with closing(SqliteEventStore(path)) as store:
        store.append(note("more", COUNT))
        assert store.verify() == LogCheck(COUNT + 1, "", COUNT)


DAMAGED = {
    "empty": b"",
    "cut": b"{",
    "of another type": b'{"position": "x"}',
    "a list": b"[]",
    "below zero": b'{"position": -5, "chain": "aa"}',
    "too great": b'{"position": 99999999999999999999999, "chain": "aa"}',
    "no hash": b'{"position": 3, "chain": "zz"}',
    "binary": bytes(range(256)),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED.keys())
def test_an_anchor_that_cannot_be_read_is_a_warning_and_is_made_anew(
    path: Path, content: bytes
) -> None:
    anchor = Path(f"{path}-anchor")
    anchor.write_bytes(content)
    checked = verified(path)
    assert (checked.events, checked.broken, checked.anchored) == (COUNT, "", 0)
    assert f"mv {anchor} {anchor}.aside" in checked.unanchored
    assert any("The anchor" in line.text for line in log_check_lines(checked))
    with closing(SqliteEventStore(path)) as store:
        store.append(note("more", COUNT))
    assert verified(path) == LogCheck(COUNT + 1, "", COUNT + 1)


@pytest.mark.parametrize("ousted", ["a folder", "a symlink", "a pipe"])
def test_an_anchor_that_is_no_file_of_ours_is_not_followed(path: Path, ousted: str) -> None:
    anchor = Path(f"{path}-anchor")
    kept = anchor.rename(anchor.with_name("elsewhere"))
    if ousted == "a folder":
        anchor.mkdir()
    elif ousted == "a symlink":
        anchor.symlink_to(kept)
    else:
        os.mkfifo(anchor)
    checked = verified(path)
    assert (checked.events, checked.broken, checked.anchored) == (COUNT, "", 0)
    assert checked.unanchored


def test_an_anchor_that_cannot_be_kept_disturbs_nobody(path: Path) -> None:
    anchor = Path(f"{path}-anchor")
    anchor.unlink()
    anchor.mkdir()
    with closing(SqliteEventStore(path)) as store:
        store.append(note("more", COUNT))
    checked = verified(path)
    assert (checked.events, checked.broken, checked.anchored) == (COUNT + 1, "", 0)


def test_the_anchor_is_replaced_in_one_step(tmp_path: Path) -> None:
    file = AnchorFile(str(tmp_path / "anchor"))
    file.write(LogAnchor(1, "aa"))
    file.write(LogAnchor(2, "bb"))
    assert (file.read(), [each.name for each in tmp_path.iterdir()]) == (
        LogAnchor(2, "bb"),
        ["anchor"],
    )


def test_who_only_reads_moves_no_anchor(path: Path) -> None:
    Path(f"{path}-anchor").unlink()
    texts(path)
    assert verified(path) == LogCheck(COUNT)


def test_f60_a_log_from_before_gets_its_chain(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    shutil.copy(Path(FOLDER) / "0001_log.sql", old)
    path = tmp_path / "store.db"
    row = "INSERT INTO events (stream, seq, at, kind, body) VALUES ('a', ?, 'then', 'x', ?)"
    bodies = [f'{{"type":"plan_selected","plan_id":"{n}é"}}' for n in range(5000)]
    with closing(Database(str(path), 1, Migrations(str(old)))) as log, log.transaction() as rows:
        rows.executemany(row, list(enumerate(bodies, 1)))
    with closing(SqliteEventStore(path)) as store:
        store.append(note("new", 5000))
    assert verified(path) == LogCheck(5001, "", 5001)


def test_the_chain_can_be_computed_without_this_program() -> None:
    covered = hashed_fields("plan/é", 7, "then", "plan_revised", "{}")
    assert covered == ("plan/é".encode(), b"7", b"then", b"plan_revised", b"{}")
    start = hashlib.sha256(b"assent.chain.1").digest()
    parts = (start, b"1", *covered)
    whole = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    assert (START, link_hash(START, 1, covered)) == (start, hashlib.sha256(whole).digest())


@pytest.mark.parametrize("column", ["stream", "seq", "at", "kind", "body"])
def test_f60_a_value_that_is_stored_as_bytes_is_named_and_never_read_past(
    path: Path, column: str
) -> None:
    with edited(path) as log:
        log.execute(f"UPDATE events SET {column} = CAST({column} AS BLOB) WHERE position = 6")
    assert verified(path) == LogCheck(
        COUNT,
        f"{named(6)}is stored with another value type than was written, which hides it from "
        "queries.",
        COUNT,
    )
    with closing(SqliteEventStore(path)) as store:
        with pytest.raises(StoreError):
            store.read("a")
        with pytest.raises(StoreError):
            store.read_all([""])


def test_f60_nothing_is_written_behind_an_event_that_is_hidden(path: Path) -> None:
    with edited(path) as log:
        log.execute("UPDATE events SET stream = CAST(stream AS BLOB) WHERE position = 6")
    with closing(SqliteEventStore(path)) as store:
        with pytest.raises(StoreError, match="whose names are not text"):
            store.append(note("a", 5))
        with pytest.raises(StoreError, match="whose names are not text"):
            store.streams("")
    assert verified(path).events == COUNT


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM heads; END",
            "The trigger t of the log was added or changed",
        ),
        ("CREATE INDEX mine ON events (kind)", "The index mine of the log was added or changed"),
        ("CREATE TABLE mine (x)", "The table mine of the log was added or changed"),
        ("CREATE VIEW mine AS SELECT 1", "The view mine of the log was added or changed"),
        ("DROP INDEX first_events", "The index first_events of the log is missing"),
    ],
)
def test_f60_a_log_of_another_form_is_found(path: Path, change: str, told: str) -> None:
    with edited(path) as log:
        log.execute(change)
    broken = f"{told}; Assent did not create it that way."
    assert verified(path) == LogCheck(COUNT, broken, COUNT)


def test_f60_a_view_in_the_place_of_the_events_is_found(path: Path) -> None:
    with edited(path) as log:
        log.execute("ALTER TABLE events RENAME TO others")
        log.execute("CREATE VIEW events AS SELECT * FROM others")
    assert verified(path).broken.endswith("Assent did not create it that way.")


def test_f60_an_index_that_hides_an_event_is_found(path: Path) -> None:
    # The index claims to have been made for other rows, is filled so, and then says otherwise.
    with edited(path) as log:
        sql = log.execute("SELECT sql FROM sqlite_master WHERE name = 'first_events'").fetchone()
        log.execute("DROP INDEX first_events")
        log.execute("CREATE INDEX first_events ON events (stream) WHERE seq = 99")
        log.execute("PRAGMA writable_schema = ON")
        log.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'first_events'", sql)
    assert verified(path).broken.startswith("The log file is inconsistent: ")


def test_f60_a_mark_that_lies_behind_the_end_is_found(path: Path) -> None:
    AnchorFile(f"{path}-anchor").write(LogAnchor(COUNT + 1, "00" * 32))
    assert verified(path).broken.startswith("The log ends at event 6, but it had 7:")


@pytest.mark.parametrize("content", [None, b"", b"{}"])
def test_f60_without_a_mark_nobody_vouches_for_the_end(path: Path, content: bytes | None) -> None:
    anchor = Path(f"{path}-anchor")
    anchor.unlink() if content is None else anchor.write_bytes(content)
    checked = verified(path)
    assert (checked.events, checked.broken, checked.anchored) == (COUNT, "", 0)
    assert bool(checked.unanchored) is (content == b"")
