"""Reading outside the workspace through the command line: a folder is asked for, never written."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.harness import files_below
from tests.cli.scripts import Talker, turn

ASKING = ("--mode", "ask", "--ask-later")


@pytest.fixture
def near(talker: Talker) -> Path:
    """A folder beside the workspace, with two files."""
    folder = talker.world.base / "near"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n", encoding="utf-8")
    (folder / "b.txt").write_text("beta\n", encoding="utf-8")
    return folder


def read(path: object) -> tuple[str, dict[str, Any]]:
    return "read", {"path": str(path)}


def results(talker: Talker, *arguments: str) -> list[dict[str, Any]]:
    """What came of the calls of a turn."""
    answer = talker.say(*arguments, "--output-format", "stream-json")
    assert answer.code in (0, 3, 4), answer
    rows = talker.rows(answer)
    return [row["body"] for row in rows if row["kind"] == "call_ended"]


def test_f77_nobody_to_ask_is_a_no(talker: Talker, near: Path) -> None:
    (talker.world.root / "link").symlink_to(near / "a.txt")
    talker.script(turn("", read(near / "a.txt"), read("link"), ("list", {"path": str(near)})),
                  turn("I may not."))  # fmt: skip
    for mode in ("plan", "ask"):
        ends = results(talker, "Look", "--mode", mode)
        assert [(end["verdict"], end["result"]["failed"]) for end in ends] == [("ask", True)] * 3
        assert "alpha" not in str(ends)


def test_f77_a_yes_for_the_session_covers_the_folder(talker: Talker, near: Path) -> None:
    talker.script(turn("", read(near / "a.txt")), turn("", read(near / "b.txt")), turn("Seen."))
    before = files_below(near)
    talker.say("Look", *ASKING)
    [asked] = talker.world.ok("questions", "list")["questions"]
    assert str(near / "a.txt") in str(asked["questions"]) or f"{near}/*" in str(asked["questions"])
    patterns = [each["pattern"] for each in asked["questions"][0]["always"]]
    named = [word for pattern in patterns for word in ("--pattern", pattern)]
    line = ("questions", "answer", asked["question"], "session", "--digest", asked["digest"])
    talker.world.ok(*line, *named)
    ends = results(talker, "-c", "--ask-later")
    assert [end["result"]["text"] for end in ends] == ["alpha", "beta"]
    assert files_below(near) == before


def test_f77_a_rule_of_the_user_lets_a_folder_be_read(talker: Talker, near: Path) -> None:
    text = talker.world.config.read_text("utf-8")
    rule = (
        f'\n[[rules]]\npermission = "external_directory"\npattern = "{near}/*"\naction = "allow"\n'
    )
    talker.world.config.write_text(text + rule, encoding="utf-8")
    key = talker.world.state / "assent" / "key"
    talker.script(turn("", read(near / "a.txt"), read(key), read("../home")), turn("Seen."))
    ends = results(talker, "Look")
    assert [end["result"]["failed"] for end in ends] == [False, True, True]
    assert ends[0]["result"]["text"] == "alpha"


def test_f77_nothing_outside_is_ever_written(talker: Talker, near: Path) -> None:
    (talker.world.root / "folder").symlink_to(near)
    before = files_below(near)
    paths = (str(near / "a.txt"), "../near/a.txt", "folder/a.txt")
    calls: list[tuple[str, dict[str, Any]]] = [
        *[("write", {"path": path, "content": "x"}) for path in paths],
        *[("delete", {"path": path}) for path in paths],
    ]
    talker.script(turn("", *calls), turn("Tried."))
    for mode in ("plan", "yolo"):
        assert all(end["result"]["failed"] for end in results(talker, "Do it", "--mode", mode))
    assert files_below(near) == before
