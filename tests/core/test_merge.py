"""Merging: what both did is there, or it is said that it does not fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.plan.rebase import (
    CHANGED_BY_OTHERS,
    MOVED_BY_OTHERS,
    MergeConflict,
    three_way_merge,
)

TEXT = [b"line %d\n" % n for n in range(1, 31)]


def text(**changed: bytes) -> bytes:
    """The text with some lines replaced, by number."""
    return b"".join(changed.get(f"n{n}", line) for n, line in enumerate(TEXT, 1))


BASE = text()
OURS = text(n10=b"ours\n")


@pytest.mark.parametrize(
    ("now", "result"),
    [
        (BASE, OURS),
        (OURS, OURS),
        (text(n20=b"theirs\n"), text(n10=b"ours\n", n20=b"theirs\n")),
        (text(n6=b"theirs\n"), text(n6=b"theirs\n", n10=b"ours\n")),
        (text(n14=b"theirs\n"), text(n10=b"ours\n", n14=b"theirs\n")),
        (b"head\n" + BASE, b"head\n" + OURS),
        (text(n10=b"ours\n", n20=b"theirs\n"), text(n10=b"ours\n", n20=b"theirs\n")),
        (BASE + b"no end", OURS + b"no end"),
        (b"".join(TEXT[6:]), b"".join([*TEXT[6:9], b"ours\n", *TEXT[10:]])),
    ],
)
def test_what_others_did_elsewhere_stays(now: bytes, result: bytes) -> None:
    assert three_way_merge(BASE, OURS, now) == result


@pytest.mark.parametrize(
    "now",
    [
        text(n10=b"theirs\n"),
        text(n9=b"theirs\n"),
        text(n11=b"theirs\n"),
        text(n7=b"theirs\n"),
        text(n13=b"theirs\n"),
        text(n10=b""),
        text(n12=b"line 12\nmore\n"),
        b"",
        BASE.replace(b"\n", b"\r\n"),
    ],
)
def test_what_changed_around_it_is_a_clash(now: bytes) -> None:
    assert three_way_merge(BASE, OURS, now) == MergeConflict(
        10, 10, "these lines or lines next to them changed"
    )


@pytest.mark.parametrize(
    ("before", "after", "now"),
    [
        (b"a\n", b"a\nours\n", b"a\ntheirs\n"),
        (b"a\n", b"ours\na\n", b"theirs\na\n"),
        (b"", b"ours\n", b"theirs\n"),
        (b"a", b"a\nours\n", b"a\n"),
    ],
)
def test_two_insertions_at_one_place_clash(before: bytes, after: bytes, now: bytes) -> None:
    assert isinstance(three_way_merge(before, after, now), MergeConflict)


GONE = text(n10=b"")
SWAPPED = b"".join([*TEXT[:9], TEXT[10], TEXT[9], *TEXT[11:]])


@pytest.mark.parametrize(
    ("after", "now", "last", "why"),
    [
        (GONE, SWAPPED, 10, MOVED_BY_OTHERS),
        (GONE, GONE + b"line 10\n", 10, MOVED_BY_OTHERS),
        (GONE, b"line 10\n" + GONE, 10, MOVED_BY_OTHERS),
        (OURS, OURS + b"line 10\n", 10, MOVED_BY_OTHERS),
        (text(n10=b"", n11=b""), text(n10=b"", n11=b"") + b"line 11\n", 11, MOVED_BY_OTHERS),
        (GONE, text(n10=b"", n12=b"theirs\n"), 10, CHANGED_BY_OTHERS),
        (GONE, text(n8=b"theirs\n", n10=b""), 10, CHANGED_BY_OTHERS),
    ],
)
def test_lines_that_somebody_moved_are_not_there_already(
    after: bytes, now: bytes, last: int, why: str
) -> None:
    assert three_way_merge(BASE, after, now) == MergeConflict(10, last, why)


@pytest.mark.parametrize("now", [GONE, text(n10=b"", n20=b"theirs\n"), b"\n" + GONE])
def test_lines_that_are_gone_for_both_stay_gone(now: bytes) -> None:
    assert three_way_merge(BASE, GONE, now) == now


def test_lines_that_both_moved_are_where_they_both_want_them() -> None:
    moved = GONE + b"line 10\n"
    assert three_way_merge(BASE, moved, moved) == moved


def test_a_place_that_there_is_more_or_less_often_than_before_is_in_doubt() -> None:
    block = [b"{\n", b"  one\n", b"  two\n", b"  three\n", b"  four\n", b"}\n", b"\n"]
    before = block * 4
    after = block * 3 + [b"{\n", b"  one\n", b"  two\n", b"  ours\n", b"  four\n", b"}\n", b"\n"]
    old, new = b"".join(before), b"".join(after)
    assert isinstance(three_way_merge(old, new, b"".join(block * 3)), MergeConflict)
    assert three_way_merge(old, new, old + b"end\n") == new + b"end\n"


lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n", b"\n"]), max_size=40)


@given(lines, lines, lines)
def test_nothing_is_lost_where_it_merges(
    old: list[bytes], ours: list[bytes], now: list[bytes]
) -> None:
    before, after, there = (b"".join(each) for each in (old, ours, now))
    assert three_way_merge(before, after, before) == after
    assert three_way_merge(before, before, there) == there
    found = three_way_merge(before, after, there)
    if after == there:
        assert found == after
    if isinstance(found, bytes):  # it does not matter who was first
        other = three_way_merge(before, there, after)
        assert isinstance(other, MergeConflict) or other == found


def test_long_texts_take_no_long_time() -> None:
    before = b"same\n" * 60_000
    assert isinstance(three_way_merge(before, before + b"x\n", b"y\n" + before), MergeConflict)
    many = [b"%d\n" % n for n in range(100_000)]
    ours = [b"ours\n" if n % 20 == 0 else line for n, line in enumerate(many)]
    theirs = [b"theirs\n" if n % 20 == 10 else line for n, line in enumerate(many)]
    assert isinstance(three_way_merge(*(b"".join(each) for each in (many, ours, theirs))), bytes)
