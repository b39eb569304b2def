"""A review of many operations: files are found, and lines, pages and comments reached by keys."""

from playwright.sync_api import Browser, Page, Route, expect
from tests.cli.harness import World
from tests.web.browser import PHONE, visiting
from tests.web.harness import Served
from tests.web.plan_calls import proposed
from tests.web.test_approvals import approvals
from tests.web.test_plan_browser import check_accessible, check_width, follow, reviewed
from tests.web.test_plan_pages import reader
from tests.web.test_session_page import LOOK_MS

MANY = 60  # more than a page has


def many(world: World) -> str:
    """Proposes more operations than a page has, and returns the path of the plan's page."""
    files = {f"part{n % 3}/file-{n:02}": f"{n}\n".encode() for n in range(MANY)}
    return proposed(world, **files)[0]


def active(page: Page) -> str:
    """Returns what the element with the focus is: its id, or the place that its link names."""
    found: str = page.evaluate(
        "document.activeElement.id || document.activeElement.getAttribute('href') || ''"
    )
    return found


def turn(page: Page, key: str) -> None:
    """Presses a key that leads to another page, and waits until that can be used."""
    with page.expect_navigation():
        page.keyboard.press(key)


def test_f37_a_file_is_found_among_the_pages_of_a_review(server: Served, browser: Browser) -> None:
    path = many(server.world)
    with visiting(browser, server, path=f"{path}/review") as visitor:
        page = visitor.page
        files = page.locator("#files [data-of]")
        expect(files).to_have_count(MANY)
        page.locator("#o1").get_by_label("Exclude").check()
        page.keyboard.press("/")
        page.keyboard.type("ILE-5")
        expect(files).to_have_count(10)
        expect(page.locator("#files [role=status]")).to_have_text("10 of 60 files match.")
        check_accessible(page)
        expect(page.locator("#o1").get_by_label("Exclude")).to_be_checked()
        page.keyboard.type("9")
        expect(files).to_have_count(1)
        page.keyboard.press("Enter")
        page.wait_for_url("**page=2*#o60")
        expect(page.locator("#o60")).to_be_in_viewport()
        page.get_by_label("Find a file").fill("nothing like it")
        expect(page.locator("#files [role=status]")).to_have_text("0 of 60 files match.")
        page.get_by_label("Find a file").fill("")
        expect(files).to_have_count(MANY)
    with visiting(browser, server, path=f"{path}/review", viewport=PHONE) as visitor:
        expect(visitor.page.get_by_label("Find a file")).to_be_visible()
        check_width(visitor.page)


def test_f37_a_file_is_found_without_script_and_no_tick_is_lost(server: Served) -> None:
    path = many(server.world)
    person, watcher = reader(server), reader(server, "viewer")
    person.open(f"{path}/review")
    (first, *_) = person.client.get(f"{path}/operations")["operations"]
    person.send("#exclude", find="file-5", operation=first["id"][:12])
    assert "10 of 59 files match." in person.text
    assert "create part0/file-00.txt" in person.text, "what was ticked is named as excluded"
    watcher.open(f"{path}/review")
    watcher.open(f"{path}/review?find=file-5&page=1")
    assert "10 of 60 files match." in watcher.text
    attack = "<script>alert(1)</script>"
    assert attack not in watcher.open(f"{path}/review?find={attack}")
    assert "0 of 60 files match." in watcher.text


def test_f57_a_line_is_commented_by_keys_alone(server: Served, browser: Browser) -> None:
    path, _ = reviewed(server.world)
    with visiting(browser, server, path=f"{path}/review") as visitor:
        page = visitor.page
        page.keyboard.press("c")
        assert active(page) == "?on=plan:1#say", "first the text"
        page.keyboard.press("j")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("k")
        assert active(page) == "?on=plan:2#say"
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        assert active(page) == "o1", "j moves among operations again"
        page.keyboard.press("c")
        line = active(page)
        assert line.startswith("?on=")
        page.keyboard.press("j")
        assert active(page) != line
        page.keyboard.press("k")
        page.keyboard.press("Enter")
        page.keyboard.type("c is for comment")
        check_accessible(page)
        page.keyboard.press("Escape")
        expect(page.locator("form.say")).to_have_count(0)
        assert active(page) == line
        page.keyboard.press("Enter")
        text = page.get_by_role("textbox", name="Comment", exact=True)
        expect(text).to_have_value("c is for comment")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        words = page.locator("#o1 .comment .words")
        expect(words).to_have_text("c is for comment")
        expect(words).to_be_in_viewport()
        page.get_by_text("Edit", exact=True).click()
        page.locator("#o1 .comment").get_by_role("button", name="Remove").click()
        expect(words).to_have_count(0)
        assert page.url.endswith("#o1")


def test_f57_side_by_side_a_line_is_reached_once(server: Served, browser: Browser) -> None:
    path, _ = reviewed(server.world)
    with visiting(browser, server, path=f"{path}/review?view=split") as visitor:
        page = visitor.page
        page.keyboard.press("j")
        page.keyboard.press("c")
        seen = [active(page)]
        for _ in range(3):
            page.keyboard.press("j")
            seen.append(active(page))
        assert len(set(seen)) == len(seen)


def test_g20_items_are_walked_over_the_pages(server: Served, browser: Browser) -> None:
    path = many(server.world)
    with visiting(browser, server, path=f"{path}/review") as visitor:
        page = visitor.page
        page.locator("#o50").get_by_label("Exclude").check()
        page.locator("#o50").focus()
        turn(page, "j")
        expect(page.locator("#excluded")).to_contain_text("file-49")
        turn(page, "n")
        page.keyboard.press("j")
        assert active(page) == "o51"
        turn(page, "k")
        assert "page=2" not in page.url
        turn(page, "n")
        assert "page=2" in page.url
        turn(page, "p")
        assert "page=2" not in page.url


def test_f41_what_is_clicked_twice_is_sent_once(server: Served, browser: Browser) -> None:
    path, _ = proposed(server.world)
    sent: list[str] = []

    def slowly(route: Route) -> None:
        sent.append(route.request.url)
        visitor.page.wait_for_timeout(400)
        route.continue_()

    with visiting(browser, server, path=f"{path}/review") as visitor:
        page = visitor.page
        follow(page, page.locator("#approve"))
        page.route("**/approve", slowly)
        page.evaluate(
            """() => {
                const button = document.getElementById("approve-only");
                button.click();
                setTimeout(() => button.click(), 100);
            }"""
        )
        expect(page.locator("#state")).to_have_text("Approved, not built")
        assert len(sent) == 1
        page.go_back()
        page.wait_for_timeout(LOOK_MS)
        page.locator("#approve-only").or_(page.locator("#late")).first.click()
        expect(page.locator("#late")).to_contain_text("Approved by")


def test_f41_a_confirmation_says_that_the_plan_changed(server: Served, browser: Browser) -> None:
    path, _ = proposed(server.world)
    with visiting(browser, server, path=f"{path}/review") as visitor:
        page = visitor.page
        follow(page, page.locator("#approve"))
        expect(page.locator("#stale")).to_be_hidden()
        server.world.write("b.txt", b"b\n")
        expect(page.locator("#stale")).to_contain_text("This plan changed")
        page.locator("#approve-only").click()
        expect(page.locator("#late")).to_contain_text("Nothing was decided")
        expect(page.locator("#late")).to_contain_text("still a draft")


def test_f41_a_second_approval_says_who_was_first(server: Served) -> None:
    path, digest = proposed(server.world)
    first, second = reader(server), reader(server)
    for person in (first, second):
        person.open(f"{path}/review")
        person.open(f"{path}/approve?digest={digest}")
    first.send("/approve", do="approve", note="Looks right")
    second.send("/approve", 409, do="build")
    assert "This plan was decided already" in second.text
    assert "Looks right" in second.text
    assert "was not shown" not in second.text
    second.open(f"{path}/approve?digest={digest}")
    assert "Approved by" in second.text
    assert len(approvals(server.world)) == 1
    assert b"a.txt" not in server.world.files()
