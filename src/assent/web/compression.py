"""The stream of events in gzip, for clients that accept it; browsers do.

What goes out together is compressed by itself and once, however many streams it goes to: no part
refers to one before it, so that each stream may begin and end between any two. A stream is only
ended by who closes it, and has no checksum at its end.
"""

import zlib
from collections.abc import AsyncIterator, Iterable
from functools import lru_cache
from typing import Final

from assent.web.chunks import SendNow

HEADERS: Final = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
HEAD: Final = bytes([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255])  # no name, no time, no system
FASTEST: Final = 1
KEPT: Final = 8  # parts; those with different filters are sent in turn, and some are a bit behind


def accepts_gzip(accepted: Iterable[str]) -> bool:
    """Tells whether a client accepts gzip, by its Accept-Encoding headers."""
    weights: dict[str, str] = {}
    for one in ",".join(accepted).lower().replace(" ", "").split(","):
        coding, _, weight = one.partition(";")
        weights[coding] = weight.removeprefix("q=") or "1"
    return weights.get("gzip", weights.get("*", "0")).strip("0.") != ""


def compressing(send_now: SendNow) -> SendNow:
    """Returns what sends the compressed form of something at once."""
    return lambda body: send_now(compressed(body))


async def compressed_stream(sent: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yields a stream in gzip, part by part."""
    yield HEAD
    async for part in sent:
        yield compressed(part)


@lru_cache(KEPT)
def compressed(part: bytes) -> bytes:
    """Returns a part of a stream, compressed so that it can be read as soon as it arrives."""
    coder = zlib.compressobj(FASTEST, zlib.DEFLATED, -zlib.MAX_WBITS)
    return coder.compress(part) + coder.flush(zlib.Z_SYNC_FLUSH)
