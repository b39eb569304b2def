"""A real browser for tests of pages: Chromium by Playwright, logged in with the login form."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from tests.web.harness import Served

CHROMIUM = "/usr/bin/chromium"
OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
WAIT_MS = 15_000


@contextmanager
def chromium() -> Iterator[Browser]:
    """Starts a browser; tests take contexts of it, which share nothing."""
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=[*OPTIONS])
        try:
            yield found
        finally:
            found.close()


class Visitor:
    """Somebody at a browser: what went wrong in it, and where it went."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.requests: list[str] = []
        self.faults: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", self._said)

    def _said(self, message: Any) -> None:
        # Chromium says of every answer that is an error that it could not load it.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.faults.append(message.text)

    def check(self) -> None:
        """Holds every page to what none may do: fail in the browser, or ask another server."""
        assert self.faults == []
        foreign = [each for each in self.requests if not each.startswith((self.url, "data:"))]
        assert foreign == []


@contextmanager
def visiting(
    browser: Browser, server: Served, role: str = "approver", path: str = "/", **options: Any
) -> Iterator[Visitor]:
    """Logs somebody in with the login form, and opens a page; `options` are of the context."""
    context: BrowserContext = browser.new_context(**{"viewport": DESKTOP, **options})
    context.set_default_timeout(WAIT_MS)
    try:
        visitor = Visitor(context.new_page(), server.url)
        visitor.page.goto(f"{server.url}{path}")
        if "/login" in visitor.page.url:
            visitor.page.get_by_label("One-time code").fill(server.code(role))
            visitor.page.get_by_role("button", name="Log in").click()
            visitor.page.wait_for_url(lambda url: "/login" not in url)
        yield visitor
        visitor.check()
    finally:
        context.close()
