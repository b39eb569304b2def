"""Incremental parsers of HTTP/1.1 responses and of server-sent events; they know no sockets."""

import re
import zlib
from collections.abc import Iterator

import msgspec

from assent.llm.limits import (
    EVENT_LINE_BYTES,
    INFLATE_BYTES,
    MAX_BYTES_WITHOUT_CONTENT,
    MAX_EVENT_BYTES,
    MAX_EVENT_NAME_BYTES,
    MAX_HEAD_BYTES,
    MAX_LENGTH_DIGITS,
)

# Incremental parser of HTTP/1.1 responses; knows nothing of sockets.


# In text, NUL, line feed, vertical tab, form feed and return are refused: some parsers end there.
_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\x00\n-\r]*)?")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\x00\n-\r]*)")
_LENGTH = re.compile(rf"[0-9]{{1,{MAX_LENGTH_DIGITS}}}")
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,%d})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?" % MAX_LENGTH_DIGITS)
_INTERIM = range(100, 200)  # those only say that the answer is still to come
_UPGRADE = 101  # but this says that what follows is not HTTP, which was not requested
_BODILESS = (204, 304)
_FRAMING = ("content-length", "transfer-encoding")


class HttpError(Exception):
    """The connection or the response is unusable; `fatal` if a retry will not help."""

    def __init__(self, reason: str, *, fatal: bool = False) -> None:
        super().__init__(reason)
        self.fatal = fatal


class ResponseHead(msgspec.Struct, frozen=True):
    """Status and headers, with names in lower case."""

    status: int
    headers: dict[str, str]
    old: bool = False  # HTTP/1.0


class ResponseParser:
    """One response; `head` is set once it is complete, `done` tells whether the body is."""

    def __init__(self) -> None:
        self.head: ResponseHead | None = None
        self.done = False
        self.keeps = False  # whether another response may follow on the same connection
        self.received = 0  # bytes, head and all
        self._idle = 0  # bytes since the last that say anything
        self._held = bytearray()
        self._searched = 0  # bytes of it in which no line ends, so that a drip is cheap
        self._left: int | None = None  # bytes of the body or chunk; None: until the end
        self._chunked = False
        self._chunk_ends = False  # whether the end of a chunk is due
        self._trailing = False
        self._inflate: zlib._Decompress | None = None

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yields the body bytes in this piece."""
        self.received += len(piece)
        self._held += piece
        while self.head is None:
            if not self._read_head():
                return
        for content in self._chunks() if self._chunked else self._plain():
            yield from self._unpacked(content)
        if self.done and self._held:
            self.keeps = False  # bytes that were not requested

    def end(self) -> None:
        """Records that no more bytes come."""
        self.keeps = False
        if self.head is None:
            raise HttpError("the server closed the connection without a response")
        if (self._chunked or self._left is not None) and not self.done:
            raise HttpError("the connection ended in the middle of the response")
        self.done = True

    def _read_head(self) -> bool:
        end = self._find(b"\r\n\r\n", "the server's response has headers without an end")
        if end < 0:
            return False
        self._check_idle(end + 4)
        lines = bytes(self._held[:end]).split(b"\r\n")
        del self._held[: end + 4]
        head = parse_head(lines)
        _check_framing(head)
        if head.status not in _INTERIM:
            self.head = head
            self._expect(head)
        return True

    def _find(self, mark: bytes, trouble: str) -> int:
        """Returns where a head or a line ends, -1 if it is incomplete; refuses one without end."""
        end = self._held.find(mark, self._searched)
        least = max(0, len(self._held) - len(mark) + 1) if end < 0 else end
        if least > MAX_HEAD_BYTES:
            raise HttpError(trouble, fatal=True)
        self._searched = least if end < 0 else 0
        return end

    def _expect(self, head: ResponseHead) -> None:
        """Determines where the body ends, and whether another response may follow it."""
        bodiless = head.status in _BODILESS
        self._chunked = "transfer-encoding" in head.headers and not bodiless
        if self._chunked or bodiless:
            self._left = 0
        elif "content-length" in head.headers:
            self._left = int(head.headers["content-length"])
        options = head.headers.get("connection", "").lower().split(",")
        asks_to_close = "close" in (option.strip(" \t") for option in options)
        ends_by_closing = self._left is None
        # With two ends, a proxy may have taken the other one for the end.
        has_two_ends = all(name in head.headers for name in _FRAMING)
        self.keeps = not (head.old or asks_to_close or ends_by_closing or has_two_ends)
        self.done = self._left == 0 and not self._chunked
        if head.headers.get("content-encoding", "").lower() in ("gzip", "x-gzip", "deflate"):
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def _plain(self) -> Iterator[bytes]:
        if self.done or not self._held:
            return
        content = bytes(self._held if self._left is None else self._held[: self._left])
        del self._held[: len(content)]
        if self._left is not None:
            self._left -= len(content)
            self.done = self._left == 0
        yield content

    def _chunks(self) -> Iterator[bytes]:
        while not self.done:
            if self._left:
                content = bytes(self._held[: self._left])
                if not content:
                    return
                del self._held[: len(content)]
                self._left -= len(content)
                self._chunk_ends = self._left == 0
                self._idle = 0
                yield content
            elif not self._next_line():
                return

    def _next_line(self) -> bool:
        """Handles a chunk's size, its end, or a trailer; tells whether there was a line."""
        if self._chunk_ends and not b"\r\n".startswith(bytes(self._held[:2])):
            raise HttpError("the server's response has a chunk that is longer than its stated size")
        end = self._find(b"\r\n", "the server's answer has a chunk without a size")
        if end < 0:
            return False
        self._check_idle(end + 2)
        line = bytes(self._held[:end])
        del self._held[: end + 2]
        if self._chunk_ends:
            self._chunk_ends = False
        elif not self._trailing:
            self._left = _parse_size(line)
            self._trailing = self._left == 0
        elif line:
            _check_trailer(line)
        else:
            self.done = True
        return True

    def _check_idle(self, size: int) -> None:
        """Counts heads, chunk ends and trailers, which could go on forever."""
        self._idle += size
        if self._idle > MAX_BYTES_WITHOUT_CONTENT:
            raise HttpError("the server's response continues without content", fatal=True)

    def _unpacked(self, content: bytes) -> Iterator[bytes]:
        if self._inflate is None:
            yield content
            return
        try:
            while content and not self._inflate.eof:  # what follows the end is discarded
                yield self._inflate.decompress(content, INFLATE_BYTES)
                content = self._inflate.unconsumed_tail
        except zlib.error:
            raise HttpError("the server's response cannot be decompressed") from None


def parse_head(lines: list[bytes]) -> ResponseHead:
    """Parses a status line and headers; repeated headers keep all values."""
    status = _STATUS.fullmatch(lines[0])
    if status is None:
        raise HttpError("the server does not speak HTTP")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        field = _FIELD.fullmatch(line)
        if field is None:
            raise HttpError("the server's response has an invalid header")
        name = field[1].decode("ascii").lower()
        # Not by the expression: it would try every way to share out a long row of spaces.
        value = field[2].strip(b" \t").decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return ResponseHead(int(status[2]), headers, status[1] == b"0")


def _check_framing(head: ResponseHead) -> None:
    """Refuses a head if the end of its body is ambiguous."""
    length, coding = (head.headers.get(name) for name in _FRAMING)
    if coding is not None and coding.lower() != "chunked":
        raise HttpError("the server's response has an invalid length")
    if length is not None and _LENGTH.fullmatch(length) is None:
        raise HttpError("the server's response has an invalid length")
    if head.status == _UPGRADE:
        raise HttpError("the server switches to a protocol that was not requested")


def _parse_size(line: bytes) -> int:
    """Parses the line before a chunk; extensions are ignored."""
    size = _CHUNK.fullmatch(line)
    if size is None:
        raise HttpError("the server's response has a chunk with an invalid size")
    return int(size[1], 16)


def _check_trailer(line: bytes) -> None:
    """Refuses a line that may be the head of another response; other trailers are ignored."""
    field = _FIELD.fullmatch(line)
    if field is None or field[1].decode("ascii").lower() in _FRAMING:
        raise HttpError("the server's response has an invalid trailer")


# Incremental parser of server-sent events.


class SseEventTooLong(Exception):
    """An event is longer than any provider would send."""


class SseEvent(msgspec.Struct, frozen=True):
    """One event: its name, empty if it has none, and its lines of data."""

    name: str
    data: bytes


class SseParser:
    """An incremental parser; comments, ids and retry times are ignored."""

    def __init__(self, limit: int = MAX_EVENT_BYTES) -> None:
        self._limit = limit
        self.count = 0  # of events, and of lines that belong to none
        self._rest = bytearray()
        self._name = ""
        self._lines: list[bytes] = []
        self._size = 0
        self._begun = False

    def feed(self, piece: bytes) -> Iterator[SseEvent]:
        """Yields the events that this piece completes; an event without a blank line yet waits."""
        if not self._begun:
            piece, self._begun = self._without_mark(piece)
        for line in self._whole_lines(piece):
            if line:
                self._take(line)
            elif self._lines:
                self.count += 1
                yield self._event()
            else:
                self.count += 1
                self._name = ""

    def _whole_lines(self, piece: bytes) -> list[bytes]:
        """Returns the complete lines; the rest grows in place, so that small pieces are cheap."""
        after_return = self._rest.endswith(b"\r")
        self._rest += piece
        self._check(len(self._rest))
        if b"\n" not in piece and b"\r" not in piece and not after_return:
            return []
        held = bytes(self._rest)
        tail = b"\r" if held.endswith(b"\r") else b""  # a line feed may follow in the next piece
        held = held.removesuffix(b"\r")
        lines = held.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = bytearray(lines.pop() + tail)
        return lines

    def _without_mark(self, piece: bytes) -> tuple[bytes, bool]:
        held = bytes(self._rest) + piece
        self._rest.clear()
        if len(held) < len(_MARK) and _MARK.startswith(held):
            self._rest += held
            return b"", False
        return held.removeprefix(_MARK), True

    def _take(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._size += len(value) + EVENT_LINE_BYTES
            self._check(self._size)
            self._lines.append(value)
        elif field == b"event" and not self._name:
            self._name = value[:MAX_EVENT_NAME_BYTES].decode("utf-8", "replace")
        else:
            self.count += 1

    def _event(self) -> SseEvent:
        event = SseEvent(self._name, b"\n".join(self._lines))
        self._name, self._lines, self._size = "", [], 0
        return event

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise SseEventTooLong(f"an event is longer than {self._limit} bytes")


_MARK = b"\xef\xbb\xbf"  # a byte order mark, which may stand at the very beginning
