"""Several processes write one log; some of them die."""

import sqlite3
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from itertools import count
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Self

import pytest
from tests.store.logs import filled, note, text_of, texts
from tests.store.processes import child

from assent.core.errors import StoreError
from assent.store import database
from assent.store.sqlite import SqliteEventStore

COMPETE = """
    import sys
    from contextlib import closing
    from assent.core.errors import ConcurrentChange
    from assent.core.event import PlanSelected
    from assent.ports import EventBatch
    from assent.store.sqlite import SqliteEventStore

    path, name, wins = sys.argv[1], sys.argv[2], 0
    with closing(SqliteEventStore(path)) as store:
        print("ready", flush=True)
        sys.stdin.readline()
        while wins < 40:
            seen = len(store.read("a"))
            try:
                recorded = store.append(
                    EventBatch("a", seen, "now", (PlanSelected(f"{name}{wins}"),))
                )
            except ConcurrentChange:
                continue
            wins += 1
            print(recorded[0].seq)
"""

HALF_WAY = """
    import sys
    from assent.store.database import Database

    database = Database(sys.argv[1])
    with database.transaction() as connection:
        row = ("a", 3, "now", "plan_selected", '{"type":"plan_selected","plan_id":"never"}')
        connection.execute(
            "INSERT INTO events (stream, seq, at, kind, body) VALUES (?,?,?,?,?)", row
        )
        if sys.argv[2] == "spilled":  # so much that SQLite writes to the -wal before the commit
            connection.execute("PRAGMA cache_spill = 1")
            connection.execute("PRAGMA cache_size = 10")
            fill = "INSERT INTO heads (stream, seq, body) VALUES (?, 0, zeroblob(20000))"
            connection.executemany(fill, [(str(n),) for n in range(200)])
        print("inside", flush=True)
        sys.stdin.readline()
"""


def test_each_place_in_a_stream_has_one_winner(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with ExitStack() as stack:
        racers = [stack.enter_context(child(COMPETE, path, name)) for name in "xyz"]
        assert [racer.hear() for racer in racers] == ["ready"] * 3
        for racer in racers:
            racer.say()
        won = {
            name: [int(seq) for seq in racer.end().split()]
            for name, racer in zip("xyz", racers, strict=True)
        }
    with closing(SqliteEventStore(path)) as store:
        log = store.read("a")
    assert [(one.position, one.seq) for one in log] == [(n, n) for n in range(1, 121)]
    owners = {one.seq: text_of(one)[0] for one in log}
    assert owners == {seq: name for name, seqs in won.items() for seq in seqs}


@pytest.mark.parametrize("amount", ["small", "spilled"])
def test_writer_killed_in_a_transaction_leaves_no_trace(tmp_path: Path, amount: str) -> None:
    path = tmp_path / "store.db"
    written = filled(path, 2)
    with child(HALF_WAY, path, amount) as writer:
        assert writer.hear() == "inside"
        assert texts(path) == written
        writer.kill()
    assert texts(path) == written
    with closing(SqliteEventStore(path)) as store:
        assert store.append(note("alive", 2))[0].position == 3
        assert store.head("7") is None
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_writer_that_hangs_does_not_hang_others(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    written = filled(path, 2)
    with child(HALF_WAY, path, "small") as writer:
        assert writer.hear() == "inside"
        with closing(SqliteEventStore(path, patience=0.01)) as store:
            with pytest.raises(StoreError) as caught:
                store.append(note("next", 2))
            assert [text_of(one) for one in store.read("a")] == written
    assert caught.value.message == (
        f"Could not use the log {path}: another process has been writing to it for 0.01 seconds. "
        "Existing data is unchanged."
    )
    assert caught.value.next == f"fuser -v {tmp_path}/store.lock"


def test_closing_beside_a_writer_that_hangs_ends(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteEventStore(path, patience=0.01)
    store.append(note("one", 0))
    store.append(note("two", 1))
    with child(HALF_WAY, path, "small") as writer:
        assert writer.hear() == "inside"
        store.close()
        writer.kill()
    assert texts(path) == ["one", "two"]


def test_foreign_program_that_keeps_the_database_locked(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    filled(path, 1)
    with closing(sqlite3.connect(path, isolation_level=None)) as foreign:
        foreign.execute("BEGIN IMMEDIATE")
        with closing(SqliteEventStore(path, patience=0.01)) as store:
            with pytest.raises(StoreError, match="another program has locked it") as caught:
                store.append(note("next", 1))
            foreign.execute("ROLLBACK")
            store.append(note("next", 1))
    assert caught.value.next == f"fuser -v {path}"


class Meanwhile:
    """Traces a thread, and has something done once before so many lines of a module have run."""

    def __init__(self, module: ModuleType, at: int, act: Callable[[], object]) -> None:
        self._file, self._left, self._act = module.__file__, at, act
        self.done = False

    def __enter__(self) -> Self:
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _called(self, frame: FrameType, event: str, arg: object) -> Any:
        return self._line if frame.f_code.co_filename == self._file else None

    def _line(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "line" and not self.done:
            self._left -= 1
            if self._left < 0:
                self.done = True
                self._act()
        return self._line


def test_a_log_that_another_process_makes_at_any_moment_of_a_read_is_no_damage(
    tmp_path: Path,
) -> None:
    """Wherever the reader is just then, it finds nothing yet, or everything."""
    seen = set()
    for at in count():
        path = tmp_path / str(at) / "store.db"
        with (
            closing(SqliteEventStore(path)) as other,
            closing(SqliteEventStore(path)) as store,
            Meanwhile(database, at, partial(other.append, note("one", 0))) as meanwhile,
        ):
            seen.add(tuple(map(text_of, store.read("a"))))
        if not meanwhile.done:
            break
    assert at > 10
    assert seen == {(), ("one",)}
