"""Fetches a web page for a tool: GET only, no cookies, no credentials, limited in size."""

import re
import time
from collections.abc import Callable

from assent.core.errors import Refused, Unavailable, UsageError
from assent.llm.http_client import HttpClient, HttpRequest, HttpResponse, HttpUrl, parse_url
from assent.llm.http_response import HttpError
from assent.llm.limits import FETCH_S, MAX_REDIRECTS, MAX_URL_CHARS
from assent.ports import FetchResponse
from assent.ports.cancellation import CancelToken

HEADERS = {"user-agent": "assent", "accept": "text/html, text/*, application/json, */*;q=0.5"}
REDIRECTS = (301, 302, 303, 307, 308)
CONTENT_ENCODINGS = ("", "identity", "gzip", "x-gzip", "deflate")  # that the client can unpack

_SCHEME = r"(?i)https?://"
_URL = r"(?i)(?P<origin>https?://(?P<login>[^/?#]*@)?[^/?#@]*)(?P<rest>[^#]*)"
_ODD = r"[^\x21-\x7e]+"


class HttpPageFetcher:
    """Implements ports.PageFetcher with a client whose connections are not kept."""

    def __init__(
        self,
        client: HttpClient,
        seconds: float = FETCH_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._seconds = seconds
        self._now = now

    def get(self, url: str, limit: int, allowed: Callable[[str], bool]) -> FetchResponse:
        """Gets a page and follows redirects to hosts that are allowed."""
        until = self._now() + self._seconds
        where = _target(url)
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._asked(where, limit, until)
            if isinstance(answer, FetchResponse):
                return answer
            following = _target(_joined(where, answer))
            _check(where, following, allowed)
            where = following
        raise Refused(f"{url} redirects more than {MAX_REDIRECTS} times. Nothing was read.")

    def _asked(self, where: HttpUrl, limit: int, until: float) -> FetchResponse | str:
        """Returns the response, or the target of a redirect."""
        try:
            response = self._client.send(HttpRequest(where, HEADERS), CancelToken())
            try:
                return self._answer(where, response, limit, until)
            finally:
                response.close()
        except HttpError as broken:
            raise Unavailable(f"{where.origin} could not be read: {broken}.") from None

    def _answer(
        self, where: HttpUrl, response: HttpResponse, limit: int, until: float
    ) -> FetchResponse | str:
        head = response.head
        if head.status in REDIRECTS and "location" in head.headers:
            return head.headers["location"]
        if head.headers.get("content-encoding", "").lower() not in CONTENT_ENCODINGS:
            raise Refused(f"{where.origin} sends the page in an unsupported encoding.")
        content, cut = bytearray(), False
        for piece in response.pieces():
            content += piece
            cut = len(content) > limit or self._now() > until
            if cut:
                break
        media = head.headers.get("content-type", "")
        url = f"{where.origin}{where.path}"
        return FetchResponse(url, head.status, media, bytes(content[:limit]), cut)


def _target(url: str) -> HttpUrl:
    """Parses the URL of a page, which may have a query, and encodes its non-ASCII letters."""
    found = re.match(_URL, url)
    if found is None or len(url) > MAX_URL_CHARS:
        raise Refused(f"{url[:80]!a} is not an http or https URL; only those can be fetched.")
    if found["login"] is not None:
        raise Refused("The URL contains a login, which is never sent; leave it out.")
    rest = found["rest"] if found["rest"].startswith("/") else f"/{found['rest']}"
    try:
        return parse_url(found["origin"] + re.sub(_ODD, _escaped, rest), "The URL to fetch")
    except UsageError as error:
        raise Refused(error.message) from None


def _escaped(odd: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in odd[0].encode("utf-8", "replace"))


def _joined(where: HttpUrl, location: str) -> str:
    """Returns the target of a redirect, which may be relative."""
    if re.match(_SCHEME, location):
        return location
    if location.startswith("//"):
        return f"{where.scheme}:{location}"
    if location.startswith("/"):
        return where.origin + location
    folder = where.path.partition("?")[0].rpartition("/")[0]
    return f"{where.origin}{folder}/{location}"


def _check(where: HttpUrl, following: HttpUrl, allowed: Callable[[str], bool]) -> None:
    url = f"{following.origin}{following.path}"
    if not allowed(following.host):
        raise Refused(f"{where.origin} redirects to {url}, on another host. Fetch that if needed.")
    if where.scheme == "https" and following.scheme == "http":
        raise Refused(f"{where.origin} redirects to {url}, which is not encrypted.")
