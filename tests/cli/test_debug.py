"""`assent debug`: what a model is told and which tools it gets, without asking any."""

import re

import pytest
from tests.cli.harness import World
from tests.cli.scripts import Talker, turn
from tests.llm.server import Turn, serving

from assent.cli.debug import tools_lines

MOST = 1750  # tokens of the plan agent's first request
WRITERS = {"write", "edit", "patch", "delete", "move", "notebook_edit"}
READERS = {"read", "list", "glob", "grep", "search", "git", "shell", "task", "more_tools"}
PLANNERS = {
    "write_plan",
    "todo",
    "question",
    "present_plan",
    "options",
    "unstage",
    "draft",
    "rehearse",
    "remember",
}


def tools(world: World, *options: str) -> dict[str, str]:
    """Each tool and why it is withheld; an empty reason means that it is offered."""
    rows = world.ok("debug", "tools", *options)["tools"]
    assert all(bool(row["why"]) is not row["offered"] for row in rows)
    return {row["name"]: row["why"] for row in rows}


def offered(world: World, *options: str) -> set[str]:
    return {name for name, why in tools(world, *options).items() if not why}


def test_f12_what_plan_mode_offers_and_withholds_and_why(world: World) -> None:
    assert offered(world) == READERS | WRITERS | PLANNERS
    assert set(tools(world)) - offered(world) == {"fetch", "enter_plan"}
    assert "fetch.hosts" in tools(world)["fetch"]
    text = world.run("debug", "tools").out.decode()
    row = world.ok("debug", "tools")
    rare = [tool["on_demand"] for tool in row["tools"]].count(True)
    assert (row["mode"], row["agent"], rare, len(offered(world))) == ("plan", "plan", 13, 24)
    assert text.startswith(next(tools_lines(row)).text)
    assert re.search(r"^task +on demand$", text, re.MULTILINE)


def test_f12_the_strict_form_offers_no_writer(world: World) -> None:
    world.config.write_text("[plan]\nstaging = false\n", encoding="utf-8")
    assert offered(world) == READERS | PLANNERS - {"unstage", "draft", "rehearse"}
    assert "plan.staging" in tools(world)["write"]
    assert "plan.staging" in tools(world)["unstage"]


def test_outside_plan_mode_the_tools_of_planning_are_withheld(world: World) -> None:
    found = offered(world, "--mode", "ask")
    assert found >= READERS | WRITERS | {"fetch"}
    assert not found & {"write_plan", "present_plan"}
    assert world.ok("debug", "tools", "--mode", "ask")["agent"] == "build"


def test_the_first_request_of_the_plan_agent_is_small(world: World) -> None:
    row = world.ok("debug", "prompt")
    assert row["tokens"] <= MOST
    assert (row["agent"], row["mode"], row["tools"]["count"]) == ("plan", "plan", 11)
    assert [layer["name"] for layer in row["layers"] if layer["text"]][:2] == ["base", "tools"]
    [told] = [layer["text"] for layer in row["layers"] if layer["name"] == "message"]
    assert told.startswith("You plan.")  # behind the system prompt, which all modes share


def test_the_first_request_is_as_large_as_it_says(talker: Talker) -> None:
    with serving(Turn()) as server:
        talker.world.env |= {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
        talker.script(turn())
        assert talker.world.run("-p", "Hi", "--model", "openai/m").code == 0
        asked = [heard.json for heard in server.heard if "tools" in heard.json]
    said = talker.world.ok("debug", "prompt")["tokens"]
    functions = [tool["function"] for tool in asked[0]["tools"]]
    spelled = "".join(str(message["content"]) for message in asked[0]["messages"])
    spelled += "".join(f["name"] + f["description"] + str(f["parameters"]) for f in functions)
    assert len(spelled) / 4 <= MOST + 100
    assert abs(len(spelled) / 4 - said) < 300


def test_every_layer_is_shown_with_its_size(world: World) -> None:
    world.put("AGENTS.md", b"Always use tabs.\n")
    text = world.run("debug", "prompt").out.decode()
    assert "Always use tabs." in text
    for name in ("base", "agent", "tools", "environment", "instructions"):
        assert f"\n{name} (" in f"\n{text}"
    assert "First request of plan in plan mode: " in text


def test_an_agent_of_the_project_and_one_that_is_missing(world: World) -> None:
    agent = b"---\ndescription: Reviews\nmode: primary\ntools:\n  write: false\n---\nBe strict.\n"
    world.put(".opencode/agents/strict.md", agent)
    row = world.ok("debug", "prompt", "--agent", "strict")
    assert "Be strict." in [layer["text"].strip() for layer in row["layers"]]
    assert "write" not in offered(world, "--agent", "strict")
    assert "strict" in world.no(2, "debug", "prompt", "--agent", "nobody")["message"]


@pytest.mark.parametrize("command", ["prompt", "tools"])
def test_no_model_is_needed(world: World, command: str) -> None:
    assert world.run("debug", command).code == 0
