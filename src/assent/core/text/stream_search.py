"""Finds and replaces the one match of an exact edit in a stream, without holding the stream."""

from collections.abc import Iterable, Iterator


def count_matches(chunks: Iterable[bytes], wanted: bytes) -> tuple[int, int]:
    """Counts where `wanted` occurs without overlap, and returns the first offset (-1 if none)."""
    count, first, base, window = 0, -1, 0, b""
    for chunk in chunks:
        window += chunk
        at = window.find(wanted)
        end = 0
        while at >= 0:
            count += 1
            first = base + at if first < 0 else first
            end = at + len(wanted)
            at = window.find(wanted, end)
        cut = max(end, len(window) - len(wanted) + 1)
        base, window = base + cut, window[cut:]
    return count, first


def splice(chunks: Iterable[bytes], at: int, length: int, put: bytes) -> Iterator[bytes]:
    """Streams the content with `length` bytes at an offset replaced."""
    position, done = 0, False
    for chunk in chunks:
        start, end = position, position + len(chunk)
        position = end
        if end <= at or start >= at + length:
            if start >= at + length and not done:
                yield put
                done = True
            yield chunk
            continue
        if start <= at:
            yield chunk[: at - start]
        if end >= at + length:
            yield put
            done = True
            yield chunk[at + length - start :]
    if not done:
        yield put
