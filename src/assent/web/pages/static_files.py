"""Static files of pages: own style and modules under a URL that changes with their contents."""

import os
from functools import cache
from hashlib import sha256
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from assent.core.errors import NotFound
from assent.web.responses import error_response

FOLDER: Final = os.path.join(os.path.dirname(__file__), "static")
TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
FOREVER: Final = "public, max-age=31536000, immutable"
DIGEST_CHARS: Final = 16


def static_url(name: str) -> str:
    """Returns the address of a static file; one digest for all, as modules name each other."""
    if name not in static_files():
        raise NotFound(f"There is no static file {name!a}.")
    return f"/static/{static_digest()}/{name}"


@cache
def static_files() -> dict[str, bytes]:
    """Returns all static files by their names."""
    found = {}
    for name in sorted(os.listdir(FOLDER)):
        if os.path.splitext(name)[1] in TYPES:
            with open(os.path.join(FOLDER, name), "rb") as file:
                found[name] = file.read()
    return found


@cache
def static_digest() -> str:
    """Returns the digest of all static files together."""
    digest = sha256()
    for name, content in static_files().items():
        digest.update(b"%s\0%d\0%s" % (name.encode(), len(content), content))
    return digest.hexdigest()[:DIGEST_CHARS]


async def send_static(request: Request) -> Response:
    """Sends a static file; under the digest of another version there is none."""
    name = request.path_params["name"]
    content = static_files().get(name)
    if content is None or request.path_params["digest"] != static_digest():
        return error_response(NotFound("There is nothing at this address."))
    headers = {"cache-control": FOREVER}
    return Response(content, media_type=TYPES[os.path.splitext(name)[1]], headers=headers)
