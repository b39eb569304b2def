"""Chunks of an answer that are written at once, past the layers that a message goes through."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Final, TypeAlias, cast

from starlette.types import ASGIApp, Receive, Scope, Send

SendNow: TypeAlias = Callable[[bytes], bool]
"""Sends something at once; False if it could not, because the connection has to be waited for."""

EXTENSION: Final = "assent.chunks"
IN_CHUNKS: Final = "1.1"  # an answer to an older request has none


def with_chunks(app: ASGIApp, send_chunk: SendNow) -> ASGIApp:
    """Returns an application whose answers on one connection may be sent in chunks at once."""
    return cast(ASGIApp, partial(_run, app, send_chunk))


async def _run(
    app: ASGIApp, send_chunk: SendNow, scope: Scope, receive: Receive, send: Send
) -> None:
    scope.setdefault("extensions", {})[EXTENSION] = send_chunk
    await app(scope, receive, send)


def chunk_sender(scope: Scope) -> SendNow | None:
    """Returns what sends a part of the answer to a request at once; None if nothing can.

    Only while the answer is streamed without a length, and everything before it was sent.
    """
    send_chunk = scope.get("extensions", {}).get(EXTENSION)
    if send_chunk is None or scope["http_version"] != IN_CHUNKS:
        return None

    def send_now(body: bytes) -> bool:
        return bool(send_chunk(_chunk(body)))

    return send_now


@lru_cache(1)  # many connections get the same, one after the other
def _chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)
