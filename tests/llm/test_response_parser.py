"""HTTP responses are read to their end, or it is said why not."""

import zlib

import pytest

from assent.llm.http.response_parser import HEAD_LIMIT, HttpError, ResponseHead, ResponseParser

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
PACKED = zlib.compress(b"hello" * 9, wbits=31)

# name: bytes, body, done, whether the connection can be kept
WHOLE: dict[str, tuple[bytes, bytes, bool, bool]] = {
    "length": (OK + b"Content-Length: 5\r\n\r\nhello", b"hello", True, True),
    "length, more to come": (OK + b"Content-Length: 9\r\n\r\nhello", b"hello", False, True),
    "empty": (OK + b"Content-Length: 0\r\n\r\n", b"", True, True),
    "no content": (b"HTTP/1.1 204 No\r\n\r\n", b"", True, True),
    "chunks": (CHUNKED + b"3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n", b"hello", True, True),
    "a trailer": (CHUNKED + b"5\r\nhello\r\n0\r\nX: y\r\n\r\n", b"hello", True, True),
    "chunks, more to come": (CHUNKED + b"5\r\nhello\r\n0\r\n", b"hello", False, True),
    "until it closes": (OK + b"\r\nhello", b"hello", False, False),
    "old": (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", b"hi", True, False),
    "closing": (OK + b"Connection: Close\r\nContent-Length: 2\r\n\r\nhi", b"hi", True, False),
    "after early hints": (
        b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\nhi",
        b"hi",
        True,
        True,
    ),
    "packed": (
        OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(PACKED) + PACKED,
        b"hello" * 9,
        True,
        True,
    ),
    "bytes that nobody asked for": (OK + b"Content-Length: 2\r\n\r\nhi!", b"hi", True, False),
}
BROKEN = {
    "no HTTP": b"SSH-2.0-OpenSSH\r\n\r\n",
    "a header without a colon": OK + b"nonsense\r\n\r\n",
    "a folded header": OK + b"A: b\r\n c\r\n\r\n",
    "an odd length": OK + b"Content-Length: -1\r\n\r\n",
    "two lengths": OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "an odd coding": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
    "an odd size": CHUNKED + b"-5\r\nhello",
    "a head without end": OK + b"A: " + b"b" * HEAD_LIMIT,
    "packed badly": OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
}


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
@pytest.mark.parametrize(("content", "body", "done", "keeps"), WHOLE.values(), ids=WHOLE)
def test_a_response_is_read(
    content: bytes, body: bytes, done: bool, keeps: bool, step: int
) -> None:
    reply = ResponseParser()
    pieces = [content[start : start + step] for start in range(0, len(content), step)]
    found = b"".join(part for piece in pieces for part in reply.feed(piece))
    assert (found, reply.done, reply.keeps) == (body, done, keeps)


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_what_makes_no_sense_is_refused(content: bytes) -> None:
    with pytest.raises(HttpError):
        list(ResponseParser().feed(content))


@pytest.mark.parametrize(
    "content",
    [b"", OK, OK + b"Content-Length: 9\r\n\r\nhello", CHUNKED + b"5\r\nhello\r\n"],
)
def test_an_end_that_comes_too_early_is_no_end(content: bytes) -> None:
    reply = ResponseParser()
    list(reply.feed(content))
    with pytest.raises(HttpError):
        reply.end()


def test_closing_may_be_the_end() -> None:
    reply = ResponseParser()
    list(reply.feed(OK + b"X-A: 1\r\nx-a: 2\r\n\r\nhello"))
    reply.end()
    assert (reply.done, reply.keeps) == (True, False)
    assert reply.head == ResponseHead(200, {"x-a": "1, 2"})
