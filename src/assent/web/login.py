"""The login: a one-time code becomes a cookie, and the way out again."""

import asyncio
from functools import partial
from html import escape
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from assent.core.access import COOKIE_S
from assent.core.errors import AssentError, UsageError
from assent.core.text.hidden_chars import visible_line
from assent.web.caller import cookie_secret, csrf_token, find_access
from assent.web.errors import (
    Forbidden,
    LoginFailed,
    LoginSlowed,
    NotLoggedIn,
    PasswordNeeded,
    TooLarge,
    status_of,
)
from assent.web.server import Server

MAX_FORM: Final = 4096
MAX_FIELDS: Final = 20
MAX_NAME: Final = 60
PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Assent{title}</title>
<meta name="viewport" content="width=device-width">{head}
</head><body><main>
{body}
</main></body></html>
"""
LOGIN: Final = """<h1>Log in to Assent</h1>
{told}<form method="post" action="/login">
<p><label>One-time code <input name="code" autocomplete="one-time-code" autofocus required
 value="{code}"></label></p>
{password}<p><button>Log in</button></p></form>
<p>A code comes from <code>assent serve code</code>, on the machine that runs the server.</p>"""
PASSWORD: Final = (
    '<p><label>Password <input name="password" type="password" required></label></p>\n'
)
# A redirect would not carry the cookie if the form came from a file: it is for our own pages alone.
REFRESH: Final = '\n<meta http-equiv="refresh" content="0; url=/">'
WELCOME: Final = '<p>You are logged in. <a href="/">Continue</a></p>'
HOME: Final = """<h1>Assent</h1>
<p>You are logged in as {name} with the role {role}. The API is at <a href="/api/v1/openapi.json"
>/api/v1</a>.</p>
<form method="post" action="/logout"><input type="hidden" name="csrf" value="{csrf}">
<p><button>Log out</button></p></form>"""
GOODBYE: Final = '<p>You are logged out. <a href="/login">Log in</a></p>'
# A page of the user's own state directory, not of the server: no policy keeps its script back.
FROM_FILE: Final = """<h1>Log in to Assent</h1>
<form method="post" action="{url}/login"><input type="hidden" name="code" value="{code}">
<p><button>Log in</button></p></form><script>document.forms[0].submit()</script>"""


def login_file(url: str, code: str) -> bytes:
    """Returns a page that sends a one-time code: neither a URL nor an argument has it then."""
    body = FROM_FILE.format(url=escape(url), code=escape(code))
    return PAGE.format(title=": log in", head="", body=body).encode()


async def when_used(server: Server, code: str) -> None:
    """Returns once a one-time code was used or is too old."""
    while server.access.is_open(code):
        await asyncio.sleep(0.5)


def login_routes(server: Server) -> list[Route]:
    """Returns the routes of login and logout."""
    return [
        Route("/", partial(_home, server), methods=["GET"]),
        Route("/login", partial(_form, server), methods=["GET"]),
        Route("/login", partial(_login, server), methods=["POST"]),
        Route("/logout", partial(_logout, server), methods=["POST"]),
    ]


async def _home(server: Server, request: Request) -> Response:
    """Says who is logged in; others are sent to the login."""
    try:
        access = find_access(server, request)
    except NotLoggedIn:
        return RedirectResponse("/login", 303)
    csrf = csrf_token(cookie_secret(server, request))
    return _page("", HOME.format(name=escape(access.name), role=access.role, csrf=csrf))


async def _form(server: Server, request: Request) -> Response:
    return _login_page(server)


def _page(title: str, body: str, status: int = 200, head: str = "") -> Response:
    return HTMLResponse(PAGE.format(title=title, head=head, body=body), status)


def _login_page(server: Server, told: str = "", status: int = 200, code: str = "") -> Response:
    words = f'<p role="alert">{escape(told)}</p>\n' if told else ""
    password = PASSWORD if server.needs_password else ""
    body = LOGIN.format(told=words, code=escape(code), password=password)
    return _page(": log in", body, status)


async def _login(server: Server, request: Request) -> Response:
    """Uses a code up; a wrong one makes the answers to further wrong ones slower."""
    code = ""
    try:
        form = await _read_form(request)
        code = form.get("code", "")
        secret = await _log_in(server, request, code, form.get("password", ""))
    except AssentError as error:
        kept = code if isinstance(error, PasswordNeeded) else ""
        told = f"{error.message} Next: {error.next}"
        response = _login_page(server, told, status_of(error), kept)
        if isinstance(error, LoginSlowed):
            response.headers["retry-after"] = str(error.wait)
        return response
    response = _page("", WELCOME, head=REFRESH)
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
        form = await _read_form(request)
        access = find_access(server, request, form.get("csrf", ""))
        if access.kind != "cookie":
            raise Forbidden("A token does not log out.", "assent serve token --revoke NAME")
        await server.run(lambda: server.access.end(access, server.host.user))
    except AssentError as error:
        return _login_page(server, f"{error.message} Next: {error.next}", status_of(error))
    response = _page("", GOODBYE)
    for name, secure in ((server.cookie, False), (server.secure_cookie, True)):
        response.delete_cookie(name, path="/", secure=secure, httponly=True, samesite="strict")
    return response


async def _read_form(request: Request) -> dict[str, str]:
    """Returns the fields of a form; it is short, and read no further than that."""
    sent = b""
    async for part in request.stream():
        sent += part
        if len(sent) > MAX_FORM:
            raise TooLarge("This form is larger than it can be. Nothing was done.", "log in again")
    try:
        fields = parse_qs(sent.decode("utf-8", "replace"), max_num_fields=MAX_FIELDS)
    except ValueError as error:
        raise UsageError("This form has more fields than it can have.", "log in again") from error
    return {name: values[-1] for name, values in fields.items()}
