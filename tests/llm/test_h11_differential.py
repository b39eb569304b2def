"""Our parser of HTTP responses is held against h11's: same bytes in the same pieces, same answer.

Whatever ours accepts, h11 accepts with the same status, headers and body, and gives the same answer
to whether the connection may be used again. Every exception is listed here, with its reason and an
example; the examples are checked, so that no exception outlives the difference that it describes.

The answer to HEAD is not compared: our client only sends GET and POST."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import h11
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from assent.llm.http_response import HttpError, ResponseParser
from assent.llm.limits import MAX_HEAD_BYTES

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
EXAMPLES = 8 * settings().max_examples  # of combinations there are many


@dataclass(frozen=True)
class Answer:
    """A response that was read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes
    complete: bool  # without waiting for the server to close the connection
    reusable: bool


@dataclass(frozen=True)
class Refusal:
    """A response that is broken, or breaks off."""

    reason: str


@dataclass(frozen=True)
class Difference:
    """A way in which the two parsers differ on purpose, and how to recognize it."""

    why: str
    reason: str  # a pattern for what the parser says that refuses
    framing: bytes  # a pattern for what it is about, in everything that is not the body
    example: bytes


STRICTER = {
    "bare line feed": Difference(
        "A line ends with CR LF. Where one side accepts a bare LF and the other does not, they "
        "disagree on where a message ends, and no provider sends one.",
        "",
        rb"(?<!\r)\n",
        b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    ),
    "folded header": Difference(
        "RFC 9112 deprecates folding; a line that begins with a space is more likely an attack.",
        "invalid (header|trailer)",
        rb"\n[ \t]",
        OK + b"A: b\r\n c\r\nContent-Length: 0\r\n\r\n",
    ),
    "other versions": Difference(
        "h11 takes any version for HTTP/1.1. We asked by HTTP/1.1; the answer is in 1.1 or 1.0.",
        "does not speak HTTP",
        rb"HTTP/(?!1\.[01])",
        b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
    ),
    "length given twice": Difference(
        "RFC 9112 allows to refuse equal lengths, and who sends two may also send different ones.",
        "invalid length",
        rb"(?is)content-length:.*(,|content-length:)",
        OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
    ),
    "length of many digits": Difference(
        "h11 reads 20 digits, we read 15: a petabyte, which is more than any answer has.",
        "invalid length|invalid size",
        rb"(?i)content-length:[ \t]*[0-9]{16}|(^|\n)[0-9a-f]{16}",
        CHUNKED + b"0000000000000002\r\nhi\r\n0\r\n\r\n",
    ),
    "control character in a chunk extension": Difference(
        "h11 does not look at extensions; parsers that end a line at a bare CR would see another.",
        "invalid size",
        rb"(^|\n)[0-9a-fA-F]+;.*[\x00-\x08\x0b-\x1f\x7f]",
        CHUNKED + b"2;a\rb\r\nhi\r\n0\r\n\r\n",
    ),
    "framing field in a trailer": Difference(
        "RFC 9110 forbids it, and it may be the head of another answer.",
        "invalid trailer",
        rb"(?is)\n0+[ \t]*(;.*)?\r\n.*(content-length|transfer-encoding):",
        CHUNKED + b"2\r\nhi\r\n0\r\nContent-Length: 2\r\n\r\n",
    ),
    "long head": Difference(
        "Our limit is part of the client; h11 gets none here.",
        "headers without an end|chunk without a size|continues without content",
        rb"(?s).{%d}" % MAX_HEAD_BYTES,
        OK + b"A: " + b"b" * MAX_HEAD_BYTES + b"\r\nContent-Length: 0\r\n\r\n",
    ),
}
MORE_LENIENT = {
    "space before a chunk extension": Difference(
        "RFC 9112 tells recipients to accept it, and it cannot be read in two ways.",
        "illegal chunk header",
        rb"(^|\n)[0-9a-fA-F]+[ \t]+;",
        CHUNKED + b"2 ;a=b\r\nhi\r\n0\r\n\r\n",
    ),
}
LESS_REUSE = {
    "length and chunks": Difference(
        "RFC 9112 calls this a likely attack. The chunks count, as in h11; what follows does not.",
        "",
        rb"(?is)(?=.*content-length:).*transfer-encoding:",
        OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    ),
}


def read_by_assent(pieces: Sequence[bytes]) -> Answer | Refusal:
    parser, body = ResponseParser(), bytearray()
    try:
        for piece in pieces:
            for content in parser.feed(piece):
                body += content
        complete, reusable = parser.done, parser.done and parser.keeps
        parser.end()
    except HttpError as error:
        return Refusal(str(error))
    assert parser.head is not None
    return Answer(parser.head.status, parser.head.headers, bytes(body), complete, reusable)


class H11Reader:
    """Reads one response with h11, and keeps apart what frames the body."""

    def __init__(self) -> None:
        self.framing = bytearray()
        self._body = bytearray()
        self._head: h11.Response | None = None
        self._ended = False
        self._connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 30)
        self._connection.send(h11.Request(method="GET", target="/", headers=[("Host", "a")]))
        self._connection.send(h11.EndOfMessage())

    def read(self, pieces: Sequence[bytes]) -> Answer | Refusal:
        try:
            for piece in pieces:
                self._take(piece)
            complete = self._ended
            states = {self._connection.our_state, self._connection.their_state}
            reusable = states == {h11.DONE} and not self._connection.trailing_data[0]
            self._take(b"")
        except h11.RemoteProtocolError as error:
            return Refusal(str(error))
        assert self._head is not None
        headers: dict[str, str] = {}
        for raw_name, raw_value in self._head.headers:
            name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        return Answer(self._head.status_code, headers, bytes(self._body), complete, reusable)

    def _take(self, piece: bytes) -> None:
        self._connection.receive_data(piece)
        while not self._ended:
            held = self._connection.trailing_data[0]
            try:
                found = self._connection.next_event()
            except h11.RemoteProtocolError:
                self.framing += held
                raise
            taken = held[: len(held) - len(self._connection.trailing_data[0])]
            match found:
                case h11.Response():
                    self._head = found
                case h11.Data(data=data):
                    self._body += data
                    taken = taken[: len(taken) - len(data)]
                case h11.EndOfMessage():
                    self._ended = True
                case h11.NEED_DATA | h11.PAUSED:
                    self.framing += taken
                    return
                case _:
                    assert isinstance(found, h11.InformationalResponse)
            self.framing += taken


def difference(pieces: Sequence[bytes]) -> str:
    """Returns which listed difference there is, or nothing; fails for one that is not listed."""
    ours, reader = read_by_assent(pieces), H11Reader()
    theirs = reader.read(pieces)
    found = ours, theirs
    if isinstance(ours, Refusal):
        if isinstance(theirs, Refusal):
            return ""
        return _listed(STRICTER, ours.reason, reader.framing, found)
    if isinstance(theirs, Refusal):
        return _listed(MORE_LENIENT, theirs.reason, reader.framing, found)
    assert _said(ours) == _said(theirs)
    if ours.reusable == theirs.reusable:
        return ""
    assert theirs.reusable
    return _listed(LESS_REUSE, "", reader.framing, found)


def _said(answer: Answer) -> tuple[object, ...]:
    """Returns all but whether it is reusable; h11 has the coding in small letters."""
    headers = dict(answer.headers)
    if "transfer-encoding" in headers:
        headers["transfer-encoding"] = headers["transfer-encoding"].lower()
    return answer.status, headers, answer.body, answer.complete


def _listed(
    listed: dict[str, Difference], reason: str, framing: bytearray, found: tuple[object, object]
) -> str:
    for name, one in listed.items():
        if re.search(one.reason, reason) and re.search(one.framing, framing):
            return name
    pytest.fail(f"not listed: {found} with {bytes(framing)!r}")


# What each place of a response usually holds, and what else it may hold. In lengths and sizes, {0}
# is the right one and {1} a wrong one.
PLACES: dict[str, tuple[str, tuple[str, ...]]] = {
    "version": ("HTTP/1.1", ("HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "http/1.1", "HTTP/1.10")),
    "status": ("{}", ("000", "099", "100", "101", "20", "2000", "+20", " 200", "20x")),
    "reason": (" OK", ("", " ", " a\tb", " \xe9", " a\0", " a\x0b", " a\x0c", " a\rb", "OK")),
    "line end": ("\r\n", ("\n", "\r", "\r\r\n", "\n\r\n")),
    "header": (
        "Server: a",
        (
            *("A: b\r\na: c", "A:b", "A: \t b \t", "A:", "A: b  c", "A: \xff", "A: \x01\x7f"),
            *("A : b", " A: b", "A: b\r\n c", "A: b\r\n\tc", "A: b\0c", "A: b\rc", "A: b\x0bc"),
            *("A: b\x0c", "nonsense", ": x", "A: b\nB: c", "\xe9: x", "A(b): c", "", "\t"),
            "A: " + "b" * MAX_HEAD_BYTES,
        ),
    ),
    "connection": (
        "Keep-Alive",
        (
            *("close", "Close", "keep-alive, close", "close,te", "te,\tclose ,", "enclosed"),
            *("", '"close"', "close;x", "\xa0close", "close\r\nConnection: te"),
        ),
    ),
    "framing": ("one", ("both", "two lengths", "two codings")),
    "length": (
        "{0}",
        (
            *("+{0}", "-{0}", "0x{0:x}", "{0}, {0}", "{0},{1}", "00{0}", "{0}.0", "{0}_0", "{1}"),
            *("\t{0} ", "{0:015}", "{0:016}", "{0:021}", "9" * 15, "9" * 5000, "", "\xb2", "\xb3"),
        ),
    ),
    "coding": (
        "chunked",
        (
            *("Chunked", "\tchunked ", "chunked, chunked", "gzip, chunked", "identity", ""),
            *("chunked;q=1", "chunked\x0b", "chunked,", "xchunked", "\xa0chunked"),
        ),
    ),
    "size": (
        "{0:x}",
        (
            *("{0:X}", "00{0:x}", "{0:x};a", '{0:x};a=b;c="d e"', "{0:x} \t", "{0:x} ;a", " {0:x}"),
            *("{0:x}\x0b", "+{0:x}", "-{0:x}", "0x{0:x}", "{0:x};\0", "{0:x};a\rb", "{0:x};a\nb"),
            *("{0:x};\xe9", "{0:015x}", "{0:016x}", "{0:021x}", "{1:x}", "{0:x}_0", "f" * 15),
            *("", "g", "\r\n{0:x}"),
        ),
    ),
    "chunk end": ("\r\n", ("", "\n", "\r", "\r\n\r\n", "xx", "xx\r\n")),
    "trailer": (
        "",
        (
            *("X: y\r\n", "X:\r\n", "x: \ty \r\n", "X : y\r\n", "X: y\r\n z\r\n", "X: \0\r\n"),
            *("X: y\nZ: z\r\n", "\xe9: x\r\n", "nonsense\r\n", "Content-Length: 2\r\n"),
            *("content-length: x\r\n", "Transfer-Encoding: chunked\r\n", "HTTP/1.1 200 OK\r\n"),
        ),
    ),
    "interim": (
        "",
        (
            *("HTTP/1.1 100\r\n\r\n", "HTTP/1.1 103 A\r\nB: c\r\n\r\n", "HTTP/1.1 101 A\r\n\r\n"),
            *("HTTP/1.1 103 \0\r\n\r\n", "HTTP/1.1 103 A\r\nB\r\n\r\n", "HTTP/1.1 199\n\r\n"),
            *("HTTP/1.1 100 A\r\nContent-Length: 2\r\n\r\n", "HTTP/1.0 100 A\r\n\r\n", "\r\n"),
            *("HTTP/1.1 100 A\r\nContent-Length: 2, 3\r\n\r\n", "HTTP/1.1 100 A\r\n\r\n" * 2),
            "HTTP/1.1 100 A\r\nTransfer-Encoding: gzip\r\n\r\n",
            "HTTP/1.1 100 A\r\nConnection: close\r\n\r\n",
        ),
    ),
    "leftover": ("", ("x", "\r\n", "HTTP/1.1 200 OK\r\n\r\n")),
}
FRAMINGS = ("length", "chunks", "close")
STATUSES = (200, 204, 304, 205, 404, 503, 999)
BODIES = (b"hello\r\n", b"", b"hi", b"0\r\n\r\n", b"\n\n", b"a" * 20)
UNUSUAL = [(place, other) for place, (_, others) in PLACES.items() for other in others]


def response(
    unusual: Mapping[str, str], framing: str, status: int = 200, body: bytes = BODIES[0]
) -> bytes:
    """Returns what a server may send for one request, with something unusual in some places."""

    def text(place: str) -> str:
        return unusual.get(place, PLACES[place][0])

    def number(place: str, size: int) -> str:
        return text(place).format(size, size + 1)

    def chunk(content: bytes) -> str:
        return number("size", len(content)) + f"\r\n{content.decode()}" + text("chunk end")

    twice = text("framing")
    fields = [text("header"), f"Connection: {text('connection')}"]
    if framing == "chunks" or twice == "both":
        fields += ["Transfer-Encoding: " + text("coding")] * (1 + (twice == "two codings"))
    if framing == "length" or twice == "both":
        fields += ["Content-Length:" + number("length", len(body))] * (1 + (twice == "two lengths"))
    first = f"{text('version')} {text('status').format(status)}{text('reason')}"
    content = text("line end").join([first, *fields, "", ""])
    if framing == "chunks":
        content += "".join(chunk(part) for part in (body[:3], body[3:]) if part)
        content += number("size", 0) + f"\r\n{text('trailer')}" + text("line end")
    else:
        content += body.decode()
    return (text("interim") + content + text("leftover")).encode("latin-1")


@st.composite
def responses(draw: st.DrawFn) -> bytes:
    unusual = draw(st.lists(st.sampled_from(UNUSUAL), max_size=3))
    framing, status = draw(st.sampled_from(FRAMINGS)), draw(st.sampled_from(STATUSES))
    return response(dict(unusual), framing, status, draw(st.sampled_from(BODIES)))


@st.composite
def broken(draw: st.DrawFn, made: st.SearchStrategy[bytes]) -> bytes:
    """Changes, inserts, repeats or removes bytes, and breaks off."""
    content = bytearray(draw(made))
    for _ in range(draw(st.sampled_from([0, 0, 0, 0, 0, 1, 1, 2]))):
        where = draw(st.integers(0, min(len(content), 300)))
        to = where + draw(st.integers(0, 4))
        with_what = draw(st.sampled_from(BYTES))
        match draw(st.sampled_from(["insert", "replace", "remove", "repeat"])):
            case "insert":
                content[where:where] = with_what
            case "replace":
                content[where : where + len(with_what)] = with_what
            case "remove":
                del content[where:to]
            case _:
                content[where:where] = content[where:to]
    if draw(st.integers(0, 8)) == 8:
        del content[draw(st.integers(0, len(content))) :]
    return bytes(content)


BYTES = [bytes([byte]) for byte in range(256)]
BYTES += 40 * [b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"\0", b" ", b"\t", b"0", b"a", b":", b",", b";"]


@st.composite
def in_pieces(draw: st.DrawFn, made: st.SearchStrategy[bytes]) -> list[bytes]:
    """Cuts bytes anywhere; no piece is empty."""
    content = draw(made)
    if draw(st.integers(0, 3)) == 0:
        return [content] if content else []
    if len(content) < MAX_HEAD_BYTES and draw(st.booleans()):
        return [bytes([byte]) for byte in content]
    cuts = sorted(draw(st.sets(st.integers(0, len(content)), max_size=5)))
    return list(_parts(content, cuts))


def _parts(content: bytes, cuts: Iterable[int]) -> Iterable[bytes]:
    bounds = [0, *cuts, len(content)]
    return filter(None, (content[start:end] for start, end in pairwise(bounds)))


@pytest.mark.parametrize("framing", FRAMINGS)
def test_each_unusual_place_is_read_the_same(framing: str) -> None:
    for place, other in [("status", "{}"), *UNUSUAL]:
        for status in STATUSES[:2]:
            content = response({place: other}, framing, status)
            difference([content])
            if len(content) < MAX_HEAD_BYTES:
                difference([bytes([byte]) for byte in content])


@settings(max_examples=EXAMPLES)
@given(pieces=in_pieces(broken(responses())))
def test_any_combination_in_any_pieces_is_read_the_same(pieces: list[bytes]) -> None:
    event(difference(pieces) or "none")


@pytest.mark.parametrize("in_bytes", [False, True])
@pytest.mark.parametrize("name", [*STRICTER, *MORE_LENIENT, *LESS_REUSE])
def test_a_listed_difference_exists(name: str, in_bytes: bool) -> None:
    example = (STRICTER | MORE_LENIENT | LESS_REUSE)[name].example
    step = 1 if len(example) < 1000 else 1000
    cuts = range(step, len(example), step) if in_bytes else ()
    assert difference(list(_parts(example, cuts))) == name
