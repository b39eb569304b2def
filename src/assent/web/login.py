"""The login: a one-time code becomes a cookie, and the way out again."""

import hashlib
import hmac
from functools import partial
from html import escape
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from assent.core.access import COOKIE_S
from assent.core.errors import AssentError
from assent.core.text.hidden_chars import visible_line
from assent.web.errors import LoginFailed, status_of
from assent.web.server import Server

MAX_FORM: Final = 4096
LOGIN: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Assent: log in</title>
<meta name="viewport" content="width=device-width"></head>
<body><main><h1>Log in to Assent</h1>
{told}<form method="post" action="/login">
<p><label>One-time code <input name="code" autocomplete="one-time-code" autofocus required
 value="{code}"></label></p>
{password}<p><button>Log in</button></p></form>
<p>A code comes from <code>assent serve code</code>, on the machine that runs the server.</p>
</main></body></html>
"""
# A redirect would not carry the cookie if the form came from a file: it is for our own pages alone.
WELCOME: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Assent</title>
<meta http-equiv="refresh" content="0; url=/"></head>
<body><p>You are logged in. <a href="/">Continue</a></p></body></html>
"""
PASSWORD: Final = (
    '<p><label>Password <input name="password" type="password" required></label></p>\n'
)


def csrf_token(secret: str) -> str:
    """Returns the token that changes by a cookie carry: known to pages that the cookie opened."""
    return hmac.new(secret.encode(), b"assent csrf", hashlib.sha256).hexdigest()


def login_routes(server: Server) -> list[Route]:
    """Returns the routes of login and logout."""
    return [
        Route("/login", partial(_form, server), methods=["GET"]),
        Route("/login", partial(_login, server), methods=["POST"]),
    ]


async def _form(server: Server, request: Request) -> Response:
    return _page(server)


def _page(server: Server, told: str = "", status: int = 200) -> Response:
    words = f'<p role="alert">{escape(told)}</p>\n' if told else ""
    password = PASSWORD if server.options.remote else ""
    return HTMLResponse(LOGIN.format(told=words, code="", password=password), status)


async def _login(server: Server, request: Request) -> Response:
    """Exchanges a code; a wrong one makes the next attempts slower."""
    try:
        server.logins.check()
        form = dict(parse_qsl((await request.body())[:MAX_FORM].decode("utf-8", "replace")))
        code, password = form.get("code", ""), form.get("password", "")
        name = visible_line(request.headers.get("user-agent", "browser"))[:60] or "browser"
        given = password if server.options.remote else None
        try:
            exchange = server.access.exchange
            user = server.host.user
            secret = await server.run(lambda: exchange(code, name, user, given))
        except LoginFailed:
            server.logins.failed()
            raise
        server.logins.succeeded()
    except AssentError as error:
        return _page(server, f"{error.message} Next: {error.next}", status_of(error))
    response = HTMLResponse(WELCOME)
    response.set_cookie(
        server.cookie, secret, max_age=COOKIE_S, httponly=True, samesite="strict", path="/"
    )
    return response
