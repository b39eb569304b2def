"""Events come out the same wherever a stream is cut into pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.llm.http_response import SseEvent, SseEventTooLong, SseParser

MARK = bytes([0xEF, 0xBB, 0xBF])
STREAMS: dict[str, tuple[bytes, list[SseEvent]]] = {
    "plain": (b"data: one\n\n", [SseEvent("", b"one")]),
    "named": (b"event: ping\ndata: {}\n\n", [SseEvent("ping", b"{}")]),
    "without a space": (b"data:one\n\n", [SseEvent("", b"one")]),
    "two spaces keep one": (b"data:  one\n\n", [SseEvent("", b" one")]),
    "several lines": (b"data: one\ndata: two\n\n", [SseEvent("", b"one\ntwo")]),
    "carriage returns": (b"event: a\r\ndata: one\r\n\r\n", [SseEvent("a", b"one")]),
    "old line ends": (
        b"data: one\r\rdata: two\r\r\n",
        [SseEvent("", b"one"), SseEvent("", b"two")],
    ),
    "comments": (b": hello\n\ndata: one\n: again\n\n", [SseEvent("", b"one")]),
    "other fields": (b"id: 7\nretry: 9\ndata: one\n\n", [SseEvent("", b"one")]),
    "no data is no event": (b"event: ping\n\ndata: one\n\n", [SseEvent("", b"one")]),
    "empty data is one": (b"data\n\n", [SseEvent("", b"")]),
    "a byte order mark": (MARK + b"data: one\n\n", [SseEvent("", b"one")]),
    "no end": (b"data: one\n\ndata: two\n", [SseEvent("", b"one")]),
    "letters of several bytes": ("data: ä€\n\n".encode(), [SseEvent("", "ä€".encode())]),
}


@pytest.mark.parametrize(("stream", "events"), STREAMS.values(), ids=STREAMS)
def test_events_are_found(stream: bytes, events: list[SseEvent]) -> None:
    assert list(SseParser().feed(stream)) == events


@pytest.mark.parametrize(("stream", "events"), STREAMS.values(), ids=STREAMS)
def test_byte_by_byte(stream: bytes, events: list[SseEvent]) -> None:
    parser = SseParser()
    found = [event for byte in stream for event in parser.feed(bytes([byte]))]
    assert found == events


@given(st.lists(st.sampled_from([stream for stream, _ in STREAMS.values()])), st.data())
def test_cuts_do_not_matter(streams: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(streams)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    parser = SseParser()
    borders = zip([0, *cuts], [*cuts, len(whole)], strict=True)
    found = [event for start, end in borders for event in parser.feed(whole[start:end])]
    assert found == list(SseParser().feed(whole))


@pytest.mark.parametrize("piece", [b"data: aaaaaa", b"data: aaaa\n"])
def test_an_event_has_a_limit(piece: bytes) -> None:
    parser = SseParser(limit=20)
    with pytest.raises(SseEventTooLong):
        [event for _ in range(9) for event in parser.feed(piece)]
