"""Pages in general: login, inbox, what they are made of, and what they load."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect
from tests.cli.harness import World
from tests.web.browser import PHONE, visiting
from tests.web.harness import Served, served

from assent.web.pages.page import local_path
from assent.web.pages.static_files import static_files, static_url
from assent.web.pages.templates import environment, render


def test_a_person_logs_in_sees_the_inbox_and_logs_out(server: Served, browser: Browser) -> None:
    with visiting(browser, server) as visitor:
        page = visitor.page
        assert page.get_by_role("heading", level=1).inner_text() == "Inbox"
        assert Axe().run(page).response["violations"] == []
        page.keyboard.press("?")
        assert page.locator("#keys").is_visible()
        page.keyboard.press("Escape")
        page.locator("summary", has_text="approver").click()
        page.get_by_role("button", name="Log out").click()
        page.goto(server.url)
        assert page.url == f"{server.url}/login"
        assert Axe().run(page).response["violations"] == []


def test_pages_work_on_a_phone_without_javascript(server: Served, browser: Browser) -> None:
    with visiting(browser, server, viewport=PHONE, java_script_enabled=False) as visitor:
        assert visitor.page.get_by_role("heading", level=1).inner_text() == "Inbox"


def test_a_login_leads_to_the_page_that_was_asked_for(server: Served, browser: Browser) -> None:
    with visiting(browser, server, path="/plans/none") as visitor:
        assert visitor.page.url == f"{server.url}/plans/none"


@pytest.mark.parametrize(
    "path",
    ["//evil.example", "https://evil.example", "/\\evil.example", "", "javascript:0", "/\n/"],
)
def test_a_login_leads_nowhere_else(path: str) -> None:
    assert local_path(path) == "/"


def test_static_files_are_kept_for_good(server: Served) -> None:
    reply = server.nobody.request("GET", static_url("page.css"))
    assert (reply.status, reply.body) == (200, static_files()["page.css"])
    assert "immutable" in reply.headers["cache-control"]
    for path in ("/static/0/page.css", static_url("page.css").replace("page.css", "x.css")):
        assert server.nobody.request("GET", path).status == 404


def test_modules_load_each_other_from_their_folder() -> None:
    for name, content in static_files().items():
        for found in re.findall(r'from "([^"]+)"', content.decode()):
            assert found.startswith("./"), name
            assert found[2:] in static_files(), name


def test_templates_escape_and_show_what_hides() -> None:
    template = environment().from_string("<p title='{{ it }}'>{{ it }} {{ it|line }}</p>")
    shown = template.render(it="<b>'\u202e\n")
    assert "<b>" not in shown
    assert shown.count("&lt;U+202E&gt;") == 3
    assert "'\u202e" not in shown


def test_every_template_can_be_read() -> None:
    for name in environment().list_templates():
        environment().get_template(name)
    assert "Log in" in render(
        "login.html", {"error": None, "code": "", "needs_password": True, "back": "/"}
    )


def test_the_workspaces_are_chosen_on_lists(world: World, browser: Browser) -> None:
    other = World(world.base / "other")
    with (
        served(world, "--workspace", str(world.root), "--workspace", str(other.root)) as server,
        visiting(browser, server, path="/plans") as visitor,
    ):
        page = visitor.page
        page.locator("summary", has_text="All workspaces").click()
        page.locator(".menu a[href*=workspace]").first.click()
        page.wait_for_url(f"**/plans?workspace={world.root}")  # it has no id yet
        expect(page.locator(".menu summary").first).to_have_text("project")
        expect(page.locator("main h1")).to_have_text("Plans")
        page.goto(f"{server.url}/sessions")
        assert page.locator("select[name=workspace] option").count() == 2
        page.locator("summary", has_text="All workspaces").click()
        assert "/sessions?workspace=" in page.locator(".menu").first.inner_html()
