"""The routes of all pages; each noun has its own table."""

import asyncio

from starlette.requests import Request
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from assent.core.errors import NotFound
from assent.web.pages import decision, inbox, plan_list, plans, review, runs, sessions
from assent.web.pages.login import login_routes
from assent.web.pages.page import PageHandler, PageRoute, TopBar, error_page
from assent.web.pages.static_files import send_static
from assent.web.server import Server

PAGES: tuple[PageRoute, ...] = (
    *inbox.PAGES,
    *sessions.PAGES,
    *plan_list.PAGES,
    *plans.PAGES,
    *review.PAGES,
    *decision.PAGES,
    *runs.PAGES,
)


def make_router(server: Server, nothing: ASGIApp) -> ASGIApp:
    """Returns all pages of a server; `nothing` answers what is none of them."""
    bar = TopBar()
    routes = [
        Route(each.path, PageHandler(server, each, bar).handle, methods=[each.method])
        for each in PAGES
    ]
    for route in routes:
        (route.methods or set()).discard("HEAD")  # it would show nothing
    routes += login_routes(server)
    routes.append(Route("/static/{digest}/{name}", send_static, methods=["GET"]))
    return Router(routes, redirect_slashes=False, default=_Nowhere(nothing))


class _Nowhere:
    """What is no page: a person gets one that says so, a program what `nothing` answers."""

    def __init__(self, nothing: ASGIApp) -> None:
        self._nothing = nothing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._nothing
        if scope["type"] == "http" and "text/html" in Request(scope).headers.get("accept", ""):
            answer = await asyncio.to_thread(error_page, NotFound("There is no page here."))
        await answer(scope, receive, send)
