"""The pool of long work: in order, one at a time for a key, bounded, and closed in good order."""

from collections.abc import Callable
from threading import Event

import pytest

from assent.web.errors import TooBusy
from assent.web.work_pool import Work, WorkPool

WAIT_S = 60


def work(id: str, key: str, run: Callable[[], None], stop: Callable[[], object] = bool) -> Work:
    return Work(id, key, run, stop)


def test_work_of_one_key_runs_one_at_a_time_and_other_work_beside_it() -> None:
    pool, go, over = WorkPool(workers=3), Event(), Event()
    order: list[str] = []

    def first() -> None:
        go.wait(WAIT_S)
        order.append("first")

    def second() -> None:
        order.append("second")
        over.set()

    beside = Event()
    pool.submit(work("1", "a", first))
    pool.submit(work("2", "a", second))
    pool.submit(work("3", "b", beside.set))
    assert beside.wait(WAIT_S)
    assert (pool.state("1"), pool.state("2"), pool.state("4")) == ("running", "queued", None)
    go.set()
    assert over.wait(WAIT_S)
    pool.close()
    assert order == ["first", "second"]
    assert pool.state("1") is None


def test_too_much_work_is_refused() -> None:
    pool, go = WorkPool(workers=1, most=2), Event()
    started = Event()

    def wait() -> None:
        started.set()
        go.wait(WAIT_S)

    pool.submit(work("1", "a", wait))
    assert started.wait(WAIT_S)
    for id in "23":
        pool.check_room()
        pool.submit(work(id, id, wait))
    with pytest.raises(TooBusy):
        pool.check_room()
    go.set()
    pool.close()
    with pytest.raises(TooBusy):
        pool.check_room()


def test_closing_stops_what_runs_and_begins_nothing_else() -> None:
    pool, stopped, started, begun = WorkPool(workers=1), Event(), Event(), Event()

    def run() -> None:
        started.set()
        stopped.wait(WAIT_S)

    pool.submit(work("1", "a", run, stopped.set))
    pool.submit(work("2", "a", begun.set))
    assert started.wait(WAIT_S)
    pool.close()
    assert stopped.is_set()
    assert not begun.is_set()
    assert (pool.state("1"), pool.state("2")) == (None, None)
