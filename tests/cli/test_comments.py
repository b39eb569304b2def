"""Comments on the command line: tied to lines, listed, shown in the review, sent with a no."""

import json
from typing import Any

import pytest
from tests.cli.harness import World
from tests.cli.scripts import PLANS, Talker
from tests.cli.terminal import Terminal
from tests.llm.server import Turn, serving
from tests.llm.wire_responses import Reply

TEXT = b"# Greet\n\nWrite hello.txt.\nThat is all.\n"


@pytest.fixture
def proposed(world: World) -> World:
    world.plan(goal="Greet")
    world.write("hello.txt", b"hello\nworld\n")
    world.ok("plan", "write", "-", stdin=TEXT)
    world.propose()
    return world


def rejected(world: World) -> list[dict[str, Any]]:
    events = world.ok("log")["events"]
    return [event["body"] for event in events if event["kind"] == "plan_rejected"]


def places(world: World) -> list[tuple[Any, ...]]:
    rows = world.ok("comment", "list")["comments"]
    return [(row["on"], row["first"], row["last"], row["quote"], row["text"]) for row in rows]


def test_g18_comments_are_tied_to_lines_and_listed(proposed: World) -> None:
    operation = proposed.ok("review")["operations"][0]["id"]
    row = proposed.ok("comment", "add", "plan:3", "Which greeting?")
    assert row == {
        "id": row["id"],
        "number": 1,
        "on": "plan",
        "operation": None,
        "about": None,
        "first": 3,
        "last": 3,
        "standing": "here",
        "quote": ["Write hello.txt."],
        "text": "Which greeting?",
        "digest": proposed.ok("plan", "show")["digest"],
        "at": row["at"],
        "user": row["user"],
    }
    proposed.ok("comment", "add", "plan:3-4", "Really?")
    proposed.ok("comment", "add", "1:7", "In German.")
    proposed.ok("comment", "add", operation[:10], "Or not at all.")
    assert places(proposed) == [
        ("plan", 3, 3, ["Write hello.txt."], "Which greeting?"),
        ("plan", 3, 4, ["Write hello.txt.", "That is all."], "Really?"),
        ("operation", 7, 7, ["+world"], "In German."),
        ("operation", None, None, [], "Or not at all."),
    ]
    kinds = [event["kind"] for event in proposed.ok("log")["events"]]
    assert kinds[-4:] == ["comment_added"] * 4


def test_g18_comments_are_changed_and_taken_back(proposed: World) -> None:
    for words in ("One.", "Two."):
        proposed.ok("comment", "add", "plan:3", words)
    assert proposed.ok("comment", "change", "2", "Three.")["number"] == 2
    assert proposed.ok("comment", "remove", "1")["text"] == "One."
    assert [place[-1] for place in places(proposed)] == ["Three."]
    proposed.no(1, "comment", "remove", "2")


def test_f57_a_reply_is_listed_below_its_comment(proposed: World) -> None:
    first = proposed.ok("comment", "add", "plan:3", "One?")
    proposed.ok("comment", "add", "plan:4", "Two?")
    row = proposed.ok("comment", "reply", "1", "Rather one.")
    assert (row["number"], row["reply_to"], row["first"]) == (3, first["id"], 3)
    assert "reply_to" not in first
    out = proposed.run("comment", "list").out.decode()
    assert "Comment 3, a reply to comment 1" in out
    assert out.index("One?") < out.index("Rather one.") < out.index("Two?")
    assert out.count("Write hello.txt.") == 1
    proposed.no(1, "comment", "reply", "9", "x")


def test_g18_lines_are_shown_with_the_numbers_that_a_comment_names(proposed: World) -> None:
    assert proposed.ok("comment", "lines", "plan")["lines"][2] == "Write hello.txt."
    out = proposed.run("comment", "lines", "1").out.decode()
    assert out.splitlines()[-1] == "7 │ +world"


WRONG = {
    "no such line": (1, "plan:5"),
    "a range over the end": (1, "plan:4-5"),
    "no such operation": (1, "2:1"),
    "line zero": (2, "plan:0"),
    "backwards": (2, "plan:4-3"),
    "no number": (2, "plan:x"),
    "nothing before the colon": (2, ":3"),
    "two colons": (2, "plan:1:2"),
}


@pytest.mark.parametrize(("code", "where"), WRONG.values(), ids=WRONG)
def test_g18_what_names_no_lines_is_refused(proposed: World, code: int, where: str) -> None:
    proposed.no(code, "comment", "add", where, "Words.")
    assert places(proposed) == []


def test_g18_the_review_shows_comments_below_their_lines(proposed: World) -> None:
    before = proposed.run("review").out.decode().splitlines()
    assert "comments" not in proposed.ok("review")
    proposed.ok("comment", "add", "plan:3", "Which greeting?\nGerman?")
    lines = proposed.run("review").out.decode().splitlines()
    at = lines.index("│ Write hello.txt.") + 1
    assert lines[at : at + 2] == ["▸ comment 1: Which greeting?", "▸ German?"]
    rest = [line for line in lines if not line.startswith(("▸ ", "1 pending comment"))]
    assert rest == before
    assert [row["first"] for row in proposed.ok("review")["comments"]] == [3]


def test_f57_a_no_sends_all_comments_as_one_request(proposed: World) -> None:
    proposed.ok("comment", "add", "plan:3", "Which greeting?")
    proposed.ok("comment", "add", "1:6", "In German.")
    answer = proposed.run("reject", "--scope", "Only hello.txt")
    assert (answer.code, answer.out.splitlines()[0]) == (
        0, b"2 comments sent with the quoted lines.",
    )  # fmt: skip
    (event,) = rejected(proposed)
    assert event["note"].startswith("## Scope\n\nOnly hello.txt\n\n## Comments\n\n")
    assert "3 | Write hello.txt.\n```\n\nWhich greeting?" in event["note"]
    assert "6 | +hello\n```\n\nIn German." in event["note"]
    assert [comment["text"] for comment in event["comments"]] == ["Which greeting?", "In German."]
    assert places(proposed) == []


def test_f57_comments_alone_are_words_enough(proposed: World) -> None:
    proposed.ok("comment", "add", "plan:3", "Which greeting?")
    row = proposed.ok("reject")
    assert (row["state"], row["comments"]) == ("DRAFTING", 1)


def test_f57_a_form_left_empty_still_sends_them(proposed: World) -> None:
    proposed.ok("comment", "add", "plan:3", "Which greeting?")
    terminal = Terminal(proposed, "reject", "--form", "--json")
    for question in (
        b"cover, and what not?",
        b"must it respect?",
        b"matters most?",
        b"else should",
    ):
        terminal.wait_for(question)
        terminal.type(b"\n")
    assert terminal.end().json["comments"] == 1


def test_f57_without_comments_they_keep_waiting(proposed: World) -> None:
    proposed.ok("comment", "add", "plan:3", "Which greeting?")
    proposed.no(2, "reject", "--without-comments")
    row = proposed.ok("reject", "--note", "Not yet.", "--without-comments")
    assert ("comments" in row, [e["note"] for e in rejected(proposed)]) == (False, ["Not yet."])
    assert [place[-1] for place in places(proposed)] == ["Which greeting?"]


def test_g18_a_revised_plan_takes_its_comments_along(proposed: World) -> None:
    proposed.ok("comment", "add", "plan:3", "Which greeting?")
    proposed.ok("comment", "add", "plan:4", "All?")
    text = b"# Greet\n\nIn German.\n\nWrite hello.txt.\nThat was all.\n"
    proposed.ok("plan", "write", "-", stdin=text)
    rows = proposed.ok("comment", "list")["comments"]
    assert [(row["standing"], row["first"]) for row in rows] == [("moved", 5), ("gone", 4)]
    out = proposed.run("review").out.decode()
    assert "│ Write hello.txt.\n▸ comment 1, moved with its lines: Which greeting?\n" in out
    assert "Comment 2: was at line 4 of the plan text\n4 │ That is all.\n▸ All?\n" in out


def test_f57_the_model_gets_both_comments(talker: Talker) -> None:
    talker.script(*PLANS)
    assert talker.say("Greet").code == 3
    talker.world.ok("comment", "add", "plan:3", "Which greeting?")
    talker.world.ok("comment", "add", "1:6", "In German.")
    talker.world.ok("reject")
    with serving(Turn(Reply("I see."))) as server:
        talker.world.env |= {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
        answer = talker.world.run("-c", "-p", "Go on", "--model", "openai/m")
        assert answer.out.startswith(b"I see.\n"), answer
        asked = [heard for heard in server.heard if heard.line.startswith("POST")]
    messages = json.loads(asked[-1].body)["messages"]
    told = [str(message["content"]) for message in messages if "Comments" in str(message)]
    assert len(told) == 1
    assert "3 | Write hello.txt, which greets.\n```\n\nWhich greeting?" in told[0]
    assert "6 | +hello\n```\n\nIn German." in told[0]
