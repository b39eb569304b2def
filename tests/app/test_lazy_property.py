"""A noun is made once, whoever asks for it at the same time, and of other nouns if need be."""

from contextlib import suppress
from threading import Barrier, BrokenBarrierError, Thread

from assent.app.engine import lazy_property

PATIENCE_S = 60


class Slow:
    """Something with two nouns, one of which waits a while for a second one who makes it."""

    def __init__(self) -> None:
        self.made = 0
        self.both = Barrier(2, timeout=0.2)

    @lazy_property
    def inner(self) -> list[int]:
        self.made += 1
        with suppress(BrokenBarrierError):  # nobody else came as far as this
            self.both.wait()
        return [self.made]

    @lazy_property
    def outer(self) -> tuple[list[int], str]:
        return self.inner, "outer"


def test_a_noun_is_made_once_for_all_threads() -> None:
    slow = Slow()
    found: list[object] = []
    threads = [Thread(target=lambda: found.append(slow.outer[0])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert slow.made == 1
    assert [each is slow.inner for each in found] == [True] * 4
    assert isinstance(Slow.outer, lazy_property)
