"""How soon pages show what they are asked for, in a real browser: an edit, and large reviews."""

import http.client
import json
import os
import statistics
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from bench.figure import Figure, within
from bench.pace import Scale
from bench.server import started
from bench.startup import ASSENT
from bench.subscribers import subscribers
from playwright.sync_api import Page, sync_playwright

from assent.web.pages.static_files import static_files

CHROMIUM = "/usr/bin/chromium"
OPTIONS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
# No person is at a terminal here, and the whole folder is thrown away.
CONFIG = "[approve]\nwithout_terminal = true\n"
CLIENTS = 49  # that follow events, too
EDITS = 20
EDIT_S, FIRST_S, PAGE_S = 0.2, 1.0, 1.0
OWN_BYTES = 60 * 1024
LINES = 8  # of each file of a large plan
FORM = {"content-type": "application/x-www-form-urlencoded"}


def page_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures edits until they are seen, reviews until they can be read, and what pages load."""
    own = sum(map(len, static_files().values()))
    size = within(OWN_BYTES / 1024)
    yield Figure("script and style of all pages", own / 1024, None, size, "size")
    if not os.path.exists(CHROMIUM):
        return
    work.mkdir(exist_ok=True)
    env = _environment(work)
    with _browsing(work / "edits", env) as (page, host, plan):
        token = _answer(env, work / "edits", "serve", "token", "--name", "events")["token"]
        with subscribers(host, str(token), CLIENTS):
            times = [*_edits(page, work / "edits", host, plan)]
        name = f"an edit until the page shows it, {CLIENTS} event clients, p95"
        slow = statistics.quantiles(times, n=20)[-1]
        yield Figure(name, slow, None, within(EDIT_S))
    for count in (scale.few, scale.many):
        folder = work / f"review-{count}"
        with _browsing(folder, env, count) as (page, host, plan):
            first, whole, further = _review(page, host, plan)
            bar = within(FIRST_S) if count == scale.few else None
            yield Figure(f"review of {count:,} operations: first content", first, None, bar)
            yield Figure("the same: all of its first page", whole)
            if further:
                yield Figure("the same: its next page", further, None, within(PAGE_S))


def _environment(work: Path) -> Mapping[str, str]:
    config = work / "pages-config" / "assent" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(CONFIG, encoding="utf-8")
    return {**os.environ, "XDG_CONFIG_HOME": str(work / "pages-config"),
            "XDG_STATE_HOME": str(work / "pages-state")}  # fmt: skip


@contextmanager
def _browsing(
    work: Path, env: Mapping[str, str], count: int = 0
) -> Iterator[tuple[Page, str, str]]:
    """Opens a browser that is logged in, at a server with one plan."""
    work.mkdir(parents=True)
    plan = str(_answer(env, work, "plan", "new", "bench", "--goal", "Measure")["plan_id"])
    if count:
        _answer(env, work, "stage", "patch", "-", stdin=_patch(count))
        _answer(env, work, "propose")
    with started(work, 9, env) as (_, url), sync_playwright() as playwright:
        host = url.removeprefix("http://")
        code = str(_answer(env, work, "serve", "code")["code"])
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*OPTIONS])
        try:
            context = browser.new_context()
            name, _, value = _cookie(host, code).partition("=")
            context.add_cookies([{"name": name, "value": value, "url": url}])
            yield context.new_page(), host, plan
        finally:
            browser.close()


def _cookie(host: str, code: str) -> str:
    connection = http.client.HTTPConnection(host)
    try:
        connection.request("POST", "/login", urlencode({"code": code}), FORM)
        return str(connection.getresponse().headers["set-cookie"]).partition(";")[0]
    finally:
        connection.close()


def _edits(page: Page, work: Path, host: str, plan: str) -> Iterator[float]:
    page.goto(f"http://{host}/plans/{plan}")
    page.wait_for_timeout(1_000)  # until the page follows
    (file,) = (work / ".opencode").rglob("*bench*.md")
    for number in range(EDITS):
        wanted = f"Edit {number}"
        file.write_text(f"# {wanted}\n", encoding="utf-8")
        began = time.monotonic()
        page.wait_for_function(
            "words => document.querySelector('#preview h2')?.textContent === words", arg=wanted
        )
        yield time.monotonic() - began
        page.wait_for_timeout(300)


def _review(page: Page, host: str, plan: str) -> tuple[float, float, float]:
    address = f"http://{host}/plans/{plan}/review"
    page.goto(address)  # so that nothing is loaded for the first time
    began = time.monotonic()
    page.goto(address, wait_until="commit")
    page.locator("#risks").wait_for()
    first = time.monotonic() - began
    page.wait_for_load_state()
    whole = time.monotonic() - began
    if not page.locator(".pager").count():
        return first, whole, 0.0
    began = time.monotonic()
    page.goto(f"{address}?page=2", wait_until="commit")
    page.locator("article").first.wait_for()
    return first, whole, time.monotonic() - began


def _patch(count: int) -> bytes:
    files = (
        f"--- /dev/null\n+++ b/src/m{n % 50}/f{n}.py\n@@ -0,0 +1,{LINES} @@\n"
        + "".join(f"+def f{n}_{line}(value): return value + {line}\n" for line in range(LINES))
        for n in range(count)
    )
    return "".join(files).encode()


def _answer(
    env: Mapping[str, str], work: Path, *line: str, stdin: bytes = b""
) -> dict[str, object]:
    done = subprocess.run(
        [ASSENT, *line, "--json"], cwd=work, env=env, input=stdin, capture_output=True, check=True
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found
