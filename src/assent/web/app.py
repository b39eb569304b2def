"""The ASGI application: the API's table as routes, the stream of events, and the pages."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from assent.core.errors import AssentError, NotFound, UsageError
from assent.web.caller import caller_secret, cookie_secret, csrf_token, find_access
from assent.web.chunks import SendNow, chunk_sender
from assent.web.compression import HEADERS, accepts_gzip, compressed_stream, compressing
from assent.web.endpoint import API, Answer, ApiCall, Endpoint, decoded_body, decoded_query
from assent.web.errors import TooBusy
from assent.web.event_feed import HEARTBEAT, EventQuery, FeedFilter, FeedMessage
from assent.web.guard import Guard
from assent.web.openapi import document
from assent.web.responses import error_response, json_response
from assent.web.server import Server

MAX_POSITION_CHARS: Final = 18  # of the position of an event, in digits
WATCH_S: Final = 0.25  # between two looks at who may still use the server
# Wakes every event stream, so that it ends if its cookie or token is no longer valid.
WAKE: Final = FeedMessage(0, "", "", HEARTBEAT)


def make_app(server: Server, endpoints: Sequence[Endpoint]) -> ASGIApp:
    """Returns the application of a server."""
    described = document(endpoints)
    about = Endpoint("GET", "/openapi.json", "This document", "viewer", lambda call: described)
    routes = [
        Route(f"{API}{each.path}", _Handler(server, each).handle, methods=[each.method])
        for each in (*endpoints, about)
    ]
    routes.append(Route(f"{API}/events", partial(_events, server), methods=["GET"]))
    app = Starlette(routes=routes, exception_handlers=HANDLERS)
    app.router.default = _Pages(server, app.router.default)
    return Guard(app, server.options.origins)


async def _not_found(request: Request, error: Exception) -> Response:
    return error_response(NotFound("There is nothing at this address.", f"GET {API}/openapi.json"))


async def _failed(request: Request, error: Exception) -> Response:
    return error_response(AssentError("Internal error. The server's stderr says where."))


HANDLERS: Final = {404: _not_found, 405: _not_found, Exception: _failed}


class _Pages:
    """Everything outside the API; the first one who asks for it loads it."""

    def __init__(self, server: Server, nothing: ASGIApp) -> None:
        self._server = server
        self._nothing = nothing
        self._router: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].startswith("/api/"):
            await self._nothing(scope, receive, send)
            return
        if self._router is None:
            self._router = await asyncio.to_thread(self._load)
        await self._router(scope, receive, send)

    def _load(self) -> ASGIApp:
        from assent.web.pages.routes import make_router

        return make_router(self._server, self._nothing)


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
        secret = cookie_secret(server, request) if access.kind == "cookie" else ""
        csrf = csrf_token(secret) if secret else ""
        shows = request.method != "HEAD"  # which has no body
        call = ApiCall(server, access, dict(request.path_params), query, body, csrf, shows)
        found = await server.run(partial(endpoint.run, call))
        if isinstance(found, Answer):
            return json_response(found.row, found.status)
        return json_response(found, endpoint.status)


async def _events(server: Server, request: Request) -> Response:
    try:
        access = await asyncio.to_thread(find_access, server, request)
        server.check_role(access, "viewer", decides=False)
        wanted = decoded_query(EventQuery, request.query_params.multi_items())
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        if server.feed.subscribers >= server.options.streams:
            raise TooBusy("Too many event streams are open.", "close some, and connect again")
        resumed = request.headers.get("last-event-id", "")
        if resumed and (not resumed.isdecimal() or len(resumed) > MAX_POSITION_CHARS):
            raise UsageError("Last-Event-ID is not a position of the log.")
        after = int(resumed) if resumed else wanted.after
        workspace, slug = await server.run(partial(_followed, server, wanted))
        plan = await server.run(lambda: server.find_plan(wanted.plan)) if wanted.plan else None
        wants = StreamFilter(workspace, wanted.session, slug)
        secret = caller_secret(server, request)
        in_gzip = accepts_gzip(request.headers.getlist("accept-encoding"))
        send_chunk = chunk_sender(request.scope)
        if in_gzip and send_chunk is not None:
            send_chunk = compressing(send_chunk)
        send_now = _while_valid(server, secret, send_chunk)
        sent = server.feed.subscribe(wants, after, send_now)
        if plan is not None:
            sent = server.plan_files.follow(*plan, sent)
        allowed = _while_allowed(server, secret, sent)
        headers = HEADERS if in_gzip else {"Vary": HEADERS["Vary"]}
        body = compressed_stream(allowed) if in_gzip else allowed
        return StreamingResponse(body, headers=headers, media_type="text/event-stream")
    except AssentError as error:
        return error_response(error)


def _followed(server: Server, wanted: EventQuery) -> tuple[str, str]:
    """Returns the id of the workspace that is followed, if it is only one, and a session's slug.

    Events of a session's plans name it by its slug. Raises NotFound if one of them is not here.
    """
    workspace = server.engines(wanted.workspace)[0].workspace if wanted.workspace else ""
    if wanted.workspace and not workspace:
        raise NotFound(
            "This workspace has no events yet: no session and no plan was begun in it.",
            "GET /api/v1/events",
        )
    slug = server.find_session(wanted.session)[1].slug if wanted.session else ""
    return workspace, slug


class StreamFilter(FeedFilter, frozen=True):
    """What one stream gets: what it asked for, and what wakes all of them."""

    slug: str = ""  # of the session

    def wants(self, message: FeedMessage) -> bool:
        if message is WAKE or super().wants(message):
            return True
        ours = self.workspace in {"", message.workspace}
        return ours and bool(self.slug) and message.session == self.slug


def _while_valid(server: Server, secret: str, send_now: SendNow | None) -> SendNow | None:
    """Has nothing more sent at once when a cookie or token is no longer valid: the stream ends."""
    if send_now is None:
        return None
    return lambda body: server.access.is_valid(secret) and send_now(body)


async def _while_allowed(
    server: Server, secret: str, sent: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """Ends a stream when its cookie or token was revoked or has expired."""
    async for message in sent:
        if not server.access.is_valid(secret):
            return
        yield message


async def watch_access(server: Server) -> None:
    """Follows who may use the server, and which workspaces it serves.

    Event streams look whether they may go on, and what waits in a workspace that was added begins.
    """
    known = -1  # so that what was added before this began is found, too
    while True:
        found = await asyncio.to_thread(server.access.revision)
        if found != known:
            known = found
            server.feed.tell(WAKE)
            try:
                await asyncio.to_thread(server.resume)
            except (AssentError, OSError) as error:  # the other workspaces go on
                print(f"assent serve: {error}", file=sys.stderr)
        await asyncio.sleep(WATCH_S)
