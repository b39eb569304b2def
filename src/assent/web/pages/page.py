"""A page: its path, what it shows or does for whom, and how it calls what the API calls."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from time import monotonic
from typing import Any, Final, Literal, TypeAlias, get_args
from urllib.parse import parse_qs, quote, urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from assent.core.access import Access
from assent.core.decoding import convert
from assent.core.errors import AssentError, UsageError
from assent.core.event import AccessEvent, Event, Role
from assent.render.rows import Row
from assent.web.api import ENDPOINTS
from assent.web.api.server import workspaces
from assent.web.caller import CSRF_HEADER, check_csrf, cookie_secret, csrf_token, known_access
from assent.web.endpoint import Answer, ApiCall, Endpoint
from assent.web.errors import Forbidden, NotLoggedIn, TooLarge, status_of
from assent.web.pages.templates import render, render_pieces, template_named
from assent.web.server import Server

MAX_FORM: Final = 2 << 20  # bytes; what people write in forms is text
MAX_FIELDS: Final = 2_000
LIVE_HEADER: Final = "x-assent-live"  # of our own script, which takes the live parts of a page
SHOWN_HEADER: Final = "x-assent-shown"  # of our own script: what it shows as waiting
MAX_SHOWN: Final = 100
FORM_TYPE: Final = "application/x-www-form-urlencoded"
BAR_S: Final = 5.0  # for which the bar's numbers count, if nothing was recorded since
_LIVE: Final = ("plan_file", "doing", "progress")  # what is not recorded, and changes pages
_KINDS: Final = " ".join(
    sorted(_LIVE)
    + sorted(
        str(kind.__struct_config__.tag)
        for kind in get_args(Event)
        if kind not in get_args(AccessEvent)
    )
)
_ENDPOINTS: Final = {each.run: each for each in ENDPOINTS}

Fields: TypeAlias = Mapping[str, list[str]]


class Shown(msgspec.Struct, frozen=True):
    """A template with its values, as the answer of a page."""

    template: str
    values: Mapping[str, Any]
    status: int = 200
    then: Callable[[], None] | None = None  # done if it was rendered, and the person sees it
    in_pieces: bool = False  # sent while it is rendered: its end takes long


class GoTo(msgspec.Struct, frozen=True):
    """Another page of ours to go on with, as the answer of a form."""

    path: str


class PageCall(msgspec.Struct, frozen=True):
    """One call of a page by a person with a cookie."""

    server: Server
    access: Access
    path: Mapping[str, str]  # parts of the path, by name
    query: Mapping[str, str]
    form: Fields
    csrf: str
    at: str  # path and query of the request
    shows: bool  # the person sees the answer; else a script takes parts of it
    shown: tuple[str, ...] = ()  # what the page that is open shows as waiting, such as `plan:ID`

    def ask(
        self,
        run: Callable[[Any], Row | Answer],
        /,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        **path: str,
    ) -> Any:
        """Calls what an endpoint of the API calls, with its role and its checks.

        Body and query are named as in the API. Returns its row.
        """
        endpoint = _ENDPOINTS[run]
        self.server.check_role(self.access, endpoint.role, decides=endpoint.decides)
        sent, asked = _converted(endpoint, body or {}, query or {})
        server, access = self.server, self.access
        found = run(ApiCall(server, access, dict(path), asked, sent, self.csrf, self.shows))
        return found.row if isinstance(found, Answer) else found

    def may(self, role: Role) -> bool:
        """Tells whether to offer something that needs a role; the server checks again."""
        return self.access.may(role, decides=False, tokens_decide=False)

    def field(self, name: str) -> str:
        """Returns a field of the form; empty if it was not sent."""
        return self.form.get(name, [""])[-1]

    def fields(self, name: str) -> list[str]:
        """Returns all values of a field, such as of several check boxes."""
        return list(self.form.get(name, []))


class PageRoute(msgspec.Struct, frozen=True):
    """One row of the pages. A form needs the role of the endpoint that it calls, too."""

    method: Literal["GET", "POST"]
    path: str
    run: Callable[[PageCall], Shown | GoTo | Response]
    role: Role = "viewer"


def local_path(text: str) -> str:
    """Returns a path of this server, as a link or a redirect may have it; else the first page."""
    plain = text.startswith("/") and not text.startswith("//") and text.isprintable()
    return text if plain and text.isascii() and "\\" not in text else "/"


def link(path: str, **query: str) -> str:
    """Returns a path of ours with a query of those values that are not empty."""
    found = {name: value for name, value in query.items() if value}
    return f"{quote(path)}?{urlencode(found)}" if found else quote(path)


async def read_form(
    request: Request, most: int = MAX_FORM, fields: int = MAX_FIELDS
) -> dict[str, list[str]]:
    """Returns the fields of a form; one that is too long is not read to its end."""
    sent = bytearray()
    async for part in request.stream():
        sent += part
        if len(sent) > most:
            raise TooLarge(f"This form is larger than {most:,} bytes. Nothing was done.", "go back")
    try:
        text = sent.decode("utf-8", "replace")
        read = partial(parse_qs, text, keep_blank_values=True, max_num_fields=fields)
        return await asyncio.to_thread(read)  # of a long form it takes half a second
    except ValueError as error:
        raise UsageError("This form has more fields than it can have.", "go back") from error


class TopBar:
    """What every page shows around its own part: workspaces, and how much waits in them."""

    def __init__(self) -> None:
        self._known: tuple[int, float, list[Any]] = (-1, 0.0, [])  # position, until when, rows

    def values(self, call: PageCall) -> Row:
        """Returns the values of the base template; counted again when something happened."""
        position = call.server.feed.last()
        known, until, rows = self._known
        if known != position or monotonic() >= until:
            rows = call.ask(workspaces)["workspaces"]
            self._known = position, monotonic() + BAR_S, rows
        return {
            "at": call.at,
            "access": call.access,
            "csrf": call.csrf,
            "may": call.may,
            "kinds": _KINDS,
            "position": position,
            "workspaces": rows,
            "unnamed": [each["root"] for each in rows if not each["workspace"]],  # have no events
            "workspace": call.query.get("workspace", ""),
            "waiting_count": sum(each["waiting"] for each in rows),
        }


class PageHandler:
    """One page as Starlette calls it: checks who calls, runs in a thread, renders."""

    def __init__(self, server: Server, page: PageRoute, bar: TopBar) -> None:
        self._server = server
        self._page = page
        self._bar = bar

    async def handle(self, request: Request) -> Response:
        page = self._page
        at = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        try:
            return await self._answer(request, at)
        except NotLoggedIn:
            back = at if page.method == "GET" and request.url.path != "/" else ""
            return RedirectResponse(link("/login", next=back), 303)
        except AssentError as error:
            return await asyncio.to_thread(error_page, error)
        except OSError as error:
            failed = AssentError(error.strerror or str(error), "assent status")
            return await asyncio.to_thread(error_page, failed)

    async def _answer(self, request: Request, at: str) -> Response:
        server, page = self._server, self._page
        access = await asyncio.to_thread(known_access, server, request)
        if access.kind != "cookie":
            raise Forbidden("Pages are for people; a token uses the API.", "GET /api/v1/access")
        server.check_role(access, page.role, decides=False)
        secret = cookie_secret(server, request)
        form: dict[str, list[str]] = {}
        if page.method == "POST":  # of a stranger, nothing is read
            form = await read_form(request)
            given = form.get("csrf", [""])[-1] or request.headers.get(CSRF_HEADER, "")
            check_csrf(secret, given)
        headers = request.headers
        shows = not (LIVE_HEADER in headers or "prefetch" in headers.get("sec-purpose", ""))
        path, query = dict(request.path_params), dict(request.query_params)
        shown = tuple(headers.get(SHOWN_HEADER, "").split()[:MAX_SHOWN])
        csrf = csrf_token(secret)
        call = PageCall(server, access, path, query, form, csrf, at, shows, shown)
        return await server.run(lambda: self._rendered(call))

    def _rendered(self, call: PageCall) -> Response:
        # Its position comes first: what happens while the page reads its data is then followed.
        bar = self._bar.values(call) if self._page.method == "GET" else None
        found = self._page.run(call)
        match found:
            case Shown(template, values, status, then):
                around = self._bar.values(call) if bar is None else bar
                if found.in_pieces:
                    pieces = render_pieces(template_named(template), {**around, **values})
                    sent = _sent(pieces, then if call.shows else None)
                    return StreamingResponse(sent, status, media_type="text/html")
                answer = HTMLResponse(render(template, {**around, **values}), status)
                if then and call.shows:
                    then()
                return answer
            case GoTo(path):
                return RedirectResponse(path, 303)
            case _:
                return found


async def _sent(pieces: Iterator[str], then: Callable[[], None] | None) -> AsyncIterator[str]:
    """Yields a page in pieces; it counts as seen once its last one was taken to be sent."""
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece
    if then:
        then()


def error_page(error: AssentError) -> Response:
    """Returns a page with what happened and what to do next."""
    return HTMLResponse(render("error.html", {"error": error}), status_of(error))


def _converted(
    endpoint: Endpoint, body: Mapping[str, Any], query: Mapping[str, Any]
) -> tuple[Any, Any]:
    try:
        return (
            convert(dict(body), endpoint.body, strict=False),
            convert(dict(query), endpoint.query, strict=False),
        )
    except msgspec.ValidationError as error:
        raise UsageError(f"The form is not valid: {error}.", "go back") from error
