"""What every request must pass before it reaches anything: host, origin, size, and safe headers."""

import asyncio
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Final

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assent.core.errors import AssentError, UsageError
from assent.web.errors import Forbidden, TooLarge
from assent.web.origins import Origins
from assent.web.responses import error_response

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})  # any other may change something
# The page in the user's state directory that opens the browser: it has a one-time code.
FROM_FILE: Final = ("POST", "/login", "null")
SAFE_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with none at all, forms would come from the origin "null"
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class BodyLimits(msgspec.Struct, frozen=True):
    """How large a request's body may be, and how slowly it may come."""

    size: int = 16 << 20  # what is staged over HTTP is files of a person's size
    patience_s: float = 30.0  # for the first bytes, and for all of a small body
    bytes_per_s: int = 32 << 10  # of a large one, at least


def is_changing(method: str) -> bool:
    """Tells whether a request with this method may change something."""
    return method not in SAFE_METHODS


def report_failure(method: str, error: BaseException) -> None:
    """Says on stderr where the server failed: without values, which may be secrets."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename}:{frame.lineno}" for frame in frames if "assent" in frame.filename]
    told = f"assent serve: internal error: {type(error).__name__} in a {method} request"
    with suppress(OSError, ValueError):  # stderr may be closed
        print(told, *places[-5:], sep="\n  ", file=sys.stderr, flush=True)


class Guard:
    """Wraps the whole application.

    A host that is not ours is refused, so that a foreign name which resolves to this machine gets
    nothing (DNS rebinding). A change from another origin is refused whatever it carries.
    """

    def __init__(
        self,
        app: ASGIApp,
        origins: Origins,
        limits: BodyLimits | None = None,
        report: Callable[[str, BaseException], None] = report_failure,
    ) -> None:
        self._app = app
        self._origins = origins
        self._limits = limits or BodyLimits()
        self._report = report

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # nothing else is served
        started = False

        async def send_safely(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self._refusal(scope)
        if refused is not None:
            response = error_response(refused)
            response.headers["connection"] = "close"  # what follows may not be what it seems
            await response(scope, receive, send_safely)
            return
        try:
            await self._app(scope, _BoundedBody(receive, self._limits), send_safely)
        except ClientDisconnect:
            return
        except Exception as error:  # a fault of ours; the answer and the log name no values
            self._report(scope["method"], error)
            if not started:
                failed = AssentError("Internal error. The server's stderr says where.")
                await error_response(failed)(scope, receive, send_safely)

    def _refusal(self, scope: Scope) -> AssentError | None:
        headers = Headers(scope=scope)
        if "transfer-encoding" in headers and (
            "content-length" in headers or scope["http_version"] == "1.0"
        ):
            return UsageError("The length of the body is ambiguous. Nothing was done.")
        host = headers.get("host", "").lower()
        address = (scope.get("server") or ("",))[0]
        if len(headers.getlist("host")) != 1 or not self._origins.knows(host, address):
            return Forbidden(
                "This server does not answer under that host name. Nothing was done.",
                "use the address that `assent serve` printed",
            )
        if is_changing(scope["method"]) and not self._may_change(scope, headers, host):
            return Forbidden(
                "Another site sent this request. Nothing was done.",
                "use the address that `assent serve` printed",
            )
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()) or int(length) > self._limits.size:
            return _too_large(self._limits.size)
        return None

    def _may_change(self, scope: Scope, headers: Headers, host: str) -> bool:
        """Tells whether a request that may change something comes from a page of ours.

        Programs send no origin. Browsers do, with every request that may change something.
        """
        origins = [origin.lower() for origin in headers.getlist("origin")]
        if not origins:
            return headers.get("sec-fetch-site", "none") in ("none", "same-origin")
        if len(origins) > 1:
            return False
        if (scope["method"], scope["path"], origins[0]) == FROM_FILE:
            return headers.get("sec-fetch-dest", "document") == "document"  # no frame, no script
        return self._origins.accepts(origins[0], host)


class _BoundedBody:
    """Receives a body that is neither too long nor too slow."""

    def __init__(self, receive: Receive, limits: BodyLimits) -> None:
        self._receive = receive
        self._limits = limits
        self._size = 0
        self._begun = 0.0
        self._over = False

    async def __call__(self) -> Message:
        if self._over:
            return await self._receive()  # until the client is gone
        self._begun = self._begun or monotonic()
        limits = self._limits
        allowed = limits.patience_s + self._size / limits.bytes_per_s
        try:
            waiting = max(0.0, self._begun + allowed - monotonic())
            message = await asyncio.wait_for(self._receive(), waiting)
        except TimeoutError as error:
            raise TooLarge("The body came too slowly. Nothing was done.", "try again") from error
        self._size += len(message.get("body", b""))
        if self._size > limits.size:
            raise _too_large(limits.size)
        self._over = not message.get("more_body", False)
        return message


def _too_large(size: int) -> TooLarge:
    return TooLarge(f"The body is larger than {size:,} bytes. Nothing was done.", "send less")
