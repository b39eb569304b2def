"""Plans, reviews, decisions and runs in a real browser: desktop and phone, by mouse and by keys."""

import re
import time
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect
from tests.cli.harness import World
from tests.web.browser import DESKTOP, PHONE, visiting
from tests.web.harness import Served, served
from tests.web.plan_calls import proposed
from tests.web.test_approvals import approvals
from tests.web.test_plan_pages import ATTACK
from tests.web.test_runs import halting

LIVE_S = 2.0  # far above what it takes; `bench` measures that
CODE = b"def total(items):\n    return sum(items)\n\n\ndef main():\n    print(total([1]))\n"


def check_accessible(page: Page) -> None:
    """Holds a page to what axe finds; nothing serious may be among it."""
    found = Axe().run(page).response["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert [(each["id"], [node["html"][:120] for node in each["nodes"]]) for each in serious] == []


def check_width(page: Page) -> None:
    """Holds a page to its own width: nothing makes it scroll sideways."""
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) <= 0


def follow(page: Page, link: Locator) -> None:
    """Follows a link, and waits until its page is there."""
    with page.expect_navigation():
        link.click()


def reviewed(world: World) -> tuple[str, str]:
    """Proposes a plan with an edit, a new file, a removed one and a command."""
    world.put("src/cart.py", CODE)
    world.put("old.txt", b"old\n")
    plan = world.plan()["plan_id"]
    world.text().write_text("# Round prices\n\n1. Round\n\n## Risks\n\nNone.\n", encoding="utf-8")
    world.write("src/cart.py", CODE.replace(b"sum(items)", b"round(sum(items), 2)"))
    world.write("src/new.py", b"import cart\n")
    world.ok("stage", "delete", "old.txt")
    world.ok("stage", "run", "--script", "-", stdin=b"echo began; test -e go\n")
    return f"/plans/{plan}", world.propose()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_f38_g10_g18_g20_the_whole_story(
    server: Served, browser: Browser, size: dict[str, int]
) -> None:
    """Comment, reject, revise, approve without one operation, build, halt, recover, undo."""
    world = server.world
    reviewed(world)
    with visiting(browser, server, path="/plans", viewport=size) as visitor:
        page = visitor.page
        check_accessible(page)
        follow(page, page.locator("a[data-item]").first)
        check_accessible(page)
        check_width(page)
        page.locator("#now").get_by_role("link", name="Review").click()
        expect(page.get_by_role("heading", name="Risks", exact=True)).to_be_visible()
        check_accessible(page)
        check_width(page)
        page.locator("#o1 tr.ad td.n a").click()
        page.get_by_role("textbox", name="Comment", exact=True).fill("Use half-even")
        page.get_by_role("button", name="Add comment").click()
        expect(page.locator("#o1 .comment .words")).to_have_text("Use half-even")
        page.get_by_label("Notes").fill("Keep old.txt")
        page.get_by_role("button", name="Reject and send").click()
        expect(page.locator("#state")).to_have_attribute("data-state", "DRAFTING")
        (note,) = [e["body"] for e in world.ok("log")["events"] if e["kind"] == "plan_rejected"]
        assert "Keep old.txt" in note["note"]
        assert "Use half-even" in note["note"]

        world.write("notes.md", b"# Notes\n")
        page.get_by_role("button", name="Propose").click()
        page.locator("article", has_text="old.txt").get_by_label("Exclude").check()
        page.get_by_role("button", name="Review without the ticked").click()
        expect(page.locator("#excluded")).to_contain_text("old.txt")
        follow(page, page.locator("#approve"))
        digest = page.locator("#digest").inner_text()
        assert len(digest) == 64
        check_accessible(page)
        page.get_by_label("Note").fill("Without the removal")
        page.locator("#approve-build").click()
        expect(page.locator("#state")).to_have_attribute("data-state", "HALTED")
        check_accessible(page)
        check_width(page)
        (event,) = approvals(world)
        assert event["approval"]["digest"] == digest
        assert world.files()[b"old.txt"][2] == b"old\n"

        follow(page, page.locator("a", has_text="See the run").first)
        check_accessible(page)
        world.put("go")
        page.get_by_role("button", name="Resume").click()
        expect(page.locator("#outcome")).to_have_attribute("data-outcome", "done")
        assert b"half" not in world.files()[b"src/cart.py"][2]
        follow(page, page.locator("#undo"))
        check_accessible(page)
        check_width(page)
        page.locator("#do").click()
        expect(page.locator(".chip", has_text="Undone").first).to_be_visible()
        assert world.files()[b"src/cart.py"][2] == CODE


def test_f28_a_plan_follows_its_file(server: Served, browser: Browser) -> None:
    """An edit by any program is seen at once, without a reload, where the reader is."""
    world = server.world
    plan = world.plan()["plan_id"]
    with visiting(browser, server, path=f"/plans/{plan}") as visitor:
        page = visitor.page
        expect(page.locator("#source")).to_be_visible()
        file = world.text()
        for n in range(3):
            file.write_text(f"# Edit {n}\n\n{ATTACK}\n", encoding="utf-8")
            began = time.monotonic()
            expect(page.locator("#preview h2")).to_have_text(f"Edit {n}")
            assert time.monotonic() - began < LIVE_S
        expect(page.locator("#source")).to_contain_text(ATTACK)
        assert page.locator("#main img, #main script").count() == 0
        file.unlink()
        expect(page.locator("#now")).to_contain_text("file is gone")


def test_g20_two_browsers_and_a_terminal_at_once(server: Served, browser: Browser) -> None:
    """Each sees what another decided, without a reload; the second answer says who was first."""
    world = server.world
    path, digest = proposed(world)
    with (
        visiting(browser, server, path=f"{path}/review") as one,
        visiting(browser, server, path=f"{path}/review") as other,
    ):
        for each in (one.page, other.page):
            each.locator("#approve").click()
        world.ok("approve", "--digest", digest)
        for each in (one.page, other.page):
            expect(each.locator("#state")).to_have_text("Approved, not built")
        world.ok("build")
        expect(other.page.locator("#state")).to_have_attribute("data-state", "COMPLETED")
        one.page.locator("#approve-build").click()
        expect(one.page.locator("#late")).to_contain_text("Approved by")
        assert len(approvals(world)) == 1
        assert world.files() == {b"a.txt": ("file", 0o644, b"a\n")}


def test_a_review_that_is_out_of_date_says_so(server: Served, browser: Browser) -> None:
    world = server.world
    path, _ = proposed(world)
    with visiting(browser, server, path=f"{path}/review") as visitor:
        page = visitor.page
        expect(page.locator("#stale")).to_be_hidden()
        world.write("b.txt", b"b\n")
        expect(page.locator("#stale")).to_be_visible()
        assert page.locator("article").count() == 1, "what is read stays"


def test_f57_a_comment_that_was_typed_outlives_a_reload_and_the_server(
    world: World, browser: Browser
) -> None:
    with served(world) as server, visiting(browser, server) as visitor:
        path, _ = halting(world, "true")
        page, plan = visitor.page, path.rpartition("/")[2]
        page.goto(f"{server.url}{path}/review")
        link = page.locator("#text td.n a").first
        link.click()
        page.get_by_role("textbox", name="Comment", exact=True).fill("Half a thought")
        page.get_by_role("button", name="Cancel").or_(page.locator("[data-cancel]")).first.click()
        page.get_by_text("Reject and ask for changes").click()
        page.get_by_label("Scope").fill("Only a.txt")
        port = server.url.rpartition(":")[2]
        server.kill()
        with served(world, "--port", port):
            page.reload()
            text = page.get_by_role("textbox", name="Comment", exact=True)
            expect(text).to_have_value("Half a thought")
            expect(page.get_by_label("Scope")).to_have_value("Only a.txt")
            link.click()
            expect(text).to_be_focused()
            page.get_by_role("button", name="Add comment").click()
            words = page.locator("#text .comment .words")
            expect(words).to_have_text("Half a thought")
            link.click()
            expect(text).to_have_value("")
            page.get_by_text("Reply", exact=True).click()
            page.get_by_label("Reply to comment 1").fill("The other half")
            page.reload()
            expect(page.get_by_label("Reply to comment 1")).to_have_value("The other half")
            page.get_by_role("button", name="Add reply").click()
            expect(words).to_have_text(["Half a thought", "The other half"])
            page.get_by_text("Edit", exact=True).first.click()
            page.get_by_label("Text of comment 1").fill("A thought")
            page.reload()
            check_accessible(page)
            expect(page.get_by_label("Text of comment 1")).to_have_value("A thought")
            page.get_by_role("button", name="Save").first.click()
            expect(words).to_have_text(["A thought", "The other half"])
            page.reload()
            expect(page.get_by_role("button", name="Save")).to_have_count(0)
            assert page.evaluate("Object.keys(localStorage)") == [
                f"assent draft {plan} reject scope"
            ]


def test_f41_keys_alone_reach_the_decision(server: Served, browser: Browser) -> None:
    world = server.world
    path, _ = proposed(world)
    with visiting(browser, server, path=f"{path}/review") as visitor:
        page = visitor.page
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.id") == "o1"
        page.keyboard.press("a")
        expect(page.locator("#digest")).to_be_visible()
        page.locator("#note").focus()
        page.keyboard.type("By keys: a x n j")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "approve-only"
        page.keyboard.press("Enter")
        expect(page.locator("#state")).to_have_text("Approved, not built")
        (event,) = approvals(world)
        assert event["approval"]["note"] == "By keys: a x n j"


def test_f37_viewed_operations_are_folded_and_counted(server: Served, browser: Browser) -> None:
    path, _ = reviewed(server.world)
    with visiting(browser, server, path=f"{path}/review") as visitor:
        page = visitor.page
        count, row = page.locator(".viewed-count").first, page.locator('[data-of="o1"]')
        expect(count).to_have_text("0 of 4 viewed")
        page.keyboard.press("j")
        page.keyboard.press("v")
        expect(count).to_have_text("1 of 4 viewed")
        expect(row).to_have_class(re.compile("seen"))
        expect(page.locator("#o1 table")).to_be_hidden()
        page.locator("#o2").get_by_role("button", name="Viewed").click()
        expect(count).to_have_text("2 of 4 viewed")
        check_accessible(page)
        page.reload()
        expect(count).to_have_text("2 of 4 viewed")
        expect(page.locator("#o1 table")).to_be_hidden()
        page.locator("#o1 summary", has_text="Show what was viewed").click()
        expect(page.locator("#o1 table")).to_be_visible()
        page.locator("#o1").get_by_role("button", name="Viewed").click()
        expect(count).to_have_text("1 of 4 viewed")
        expect(row).not_to_have_class(re.compile("seen"))
        page.context.clear_cookies()
        page.locator("#o1").get_by_role("button", name="Viewed").click()
        expect(page.get_by_label("One-time code")).to_be_visible()


def test_f37_folded_lines_are_opened_in_place(server: Served, browser: Browser) -> None:
    world = server.world
    old = "".join(f"line {n}\n" for n in range(1, 301))
    world.put("long.txt", old.encode())
    plan = world.plan()["plan_id"]
    world.write("long.txt", old.replace("line 20\n", "").replace("line 100\n", "").encode())
    world.propose()
    with visiting(browser, server, path=f"/plans/{plan}/review") as visitor:
        page = visitor.page
        folds, lines = page.locator("#o1 a.unfold"), page.locator("#o1 td.c")
        expect(folds).to_have_text(["16 unchanged lines", "73 unchanged lines", "Lines below"])
        page.locator("#o1 tr.rm td.n a").first.click()
        page.get_by_role("textbox", name="Comment", exact=True).fill("Half a thought")
        folds.nth(1).click()
        expect(folds).to_have_count(2)
        expect(lines.filter(has_text="line 60")).to_have_count(1)
        text = page.get_by_role("textbox", name="Comment", exact=True)
        expect(text).to_have_value("Half a thought")
        folds.last.click()
        expect(lines.filter(has_text="line 150")).to_have_count(1)
        expect(folds).to_have_text(["16 unchanged lines", "97 unchanged lines"])
        check_accessible(page)
        assert page.url.endswith("/review"), "in place"


def test_a_command_is_heard_while_it_runs(server: Served, browser: Browser) -> None:
    world = server.world
    path, digest = halting(world, "while ! test -e go; do echo ticking; sleep 0.1; done")
    with visiting(browser, server, path=f"{path}/review") as visitor:
        page = visitor.page
        page.locator("#approve").click()
        page.locator("#approve-build").click()
        expect(page.locator("#live-output")).to_contain_text("ticking")
        world.put("go")
        expect(page.locator("#state")).to_have_attribute("data-state", "COMPLETED")
        expect(page.locator("#work")).to_contain_text("Done")
    assert digest


def test_dark_colours_and_large_text_stay_readable(server: Served, browser: Browser) -> None:
    path, _ = reviewed(server.world)
    small = {"width": 640, "height": 400}  # what a window of 1280 shows at 200 %
    wanted: dict[str, Any] = {"color_scheme": "dark", "viewport": small}
    with visiting(browser, server, path=f"{path}/review?view=split", **wanted) as visitor:
        check_accessible(visitor.page)
        check_width(visitor.page)
