"""The login: a one-time code becomes a cookie, and the way out again."""

import asyncio
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from assent.core.access import COOKIE_S
from assent.core.errors import AssentError
from assent.core.text.hidden_chars import visible_line
from assent.web.caller import find_access
from assent.web.errors import Forbidden, LoginFailed, LoginSlowed, PasswordNeeded, status_of
from assent.web.pages.page import local_path, read_form
from assent.web.pages.templates import render
from assent.web.server import Server

MAX_FORM: Final = 4096
MAX_FIELDS: Final = 20
MAX_NAME: Final = 60


def login_routes(server: Server) -> list[Route]:
    """Returns the routes of login and logout."""
    return [
        Route("/login", partial(_form, server), methods=["GET"]),
        Route("/login", partial(_login, server), methods=["POST"]),
        Route("/logout", partial(_logout, server), methods=["POST"]),
    ]


async def _form(server: Server, request: Request) -> Response:
    return await _login_page(server, back=request.query_params.get("next", ""))


async def _login_page(
    server: Server, error: AssentError | None = None, code: str = "", back: str = ""
) -> Response:
    values = {
        "error": error,
        "code": code,
        "needs_password": server.needs_password,
        "back": local_path(back),
    }
    status = status_of(error) if error else 200
    return HTMLResponse(await asyncio.to_thread(render, "login.html", values), status)


async def _login(server: Server, request: Request) -> Response:
    """Uses a code up; a wrong one makes the answers to further wrong ones slower."""
    form: dict[str, str] = {}
    try:
        form = await _fields(request)
        secret = await _log_in(server, request, form.get("code", ""), form.get("password", ""))
    except AssentError as error:
        kept = form.get("code", "") if isinstance(error, PasswordNeeded) else ""
        response = await _login_page(server, error, kept, form.get("next", ""))
        if isinstance(error, LoginSlowed):
            response.headers["retry-after"] = str(error.wait)
        return response
    # A redirect would not carry the cookie if the form came from a file: it is for our own pages.
    back = local_path(form.get("next", ""))
    response = HTMLResponse(await asyncio.to_thread(render, "welcome.html", {"back": back}))
    origins = server.options.origins
    host, origin = request.headers["host"].lower(), request.headers.get("origin", "").lower()
    secure = origins.is_encrypted and origins.is_public(host, origin)
    response.set_cookie(
        server.secure_cookie if secure else server.cookie,
        secret,
        max_age=COOKIE_S,
        path="/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )
    return response


async def _log_in(server: Server, request: Request, code: str, password: str) -> str:
    access, name = server.access, request.headers.get("user-agent", "")
    shown = visible_line(name)[:MAX_NAME].strip() or "browser"
    try:
        if not access.is_open(code):  # looked at here, so that guesses occupy no thread
            raise LoginFailed
        if server.needs_password and not password:
            raise PasswordNeeded
        given = password if server.needs_password else None
        return await server.run(lambda: access.log_in(code, shown, server.host.user, given))
    except LoginFailed:
        wait = server.logins.failed()
        if not wait:
            raise
        with server.logins.holding(wait) as held:
            await asyncio.sleep(held)
        raise LoginSlowed(wait) from None


async def _logout(server: Server, request: Request) -> Response:
    """Ends the caller's own login, wherever its cookie is; the form has the page's token."""
    try:
        form = await _fields(request)
        access = find_access(server, request, form.get("csrf", ""))
        if access.kind != "cookie":
            raise Forbidden("A token does not log out.", "assent serve token --revoke NAME")
        await server.run(lambda: server.access.end(access, server.host.user))
    except AssentError as error:
        return await _login_page(server, error)
    response = HTMLResponse(await asyncio.to_thread(render, "goodbye.html", {}))
    for name, secure in ((server.cookie, False), (server.secure_cookie, True)):
        response.delete_cookie(name, path="/", secure=secure, httponly=True, samesite="strict")
    return response


async def _fields(request: Request) -> dict[str, str]:
    """Returns the fields of a form, each once."""
    sent = await read_form(request, MAX_FORM, MAX_FIELDS)
    return {name: values[-1] for name, values in sent.items()}
