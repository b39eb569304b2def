"""Pages of a file: lines with their numbers, as a stream that never holds the whole file."""

from collections.abc import Iterable, Iterator

import msgspec

from assent.tools.line_numbers import numbered
from assent.tools.output_limits import BYTES

MAX_LINE_CHARS = 2000  # characters of a line that are shown
_HELD = 4 * MAX_LINE_CHARS  # their bytes
_MARK = b"\xef\xbb\xbf"


class LinePage(msgspec.Struct, frozen=True):
    """Some lines of a file, and whether there are more."""

    lines: tuple[str, ...]
    first: int
    more: bool = False
    total: int = 0  # lines of the whole file, if its end was reached
    foreign: bool = False  # not UTF-8


def read_page(chunks: Iterable[bytes], offset: int, limit: int) -> LinePage:
    """Returns lines from number `offset` on, as many as the limits allow."""
    shown: list[str] = []
    size, number, foreign = 0, 0, False
    for number, (held, length) in enumerate(_lines(chunks), 1):
        if number < offset:
            continue
        text, strange = _decoded_line(held, length, first=number == 1)
        size += len(text.encode()) + len(str(number)) + 3
        if len(shown) == limit or (shown and size > BYTES):
            return LinePage(tuple(shown), offset, more=True, foreign=foreign)
        shown.append(numbered(number, text))
        foreign = foreign or strange
    return LinePage(tuple(shown), offset, total=number, foreign=foreign)


def _lines(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yields the beginning of each line and its whole length."""
    held, length = b"", 0
    for chunk in chunks:
        first, *rest = chunk.split(b"\n")
        held, length = held + first[: max(0, _HELD - len(held))], length + len(first)
        for part in rest:
            yield held, length
            held, length = part[:_HELD], len(part)
    if length:
        yield held, length


def _decoded_line(held: bytes, length: int, *, first: bool) -> tuple[str, bool]:
    """Returns a line as text, and whether it had to be read as Latin-1."""
    line = held.removeprefix(_MARK) if first else held
    line = line.removesuffix(b"\r")
    try:
        text, strange = line.decode(), False
    except UnicodeDecodeError as error:
        broken_off = length > len(held) and error.start >= len(line) - 3
        strange = not broken_off
        text = line.decode("utf-8", "ignore") if broken_off else line.decode("latin-1")
    if length > len(held) or len(text) > MAX_LINE_CHARS:
        return f"{text[:MAX_LINE_CHARS]} [… {length} bytes in this line]", strange
    return text, strange
