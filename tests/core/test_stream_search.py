"""Search: counting and splicing a stream is the same however the stream is cut."""

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assent.planning.drafts import count_matches, splice


def chunkings(content: bytes) -> Iterable[list[bytes]]:
    """Cuts content in every way; now and then an empty piece comes in between."""
    for cuts in itertools.product((False, True), repeat=max(len(content) - 1, 0)):
        pieces = [content[:1]]
        for byte, cut in zip(content[1:], cuts, strict=True):
            if cut:
                pieces += [b""] * (len(pieces) % 2) + [b""]
            pieces[-1] += bytes([byte])
        yield pieces


@pytest.mark.parametrize("content", [b"", b"a", b"ab", b"aaaaa", b"abababa", b"aabaab", b"baab"])
@pytest.mark.parametrize("wanted", [b"a", b"aa", b"ab", b"aba", b"aab", b"abababab", b"c"])
def test_matches_are_counted_whatever_the_pieces(content: bytes, wanted: bytes) -> None:
    expected = (content.count(wanted), content.find(wanted))
    assert all(count_matches(pieces, wanted) == expected for pieces in chunkings(content))


TEXTS = st.lists(st.sampled_from([b"a", b"b", b"ab", b"aab"]), max_size=12).map(b"".join)


def cut(content: bytes, size: int) -> list[bytes]:
    return [content[at : at + size] for at in range(0, len(content), size)]


@settings(max_examples=30, deadline=None)
@given(TEXTS, st.sampled_from([b"a", b"ab", b"ba", b"aab", b"aaba"]), st.integers(1, 7))
def test_longer_streams_are_searched_alike(content: bytes, wanted: bytes, size: int) -> None:
    expected = (content.count(wanted), content.find(wanted))
    assert count_matches(cut(content, size), wanted) == expected


def test_no_pieces_hold_nothing() -> None:
    assert count_matches([], b"x") == (0, -1)
    assert b"".join(splice([], 0, 0, b"put")) == b"put"


@pytest.mark.parametrize("content", [b"", b"a", b"abc", b"abcdef"])
@pytest.mark.parametrize("put", [b"", b"PUT"])
def test_a_splice_replaces_the_same_bytes_whatever_the_pieces(content: bytes, put: bytes) -> None:
    for at in range(len(content) + 1):
        for end in range(at, len(content) + 1):
            expected = content[:at] + put + content[end:]
            found = {b"".join(splice(p, at, end - at, put)) for p in chunkings(content)}
            assert found == {expected}


@settings(max_examples=20, deadline=None)
@given(TEXTS, st.integers(1, 7), st.integers(1, 7))
def test_an_exact_edit_is_one_search_and_one_splice(content: bytes, one: int, two: int) -> None:
    whole = content + b"find" + content
    count, at = count_matches(cut(whole, one), b"find")
    edited = b"".join(splice(cut(whole, two), at, 4, b"put"))
    assert (count, edited) == (1, whole.replace(b"find", b"put"))
