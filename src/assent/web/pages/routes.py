"""The routes of all pages; each noun has its own table."""

from starlette.routing import Route, Router
from starlette.types import ASGIApp

from assent.web.pages import decision, inbox, plan_list, plans, review, runs, sessions
from assent.web.pages.login import login_routes
from assent.web.pages.page import PageHandler, PageRoute, TopBar
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
    return Router(routes, redirect_slashes=False, default=nothing)
