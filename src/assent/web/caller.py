"""The caller of a request: who they are by their cookie or token, and what they may do."""

import hashlib
import hmac
from typing import Final

from starlette.requests import HTTPConnection

from assent.core.access import Access
from assent.web.errors import Forbidden, NotLoggedIn
from assent.web.guard import is_changing
from assent.web.server import Server

CSRF_HEADER: Final = "x-assent-csrf"
BEARER: Final = "bearer "


def csrf_token(secret: str) -> str:
    """Returns the token that changes by a cookie carry: known to pages that the cookie opened."""
    return hmac.new(secret.encode(), b"assent csrf", hashlib.sha256).hexdigest()


def cookie_secret(server: Server, request: HTTPConnection) -> str:
    """Returns the secret in the caller's cookie; empty if there is none.

    The one that is only sent encrypted counts first: no other site can set it.
    """
    cookies = request.cookies
    return cookies.get(server.secure_cookie, "") or cookies.get(server.cookie, "")


def caller_secret(server: Server, request: HTTPConnection) -> str:
    """Returns the secret by which the caller is known: a token's, else a cookie's."""
    given = request.headers.get("authorization", "")
    if not given:
        return cookie_secret(server, request)
    return given[len(BEARER) :].strip() if given[: len(BEARER)].lower() == BEARER else ""


def find_access(server: Server, request: HTTPConnection, csrf: str = "") -> Access:
    """Returns what the caller may do; raises NotLoggedIn if nothing.

    A change by cookie needs the page's own token, which no other site can read: in a header, or
    given as `csrf`.
    """
    found = known_access(server, request)
    if found.kind == "cookie" and is_changing(request.scope["method"]):
        given = csrf or request.headers.get(CSRF_HEADER, "")
        check_csrf(caller_secret(server, request), given)
    return found


def known_access(server: Server, request: HTTPConnection) -> Access:
    """Returns who calls, without looking whether a change carries the page's token."""
    found = server.access.find(caller_secret(server, request))
    expected = "token" if request.headers.get("authorization") else "cookie"
    if found is None or found.kind != expected:
        raise NotLoggedIn
    return found


def check_csrf(secret: str, given: str) -> None:
    """Raises Forbidden unless the token of the page came with a change."""
    if not hmac.compare_digest(given.encode(), csrf_token(secret).encode()):
        raise Forbidden(
            f"The header {CSRF_HEADER} is missing or wrong. Nothing was done.",
            "GET /api/v1/access has its value",
        )
