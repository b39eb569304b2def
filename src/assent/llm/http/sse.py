"""Incremental parser of server-sent events."""

from collections.abc import Iterator

import msgspec

from assent.llm.limits import EVENT_LINE_BYTES, MAX_EVENT_BYTES, MAX_EVENT_NAME_BYTES


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
