"""What every request must pass before it reaches anything: host, origin, size, and safe headers."""

import asyncio
from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assent.web.errors import Forbidden, TooLarge
from assent.web.responses import error_response

MAX_BODY: Final = 16 << 20  # bytes; what is staged over HTTP is files of a person's size
BODY_S: Final = 30.0  # for a whole body to arrive
CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
FROM_FILE: Final = ("/login", "null")  # the file that opens the browser; it has a one-time code
SAFE_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """Wraps the whole application.

    A host that is not ours is refused, so that a foreign name which resolves to this machine gets
    nothing (DNS rebinding). A change from another origin is refused whatever it carries.
    """

    def __init__(self, app: ASGIApp, origins: Collection[str]) -> None:
        self._app = app
        self._origins = frozenset(origins)
        self._hosts = frozenset(origin.partition("://")[2] for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self._refusal(scope["method"], scope["path"], Headers(scope=scope))
        if refused is not None:
            await error_response(refused)(scope, receive, send_safely)
            return
        await self._app(scope, _Bounded(receive), send_safely)

    def _refusal(self, method: str, path: str, headers: Headers) -> Forbidden | TooLarge | None:
        if len(headers.getlist("host")) != 1 or headers["host"].lower() not in self._hosts:
            return Forbidden("This server does not answer under that host name.")
        origin = headers.get("origin")
        ours = origin is None or origin.lower() in self._origins
        if method in CHANGING and not ours and (path, origin) != FROM_FILE:
            return Forbidden("Another site sent this request. Nothing was done.")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY:
            return TooLarge(f"The body is larger than {MAX_BODY:,} bytes. Nothing was done.")
        return None


class _Bounded:
    """Receives a body that is neither too long nor too slow."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._size = 0
        self._over = False

    async def __call__(self) -> Message:
        if self._over:
            return await self._receive()  # until the client is gone
        try:
            message = await asyncio.wait_for(self._receive(), BODY_S)
        except TimeoutError as error:
            raise TooLarge("The body came too slowly. Nothing was done.") from error
        self._size += len(message.get("body", b""))
        if self._size > MAX_BODY:
            raise TooLarge(f"The body is larger than {MAX_BODY:,} bytes. Nothing was done.")
        self._over = not message.get("more_body", False)
        return message
