"""Time for people, and ids that grow whatever the clock does."""

from collections.abc import Iterator
from itertools import chain, pairwise, repeat

from assent.core.ids import format_id
from assent.store.clock import SystemClock

NOON = 1_767_268_800_123_456_789  # 2026-01-01, noon and a bit


def frozen(*moments: int) -> SystemClock:
    """A clock that shows these moments, and then the last one for ever."""
    times: Iterator[int] = chain(moments, repeat(moments[-1]))
    return SystemClock(lambda: next(times))


def test_time_is_utc_with_milliseconds() -> None:
    assert frozen(NOON).now() == "2026-01-01T12:00:00.123Z"
    assert frozen(NOON - 123_456_789).now() == "2026-01-01T12:00:00.000Z"
    assert frozen(0).now() == "1970-01-01T00:00:00.000Z"


def test_later_is_later() -> None:
    assert frozen(NOON).later(90) == "2026-01-01T12:01:30.123Z"
    assert frozen(NOON).later(365 * 24 * 3600) == "2027-01-01T12:00:00.123Z"


def test_real_time_does_not_go_back() -> None:
    clock = SystemClock()
    assert clock.now() <= clock.now() < clock.later(1)


def test_ids_of_one_millisecond_grow_and_cannot_be_guessed() -> None:
    clock = frozen(NOON)
    ids = [clock.new_id() for _ in range(1000)]
    assert ids == sorted(set(ids))
    assert {len(name) for name in ids} == {26}
    steps = {_number(b) - _number(a) for a, b in pairwise(ids)}
    assert len(steps) == 999
    assert min(steps) > 2**40


def test_ids_grow_when_the_clock_goes_back() -> None:
    clock = frozen(NOON, NOON - 3600 * 10**9, NOON + 10**9)
    first, second, third = clock.new_id(), clock.new_id(), clock.new_id()
    assert first < second < third


def test_ids_begin_with_their_time() -> None:
    assert frozen(NOON).new_id()[:10] == format_id(NOON // 10**6, 0)[:10]


def test_two_clocks_never_give_the_same_id() -> None:
    assert len({frozen(NOON).new_id() for _ in range(100)}) == 100


def _number(name: str) -> int:
    number = 0
    for letter in name:
        number = number * 32 + "0123456789abcdefghjkmnpqrstvwxyz".index(letter)
    return number
