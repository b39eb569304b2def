"""Draws the pictures of `docs/web.md` from a real server with a scripted model."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser  # noqa: E402
from tests.cli.harness import World  # noqa: E402
from tests.cli.scripts import MODEL, PRESENT, turn, write  # noqa: E402
from tests.web.browser import PHONE, chromium, visiting  # noqa: E402
from tests.web.harness import Served, served  # noqa: E402
from tests.web.test_sessions import idle, script  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
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


def main() -> None:
    """Draws all pictures."""
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, chromium() as browser:
        world = World(Path(folder))
        world.put("src/parse.py", b"def parse(line):\n    return line.split(',')\n")
        calls = (("read", {"path": "src/parse.py"}), ("grep", {"pattern": "split"}))
        ask = ("ask_user", {"questions": [QUESTION]})
        script(
            world,
            turn("I read the parser first.", *calls),
            turn(FOUND, ("todo", {"todos": TODOS})),
            turn("One question before the plan.", ask),
        )
        with served(world) as server:
            _draw(browser, server, world)


def _draw(browser: Browser, server: Served, world: World) -> None:
    api = server.browser()
    session = api.post("/sessions", {"goal": GOAL, "model": MODEL}, 202)["session"]
    idle(api, session)
    script(world, turn("A plan.", ("write_plan", {"text": PLAN}), write("count.py", "print(1)\n")),
           turn("Here it is.", PRESENT))  # fmt: skip
    more = api.post("/sessions", {"goal": "Count the words", "model": MODEL}, 202)["session"]
    idle(api, more)
    with visiting(browser, server, path=f"/sessions/{session}") as visitor:
        visitor.page.wait_for_timeout(300)
        visitor.page.screenshot(path=FOLDER / "web-session.png")
    with visiting(browser, server, viewport=PHONE, color_scheme="dark") as visitor:
        visitor.page.screenshot(path=FOLDER / "web-inbox-phone.png")


if __name__ == "__main__":
    main()
