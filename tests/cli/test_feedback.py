"""Structured feedback: what a person fills in reaches the log, and the model, as one message."""

import json

import pytest
from tests.cli.harness import Answer, World
from tests.cli.scripts import PLANS, Talker
from tests.cli.terminal import Terminal
from tests.llm.server import Turn, serving
from tests.llm.wire_responses import Reply

ASKED = (b"cover, and what not?", b"must it respect?", b"matters most?", b"else should")
TEXT = "## Scope\n\nOnly src\n\n## Priorities\n\nTests — first"


@pytest.fixture
def proposed(world: World) -> World:
    world.plan(goal="Greet")
    world.write("new.txt", b"new\n")
    world.propose()
    return world


def notes(world: World) -> list[str]:
    events = world.ok("log")["events"]
    return [event["body"]["note"] for event in events if event["kind"] == "plan_rejected"]


def filled(world: World, *answers: bytes) -> Answer:
    """Fills in the form, one field after the other."""
    terminal = Terminal(world, "reject", "--form", "--json")
    for question, keys in zip(ASKED, answers, strict=False):
        terminal.wait_for(question)
        terminal.type(keys)
    return terminal.end()


def test_f58_parts_on_the_command_line_become_one_note(proposed: World) -> None:
    row = proposed.ok("reject", "--scope", "Only src", "--priorities", "Tests — first")
    assert (row["state"], notes(proposed)) == ("DRAFTING", [TEXT])


def test_f58_the_form_asks_for_each_part(proposed: World) -> None:
    answer = filled(proposed, b"Only src\n", b"\n", "Tests — first\n".encode(), b"\n")
    assert (answer.code, answer.json["state"]) == (0, "DRAFTING"), answer
    assert notes(proposed) == [TEXT]


def test_f58_an_empty_form_rejects_nothing(proposed: World) -> None:
    answer = filled(proposed, b"\n", b"  \n", b"\n", b"\n")
    assert (answer.code, answer.error["error"]) == (4, "declined")
    assert (proposed.ok("plan", "show")["state"], notes(proposed)) == ("AWAITING_APPROVAL", [])


def test_f58_a_form_that_is_interrupted_rejects_nothing(proposed: World) -> None:
    answer = filled(proposed, b"Only src\n", b"\x03")
    assert answer.code == 130
    assert notes(proposed) == []


REFUSED = {
    "no words at all": (2, ()),
    "a form beside words": (2, ("--form", "--scope", "x")),
    "nobody to ask": (4, ("--form",)),
    "nobody who may be asked": (4, ("--form", "--no-input")),
}


@pytest.mark.parametrize(("code", "options"), REFUSED.values(), ids=REFUSED)
def test_f58_without_words_nothing_is_rejected(
    proposed: World, code: int, options: tuple[str, ...]
) -> None:
    proposed.no(code, "reject", *options)
    assert notes(proposed) == []


def test_f58_the_model_reads_the_parts_under_their_headings(talker: Talker) -> None:
    talker.script(*PLANS)
    assert talker.say("Greet").code == 3
    talker.world.ok("reject", "--scope", "Only src", "--priorities", "Tests — first")
    with serving(Turn(Reply("I see."))) as server:
        talker.world.env |= {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
        answer = talker.world.run("-c", "-p", "Go on", "--model", "openai/m")
        assert answer.out.startswith(b"I see.\n"), answer
        asked = [heard for heard in server.heard if heard.line.startswith("POST")]
    told = [message["content"] for message in json.loads(asked[-1].body)["messages"]]
    assert [text for text in told if f"User's message:\n\n{TEXT}" in str(text)] != []
