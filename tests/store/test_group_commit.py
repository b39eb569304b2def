"""Threads that append at the same time share a transaction; each still gets its own answer."""

import ctypes
import signal
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Barrier, Event, Thread, current_thread, main_thread
from typing import Any

import pytest
from tests.store.logs import note, texts

from assent.core.errors import ConcurrentChange, StoreError
from assent.store import database
from assent.store.sqlite import GroupCommit, SqliteEventStore, Waiting

THREADS = 12
SOON = 30.0  # seconds in which a thread must have got somewhere


class Recorder:
    """Records items in a list; the first group is held back until the test says so."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.begun, self.goes_on = Event(), Event()

    def commit(self, group: Sequence[Waiting[str, int]]) -> None:
        self.groups.append([each.item for each in group])
        if len(self.groups) == 1:
            self.begun.set()
            assert self.goes_on.wait(SOON)
        for each in group:
            if each.item == "interrupted":
                raise KeyboardInterrupt
            each.succeed(len(each.item))


def joined(threads: Sequence[Thread]) -> None:
    for thread in threads:
        thread.join(SOON)
        assert not thread.is_alive()


def started(log: GroupCommit[str, int], item: str, heard: dict[str, object]) -> Thread:
    def run() -> None:
        try:
            heard[item] = log.add(item)
        except BaseException as error:
            heard[item] = type(error)

    thread = Thread(target=run)
    thread.start()
    return thread


def waiting_behind(log: GroupCommit[Any, Any], count: int) -> None:
    """Returns when that many threads wait for the one that records."""
    while len(log._queue) < count:
        Event().wait(0.001)


def test_what_waits_meanwhile_is_recorded_together_in_its_order() -> None:
    recorder, heard = Recorder(), dict[str, object]()
    log = GroupCommit(recorder.commit)
    threads = [started(log, "first", heard)]
    assert recorder.begun.wait(SOON)
    for number, item in enumerate(("aa", "bbb", "c"), 1):
        threads.append(started(log, item, heard))
        waiting_behind(log, number)
    recorder.goes_on.set()
    joined(threads)
    assert recorder.groups == [["first"], ["aa", "bbb", "c"]]
    assert heard == {"first": 5, "aa": 2, "bbb": 3, "c": 1}
    assert log.add("alone") == 5


def test_an_interrupted_thread_leaves_the_rest_to_the_next_one() -> None:
    recorder, heard = Recorder(), dict[str, object]()
    log = GroupCommit(recorder.commit)
    threads = [started(log, "first", heard)]
    assert recorder.begun.wait(SOON)
    for number, item in enumerate(("interrupted", "b", "cc"), 1):
        threads.append(started(log, item, heard))
        waiting_behind(log, number)
    recorder.goes_on.set()
    joined(threads)
    assert recorder.groups[1:] == [["interrupted", "b", "cc"], ["b", "cc"]]
    assert heard == {"first": 5, "interrupted": KeyboardInterrupt, "b": 1, "cc": 2}
    assert log.add("alone") == 5


def test_threads_that_append_at_once_are_all_recorded_and_counted(tmp_path: Path) -> None:
    path, together, taken = tmp_path / "store.db", Barrier(THREADS), list[int]()
    with closing(SqliteEventStore(path)) as store:

        def run(name: str) -> None:
            together.wait(SOON)
            for n in range(10):
                taken.extend(one.position for one in store.append(note(f"{name}-{n}", n, name)))

        threads = [Thread(target=run, args=(f"s{number}",)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        joined(threads)
        assert sorted(taken) == list(range(1, 10 * THREADS + 1))
        assert not store.verify().broken
    for number in range(THREADS):
        assert texts(path, f"s{number}") == [f"s{number}-{n}" for n in range(10)]


def test_of_those_who_append_to_one_stream_at_once_one_succeeds(tmp_path: Path) -> None:
    together, heard = Barrier(THREADS), list[str]()
    with closing(SqliteEventStore(tmp_path / "store.db")) as store:

        def run(name: str) -> None:
            together.wait(SOON)
            try:
                store.append(note(name, 0), note(name, 0, name))
                heard.append(name)
            except ConcurrentChange:
                pass

        threads = [Thread(target=run, args=(f"s{number}",)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        joined(threads)
        assert len(heard) == 1
        # Of the others neither batch is there.
        assert [len(store.read(f"s{n}")) for n in range(THREADS)].count(1) == 1
        assert len(store.read("a")) == 1


def test_batches_of_one_append_may_follow_each_other(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteEventStore(path)) as store:
        store.append(note("one", 0), note("two", 1))
        with pytest.raises(ConcurrentChange):
            store.append(note("three", 2), note("again", 2))
    assert texts(path) == ["one", "two"]


def test_reading_does_not_wait_for_who_writes(tmp_path: Path) -> None:
    path, read = tmp_path / "store.db", list[object]()
    with closing(SqliteEventStore(path)) as store:
        store.append(note("one", 0))
        store.read("a")
        with store._database.transaction() as connection:
            connection.execute("DELETE FROM events")
            thread = Thread(target=lambda: read.extend(store.read("a")))
            thread.start()
            joined([thread])
            connection.rollback()
            connection.execute("BEGIN")
        assert len(read) == 1
        assert isinstance(store._database._reader, sqlite3.Connection)


def appending(store: SqliteEventStore, name: str, count: int, heard: list[object]) -> Thread:
    """Appends to a stream that nobody else appends to, and keeps what that raised."""

    def run() -> None:
        try:
            for n in range(count):
                store.append(note(f"{name}-{n}", n, name))
        except BaseException as error:
            heard.append(error)

    return Thread(target=run)


@contextmanager
def interrupts() -> Iterator[None]:
    """Has SIGALRM do what Ctrl+C does."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_interrupt_after_the_commit_of_the_main_thread_is_only_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, heard, interrupted = tmp_path / "store.db", list[object](), 0
    size = database._size

    def size_or_signal(path: str) -> int:
        """Is asked for right after each commit."""
        if current_thread() is main_thread():
            signal.raise_signal(signal.SIGALRM)
        return size(path)

    with closing(SqliteEventStore(path)) as store, interrupts():
        store.append(note("first", 0))
        threads = [appending(store, f"s{number}", 20, heard) for number in range(THREADS)]
        with monkeypatch.context() as patched:
            patched.setattr(database, "_size", size_or_signal)
            for thread in threads:
                thread.start()
            for n in range(20):
                with pytest.raises(KeyboardInterrupt):
                    store.append(note(f"main-{n}", n, "main"))
                interrupted += 1
        joined(threads)
        assert not heard
        assert not store._appends._queue
        assert not store._appends._leads
        assert not store.verify().broken
        assert store.last() == 1 + interrupted + 20 * THREADS
    assert texts(path, "main") == [f"main-{n}" for n in range(20)]
    for number in range(THREADS):
        assert texts(path, f"s{number}") == [f"s{number}-{n}" for n in range(20)]


def test_the_main_thread_and_groups_take_turns(tmp_path: Path) -> None:
    path, heard = tmp_path / "store.db", list[object]()
    with closing(SqliteEventStore(path)) as store:
        threads = [appending(store, f"s{number}", 20, heard) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        given = [store.append(note(f"main-{n}", n, "main"))[0].position for n in range(40)]
        joined(threads)
        assert not heard
        assert given == sorted(given) == [one.position for one in store.read("main")]
        assert store.last() == 40 + 20 * THREADS
        assert not store.verify().broken


def test_a_main_thread_that_waits_for_the_log_can_be_interrupted(tmp_path: Path) -> None:
    path, heard, holds, goes_on = tmp_path / "store.db", list[object](), Event(), Event()
    with closing(SqliteEventStore(path)) as store, interrupts():

        def hold() -> None:
            with store._database.transaction():
                holds.set()
                assert goes_on.wait(SOON)

        holder = Thread(target=hold)
        holder.start()
        assert holds.wait(SOON)
        others = [appending(store, f"s{number}", 3, heard) for number in range(3)]
        for thread in others:
            thread.start()
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            store.append(note("never", 0))
        goes_on.set()
        joined([holder, *others])
        assert not heard
        store.append(note("after", 0))
    assert texts(path) == ["after"]
    assert texts(path, "s0") == [f"s0-{n}" for n in range(3)]


@pytest.mark.parametrize("ended", ["first", "b"])
def test_a_thread_that_ends_has_the_next_one_record(ended: str) -> None:
    recorder, heard = Recorder(), dict[str, object]()
    log = GroupCommit(recorder.commit)
    threads = {"first": started(log, "first", heard)}
    assert recorder.begun.wait(SOON)
    for number, item in enumerate(("b", "cc"), 1):
        threads[item] = started(log, item, heard)
        waiting_behind(log, number)
    # It ends when it goes on: "first" before it has recorded, and "b" when it is to record.
    raises = ctypes.pythonapi.PyThreadState_SetAsyncExc
    assert raises(ctypes.c_ulong(threads[ended].ident or 0), ctypes.py_object(SystemExit)) == 1
    recorder.goes_on.set()
    joined([*threads.values()])
    assert heard == {"first": 5, "b": 1, "cc": 2} | {ended: SystemExit}
    assert not log._queue
    assert not log._leads
    joined([started(log, "later", heard)])
    assert heard["later"] == 5


def test_what_may_be_on_disk_is_not_recorded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size, asked = database._size, list[str]()
    heard: dict[str, list[object]] = {"a": [], "b": [], "c": []}
    holds, goes_on = Event(), Event()

    def size_or_end(path: str) -> int:
        """Is asked for right after each commit: of the holder, of "a", and of "b" and "c"."""
        asked.append(path)
        if len(asked) == 3:
            raise SystemExit
        return size(path)

    with closing(SqliteEventStore(tmp_path / "store.db")) as store:

        def hold() -> None:
            with store._database.transaction():
                holds.set()
                assert goes_on.wait(SOON)

        store.append(note("first", 0, "before"))  # opening asks, too
        monkeypatch.setattr(database, "_size", size_or_end)
        holder = Thread(target=hold)
        holder.start()
        assert holds.wait(SOON)
        threads = [appending(store, name, 1, heard[name]) for name in heard]
        threads[0].start()
        while not store._appends._leads or store._appends._queue:
            Event().wait(0.001)
        for number, thread in enumerate(threads[1:], 1):
            thread.start()
            waiting_behind(store._appends, number)
        goes_on.set()
        joined([holder, *threads])
        found = {name: [type(error) for error in raised] for name, raised in heard.items()}
        assert found == {"a": [], "b": [SystemExit], "c": [StoreError]}
        assert [len(store.read(name)) for name in heard] == [1, 1, 1]
