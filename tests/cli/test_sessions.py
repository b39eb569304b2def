"""`assent sessions` and `assent memory`: what was talked about, and what is remembered."""

import json
import re
import shutil

import pytest
from tests.cli.harness import World
from tests.cli.scripts import PRESENT, WRITE_PLAN, Talker, turn, write
from tests.sandbox.profiles import needs_bubblewrap

TURNS = (
    turn("", ("remember", {"text": "Tests run with make."})),
    turn("", write("a.txt", "a\n")),
    turn("", WRITE_PLAN, PRESENT),
    turn("Going on.\n\x1b[31m# Not a heading\n~~~~\n"),
)
KEYS = {
    "session", "slug", "title", "mode", "agent", "model", "plan_id", "created_at", "updated_at",
    "messages", "turns", "steps", "todos", "usage", "cost", "parent", "fork", "children", "state",
    "failure", "custom_mode", "missing_mode",
}  # fmt: skip


@pytest.fixture
def talked(talker: Talker) -> Talker:
    """A world with one session whose plan was presented."""
    talker.script(*TURNS)
    assert talker.say("Say hello").code == 3
    return talker


def listed(world: World) -> list[str]:
    return [row["slug"] for row in world.ok("sessions", "list")["sessions"]]


def test_f147_sessions_are_listed_with_everything_about_them(talked: Talker) -> None:
    [row] = talked.world.ok("sessions", "list")["sessions"]
    assert row.keys() == KEYS
    assert (row["slug"], row["title"], row["mode"], row["turns"]) == (
        "say-hello",
        "Say hello",
        "plan",
        1,
    )
    text = talked.world.run("sessions", "list").out.decode()
    row = re.split(r" {2,}", text.splitlines()[1])
    assert (row[1:3], row[5]) == (["say-hello", "plan"], "just now")
    shown = talked.world.run("sessions", "show", "say-hello").out.decode()
    assert not re.search(r"changed +\S*T", shown), "a time as people write it"


def test_f147_a_long_list_says_how_many_sessions_it_does_not_show(talked: Talker) -> None:
    world = talked.world
    for _ in range(2):
        world.ok("sessions", "fork", "say-hello")
    every = world.ok("sessions", "list")
    assert (len(every["sessions"]), every["more"]) == (3, 0)
    part = world.ok("sessions", "list", "--limit", "1")
    assert part == {"sessions": every["sessions"][:1], "more": 2}
    text = world.run("sessions", "list", "--limit", "1").out.decode()
    assert (
        text.splitlines()[-1]
        == "2 older sessions not shown. To list all: assent sessions list --all"
    )
    assert world.ok("sessions", "list", "--limit", "1", "--all") == every
    assert world.no(2, "sessions", "list", "--limit", "0")["error"] == "usage"


def test_without_a_session_the_list_says_how_to_begin(world: World) -> None:
    assert world.ok("sessions", "list") == {"sessions": [], "more": 0}
    assert b"No sessions yet." in world.run("sessions", "list").out


def test_a_session_is_shown_with_what_was_said(talked: Talker) -> None:
    text = talked.world.run("sessions", "show", "say-hello").out.decode()
    for words in ("│ Say hello", "Model calls write", "write returned", "You cannot approve"):
        assert words in text
    assert talked.world.ok("sessions", "show")["slug"] == "say-hello"


def test_a_session_gets_another_title(talked: Talker) -> None:
    assert talked.world.ok("sessions", "rename", "say-hello", "Hello!")["title"] == "Hello!"
    assert talked.world.no(2, "sessions", "rename", "say-hello", " ")["error"] == "usage"
    assert listed(talked.world) == ["say-hello"]


def test_f147_a_fork_has_no_plan_and_so_nothing_that_was_approved(talked: Talker) -> None:
    world = talked.world
    digest = world.ok("plan", "show")["digest"]
    world.ok("approve", "--digest", digest)
    fork = world.ok("sessions", "fork", "say-hello")
    first = world.ok("sessions", "show", "say-hello")
    assert (fork["slug"], fork["plan_id"], fork["fork"]) == ("say-hello-2", None, first["session"])
    assert sorted(listed(world)) == ["say-hello", "say-hello-2"]
    assert talked.say("-r", "say-hello-2", "Go on").code == 0
    assert world.ok("sessions", "show", "say-hello-2")["plan_id"] is None


def test_an_export_as_json_has_every_event(talked: Talker) -> None:
    whole = json.loads(talked.world.run("sessions", "export", "say-hello").out)
    kinds = [event["kind"] for event in whole["events"]]
    assert (kinds[0], kinds[-1]) == ("session_started", "turn_ended")
    assert whole["events"][0].keys() == {"seq", "at", "kind", "session", "body"}
    assert whole == talked.world.ok("sessions", "export", "say-hello")


def test_an_export_as_a_document_keeps_what_others_said_apart(talked: Talker) -> None:
    talked.say("-c", "Go on")
    text = talked.world.run("sessions", "export", "--format", "markdown").out.decode()
    assert text.startswith("# Say hello\n")
    assert "\x1b" not in text
    inside = text.split("## Model\n\n")[1].splitlines()
    assert (inside[0], inside.count("~~~~~"), "~~~~" in inside) == ("~~~~~", 2, True)
    same = talked.world.ok("sessions", "export", "--format", "markdown")["markdown"]
    assert same == text


@needs_bubblewrap
def test_a_deleted_session_takes_its_scratch_copy_along(talked: Talker) -> None:
    world = talked.world
    session = world.ok("sessions", "show", "say-hello")["session"]
    world.ok("shell", "run", "--scratch", "true")
    place = next((world.state / "assent/scratch").iterdir())
    shutil.copytree(place / "shell", place / session, ignore=lambda *_: ["work", "merged"])
    names = {one["name"] for one in world.ok("scratch", "list")["copies"]}
    assert names == {"shell", session}
    world.ok("sessions", "delete", "say-hello")
    assert [one["name"] for one in world.ok("scratch", "list")["copies"]] == ["shell"]


def test_a_deleted_session_is_gone_and_its_plan_stays(talked: Talker) -> None:
    world = talked.world
    world.ok("sessions", "delete", "say-hello")
    assert listed(world) == []
    assert [row["name"] for row in world.ok("plan", "list")["plans"]] == ["say_hello"]
    answer = world.no(1, "sessions", "show", "say-hello")
    assert (answer["error"], answer["next"]) == ("not_found", "assent sessions list")


def test_a_session_that_nobody_knows(world: World) -> None:
    for line in (["show"], ["show", "nobody"], ["fork"], ["delete", "x"], ["export", "x"]):
        assert world.no(1, "sessions", *line)["error"] == "not_found"
    assert world.no(2, "sessions", "export", "--format", "pdf")["error"] == "usage"


def test_what_is_remembered_can_be_listed_and_forgotten(talked: Talker) -> None:
    world = talked.world
    [fact] = world.ok("memory", "list")["facts"]
    assert fact["text"] == "Tests run with make."
    assert fact["fact"].encode() in world.run("memory", "list").out
    assert world.ok("memory", "forget", fact["fact"]) == fact
    assert world.ok("memory", "list") == {"facts": []}
    assert b"No memory saved for this workspace." in world.run("memory", "list").out
    assert world.no(1, "memory", "forget", fact["fact"])["error"] == "not_found"
