"""The ASGI application: the API's table as routes, the login, and the stream of events."""

import asyncio
import hmac
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from assent.core.access import Access
from assent.core.errors import AssentError, NotFound, UsageError
from assent.web.endpoint import API, Answer, ApiCall, Endpoint, decoded_body, decoded_query
from assent.web.errors import Forbidden, NotLoggedIn, TooBusy
from assent.web.event_feed import EventQuery, FeedFilter
from assent.web.guard import CHANGING, Guard
from assent.web.login import csrf_token, login_routes
from assent.web.openapi import document
from assent.web.responses import error_response, json_response
from assent.web.server import Server

CSRF_HEADER: Final = "x-assent-csrf"
BEARER: Final = "bearer "
MAX_STREAMS: Final = 4_000  # event streams that are open at once


def make_app(server: Server, endpoints: Sequence[Endpoint]) -> ASGIApp:
    """Returns the application of a server."""
    described = document(endpoints)
    about = Endpoint("GET", "/openapi.json", "This document", "viewer", lambda call: described)
    routes = [
        Route(f"{API}{each.path}", _Handler(server, each).handle, methods=[each.method])
        for each in (*endpoints, about)
    ]
    routes.append(Route(f"{API}/events", partial(_events, server), methods=["GET"]))
    routes += login_routes(server)
    app = Starlette(routes=routes, exception_handlers={404: _not_found, 405: _not_found})
    return Guard(app, server.options.origins)


async def _not_found(request: Request, error: Exception) -> Response:
    return error_response(NotFound("There is nothing at this address.", f"GET {API}/openapi.json"))


def find_access(server: Server, request: Request) -> Access:
    """Returns what the caller may do; raises NotLoggedIn if they are nobody.

    A change by cookie needs the page's own token, which no other site can read.
    """
    given = request.headers.get("authorization", "")
    if given:
        scheme, secret = given[: len(BEARER)].lower(), given[len(BEARER) :].strip()
        found = server.access.find(secret) if scheme == BEARER else None
        if found is None or found.kind != "token":
            raise NotLoggedIn
        return found
    secret = request.cookies.get(server.cookie, "")
    found = server.access.find(secret)
    if found is None or found.kind != "cookie":
        raise NotLoggedIn
    if request.method in CHANGING and not hmac.compare_digest(
        request.headers.get(CSRF_HEADER, "").encode(), csrf_token(secret).encode()
    ):
        raise Forbidden(f"The header {CSRF_HEADER} is missing or wrong. Nothing was done.")
    return found


class _Handler:
    """One endpoint as Starlette calls it: checks access, decodes, runs in a thread, answers."""

    def __init__(self, server: Server, endpoint: Endpoint) -> None:
        self._server = server
        self._endpoint = endpoint

    async def handle(self, request: Request) -> Response:
        try:
            return await self._answer(request)
        except AssentError as error:
            return error_response(error)
        except OSError as error:
            return error_response(AssentError(error.strerror or str(error), "assent status"))

    async def _answer(self, request: Request) -> Response:
        server, endpoint = self._server, self._endpoint
        access = await asyncio.to_thread(find_access, server, request)
        server.check_role(access, endpoint.role, decides=endpoint.decides)
        query: object = decoded_query(endpoint.query, request.query_params.multi_items())
        body: object = decoded_body(endpoint.body, await request.body())
        secret = request.cookies.get(server.cookie, "") if access.kind == "cookie" else ""
        csrf = csrf_token(secret) if secret else ""
        call = ApiCall(server, access, dict(request.path_params), query, body, csrf)
        found = await server.run(partial(endpoint.run, call))
        if isinstance(found, Answer):
            return json_response(found.row, found.status)
        return json_response(found, endpoint.status)


async def _events(server: Server, request: Request) -> Response:
    try:
        access = await asyncio.to_thread(find_access, server, request)
        server.check_role(access, "viewer", decides=False)
        wanted = decoded_query(EventQuery, request.query_params.multi_items())
        if server.feed.subscribers >= MAX_STREAMS:
            raise TooBusy("Too many event streams are open.", "close some, and connect again")
        resumed = request.headers.get("last-event-id", "")
        if resumed and not resumed.isdecimal():
            raise UsageError("Last-Event-ID is not a position of the log.")
        after = int(resumed) if resumed else wanted.after
        sent = server.feed.subscribe(FeedFilter(wanted.workspace, wanted.session), after)
        return StreamingResponse(
            _while_allowed(server, request, access, sent), media_type="text/event-stream"
        )
    except AssentError as error:
        return error_response(error)


async def _while_allowed(
    server: Server, request: Request, access: Access, sent: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """Ends a stream when its cookie or token was revoked or has expired."""
    async for message in sent:
        if not server.access.is_valid(access):
            return
        yield message
