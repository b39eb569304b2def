"""The client: sends requests over kept connections and streams what comes back."""

import time
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from assent.models.cut import Cut
from assent.models.net.address import Address
from assent.models.net.link import Link, Secure, Way, open_link, proxy_headers
from assent.models.net.proxies import proxy_for
from assent.models.net.reply import Broken, Head

CONNECT_S = 10.0
AT_ONCE_S = 1.0  # a connection that dies sooner had died before the request arrived
KEPT = 8


class Request(msgspec.Struct, frozen=True):
    """What is sent, and where."""

    target: Address
    headers: dict[str, str]
    body: Sequence[bytes] | None = None

    def head(self, proxy: Address | None) -> bytes:
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


class Response:
    """An answer whose body is still coming."""

    def __init__(self, link: Link, head: Head, first: list[bytes]) -> None:
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
            yield received(self.link)

    def close(self) -> None:
        """Ends the request, and with it the connection."""
        self.link.close()


class HttpClient:
    """Keeps connections open between requests. Safe to use from several threads."""

    def __init__(
        self,
        secure: Secure,
        environment: Mapping[str, str],
        idle_s: float = 120,
        connect_s: float = CONNECT_S,
    ) -> None:
        self._secure = secure
        self._environment = environment
        self._limits = connect_s, idle_s
        self._kept: list[Link] = []

    def send(self, request: Request, cut: Cut) -> Response:
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
        link = open_link(way, self._secure, cut)
        cut.on_cancel(link.wake)
        response = self._asked(link, request)
        if response is None:
            raise Broken(f"{request.target.origin} closed the connection without an answer")
        response.again = again
        return response

    def connect_early(self, target: Address) -> None:
        """Opens a connection that the first request will find; trouble will show then."""
        try:
            link = open_link(self._way(target), self._secure, Cut())
        except Broken:
            return
        link.reply.done = link.reply.keeps = True
        self._kept.append(link)

    def close(self) -> None:
        """Closes the connections that wait for another request."""
        while self._kept:
            self._kept.pop().close()

    def _way(self, target: Address) -> Way:
        bare = msgspec.structs.replace(target, path="")
        return Way(bare, proxy_for(target, self._environment), *self._limits)

    def _ready(self, way: Way) -> Link | None:
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

    def keep(self, response: Response) -> None:
        """Keeps the connection of an answer that said all it had to say.

        Its last bytes may be still to come; the next request looks for them, and nobody waits.
        """
        self._kept.append(response.link)
        while len(self._kept) > KEPT:
            self._kept.pop(0).close()

    def _asked(self, link: Link, request: Request) -> Response | None:
        """Sends and reads the head; None if the server cannot have taken the request."""
        try:
            return self._exchange(link, request)
        except BaseException:
            link.close()
            raise

    def _exchange(self, link: Link, request: Request) -> Response | None:
        try:
            link.send([request.head(link.way.proxy), *(request.body or ())])
        except TimeoutError:
            raise Broken(f"{request.target.origin} does not read the request") from None
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
                if time.monotonic() - sent < AT_ONCE_S:
                    link.close()
                    return None
                raise Broken(f"the connection ended without an answer ({why})")
            first += link.reply.feed(piece)
        return Response(link, link.reply.head, first)


def received(link: Link) -> list[bytes]:
    """Waits for more of a body."""
    try:
        piece = link.receive()
    except TimeoutError:
        raise _silent(link) from None
    except OSError as error:
        raise Broken(f"the connection broke in the answer ({error.strerror or error})") from None
    if not piece:
        link.reply.end()
    return list(link.reply.feed(piece))


def _silent(link: Link) -> Broken:
    return Broken(f"nothing came for {link.way.idle_s:g} seconds")
