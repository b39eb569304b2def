"""Incremental parser of HTTP/1.1 responses; knows nothing of sockets."""

import re
import zlib
from collections.abc import Iterator

import msgspec

HEAD_LIMIT = 64 << 10
_PIECE = 1 << 20  # most that a compressed piece becomes at once
_STATUS = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: .*)?")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")
_SIZE = re.compile(rb"[0-9a-fA-F]{1,15}")
_INTERIM = range(100, 200)  # those only say that the answer is still to come
_BODILESS = (204, 304)


class HttpError(Exception):
    """The connection or what came over it is of no use; `fatal` if trying again will not help."""

    def __init__(self, reason: str, *, fatal: bool = False) -> None:
        super().__init__(reason)
        self.fatal = fatal


class ResponseHead(msgspec.Struct, frozen=True):
    """Status and headers, with names in lower case."""

    status: int
    headers: dict[str, str]
    old: bool = False  # HTTP/1.0


class ResponseParser:
    """One response. `head` is there once it is complete, `done` tells whether the body is."""

    def __init__(self) -> None:
        self.head: ResponseHead | None = None
        self.done = False
        self.keeps = False  # whether another response may follow on the same connection
        self.received = 0  # bytes, head and all
        self._idle = 0  # bytes since the last that say anything
        self._held = bytearray()
        self._left: int | None = None  # bytes of the body or chunk; None: until the end
        self._chunked = False
        self._trailing = False
        self._inflate: zlib._Decompress | None = None

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yields the body that this piece brings."""
        self.received += len(piece)
        self._held += piece
        while self.head is None:
            if not self._read_head():
                return
        for content in self._chunks() if self._chunked else self._plain():
            yield from self._unpacked(content)
        if self.done and self._held:
            self.keeps = False  # bytes that nobody asked for

    def end(self) -> None:
        """Takes note that nothing more comes."""
        self.keeps = False
        if self.head is None:
            raise HttpError("the server closed the connection without an answer")
        if (self._chunked or self._left is not None) and not self.done:
            raise HttpError("the connection ended in the middle of the answer")
        self.done = True

    def tunnel(self) -> None:
        """Makes this the answer to a CONNECT, after which the bytes are somebody else's."""
        self.done, self._chunked, self._left = True, False, 0

    def _read_head(self) -> bool:
        end = self._held.find(b"\r\n\r\n")
        if end < 0:
            if len(self._held) > HEAD_LIMIT:
                raise HttpError("the server's answer has a head without end", fatal=True)
            return False
        self._check_idle(end + 4)
        lines = bytes(self._held[:end]).split(b"\r\n")
        del self._held[: end + 4]
        head = parse_head(lines)
        if head.status not in _INTERIM:
            self.head = head
            self._expect(head)
        return True

    def _expect(self, head: ResponseHead) -> None:
        """Decides where the body ends."""
        coding = head.headers.get("transfer-encoding", "").lower()
        length = head.headers.get("content-length", "")
        if coding not in ("", "chunked") or (length and not length.isdecimal()):
            raise HttpError("the server's answer has a length that cannot be read")
        self._chunked = bool(coding)
        if self._chunked or head.status in _BODILESS:
            self._left = 0
        elif length:
            self._left = int(length)
        asks_to_close = "close" in head.headers.get("connection", "").lower()
        ends_by_closing = self._left is None
        self.keeps = not (head.old or asks_to_close or ends_by_closing)
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
                self._idle = 0
                yield content
            elif not self._next_line():
                return

    def _next_line(self) -> bool:
        """Takes a chunk's size, the end of one, or a trailer; tells whether there was a line."""
        end = self._held.find(b"\r\n")
        if end < 0:
            if len(self._held) > HEAD_LIMIT:
                raise HttpError("the server's answer has a chunk without a size", fatal=True)
            return False
        self._check_idle(end + 2)
        line = bytes(self._held[:end])
        del self._held[: end + 2]
        if self._trailing:
            self.done = not line
        elif line:
            size = line.partition(b";")[0].strip()
            if not _SIZE.fullmatch(size):
                raise HttpError("the server's answer has a chunk whose size cannot be read")
            self._left = int(size, 16)
            self._trailing = self._left == 0
        return True

    def _check_idle(self, size: int) -> None:
        """Counts heads, chunk ends and trailers, of which there may be no end."""
        self._idle += size
        if self._idle > 2 * HEAD_LIMIT:
            raise HttpError("the server's answer goes on without saying anything", fatal=True)

    def _unpacked(self, content: bytes) -> Iterator[bytes]:
        if self._inflate is None:
            yield content
            return
        try:
            while content and not self._inflate.eof:  # what follows the end is kept by nobody
                yield self._inflate.decompress(content, _PIECE)
                content = self._inflate.unconsumed_tail
        except zlib.error:
            raise HttpError("the server's answer is packed in a way that cannot be read") from None


def parse_head(lines: list[bytes]) -> ResponseHead:
    """Reads a status line and headers; of headers that repeat, all values count."""
    status = _STATUS.fullmatch(lines[0])
    if status is None:
        raise HttpError("what answers there does not speak HTTP")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        field = _FIELD.fullmatch(line)
        if field is None:
            raise HttpError("the server's answer has a header that cannot be read")
        name, value = field[1].decode("ascii").lower(), field[2].decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return ResponseHead(int(status[2]), headers, status[1] == b"0")
