"""One HTTP connection to one server: opened, used for several requests, closed."""

import socket
from binascii import b2a_base64
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import msgspec

from assent.llm.cancellation import StreamCancelToken
from assent.llm.http.response_parser import HttpError, ResponseParser
from assent.llm.http.url import HttpUrl
from assent.llm.limits import MAX_TRAILING_BYTES, RECEIVE_BYTES, SEND_BYTES

TlsWrapper: TypeAlias = Callable[[socket.socket, str], socket.socket]


class HttpRoute(msgspec.Struct, frozen=True):
    """How to get to a server: directly or by a proxy, and how long to wait on the way."""

    target: HttpUrl
    proxy: HttpUrl | None
    connect_s: float
    idle_s: float


class HttpConnection:
    """A connection, and the response that is being read from it."""

    def __init__(self, sock: socket.socket, way: HttpRoute) -> None:
        self._sock = sock
        self.way = way
        self.reply = ResponseParser()

    def send(self, pieces: Sequence[bytes]) -> None:
        """Sends a request; raises OSError if not all of it went out.

        Small pieces go out together, in as few packets as they need; large ones are not copied.
        """
        self.reply = ResponseParser()
        small: list[bytes] = []
        for piece in pieces:
            if len(piece) < RECEIVE_BYTES:
                small.append(piece)
                continue
            self._sock.sendall(b"".join(small))
            for start in range(0, len(piece), SEND_BYTES):  # each has the time limit to itself
                self._sock.sendall(memoryview(piece)[start : start + SEND_BYTES])
            small = []
        self._sock.sendall(b"".join(small))

    def receive(self) -> bytes:
        """Waits for bytes, as long as the limit allows; none are the end."""
        return self._sock.recv(RECEIVE_BYTES)

    def is_ready(self) -> bool:
        """Tells whether the last answer is over and the server still listens, without waiting."""
        self._sock.settimeout(0)
        most = self.reply.received + MAX_TRAILING_BYTES
        try:
            while not self.reply.done or self.reply.keeps:
                piece = self._sock.recv(RECEIVE_BYTES)
                if not piece or self.reply.done or self.reply.received > most:
                    return False
                for _ in self.reply.feed(piece):
                    pass
        except OSError as error:
            return _would_wait(error) and self.reply.done and self.reply.keeps
        except HttpError:
            return False
        finally:
            self._sock.settimeout(self.way.idle_s)
        return False

    def wake(self) -> None:
        """Makes whoever waits for bytes, in any thread, wait no longer."""
        with suppress(OSError):
            # Not the TLS socket's own method, which would hand out what is still encrypted.
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def close(self) -> None:
        self._sock.close()


def open_connection(way: HttpRoute, secure: TlsWrapper, cut: StreamCancelToken) -> HttpConnection:
    """Connects. Everything that can go wrong is a Broken that says what."""
    next_stop = way.proxy or way.target
    sock = _connected(next_stop, way.connect_s, cut)
    try:
        if way.target.scheme == "https":
            if way.proxy is not None:
                _tunnel(sock, way.target, way.proxy)
            sock = secure(sock, way.target.host)
            cut.on_cancel(HttpConnection(sock, way).wake)
            _shake_hands(sock, way.target)
        sock.settimeout(way.idle_s)
        return HttpConnection(sock, way)
    except BaseException:
        sock.close()
        raise


def _connected(stop: HttpUrl, seconds: float, cut: StreamCancelToken) -> socket.socket:
    trouble = f"{stop.origin} has no address"
    for family, kind, protocol, _, where in _addresses(stop):
        sock = socket.socket(family, kind, protocol)
        sock.settimeout(seconds)
        cut.on_cancel(lambda sock=sock: _shut(sock))  # type: ignore[misc]
        try:
            sock.connect(where)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
        except OSError as error:
            sock.close()
            trouble = _told(error, stop)
        except BaseException:
            sock.close()
            raise
    raise HttpError(trouble)


def _addresses(stop: HttpUrl) -> list[tuple[int, int, int, str, Any]]:
    try:
        return [*socket.getaddrinfo(stop.host, stop.port, type=socket.SOCK_STREAM)]
    except OSError as error:
        raise HttpError(f"the name {stop.host} cannot be looked up ({error.strerror})") from None


def _tunnel(sock: socket.socket, target: HttpUrl, proxy: HttpUrl) -> None:
    """Asks a proxy to pass bytes on."""
    goal = f"{target.authority}:443" if target.port == 443 else target.authority  # noqa: PLR2004 (https)
    lines = [f"CONNECT {goal} HTTP/1.1", f"Host: {goal}", *proxy_headers(proxy), "", ""]
    reply = ResponseParser()
    try:
        sock.sendall("\r\n".join(lines).encode("latin-1"))
        while reply.head is None:
            piece = sock.recv(1)  # not a byte of what comes through the tunnel
            if not piece:
                reply.end()
            for _ in reply.feed(piece):
                break
    except OSError as error:
        raise HttpError(f"the proxy {_told(error, proxy)}") from None
    if reply.head.status // 100 != 2:  # noqa: PLR2004 (any 2xx)
        told = f"the proxy {proxy.origin} does not let {goal} through ({reply.head.status})"
        raise HttpError(told, fatal=reply.head.status < 500)  # noqa: PLR2004 (not its fault)


def proxy_headers(proxy: HttpUrl) -> list[str]:
    """Returns the header that tells a proxy who asks, if its address says so."""
    if not proxy.user:
        return []
    return [f"Proxy-Authorization: Basic {b2a_base64(proxy.user.encode(), newline=False).decode()}"]


def _shake_hands(sock: socket.socket, target: HttpUrl) -> None:
    try:
        getattr(sock, "do_handshake")()  # noqa: B009 (only TLS sockets have it)
    except OSError as error:
        untrusted = getattr(error, "verify_message", "")
        if not untrusted:
            raise HttpError(_told(error, target)) from None
        raise HttpError(
            f"the certificate of {target.authority} is not trusted ({untrusted}); if it should be, "
            "let SSL_CERT_FILE name the certificates that vouch for it",
            fatal=True,
        ) from None


def _would_wait(error: OSError) -> bool:
    """Tells whether nothing has come; TLS, which is not loaded here, has its own word for it."""
    return isinstance(error, BlockingIOError) or type(error).__name__ == "SSLWantReadError"


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def _told(error: OSError, stop: HttpUrl) -> str:
    if isinstance(error, TimeoutError):
        return f"{stop.origin} does not answer"
    return f"{stop.origin} cannot be reached ({error.strerror or error})"
