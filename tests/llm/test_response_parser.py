"""HTTP responses are read to their end, or it is said why not."""

import zlib
from contextlib import nullcontext

import pytest

from assent.llm.http_response import HttpError, ResponseHead, ResponseParser
from assent.llm.limits import MAX_HEAD_BYTES

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
    "a chunk size with a space": (CHUNKED + b"2 \r\nhi\r\n0\r\n\r\n", b"hi", True, True),
    "an extension after a space": (CHUNKED + b"2 ;a\r\nhi\r\n0\r\n\r\n", b"hi", True, True),
    "no content, with a coding": (
        b"HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"",
        True,
        True,
    ),
    "a length besides chunks": (
        OK + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        b"hi",
        True,
        False,
    ),
    "closing, among others": (
        OK + b"Connection: te ,Close\r\nContent-Length: 2\r\n\r\nhi",
        b"hi",
        True,
        False,
    ),
    "a word that contains close": (
        OK + b"Connection: enclosed\r\nContent-Length: 2\r\n\r\nhi",
        b"hi",
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
    "a head without end": OK + b"A: " + b"b" * MAX_HEAD_BYTES,
    "a status below 100": b"HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n",
    "a change of protocol": b"HTTP/1.1 101 Switching\r\n\r\n" + OK + b"\r\n",
    "NUL in the status line": b"HTTP/1.1 200 O\0K\r\n\r\n",
    "a bare return in the status line": b"HTTP/1.1 200 OK\rA: b\r\n\r\n",
    "NUL in a header": OK + b"A: b\0c\r\n\r\n",
    "a bare return in a header": OK + b"A: b\rC: d\r\n\r\n",
    "a vertical tab in a header": OK + b"A: b\x0bc\r\n\r\n",
    "an empty length": OK + b"Content-Length:\r\n\r\n",
    "a length of more digits than Python reads": OK + b"Content-Length: %s\r\n\r\n" % (b"9" * 5000),
    "an empty coding": OK + b"Transfer-Encoding:\r\n\r\n",
    "an odd length of an interim answer": (
        b"HTTP/1.1 103 Early\r\nContent-Length: 1, 2\r\n\r\n" + OK + b"Content-Length: 0\r\n\r\n"
    ),
    "a space before a size": CHUNKED + b" 2\r\nhi\r\n0\r\n\r\n",
    "a vertical tab after a size": CHUNKED + b"2\x0b\r\nhi\r\n0\r\n\r\n",
    "a bare return in an extension": CHUNKED + b"2;a\rb\r\nhi\r\n0\r\n\r\n",
    "a bare line feed in an extension": CHUNKED + b"2;a\n1\r\nhi\r\n0\r\n\r\n",
    "a chunk without its end": CHUNKED + b"2\r\nhi0\r\n\r\n",
    "a chunk that is longer than its size": CHUNKED + b"2\r\nhi!",
    "a blank line too many after a chunk": CHUNKED + b"2\r\nhi\r\n\r\n0\r\n\r\n",
    "a blank line before the first chunk": CHUNKED + b"\r\n2\r\nhi\r\n0\r\n\r\n",
    "a trailer without a colon": CHUNKED + b"0\r\nnonsense\r\n\r\n",
    "another answer as a trailer": CHUNKED + b"0\r\n" + OK + b"\r\n",
    "a length as a trailer": CHUNKED + b"0\r\nContent-Length: 2\r\n\r\n",
    "packed badly": OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
}


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
@pytest.mark.parametrize(("content", "body", "done", "keeps"), WHOLE.values(), ids=WHOLE)
def test_a_response_is_read(
    content: bytes, body: bytes, done: bool, keeps: bool, step: int
) -> None:
    reply = ResponseParser()
    found = _fed(reply, content, step)
    assert (found, reply.done, reply.keeps) == (body, done, keeps)


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_what_makes_no_sense_is_refused(content: bytes, step: int) -> None:
    with pytest.raises(HttpError):
        _fed(ResponseParser(), content, step)


HEAD = OK + b"Content-Length: 0\r\nA: "


@pytest.mark.parametrize("step", [MAX_HEAD_BYTES, 1 << 20])
@pytest.mark.parametrize("too_long", [False, True])
def test_how_long_a_head_may_be_does_not_depend_on_its_pieces(too_long: bool, step: int) -> None:
    content = HEAD + b"b" * (MAX_HEAD_BYTES - len(HEAD) + too_long) + b"\r\n\r\n"
    reply = ResponseParser()
    with pytest.raises(HttpError) if too_long else nullcontext():
        _fed(reply, content, step)
    assert reply.done is not too_long


@pytest.mark.timeout(20)
@pytest.mark.parametrize("value", [b"b%sc", b"%sb", b"%s\n", b"b%s\0"])
def test_a_long_row_of_spaces_takes_no_time(value: bytes) -> None:
    """Matching them by one expression took minutes for a few thousand."""
    spaces = b" " * (MAX_HEAD_BYTES - 100)
    content = OK + b"Content-Length: 0\r\nA: " + value % spaces + b"\r\n\r\n"
    reply = ResponseParser()
    if value[-1:] in b"\n\0":
        with pytest.raises(HttpError):
            list(reply.feed(content))
    else:
        list(reply.feed(content))
        assert reply.done


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


def _fed(reply: ResponseParser, content: bytes, step: int) -> bytes:
    pieces = [content[start : start + step] for start in range(0, len(content), step)]
    return b"".join(part for piece in pieces for part in reply.feed(piece))
