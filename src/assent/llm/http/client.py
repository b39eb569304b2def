"""The HTTP client: sends requests over kept connections and streams the responses."""

import time
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from assent.core.llm import HttpSettings
from assent.llm.cancellation import StreamCancelToken
from assent.llm.http.connection import (
    HttpConnection,
    HttpRoute,
    TlsWrapper,
    open_connection,
    proxy_headers,
)
from assent.llm.http.proxy import proxy_for
from assent.llm.http.response_parser import HttpError, ResponseHead
from assent.llm.http.url import HttpUrl
from assent.llm.limits import CONNECT_S, MAX_IDLE_CONNECTIONS, STALE_CONNECTION_S


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
    """An answer whose body is still coming."""

    def __init__(self, link: HttpConnection, head: ResponseHead, first: list[bytes]) -> None:
        self.head = head
        self.link = link
        self.again = False  # whether the request had to be sent a second time
        self._first = first

    def pieces(self) -> Iterator[bytes]:
        """Yields the body as it comes; raises Broken if it does not come to its end."""
        for burst in self.bursts():
            yield from burst

    def bursts(self) -> Iterator[list[bytes]]:
        """Yields what came at once; between two of them somebody waits for the server."""
        yield self._first
        while not self.link.reply.done:
            yield receive_more(self.link)

    def close(self) -> None:
        """Ends the request, and with it the connection."""
        self.link.close()


class HttpClient:
    """Keeps connections open between requests. Safe to use from several threads."""

    def __init__(
        self,
        secure: TlsWrapper,
        environment: Mapping[str, str],
        idle_s: float = HttpSettings().idle_s,
        connect_s: float = CONNECT_S,
    ) -> None:
        self._secure = secure
        self._environment = environment
        self._limits = connect_s, idle_s
        self._kept: list[HttpConnection] = []

    def send(self, request: HttpRequest, cut: StreamCancelToken) -> HttpResponse:
        """Sends a request and waits for the head of its answer.

        A kept connection may have died meanwhile. If the request did not go out, or the connection
        closed at once without a byte, the server has not taken it, and it is sent once more.
        """
        way = self._way(request.target)
        link = self._ready(way)
        again = link is not None
        if link is not None:
            cut.on_cancel(link.wake)
            response = self._asked(link, request)
            if response is not None:
                return response
            cut.raise_if_cancelled()
        link = open_connection(way, self._secure, cut)
        cut.on_cancel(link.wake)
        response = self._asked(link, request)
        if response is None:
            raise HttpError(f"{request.target.origin} closed the connection without an answer")
        response.again = again
        return response

    def connect_early(self, target: HttpUrl) -> None:
        """Opens a connection that the first request will find; trouble will show then."""
        try:
            link = open_connection(self._way(target), self._secure, StreamCancelToken())
        except HttpError:
            return
        link.reply.done = link.reply.keeps = True
        self._kept.append(link)

    def close(self) -> None:
        """Closes the connections that wait for another request."""
        while self._kept:
            self._kept.pop().close()

    def _way(self, target: HttpUrl) -> HttpRoute:
        bare = msgspec.structs.replace(target, path="")
        return HttpRoute(bare, proxy_for(target, self._environment), *self._limits)

    def _ready(self, way: HttpRoute) -> HttpConnection | None:
        """Takes a kept connection that still works."""
        for link in [link for link in self._kept if link.way == way]:
            try:
                self._kept.remove(link)
            except ValueError:
                continue  # another thread was faster
            if link.is_ready():
                return link
            link.close()
        return None

    def keep(self, response: HttpResponse) -> None:
        """Keeps the connection of an answer that said all it had to say.

        Its last bytes may be still to come; the next request looks for them, and nobody waits.
        """
        self._kept.append(response.link)
        while len(self._kept) > MAX_IDLE_CONNECTIONS:
            self._kept.pop(0).close()

    def _asked(self, link: HttpConnection, request: HttpRequest) -> HttpResponse | None:
        """Sends and reads the head; None if the server cannot have taken the request."""
        try:
            return self._exchange(link, request)
        except BaseException:
            link.close()
            raise

    def _exchange(self, link: HttpConnection, request: HttpRequest) -> HttpResponse | None:
        try:
            link.send([request.head(link.way.proxy), *(request.body or ())])
        except TimeoutError:
            raise HttpError(f"{request.target.origin} does not read the request") from None
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
                raise HttpError(f"the connection ended without an answer ({why})")
            first += link.reply.feed(piece)
        return HttpResponse(link, link.reply.head, first)


def receive_more(link: HttpConnection) -> list[bytes]:
    """Waits for more of a body."""
    try:
        piece = link.receive()
    except TimeoutError:
        raise _silent(link) from None
    except OSError as error:
        raise HttpError(f"the connection broke in the answer ({error.strerror or error})") from None
    if not piece:
        link.reply.end()
    return list(link.reply.feed(piece))


def _silent(link: HttpConnection) -> HttpError:
    return HttpError(f"nothing came for {link.way.idle_s:g} seconds")
