"""The whole story in a real browser: from a goal to an undo, and the server dies in the middle."""

from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.cli.harness import World
from tests.cli.scripts import PRESENT, turn, write
from tests.web.browser import DESKTOP, PHONE, Visitor, visiting
from tests.web.harness import served
from tests.web.test_approvals import approvals
from tests.web.test_plan_browser import check_accessible, check_width, follow
from tests.web.test_questions import ASK, the_question
from tests.web.test_session_page import LOOK_MS, begin
from tests.web.test_sessions import script

TEXT = "# Paint it\n\n1. Write the colour\n\n## Verification\n\nLook at it.\n"
REVISED = TEXT.replace("the colour", "the colour in lower case")
RUN = ("shell", {"command": "test -e go", "stage": True})
STORY = (
    turn("Let me ask.", ASK),
    turn("I write a plan.", ("write_plan", {"text": TEXT}), write("colour.txt", "BLUE\n"),
         write("notes.txt", "Notes\n")),
    turn("Here it is.", PRESENT),
    turn("In lower case.", ("write_plan", {"text": REVISED}), write("colour.txt", "blue\n"), RUN),
    turn("Here it is again.", PRESENT),
    *(turn("Fine.") for _ in range(4)),
)  # fmt: skip


def looked_at(page: Page) -> None:
    """Holds a page that is read to what all must be: usable by everyone, and not too wide."""
    check_accessible(page)
    check_width(page)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_g20_f1_f37_f38_f57_f95_from_a_goal_to_an_undo(
    world: World, browser: Browser, size: dict[str, int]
) -> None:
    world.put("colour.txt", b"RED\n")
    script(world, *STORY)
    with ExitStack() as stack:
        first = stack.enter_context(served(world))
        visitor = stack.enter_context(visiting(browser, first, viewport=size))
        page = visitor.page
        _asked_and_planned(visitor)
        first.kill()
        expect(page.locator("#connection")).to_have_text("Reconnecting…")
        page.get_by_role("textbox", name="Notes").fill("In lower case, please")
        port = first.url.rpartition(":")[2]
        server = stack.enter_context(served(world, "--port", port))
        expect(page.locator("#connection")).to_be_hidden()
        _rejected_and_revised(page, world)
        _approved_in_part(page, world)
        _recovered_and_undone(page, world)
        assert server.url == first.url


def _asked_and_planned(visitor: Visitor) -> None:
    """A goal, a question with its answer, a plan, and a comment on it."""
    page = visitor.page
    begin(visitor, "Paint it")
    page.get_by_label("Blue").check()
    page.wait_for_timeout(LOOK_MS)
    page.get_by_role("button", name="Answer").click()
    expect(page.locator("#talk .model").last).to_have_text("Here it is.")
    looked_at(page)
    follow(page, page.get_by_role("link", name="Inbox"))
    row = page.locator("#inbox li", has_text="ready for review")
    expect(row).to_contain_text("2 operations")
    follow(page, row.get_by_role("link"))
    expect(page.locator("#preview")).to_contain_text("Write the colour")
    follow(page, page.locator("#now").get_by_role("link", name="Review"))
    page.locator("#o1 tr.ad td.n a").click()
    page.get_by_role("textbox", name="Comment", exact=True).fill("Why so loud?")
    page.get_by_role("button", name="Add comment").click()
    expect(page.locator("#o1 .comment .words")).to_have_text("Why so loud?")


def _rejected_and_revised(page: Page, world: World) -> None:
    """All feedback reaches the model as one request; it answers with another plan."""
    follow(page, page.get_by_role("button", name="Reject and send"))
    (no,) = [e["body"] for e in world.ok("log")["events"] if e["kind"] == "plan_rejected"]
    assert "In lower case, please" in no["note"]
    assert "Why so loud?" in no["note"]
    plan = page.url.partition("?")[0]
    page.goto(page.url.partition("/plans/")[0] + "/sessions")
    follow(page, page.get_by_role("link", name="Paint it"))
    expect(page.locator("#talk .model").last).to_have_text("Here it is again.")
    page.goto(f"{plan}/review")
    expect(page.locator("#text")).to_contain_text("in lower case")
    expect(page.locator("#o1")).to_contain_text("blue")


def _approved_in_part(page: Page, world: World) -> None:
    """One operation is excluded; what is approved is the rest, under its whole digest."""
    page.locator("article", has_text="notes.txt").get_by_label("Exclude").check()
    page.get_by_role("button", name="Review without the ticked").click()
    expect(page.locator("#excluded")).to_contain_text("notes.txt")
    looked_at(page)
    follow(page, page.locator("#approve"))
    digest = page.locator("#digest").inner_text()
    looked_at(page)
    page.locator("#approve-build").click()
    expect(page.locator("#state")).to_have_attribute("data-state", "HALTED")
    (event,) = approvals(world)
    assert event["approval"]["digest"] == digest
    assert b"notes.txt" not in world.files()


def _recovered_and_undone(page: Page, world: World) -> None:
    """The run stopped at its command; it goes on, and is undone."""
    follow(page, page.locator("a", has_text="See the run").first)
    looked_at(page)
    world.put("go")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#outcome")).to_have_attribute("data-outcome", "done")
    assert world.files()[b"colour.txt"][2] == b"blue\n"
    follow(page, page.locator("#undo"))
    page.locator("#do").click()
    expect(page.locator(".chip", has_text="Undone").first).to_be_visible()
    assert world.files()[b"colour.txt"][2] == b"RED\n"


def test_g20_what_one_decides_the_other_browsers_and_the_terminal_see(
    world: World, browser: Browser
) -> None:
    """Two browsers and a terminal at once: nobody loads a page again, nobody decides twice."""
    world.put("colour.txt", b"RED\n")
    script(world, *STORY)
    with (
        served(world) as server,
        visiting(browser, server) as one,
        visiting(browser, server, viewport=PHONE) as other,
    ):
        begin(one, "Paint it")
        row = other.page.locator("#inbox li.waits")
        expect(row).to_contain_text("Which color?")
        asked = the_question(server.browser())["id"]
        world.ok("questions", "answer", asked, "Blue")
        expect(other.page.locator("#inbox li.settled")).to_contain_text("Blue")
        expect(one.page.locator("#questions .asks")).to_have_count(0)
        one.page.get_by_label("Message").fill("Go on")
        one.page.get_by_role("button", name="Send").click()
        plan = other.page.locator("#inbox li", has_text="ready for review")
        expect(plan).to_be_visible()
        follow(other.page, plan.get_by_role("link"))
        follow(other.page, other.page.locator("#now").get_by_role("link", name="Review"))
        follow(one.page, one.page.locator("#side").get_by_role("link").first)
        other.page.get_by_text("Reject and ask for changes").click()
        other.page.get_by_role("textbox", name="Notes").fill("Green")
        other.page.get_by_role("button", name="Reject and send").click()
        expect(one.page.locator("#source")).to_contain_text("in lower case")
        assert approvals(world) == []
