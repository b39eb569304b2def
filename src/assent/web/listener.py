"""The listening server: uvicorn with limits on how long a connection may take to say something."""

import asyncio
import socket
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S: Final = 10.0  # for a connection to send the whole head of a request
KEEP_ALIVE_S: Final = 30
MAX_HEAD: Final = 32 << 10
MAX_CONNECTIONS: Final = 5_000
BACKLOG: Final = 2_048  # connections that wait to be accepted


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 whose connections are closed if the head of a request does not come in time."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._late = self.loop.call_later(HEADERS_S, self._close_if_silent)

    def connection_lost(self, exc: Exception | None) -> None:
        self._late.cancel()
        super().connection_lost(exc)

    def _close_if_silent(self) -> None:
        if self.cycle is None:
            self.transport.close()


def open_socket(host: str, port: int) -> socket.socket:
    """Returns a socket that listens; raises OSError if the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)  # now: who reads the URL may connect at once
    except OSError:
        listening.close()
        raise
    return listening


def make_listener(app: ASGIApp) -> uvicorn.Server:
    """Returns the server of an application; it logs nothing, as logs would have secrets in them."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=BoundedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=MAX_HEAD,
        )
    )


async def serve(listener: uvicorn.Server, listening: socket.socket, *tasks: Any) -> None:
    """Serves until the process is told to end; the tasks run beside it."""
    beside = [asyncio.ensure_future(task) for task in tasks]
    try:
        await listener.serve([listening])
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
