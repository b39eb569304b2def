"""`assent sessions rewind` and `sessions diff`: another way from there, and what a turn changed."""

import json

import pytest
from tests.cli.scripts import Talker, turn, write


@pytest.fixture
def talked(talker: Talker) -> Talker:
    """A session of two turns that both changed files."""
    talker.script(
        turn("", write("a.txt", "a\n")),
        turn("One."),
        turn("", write("a.txt", "a\nb\n"), write("c.txt", "c\n")),
        turn("Two."),
        turn("Another."),
    )
    assert talker.say("Say hello", "--mode", "yolo").code == 0
    assert talker.say("Say more", "-c").code == 0
    return talker


def test_f148_rewind_puts_the_words_back_and_names_what_can_be_undone(talked: Talker) -> None:
    world = talked.world
    row = world.ok("sessions", "rewind", "say-hello")
    assert (row["text"], row["messages"], row["turns_since"]) == ("Say more", 1, [2])
    [run] = row["runs_since"]
    assert (world.root / "c.txt").exists()
    shown = world.run("sessions", "show", "say-hello").out.decode()
    assert "User rewinds to before this message" in shown
    assert shown.count("Say more") >= 2
    exported = world.ok("sessions", "export", "say-hello")
    assert [e["kind"] for e in exported["events"]].count("session_rewound") == 1
    assert run in [each["run"] for each in world.ok("runs", "list")["runs"]]
    assert talked.say("Say something else", "-c").code == 0
    assert world.ok("sessions", "show", "say-hello")["messages"] == 2


def test_f148_rewind_tells_a_person_what_stays(talked: Talker) -> None:
    text = talked.world.run("sessions", "rewind").out.decode()
    assert "Removed from the model's context, with everything after it:" in text
    assert "│ Say more" in text
    assert "  assent undo " in text


def test_f148_rewind_goes_to_a_message_by_its_id(talked: Talker) -> None:
    world = talked.world
    messages = world.ok("sessions", "rewind", "say-hello", "--list")["messages"]
    assert [(one["text"], one["turn"]) for one in messages] == [("Say hello", 1), ("Say more", 2)]
    first = messages[0]["id"]
    listed = world.run("sessions", "rewind", "--list").out.decode().splitlines()
    assert listed[1].split() == [first, "1", "Say", "hello"]
    row = world.ok("sessions", "rewind", "say-hello", "--to", first)
    assert (row["rewound_to"], row["text"], row["messages"]) == (first, "Say hello", 0)
    assert len(row["runs_since"]) == 2
    error = world.no(1, "sessions", "rewind", "say-hello", "--to", "nothing")
    assert error["error"] == "not_found"


def test_f149_diff_shows_files_and_lines_of_each_turn(talked: Talker) -> None:
    world = talked.world
    turns = world.ok("sessions", "diff", "say-hello")["turns"]
    assert [(t["turn"], len(t["files"]), t["additions"], t["deletions"]) for t in turns] == [
        (1, 1, 1, 0),
        (2, 2, 2, 0),
    ]
    assert "diff" not in json.dumps(turns)
    text = world.run("sessions", "diff").out.decode().splitlines()
    assert [line.split()[:3] for line in text[1:]] == [["1", "1", "+1"], ["2", "2", "+2"]]


def test_f149_diff_shows_everything_that_one_turn_changed(talked: Talker) -> None:
    world = talked.world
    row = world.ok("sessions", "diff", "say-hello", "--turn", "2")
    assert [(file["path"], file["additions"]) for file in row["files"]] == [
        ("a.txt", 1),
        ("c.txt", 1),
    ]
    assert "+b\n" in row["files"][0]["diff"]
    text = world.run("sessions", "diff", "--turn", "2").out.decode()
    assert text.startswith("Turn 2: 2 files, +2 -0\n")
    assert "\n+b\n" in text
    assert world.no(1, "sessions", "diff", "--turn", "9")["error"] == "not_found"
