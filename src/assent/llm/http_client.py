"""The HTTP client: sends requests over kept connections and streams the responses.

It connects directly or through a proxy.
"""

import re
import socket
import time
from binascii import b2a_base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from assent.core.errors import UsageError
from assent.core.llm import HttpSettings
from assent.llm.http_response import HttpError, ResponseHead, ResponseParser
from assent.llm.limits import (
    CONNECT_S,
    MAX_IDLE_CONNECTIONS,
    MAX_IDLE_S,
    MAX_TRAILING_BYTES,
    RECEIVE_BYTES,
    SEND_BYTES,
    STALE_CONNECTION_S,
)
from assent.ports.cancellation import CancelToken

if TYPE_CHECKING:
    import ssl

# Parses http and https URLs of providers and proxies.


_URL = re.compile(
    r"(?P<scheme>https?)://(?:(?P<user>[^@/\s]*)@)?"
    r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>\d{1,5}))?(?P<path>/[\x21-\x7e]*)?",
    re.IGNORECASE,
)
_PORTS = {"http": 80, "https": 443}
_LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")


class HttpUrl(msgspec.Struct, frozen=True):
    """Scheme, host, port and path; `user` only for a proxy with credentials."""

    scheme: str
    host: str
    port: int
    path: str = ""
    user: str = ""

    @property
    def origin(self) -> str:
        """Scheme, host and port, as users write them."""
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """Host, and the port if it is not the default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        return _LOOPBACK.fullmatch(self.host) is not None

    def below(self, path: str) -> "HttpUrl":
        """Returns the URL of a path below this one."""
        return msgspec.structs.replace(self, path=self.path.rstrip("/") + path)


def parse_url(url: str, whose: str) -> HttpUrl:
    """Parses a URL; `whose` names the setting or variable that has it."""
    found = _URL.fullmatch(url.strip())
    if found is None or not 0 < int(found["port"] or 80) < 1 << 16:
        raise UsageError(f"{whose} is not an http or https URL: {url!r}.")
    scheme = found["scheme"].lower()
    host = found["host"].lower().strip("[]")
    port = int(found["port"] or _PORTS[scheme])
    return HttpUrl(scheme, host, port, found["path"] or "", found["user"] or "")


# One HTTP connection to one server: opened, used for several requests, closed.


TlsWrapper: TypeAlias = Callable[[socket.socket, str], socket.socket]


def wrap_tls(sock: socket.socket, host: str) -> socket.socket:
    """Wraps a connection in TLS with certificate checks; its handshake is still to be made.

    The system's certificates count, or those that SSL_CERT_FILE and SSL_CERT_DIR name.
    """
    return _context().wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)


@cache
def _context() -> "ssl.SSLContext":
    import ssl  # only https needs it

    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class HttpRoute(msgspec.Struct, frozen=True):
    """How to reach a server: directly or through a proxy, and with which timeouts."""

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
        self.idle_since = time.monotonic()

    def send(self, pieces: Sequence[bytes]) -> None:
        """Sends a request; raises OSError if not all of it was sent.

        Small pieces are sent together, in as few packets as possible; large ones are not copied.
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
        """Waits for bytes, as long as the limit allows; no bytes mean the end."""
        return self._sock.recv(RECEIVE_BYTES)

    def is_ready(self) -> bool:
        """Tells whether the last response has ended and the connection is open, without waiting."""
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
        """Wakes a thread that waits for bytes."""
        with suppress(OSError):
            # Not the TLS socket's own method, which would hand out what is still encrypted.
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def close(self) -> None:
        self._sock.close()


def open_connection(way: HttpRoute, secure: TlsWrapper, token: CancelToken[str]) -> HttpConnection:
    """Connects; every failure raises an HttpError that says what happened."""
    next_stop = way.proxy or way.target
    sock = _connected(next_stop, way.connect_s, token)
    try:
        if way.target.scheme == "https":
            if way.proxy is not None:
                _tunnel(sock, way.target, way.proxy)
            sock = secure(sock, way.target.host)
            token.attach(HttpConnection(sock, way).wake)
            _shake_hands(sock, way.target)
        sock.settimeout(way.idle_s)
        return HttpConnection(sock, way)
    except BaseException:
        sock.close()
        raise


def _connected(stop: HttpUrl, seconds: float, token: CancelToken[str]) -> socket.socket:
    trouble = f"no address found for {stop.origin}"
    for family, kind, protocol, _, where in _addresses(stop):
        sock = socket.socket(family, kind, protocol)
        sock.settimeout(seconds)
        token.attach(partial(_shut, sock))
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
    # As bytes: text is encoded by a table of all of Unicode, which takes long to load.
    host = stop.host.encode() if stop.host.isascii() else stop.host
    try:
        return [*socket.getaddrinfo(host, stop.port, type=socket.SOCK_STREAM)]
    except OSError as error:
        raise HttpError(f"cannot resolve the host name {stop.host} ({error.strerror})") from None


def _tunnel(sock: socket.socket, target: HttpUrl, proxy: HttpUrl) -> None:
    """Asks a proxy to open a tunnel."""
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
        told = f"the proxy {proxy.origin} refused the connection to {goal} ({reply.head.status})"
        raise HttpError(told, fatal=reply.head.status < 500)  # noqa: PLR2004 (not its fault)


def proxy_headers(proxy: HttpUrl) -> list[str]:
    """Returns the header that authenticates to a proxy, if its URL has credentials."""
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
            f"the certificate of {target.authority} is not trusted ({untrusted}); to trust it, "
            "set SSL_CERT_FILE to a file with its CA certificates",
            fatal=True,
        ) from None


def _would_wait(error: OSError) -> bool:
    """Tells whether no bytes have come; TLS, which is not loaded here, has its own error for it."""
    return isinstance(error, BlockingIOError) or type(error).__name__ == "SSLWantReadError"


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def _told(error: OSError, stop: HttpUrl) -> str:
    if isinstance(error, TimeoutError):
        return f"{stop.origin} timed out"
    return f"{stop.origin} cannot be reached ({error.strerror or error})"


# Which proxy a request uses, by the usual environment variables.


def proxy_for(target: HttpUrl, environment: Mapping[str, str]) -> HttpUrl | None:
    """Returns the proxy for a target; never for this machine itself."""
    if target.is_loopback or _spared(target, _value(environment, "no_proxy")[1]):
        return None
    for name in (f"{target.scheme}_proxy", "all_proxy"):
        variable, url = _value(environment, name)
        if not url:
            continue
        proxy = parse_url(url if "://" in url else f"http://{url}", variable)
        if proxy.scheme == "http":
            return proxy
        raise UsageError(
            f"{variable} names a proxy that uses {proxy.scheme}; only http proxies are supported.",
            f"export {variable}=http://HOST:PORT",
        )
    return None


def _spared(target: HttpUrl, listed: str) -> bool:
    return any(_covers(entry.strip().lower(), target) for entry in listed.split(",") if entry)


def _covers(entry: str, target: HttpUrl) -> bool:
    name, _, port = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
    if port and port != str(target.port):
        return False
    name = name.removeprefix("*").removeprefix(".")
    return entry == "*" or (bool(name) and f".{target.host}".endswith(f".{name}"))


def _value(environment: Mapping[str, str], name: str) -> tuple[str, str]:
    """Returns a variable's spelling and value; the lower-case one takes precedence."""
    found = [spelt for spelt in (name, name.upper()) if environment.get(spelt)]
    return (found[0], environment[found[0]]) if found else (name.upper(), "")


class HttpRequest(msgspec.Struct, frozen=True):
    """What is sent, and where."""

    target: HttpUrl
    headers: dict[str, str]
    body: Sequence[bytes] | None = None

    def head(self, proxy: HttpUrl | None) -> bytes:
        """Returns the request line and headers; a proxy of plain HTTP sees the whole URL."""
        by_proxy = proxy is not None and self.target.scheme == "http"
        where = f"{self.target.origin}{self.target.path}" if by_proxy else self.target.path or "/"
        own = {"Host": self.target.authority, "Accept-Encoding": "identity"}
        if self.body is not None:
            own["Content-Length"] = str(sum(map(len, self.body)))
        lines = [f"{'GET' if self.body is None else 'POST'} {where} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in {**own, **self.headers}.items()]
        if by_proxy and proxy is not None:
            lines += proxy_headers(proxy)
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


class HttpResponse:
    """A response whose body is still being received."""

    def __init__(self, link: HttpConnection, head: ResponseHead, first: list[bytes]) -> None:
        self.head = head
        self.link = link
        self.again = False  # whether the request had to be sent a second time
        self._first = first

    def pieces(self) -> Iterator[bytes]:
        """Yields the body as it comes; raises HttpError if it is incomplete."""
        for burst in self.bursts():
            yield from burst

    def bursts(self) -> Iterator[list[bytes]]:
        """Yields the pieces that came at once; between two of them the server is waited for."""
        yield self._first
        while not self.link.reply.done:
            yield receive_more(self.link)

    def close(self) -> None:
        """Ends the request, and with it the connection."""
        self.link.close()


class HttpClient:
    """Keeps connections open between requests; safe to use from several threads."""

    def __init__(
        self,
        secure: TlsWrapper,
        environment: Mapping[str, str],
        idle_s: float = HttpSettings().idle_s,
        connect_s: float = CONNECT_S,
        most_kept: int = MAX_IDLE_CONNECTIONS,
        kept_s: float = MAX_IDLE_S,
    ) -> None:
        self._secure = secure
        self._environment = environment
        self._limits = connect_s, idle_s
        self._most_kept, self._kept_s = most_kept, kept_s
        self._kept: list[HttpConnection] = []

    def send(self, request: HttpRequest, token: CancelToken[str]) -> HttpResponse:
        """Sends a request and waits for the head of its response.

        A kept connection may have died. If the request was not sent, or the connection
        closed at once without a byte, the server has not processed it, and it is sent once more.
        """
        way = self._way(request.target)
        link = self._ready(way)
        again = link is not None
        if link is not None:
            token.attach(link.wake)
            response = self._asked(link, request)
            if response is not None:
                return response
            token.raise_if_cancelled()
        link = open_connection(way, self._secure, token)
        token.attach(link.wake)
        response = self._asked(link, request)
        if response is None:
            raise HttpError(f"{request.target.origin} closed the connection without a response")
        response.again = again
        return response

    def connect_early(self, target: HttpUrl) -> None:
        """Opens a connection for the first request; errors show up then."""
        try:
            link = open_connection(self._way(target), self._secure, CancelToken())
        except HttpError:
            return
        link.reply.done = link.reply.keeps = True
        self._kept.append(link)

    def close(self) -> None:
        """Closes the idle connections."""
        while self._kept:
            self._kept.pop().close()

    def _way(self, target: HttpUrl) -> HttpRoute:
        bare = msgspec.structs.replace(target, path="")
        return HttpRoute(bare, proxy_for(target, self._environment), *self._limits)

    def _ready(self, way: HttpRoute) -> HttpConnection | None:
        """Takes a kept connection that still works."""
        newest = time.monotonic() - self._kept_s
        for link in [one for one in self._kept if one.way == way or one.idle_since < newest]:
            try:
                self._kept.remove(link)
            except ValueError:
                continue  # another thread was faster
            # One that was idle for long may be dead without a sign of it.
            if link.idle_since >= newest and link.is_ready():
                return link
            link.close()
        return None

    def keep(self, response: HttpResponse) -> None:
        """Keeps the connection of a completed response.

        Its last bytes may still be missing; the next request reads them, without waiting.
        """
        response.link.idle_since = time.monotonic()
        self._kept.append(response.link)
        while len(self._kept) > self._most_kept:
            with suppress(IndexError):  # another thread was faster
                self._kept.pop(0).close()

    def _asked(self, link: HttpConnection, request: HttpRequest) -> HttpResponse | None:
        """Sends and reads the head; None if the server cannot have processed the request."""
        try:
            return self._exchange(link, request)
        except BaseException:
            link.close()
            raise

    def _exchange(self, link: HttpConnection, request: HttpRequest) -> HttpResponse | None:
        try:
            link.send([request.head(link.way.proxy), *(request.body or ())])
        except TimeoutError:
            raise HttpError(
                f"{request.target.origin} timed out while reading the request"
            ) from None
        except OSError:
            link.close()
            return None
        sent = time.monotonic()
        first: list[bytes] = []
        while link.reply.head is None:
            try:
                piece = link.receive()
            except TimeoutError:
                raise _silent(link) from None
            except OSError as error:
                piece, why = b"", error.strerror
            else:
                why = "closed"
            if not piece:
                at_once = time.monotonic() - sent < STALE_CONNECTION_S
                if at_once and not link.reply.received:
                    link.close()
                    return None
                raise HttpError(f"the connection ended without a response ({why})")
            first += link.reply.feed(piece)
        return HttpResponse(link, link.reply.head, first)


def receive_more(link: HttpConnection) -> list[bytes]:
    """Waits for more of a body."""
    try:
        piece = link.receive()
    except TimeoutError:
        raise _silent(link) from None
    except OSError as error:
        raise HttpError(
            f"the connection broke during the response ({error.strerror or error})"
        ) from None
    if not piece:
        link.reply.end()
    return list(link.reply.feed(piece))


def _silent(link: HttpConnection) -> HttpError:
    return HttpError(f"no data for {link.way.idle_s:g} seconds")
