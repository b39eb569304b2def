"""The file that logs the user's own browser in: neither a URL nor an argument has its code."""

import asyncio
from html import escape
from typing import Final

from assent.web.server import Server

# A page of the user's own state directory, not of the server: no policy keeps its script back.
PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Assent: log in</title>
<meta name="viewport" content="width=device-width">
</head><body><main>
<h1>Log in to Assent</h1>
<form method="post" action="{url}/login"><input type="hidden" name="code" value="{code}">
<p><button>Log in</button></p></form><script>document.forms[0].submit()</script>
</main></body></html>
"""


def login_file(url: str, code: str) -> bytes:
    """Returns a page that sends a one-time code."""
    return PAGE.format(url=escape(url), code=escape(code)).encode()


async def when_used(server: Server, code: str) -> None:
    """Returns once a one-time code was used or is too old."""
    while server.access.is_open(code):
        await asyncio.sleep(0.5)
