"""A secret in a goal: the model gets it as it was typed, and no name, title or file does."""

import os
from pathlib import Path

from tests.cli.scripts import PRESENT, Talker, turn

KEY = "AKIA" + "Z7Q4X2M9K1B8W3LP"
GOAL = f"my key is {KEY} ok"
PLAIN = "ghp_" + "a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6q7r8"


def names_below(root: Path) -> str:
    found = [name for _, folders, files in os.walk(root) for name in (*folders, *files)]
    return "\n".join(found).lower()


def test_f92_no_name_is_made_of_a_secret(talker: Talker) -> None:
    plan = ("write_plan", {"text": "# Look\n\nUse it.\n", "name": PLAIN})
    talker.script(turn("", plan), turn("", PRESENT))
    row = talker.json(GOAL, code=3)
    assert KEY.lower() not in f"{row['slug']} {row['title']} {row['next']}".lower()
    assert "my-key-is" in row["slug"]
    names = names_below(talker.world.root)
    assert KEY.lower() not in names
    assert PLAIN not in names
    texts = [path.read_text("utf-8") for path in talker.world.root.rglob("*.md")]
    assert texts
    assert KEY not in "\n".join(texts)
    listed = talker.world.ok("sessions", "list")["sessions"]
    assert KEY.lower() not in str(listed).lower()


def test_f92_titles_and_goals_that_a_person_gives_are_masked(talker: Talker) -> None:
    talker.script(turn("Hello."))
    talker.json("Greet them")
    slug = talker.world.ok("sessions", "list")["sessions"][0]["slug"]
    renamed = talker.world.ok("sessions", "rename", slug, f"Key {KEY}")
    assert KEY not in renamed["title"]
    made = talker.world.ok("plan", "new", "look", "--goal", GOAL)
    assert KEY.lower() not in str(made).lower()
    assert KEY.lower() not in names_below(talker.world.root)
