"""The layout of pages in a real browser: zoomed, on paper, and with text from right to left."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.cli.harness import World
from tests.cli.scripts import turn
from tests.web.browser import visiting
from tests.web.harness import Served, served
from tests.web.plan_calls import wait_until
from tests.web.test_plan_browser import check_width, reviewed
from tests.web.test_questions import ASK, the_question
from tests.web.test_sessions import script, start

HEBREW = "שלום (עולם)"
LONG = "a_name_without_any_place_to_break_it_" * 4


@pytest.fixture
def shown(world: World) -> Iterator[tuple[Served, list[str]]]:
    """A server with something on each of its pages, and their paths."""
    long = f"# {LONG}\n\n{'word ' * 80}\n\n{HEBREW}\n".encode()
    script(world, turn(f"Let me ask about {LONG}.", ASK))
    with served(world) as server:
        api = server.browser()
        session = start(api, goal=f"{HEBREW} {LONG}")["session"]
        asked = the_question(api)["id"]
        plan, _ = reviewed(world)
        world.write(f"{LONG}/{HEBREW}.py", long)
        digest = world.propose()
        api.get(f"{plan}/review")
        api.post(f"{plan}/comments", {"where": "plan:1", "text": f"{HEBREW} {LONG}"})
        api.post(f"{plan}/approve", {"digest": digest})
        api.post(f"{plan}/build", {"digest": digest}, 202)
        wait_until(api, plan, "state", "HALTED")
        (run,) = api.get("/runs")["runs"]
        other = world.plan("other")["plan_id"]
        world.write("a.txt", f"{HEBREW}\n".encode())
        world.propose()
        yield server, [
            "/", "/sessions", f"/sessions/{session}", f"/questions/{asked}", "/plans", plan,
            f"{plan}/review", f"{plan}/history", f"/plans/{other}/review?view=split&on=plan:1",
            "/runs", f"/runs/{run['run']}",
        ]  # fmt: skip


@pytest.mark.parametrize("width", [640, 320], ids=["twice the size", "four times the size"])
def test_a_zoomed_page_needs_no_scrolling_sideways(
    shown: tuple[Served, list[str]], browser: Browser, width: int
) -> None:
    """A window of 1280 pixels shows at 200 % what one of 640 does, and at 400 % one of 320."""
    server, paths = shown
    wanted: dict[str, Any] = {"viewport": {"width": width, "height": 512}}
    with visiting(browser, server, **wanted) as visitor:
        for path in paths:
            visitor.page.goto(f"{server.url}{path}")
            check_width(visitor.page)
            clipped = visitor.page.evaluate(CLIPPED)
            assert clipped == [], path


# Buttons and links that are partly outside of the window, where nothing scrolls to them.
CLIPPED = """() => [...document.querySelectorAll("main button, main a, main input, main textarea")]
    .filter((each) => each.checkVisibility())
    .filter((each) => !each.closest(".scroll, pre, .tabs, .hidden, .side"))
    .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
    .map((each) => each.outerHTML.slice(0, 120))"""


def test_on_paper_all_is_light_unfolded_and_nothing_to_click(
    shown: tuple[Served, list[str]], browser: Browser
) -> None:
    server, paths = shown
    with visiting(browser, server, color_scheme="dark") as visitor:
        page = visitor.page
        for path in paths:
            page.goto(f"{server.url}{path}")
            page.emulate_media(media="print")
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert ground == "rgb(255, 255, 255)", path
            assert _seen(page, ".bar, main button, main textarea, main .tabs") == [], path
            page.emulate_media(media="screen")
        page.goto(f"{server.url}{paths[-3]}".partition("?")[0])
        page.locator("#o1").get_by_role("button", name="Viewed").click()
        expect(page.locator("#o1 table")).to_be_hidden()
        page.emulate_media(media="print")
        expect(page.locator("#o1 table")).to_be_visible()
        expect(page.locator("#preview .prose")).to_be_visible()
        expect(page.locator(".aside")).to_be_hidden()
        assert page.pdf()[:5] == b"%PDF-"


def _seen(page: Page, selector: str) -> list[str]:
    script = "all => all.filter((each) => each.checkVisibility()).map((each) => each.outerHTML)"
    found: list[str] = page.locator(selector).evaluate_all(script)
    return [each[:120] for each in found]


def test_text_from_right_to_left_stays_in_its_place(
    shown: tuple[Served, list[str]], browser: Browser
) -> None:
    """It reads from the right within its own lines, and moves nothing around it."""
    server, paths = shown
    direction = "each => getComputedStyle(each).direction"
    with visiting(browser, server) as visitor:
        page = visitor.page
        for path in paths:
            page.goto(f"{server.url}{path}")
            assert page.locator("main").evaluate(direction) == "ltr"
        page.goto(f"{server.url}{paths[6]}")
        assert page.locator(".comment .words").first.evaluate(direction) == "rtl"
        page.goto(f"{server.url}{paths[2]}")
        assert page.locator("h1").evaluate(direction) == "ltr", "the state stands after the title"
        assert HEBREW in page.locator("h1 bdi").inner_text(), "which is isolated"
        page.goto(f"{server.url}{paths[8]}")
        row = page.locator("#o1 tr", has_text=HEBREW)
        number, code = row.locator("td.n").last.bounding_box(), row.locator("td.c").last
        assert code.evaluate(direction) == "ltr"
        box = code.bounding_box()
        assert number is not None
        assert box is not None
        assert number["x"] < box["x"], "numbers stand before code"
