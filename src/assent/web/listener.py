"""The listening server: uvicorn, with limits on what a connection may take of time and memory."""

import asyncio
import logging
import resource
import signal
import socket
import struct
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import h11
import msgspec
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from assent.core.errors import UsageError
from assent.render.rows import encoded, error_row
from assent.web.chunks import with_chunks
from assent.web.guard import SAFE_HEADERS

MAX_HEAD: Final = 32 << 10
MAX_OPEN_FILES: Final = 16_384
OTHER_FILES: Final = 256  # that the process needs for something else than connections
FEWEST_CONNECTIONS: Final = 32
SPARE: Final = 64  # connections over the limit that are answered: the server is overloaded
BACKLOG: Final = 2_048  # connections that wait to be accepted
STOPPING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ConnectionLimits(msgspec.Struct, frozen=True):
    """How long a connection may take, and how many there may be."""

    head_s: float = 10.0  # for the whole head of a request
    idle_s: int = 30  # between two requests
    rest_s: float = 3.0  # for the rest of a body that was not read, after the answer
    stalled_s: float = 60.0  # for a client that does not read what it asked for
    connections: int = 5_000


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 whose connections end if a head does not come in time or an answer is not read.

    If there are too many, the one that has been silent for longest makes room for a new one. An
    application that streams may send chunks itself, by `web.chunks.chunk_sender`.
    """

    limits = ConnectionLimits()
    silent: dict["BoundedProtocol", None]  # of one listener: those that have asked nothing yet

    def connection_made(self, transport: Any) -> None:
        self._timers: dict[str, asyncio.TimerHandle] = {}
        super().connection_made(transport)
        self.app = with_chunks(self.app, self._send_chunk)
        self.silent[self] = None
        self._start("head", self.limits.head_s)
        self._make_room()

    def _send_chunk(self, chunk: bytes) -> bool:
        if self.flow.write_paused or self.transport.is_closing():
            return False
        self.transport.write(chunk)
        return True

    def _make_room(self) -> None:
        over = len(self.connections) - self.limits.connections
        oldest = next(iter(self.silent))
        if over > 0 and (oldest is not self or over > 2 * SPARE):
            del self.silent[oldest]
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.silent.pop(self, None)
        self._stop(*self._timers)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def _look(self) -> None:
        """Starts and stops timers, by what the client is expected to do next."""
        if self.transport.is_closing():
            self._start("stalled", self.limits.stalled_s)
            return
        if self.conn.their_state is h11.IDLE:
            self._stop("rest")
            self.silent[self] = None
            if self.timeout_keep_alive_task is None:  # a part of a head has come
                self._start("head", self.limits.head_s)
            return
        self._stop("head")
        self.silent.pop(self, None)
        answered = self.cycle is not None and self.cycle.response_complete
        if answered and self.conn.their_state is h11.SEND_BODY:
            self._start("rest", self.limits.rest_s)

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._start("stalled", self.limits.stalled_s)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start("stalled", self.limits.stalled_s)

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._stop("stalled")

    def send_400_response(self, msg: str) -> None:
        """Answers what is not HTTP in the form of all other errors."""
        body = encoded(error_row(UsageError("This is not a valid HTTP request.")))
        headers = {
            **SAFE_HEADERS,
            "content-type": "application/json",
            "content-length": str(len(body)),
            "connection": "close",
        }
        answer = h11.Response(status_code=400, headers=list(headers.items()), reason=b"Bad Request")
        try:
            for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        except h11.LocalProtocolError:  # in the middle of another answer
            self.transport.abort()
            return
        self.transport.close()

    def _start(self, name: str, seconds: float) -> None:
        if name not in self._timers:
            end = self._drop if name == "stalled" else self.transport.abort
            self._timers[name] = self.loop.call_later(seconds, end)

    def _drop(self) -> None:
        """Ends a connection at once: the system does not keep for it what was sent, either."""
        with suppress(OSError):
            socket_of = self.transport.get_extra_info("socket")
            socket_of.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _stop(self, *names: str) -> None:
        for name in names:
            if name in self._timers:
                self._timers.pop(name).cancel()


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


def connection_limits() -> ConnectionLimits:
    """Raises the limit of open files as far as it may, and returns what that allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    most = ConnectionLimits().connections
    if soft != resource.RLIM_INFINITY:
        most = max(FEWEST_CONNECTIONS, min(most, soft - OTHER_FILES))
    return ConnectionLimits(connections=most)


class Listener(uvicorn.Server):
    """A server that ends in good order when the process gets a signal, and then goes on."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        # The process that started us may have set a signal to be ignored.
        wanted = [each for each in STOPPING if signal.getsignal(each) is not signal.SIG_IGN]
        for each in wanted:
            loop.add_signal_handler(each, self.stop)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        try:
            yield
        finally:
            for each in wanted:
                loop.remove_signal_handler(each)

    def stop(self) -> None:
        """Ends serving; a second call does not wait for open connections."""
        self.force_exit = self.should_exit
        self.should_exit = True


def delay_signals() -> None:
    """Has signals that end the server wait until it serves: then it ends in good order."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)


def make_listener(app: ASGIApp, limits: ConnectionLimits | None = None) -> Listener:
    """Returns the server of an application; it logs nothing, as logs would have secrets in them."""
    chosen = limits or connection_limits()

    class Protocol(BoundedProtocol):
        limits = chosen
        silent: dict[BoundedProtocol, None] = {}  # noqa: RUF012 (one for all connections)

    # What is not HTTP, or breaks off, is no news: anybody can send it as often as they like. And
    # the loop must not wait for whoever reads this program's errors.
    for name in ("uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        logger.propagate = False
        logger.addHandler(logging.NullHandler())
    return Listener(
        uvicorn.Config(
            app,
            http=Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=chosen.connections + SPARE,
            timeout_keep_alive=chosen.idle_s,
            timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=MAX_HEAD,
        )
    )


async def serve(
    listener: Listener, listening: socket.socket, *tasks: Coroutine[Any, Any, None]
) -> None:
    """Serves until the process gets a signal to end; the tasks run at the same time."""
    beside = [asyncio.ensure_future(task) for task in tasks]
    try:
        await listener.serve([listening])
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
