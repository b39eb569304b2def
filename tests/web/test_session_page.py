"""Pages of sessions in a real browser: goal, prompt, modes, questions, live text, and no script."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request, Route, expect
from tests.cli.harness import TRUSTING, World
from tests.cli.scripts import MODEL, PLANS, turn
from tests.web.browser import PHONE, Visitor, visiting
from tests.web.harness import Client, Served, served, wait_for
from tests.web.plan_calls import proposed
from tests.web.test_questions import ASK, the_question
from tests.web.test_sessions import idle, script, start

MAX_OWN_BYTES = 60 * 1024  # of script and style for a page
EVIL = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>\u202e"
LOOK_MS = 800  # after a change of the page, until a click on a button that moved counts
SERIOUS = ("serious", "critical")


def serious(page: Page) -> list[str]:
    """What a checker of accessibility finds, with where."""
    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['html']}" for each in found if each["impact"] in SERIOUS
    ]


def begin(visitor: Visitor, goal: str, mode: str = "plan") -> str:
    """Starts a session by the form, and returns its id."""
    page = visitor.page
    page.goto(f"{visitor.url}/sessions")
    page.get_by_label("New session").fill(goal)
    page.locator(f"label[data-mode={mode}]").click()
    page.get_by_text("Model and agent").click()
    page.get_by_label("Model", exact=True).fill(MODEL)
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/sessions/*")
    return page.url.rpartition("/")[2]


def test_f1_f4_f95_a_session_is_led_in_the_browser(world: World, browser: Browser) -> None:
    world.put("src/parser.py", b"x\n")
    shell = ("shell", {"command": "touch made"})
    script(world, turn("Let me ask.", ASK), turn("Blue it is."), turn("I try.", shell), turn("End"))
    with served(world) as server, visiting(browser, server) as visitor:
        page = visitor.page
        session = begin(visitor, "Choose a color")
        expect(page.locator("#talk .model").first).to_have_text("Let me ask.")
        plan = page.locator("#modes [data-mode=plan]")
        expect(plan).to_have_attribute("aria-pressed", "true")
        assert plan.inner_text() == "plan"
        other = page.locator("#modes [data-mode=ask]")
        assert plan.evaluate(COLOUR) != other.evaluate(COLOUR)  # a colour and a word

        page.get_by_label("Blue").check()
        assert serious(page) == []
        page.get_by_role("button", name="Answer").click()
        expect(page.locator("#talk .model").nth(1)).to_have_text("Blue it is.")
        expect(page.locator("#questions .asks")).to_have_count(0)

        other.click()
        expect(other).to_have_attribute("aria-pressed", "true")
        api = server.browser()
        assert api.get(f"/sessions/{session}")["mode"] == "ask"
        page.reload()
        expect(other).to_have_attribute("aria-pressed", "true")

        field = page.get_by_label("Message")
        field.fill("Look at @par")
        expect(page.locator(".choices li")).to_have_text(["src/parser.py"])
        page.keyboard.press("Enter")
        expect(field).to_have_value("Look at @src/parser.py ")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#questions")).to_contain_text("touch made")
        expect(page.locator(".call[data-state=asking]")).to_have_count(1)
        assert not (world.root / "made").exists()
        assert serious(page) == []
        page.wait_for_timeout(LOOK_MS)
        page.get_by_role("button", name="Allow once").click()
        expect(page.locator("#talk .model").last).to_have_text("End")
        expect(page.locator(".call", has_text="shell")).to_have_attribute("data-state", "done")
        assert (world.root / "made").exists()
        sizes = [len(server.nobody.request("GET", each).body) for each in own(visitor)]
        assert 0 < sum(sizes) <= MAX_OWN_BYTES


COLOUR = "each => getComputedStyle(each).color"


def own(visitor: Visitor) -> set[str]:
    """The paths of script and style that the pages of a visitor have loaded."""
    urls = [each.removeprefix(visitor.url) for each in visitor.requests]
    return {each for each in urls if each.startswith("/static/")}


def test_f2_f8_modes_are_raised_by_approvers_and_yolo_asks_twice(
    world: World, browser: Browser
) -> None:
    modes = '[modes.writer]\nbase = "plan"\n[modes.free]\nbase = "yolo"\n'
    world.config.write_text(f"{TRUSTING}\n{modes}", encoding="utf-8")
    script(world, turn("One"), turn("Two"))
    with served(world) as server:
        api = server.browser()
        session = start(api)["session"]
        idle(api, session)
        with visiting(browser, server, "author", f"/sessions/{session}") as visitor:
            visitor.page.locator("#modes [data-mode=ask]").click()
            expect(visitor.page.locator("#notice")).to_contain_text("approver")
            assert api.get(f"/sessions/{session}")["mode"] == "plan"
        with visiting(browser, server, path=f"/sessions/{session}") as visitor:
            page = visitor.page
            for mode in ("writer", "ask", "auto-edit", "plan"):  # never yolo, nor free
                page.keyboard.press("m")
                chosen = page.locator(f"#modes [value={mode}]")
                expect(chosen).to_have_attribute("aria-pressed", "true")
            assert api.get(f"/sessions/{session}")["mode"] == "plan"
            page.locator("#modes [value=free]").click()
            page.get_by_role("button", name="Switch to free mode").click()
            page.wait_for_url(f"**/sessions/{session}")
            row = api.get(f"/sessions/{session}")
            assert (row["mode"], row["custom_mode"]) == ("yolo", "free")
            page.locator("#modes [value=plan]").click()
            expect(page.locator("#modes [value=plan]")).to_have_attribute("aria-pressed", "true")
            page.locator("#modes [value=yolo]").click()
            page.get_by_role("button", name="Switch to yolo mode").wait_for()
            assert api.get(f"/sessions/{session}")["mode"] == "plan"
            page.get_by_role("button", name="Switch to yolo mode").click()
            page.wait_for_url(f"**/sessions/{session}")
            assert api.get(f"/sessions/{session}")["mode"] == "yolo"


def test_a_message_outlives_a_login_that_ended(world: World, browser: Browser) -> None:
    script(world, turn("One"), turn("Two"))
    with served(world) as server:
        session = start(server.browser())["session"]
        idle(server.browser(), session)
        with visiting(browser, server, path=f"/sessions/{session}") as visitor:
            page = visitor.page
            page.get_by_label("Message").fill("a long thought")
            page.context.clear_cookies()
            page.get_by_role("button", name="Send").click()
            page.get_by_label("One-time code").fill(server.code())
            page.get_by_role("button", name="Log in").click()
            page.wait_for_url(f"**/sessions/{session}")
            expect(page.get_by_label("Message")).to_have_value("a long thought")
            page.get_by_role("button", name="Send").click()
            expect(page.locator(".user .said").last).to_have_text("a long thought")


def test_what_is_said_while_it_works_waits_and_can_be_removed(
    world: World, browser: Browser
) -> None:
    script(world, turn("One", ("shell", {"command": "sleep 600"})), turn("Two"))
    with served(world) as server, visiting(browser, server) as visitor:
        page = visitor.page
        session = begin(visitor, "Wait")
        expect(page.locator(".call[data-state=running]")).to_have_count(1)
        for text in ("first", "second"):
            page.get_by_label("Message").fill(text)
            page.get_by_role("button", name="Queue").click()
            expect(page.locator(".queue")).to_contain_text(text)
        page.wait_for_timeout(LOOK_MS)
        page.locator(".queue li", has_text="first").get_by_role("button").click()
        expect(page.locator(".queue li")).to_have_count(1)
        page.get_by_label("Message").fill("a draft")
        page.reload()
        expect(page.get_by_label("Message")).to_have_value("a draft")
        page.get_by_role("button", name="Cancel").click()
        expect(page.locator("#state")).to_have_text("Cancelled")
        expect(page.locator(".call[data-state=running]")).to_have_count(0)
        page.locator(".side summary", has_text="Rename, fork").click()
        page.get_by_label("Title").fill("Another title")
        page.get_by_role("button", name="Rename").click()
        expect(page.locator("h1")).to_have_text("Another title")
        page.get_by_role("button", name="Fork").click()
        page.wait_for_url(lambda url: session not in url)


def test_the_whole_way_without_javascript_on_a_phone(world: World, browser: Browser) -> None:
    script(world, turn("Let me ask.", ASK), turn("Blue it is."), turn("Two"))
    with served(world) as server:
        api = server.browser()
        with visiting(browser, server, viewport=PHONE, java_script_enabled=False) as visitor:
            page = visitor.page
            session = begin(visitor, "Choose")
            the_question(api)
            page.goto(server.url)
            page.get_by_label("Blue").check()
            page.get_by_role("button", name="Answer").click()
            idle(api, session)
            page.goto(f"{server.url}/sessions/{session}")
            assert page.locator("#talk .model").all_inner_texts() == ["Let me ask.", "Blue it is."]
            page.get_by_label("Message").fill("Again")
            page.get_by_role("button", name="Send").click()
            idle(api, session)
            page.get_by_role("link", name="Sessions").click()
            page.get_by_role("link", name="Choose").click()
            assert page.locator(".user .said").all_inner_texts() == ["Choose", "Again"]
            page.locator(".rewind").last.click()
            page.get_by_role("button", name="Rewind the conversation").click()
            assert page.locator(".user .said").all_inner_texts() == ["Choose"]


def test_nothing_that_others_wrote_runs_or_hides(world: World, browser: Browser) -> None:
    world.put("<b>x</b>.txt", EVIL.encode())
    ask = ("ask_user", {"questions": [{"header": EVIL[:20], "question": EVIL,
                                       "options": [{"label": EVIL}, {"label": "b"}]}]})  # fmt: skip
    link = f"[click](javascript:document.title='run') ![i](http://evil.example/x.png) {EVIL}"
    script(world, turn(link, ("read", {"path": "<b>x</b>.txt"})), turn(EVIL, ask), turn("End"))
    with served(world) as server, visiting(browser, server) as visitor:
        page = visitor.page
        session = begin(visitor, EVIL)
        expect(page.locator("#questions .asks")).to_have_count(1)
        api = server.browser()
        for path in ("/", f"/sessions/{session}", "/sessions", f"/questions/{_id(api)}"):
            page.goto(f"{server.url}{path}")
            assert page.title().endswith("Assent")
            assert page.locator("main img, main script, main b, main [onerror]").count() == 0
            assert page.locator("a[href^=javascript]").count() == 0
            assert "\u202e" not in page.content()
            assert "<U+202E>" in page.locator("main").inner_text()


def _id(api: Client) -> str:
    return str(the_question(api)["id"])


@pytest.mark.parametrize("role", ["viewer", "author"])
def test_a_role_is_offered_what_it_may_do_and_the_server_decides(
    world: World, browser: Browser, role: str
) -> None:
    script(world, turn("I try.", ("shell", {"command": "touch made"})), turn("End"))
    with served(world) as server:
        api = server.browser()
        start(api, mode="ask")
        asked = the_question(api)
        with visiting(browser, server, role) as visitor:
            assert visitor.page.get_by_role("button", name="Allow once").count() == 0
            csrf = visitor.page.locator("input[name=csrf]").first.get_attribute("value")
            form = {"digest": asked["digest"], "scope": "yes", "back": "/"}
            path = f"{server.url}/questions/{asked['id']}/answer"
            for sent, status in (({**form, "csrf": str(csrf)}, 403), (form, 403)):
                reply = visitor.page.request.post(path, form=sent, max_redirects=0)
                assert reply.status == status
        assert the_question(api)["standing"] == "open"
        assert not (world.root / "made").exists()


def test_f41_enter_in_the_reason_denies(world: World, browser: Browser) -> None:
    script(world, turn("I try.", ("shell", {"command": "touch made"})), turn("End"))
    with served(world) as server, visiting(browser, server) as visitor:
        api = server.browser()
        session = start(api, mode="ask")["session"]
        asked = the_question(api)
        page = visitor.page
        page.goto(f"{server.url}/questions/{asked['id']}")
        page.get_by_label("Why not").fill("Never run this")
        page.get_by_role("button", name="Allow once").click()  # and not both at once
        expect(page.locator("#notice")).to_contain_text("chose to allow")
        assert the_question(api)["standing"] == "open"
        page.get_by_label("Why not").press("Enter")
        idle(api, session)
        assert not (world.root / "made").exists()


# Clicks as soon as the page has changed, where a person was about to click.
CLICK_ON_CHANGE = """({x, y}) => document.addEventListener("assent:fresh", () => setTimeout(() => {
    if (document.querySelectorAll("#inbox li.waits").length !== 1) return;
    const at = document.elementFromPoint(x, y);
    document.body.dataset.hit = at.textContent;
    const options = {bubbles: true, cancelable: true, detail: 1, clientX: x, clientY: y};
    at.dispatchEvent(new MouseEvent("click", options));
}))"""


def test_f38_a_click_counts_for_what_was_there(world: World, browser: Browser) -> None:
    """When another login answers, the next question moves up: a click meant the one before."""
    script(world, turn("I try.", ("shell", {"command": "touch made"})), turn("End"))
    with served(world) as server, visiting(browser, server) as visitor:
        page, api = visitor.page, server.browser()

        def forget(route: Route, request: Request) -> None:  # so that no row stays for what it was
            told = {**request.headers, "x-assent-shown": ""}
            route.continue_(headers=told)

        page.route(f"{server.url}/", forget)
        start(api, mode="ask")
        first = the_question(api)
        start(api, mode="ask")
        buttons = page.get_by_role("button", name="Allow once")
        expect(buttons).to_have_count(2)
        page.wait_for_timeout(LOOK_MS)
        box = buttons.first.bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.evaluate(CLICK_ON_CHANGE, {"x": x, "y": y})
        answer = {"digest": first["digest"], "answer": "no"}
        api.post(f"/questions/{first['id']}/answer", answer)
        expect(page.locator("body")).to_have_attribute("data-hit", "Allow once")
        expect(page.locator("#notice")).to_have_class("problem over")
        page.wait_for_timeout(LOOK_MS)
        assert the_question(api)["standing"] == "open"
        assert not (world.root / "made").exists()
        page.mouse.click(x, y)
        expect(buttons).to_have_count(0)
        wait_for((world.root / "made").exists, "the command that was allowed")


def test_f150_what_was_answered_elsewhere_stays_and_says_by_whom(
    world: World, browser: Browser
) -> None:
    script(world, turn("I try.", ("shell", {"command": "touch made"})), turn("End"))
    with served(world) as server, visiting(browser, server) as visitor:
        page, api = visitor.page, server.browser()
        start(api, mode="ask")
        first = the_question(api)
        start(api, mode="ask")
        path, digest = proposed(world)
        rows, waits = page.locator("#inbox li"), page.locator("#inbox li.waits")
        expect(waits).to_have_count(3)
        api.post(f"/questions/{first['id']}/answer", {"digest": first["digest"], "text": "Not now"})
        expect(waits).to_have_count(2)
        expect(rows).to_have_count(3)
        expect(rows.first).to_contain_text("touch made")
        expect(rows.first).to_contain_text("By ")
        expect(rows.first).to_contain_text("Not now")
        page.wait_for_timeout(LOOK_MS)
        waits.filter(has_text="touch made").get_by_role("button", name="Deny").last.click()
        expect(waits).to_have_count(1)
        expect(page.locator("#inbox li.settled")).to_have_count(2)
        world.ok("reject", "--plan", path.rpartition("/")[2], "--note", EVIL)
        expect(waits).to_have_count(0)
        rejected = rows.filter(has_text="rejected")  # the second question may be older or newer
        expect(rejected).to_have_count(1)
        expect(rejected).to_contain_text("<U+202E>")
        assert serious(page) == []
        expect(page.locator("#inbox")).to_contain_text("Nothing waits for you")
        page.reload()
        expect(rows).to_have_count(0)
        assert digest


def test_f150_a_second_answer_without_script_says_who_was_first(
    world: World, browser: Browser
) -> None:
    script(world, turn("Let me ask.", ASK), turn("Red it is."))
    with served(world) as server:
        api = server.browser()
        start(api)
        asked = the_question(api)
        with visiting(browser, server, java_script_enabled=False) as visitor:
            page = visitor.page
            answer = {"digest": asked["digest"], "answer": "Blue"}
            api.post(f"/questions/{asked['id']}/answer", answer)
            page.get_by_label("Red").check()
            page.get_by_role("button", name="Answer").click()
            expect(page.locator("#error-message")).to_contain_text("was answered by")


def test_f150_a_late_answer_says_who_decided(world: World, browser: Browser) -> None:
    script(world, turn("Let me ask.", ASK), turn("Red it is."))
    with served(world) as server, visiting(browser, server) as first:
        api = server.browser()
        start(api)
        asked = the_question(api)
        page = first.page
        page.goto(f"{server.url}/questions/{asked['id']}")
        page.get_by_label("Red").check()
        page.evaluate("for (const each of document.querySelectorAll('[data-live]')) "
                      "each.removeAttribute('data-live')")  # it looks away  # fmt: skip
        api.post(f"/questions/{asked['id']}/answer", {"digest": asked["digest"], "answer": "Blue"})
        page.get_by_role("button", name="Answer").click()
        expect(page.locator("#notice")).to_contain_text("was answered by")
        page.goto(f"{server.url}/questions/{asked['id']}")
        expect(page.locator("#question")).to_contain_text("Blue")


def test_f29_f30_f150_plans_wait_in_the_inbox_and_are_chosen_by_session(
    world: World, browser: Browser
) -> None:
    script(world, *PLANS)
    with served(world) as server, visiting(browser, server) as visitor:
        page = visitor.page
        expect(page.locator("#inbox")).to_contain_text("Nothing waits for you")
        api = server.browser()
        session = start(api)["session"]
        plan = idle(api, session)["plan_id"]
        row = page.locator(f"#row-plan-{plan}")
        expect(row).to_contain_text("1 operation")  # without a reload
        expect(page.locator("#waiting-count")).to_contain_text("1")
        assert row.get_by_role("link").get_attribute("href") == f"/plans/{plan}"
        world.plan("other")
        page.goto(f"{server.url}/plans")
        assert serious(page) == []
        groups = page.locator("#plans section")
        expect(groups).to_have_count(2)
        expect(groups.nth(1)).to_contain_text("Waiting for approval")
        assert page.locator("[data-item]").first.inner_text() == "other"
        page.keyboard.press("j")
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.getAttribute('href')") == f"/plans/{plan}"


def test_g20_a_page_shows_what_a_terminal_did(server: Served, browser: Browser) -> None:
    world = server.world
    script(world, turn("**One**"), turn("Two"))
    with visiting(browser, server, path="/sessions") as visitor:
        page = visitor.page
        assert world.run("-p", "--model", MODEL, "hello").code == 0
        page.get_by_role("link", name="hello").click()
        expect(page.locator("#talk .model strong")).to_have_text("One")
        slug = _slug(server.browser())
        assert world.run("-p", "-r", slug, "again").code == 0
        expect(page.locator("#talk .model").last).to_have_text("Two")


def _slug(api: Client) -> Any:
    return api.get("/sessions")["sessions"][0]["session"]
