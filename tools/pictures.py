"""Draws pages from a real server with a scripted model: all of them, or those that docs show."""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, Page  # noqa: E402
from tests.cli.harness import World  # noqa: E402
from tests.cli.scripts import MODEL, PRESENT, turn, write  # noqa: E402
from tests.web.browser import CHROMIUM, DESKTOP, PHONE, chromium, visiting  # noqa: E402
from tests.web.harness import Client, Served, served  # noqa: E402
from tests.web.plan_calls import ended  # noqa: E402
from tests.web.test_sessions import idle, script  # noqa: E402

SHOWN = ROOT / "docs" / "pictures"  # what documents show
DRAWN = ROOT / "build" / "pictures"  # everything, to look at
WHOLE = 4_000  # pixels of a page's height that a picture of it has at most
# A browser draws what is far away when it is scrolled to; a picture has all of it.
AT_ONCE = """for (const each of document.querySelectorAll(".op")) {
    each.style.contentVisibility = "visible";
}"""
GOAL = "Strip the line ends in the parser"
FOUND = """The parser splits each line at commas and **keeps the line end** in the last field.

1. Strip the line end in `src/parse.py`
2. Add a test with both kinds of files
"""
QUESTION = {
    "header": "Line ends",
    "question": "Should files with **CRLF** keep their line ends?",
    "options": [
        {"label": "Keep them", "description": "as they are"},
        {"label": "Convert to LF", "description": "one form everywhere"},
    ],
}
TODOS = [
    {"content": "Read the parser", "status": "completed"},
    {"content": "Strip line ends", "status": "in_progress"},
    {"content": "Add a test", "status": "pending"},
]
PLAN = "# Count words\n\n## Steps\n\n- [ ] Write the counter\n\n## Verification\n\nRun it.\n"
CART = """# Round prices

Prices are sums of floats: `0.1 + 0.2` is shown as `0.30000000000000004`.

## Steps

- [ ] Round where prices are summed
- [ ] Remove the old tax table
- [ ] Run the tests

## Risks

The total of old carts may differ by a cent.

## Verification

`python3 -m unittest` passes.
"""
CODE = '"""A shopping cart."""\n\nRATE = 0.19\n\n\n' + "\n\n".join(
    f"def {name}(items):\n    # The {name} of all items, with tax.\n"
    f"    return sum(item.{name} * (1 + RATE) for item in items)\n"
    for name in ("price", "weight", "discount", "deposit")
)
EDITED = CODE.replace(
    "    return sum(item.price * (1 + RATE) for item in items)",
    "    total = sum(item.price * (1 + RATE) for item in items)\n    return round(total, 2)",
)
TEST = """import unittest

from src.cart import price


class PriceTest(unittest.TestCase):
    def test_rounded(self):
        self.assertEqual(price([]), 0)
"""


def main() -> None:
    """Draws what documents show, or with `--all` every page at each size and in each colour."""
    if not Path(CHROMIUM).exists():
        print(f"{CHROMIUM} is not there: no page was drawn.")
        return
    with TemporaryDirectory() as folder, chromium() as browser:
        world = World(Path(folder))
        world.put("src/parse.py", b"def parse(line):\n    return line.split(',')\n")
        world.put("src/cart.py", CODE.encode())
        world.put("src/tax_table.py", b"RATES = {'de': 0.19, 'at': 0.2}\n")
        calls = (("read", {"path": "src/parse.py"}), ("grep", {"pattern": "split"}))
        ask = ("ask_user", {"questions": [QUESTION]})
        script(
            world,
            turn("I read the parser first.", *calls),
            turn(FOUND, ("todo", {"todos": TODOS})),
            turn("One question before the plan.", ask),
        )
        with served(world) as server:
            paths = _pages(server, world)
            if "--all" in sys.argv:
                _draw_all(browser, server, paths)
            else:
                _draw_shown(browser, server, dict(paths))


def _pages(server: Served, world: World) -> list[tuple[str, str]]:
    """Makes something to see on every page, and returns their names and paths."""
    api = server.browser()
    session = api.post("/sessions", {"goal": GOAL, "model": MODEL}, 202)["session"]
    idle(api, session)
    script(world, turn("A plan.", ("write_plan", {"text": PLAN}), write("count.py", "print(1)\n")),
           turn("Here it is.", PRESENT))  # fmt: skip
    idle(api, api.post("/sessions", {"goal": "Count the words", "model": MODEL}, 202)["session"])
    script(world, turn("I try.", ("shell", {"command": "make install"})), turn("End"))
    api.post("/sessions", {"goal": "Install it", "model": MODEL, "mode": "ask"}, 202)
    run = _halted(api, world)
    plan = world.plan("round_prices")["plan_id"]
    world.text().write_text(CART, encoding="utf-8")
    world.write("src/cart.py", EDITED.encode())
    world.write("tests/test_cart.py", TEST.encode())
    world.ok("stage", "delete", "src/tax_table.py")
    world.ok("stage", "run", "--script", "-", stdin=b"python3 -m unittest\n")
    world.propose()
    review = f"/plans/{plan}/review"
    comment = api.post(f"/plans/{plan}/comments", {"where": "plan:3", "text": "In which currency?"})
    reply = {"reply_to": comment["id"], "text": "In cents, if there is a choice."}
    api.post(f"/plans/{plan}/comments", reply)
    api.post(f"/plans/{plan}/comments", {"where": "1:12", "text": "Round half to even."})
    (question, *_) = api.get("/questions")["questions"]
    asked = f"/questions/{question['id']}"
    digest = api.get(f"/plans/{plan}/review")["digest"]
    pages = [
        ("inbox", "/"), ("sessions", "/sessions"), ("session", f"/sessions/{session}"),
        ("question", asked), ("plans", "/plans"), ("plan", f"/plans/{plan}"), ("review", review),
        ("review-split", f"{review}?view=split"), ("history", f"/plans/{plan}/history"),
        ("comment", f"{review}?on=plan:5"), ("confirm", f"/plans/{plan}/approve?digest={digest}"),
        ("runs", "/runs"), ("run", f"/runs/{run}"), ("error", "/runs/none"),
    ]  # fmt: skip
    return pages


def _halted(api: Client, world: World) -> Any:
    """Builds a plan that stops at its second command, and returns its run."""
    plan = world.plan("release")["plan_id"]
    world.write("CHANGES.md", b"# 1.2\n\n- Prices are rounded.\n")
    world.ok("stage", "run", "--script", "-", stdin=b"echo Checking; test -e signed || exit 3\n")
    digest = world.propose()
    path = f"/plans/{plan}"
    api.get(f"{path}/review")
    api.post(f"{path}/approve", {"digest": digest})
    return ended(api, path, api.post(f"{path}/build", {"digest": digest}, 202)["id"])["run"]


def _draw_all(browser: Browser, server: Served, paths: list[tuple[str, str]]) -> None:
    DRAWN.mkdir(parents=True, exist_ok=True)
    for look, wanted in _looks():
        with visiting(browser, server, path="/login", **wanted) as visitor:
            for name, path in paths:
                visitor.page.goto(f"{server.url}{path}")
                _draw(visitor.page, DRAWN / f"{name}-{look}.png", whole=True)
            visitor.page.goto(f"{server.url}/")
            visitor.page.keyboard.press("?")
            _draw(visitor.page, DRAWN / f"keys-{look}.png", whole=False)
    print(f"Drawn into {DRAWN}.")


def _looks() -> Iterator[tuple[str, dict[str, Any]]]:
    for size, viewport in (("desktop", DESKTOP), ("phone", PHONE)):
        for colours in ("light", "dark"):
            yield f"{size}-{colours}", {"viewport": viewport, "color_scheme": colours}


def _draw_shown(browser: Browser, server: Served, paths: dict[str, str]) -> None:
    SHOWN.mkdir(exist_ok=True)
    with visiting(browser, server) as visitor:
        for name in ("session", "review"):
            visitor.page.goto(f"{server.url}{paths[name]}")
            _draw(visitor.page, SHOWN / f"web-{name}.png", whole=False)
    with visiting(browser, server, viewport=PHONE, color_scheme="dark") as visitor:
        _draw(visitor.page, SHOWN / "web-inbox-phone.png", whole=False)
        visitor.page.goto(f"{server.url}{paths['review']}")
        _draw(visitor.page, SHOWN / "web-phone.png", whole=False)


def _draw(page: Page, file: Path, *, whole: bool) -> None:
    page.wait_for_load_state("networkidle" if page.url.endswith("/login") else "load")
    page.evaluate(AT_ONCE)
    if whole:
        page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(300)  # until fonts and what scripts add are drawn
    height = page.evaluate("document.documentElement.scrollHeight")
    width = page.viewport_size["width"] if page.viewport_size else 0
    if whole and height > WHOLE:
        page.screenshot(path=file, full_page=True,
                        clip={"x": 0, "y": 0, "width": width, "height": WHOLE})  # fmt: skip
    else:
        page.screenshot(path=file, full_page=whole)


if __name__ == "__main__":
    main()
