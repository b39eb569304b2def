"""Requests grow at their ends: what a model was sent once stays, so that providers' caches hold.

And every request speaks only of tools that the model has in it, or can ask for.
"""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from bench.story_server import StoryServer
from tests.cli.story_model import Model

from assent.core.permission.mode import MODES
from assent.core.tool import TOOL_NAMES, mentions_tool
from assent.llm.scripted import ScriptedCall, ScriptedTurn

DONE = ScriptedTurn("Done.")
EDIT = {"path": "shop/prices.py", "old": "after a discount", "new": "less a discount"}
OTHER = {"path": "README.md", "old": "# Shop", "new": "# The shop"}
PLAN = "# Prices\n\nGoal: say it better. Verification: none needed.\n"


def calls(*made: tuple[str, dict[str, Any]]) -> ScriptedTurn:
    return ScriptedTurn("I work.", calls=tuple(ScriptedCall(tool, args) for tool, args in made))


def say(model: Model, text: str, *answers: ScriptedTurn, options: tuple[str, ...] = ()) -> None:
    model.server.answers = [*answers]
    answer = model.run("-p", text, *options, "--model", "openai/m")
    assert answer.code in (0, 3), answer
    assert model.server.answers == []


def sent(model: Model) -> list[dict[str, Any]]:
    return [json.loads(body) for body in model.server.bodies]


def check_growth(bodies: list[dict[str, Any]]) -> None:
    """Checks that each request begins with everything that the one before it said."""
    for before, after in pairwise(bodies):
        for part in ("tools", "messages"):
            assert after[part][: len(before[part])] == before[part], part


def digest(model: Model) -> str:
    return str(model.ok("status")["plan"]["digest"])


def test_f12_a_long_session_only_adds_to_what_was_sent(model: Model) -> None:
    again = ("-c",)
    present = calls(("write_plan", {"text": PLAN}), ("present_plan", {}))
    say(model, "Look at `git`", calls(("read", {"path": "README.md"})), DONE)
    say(model, "Change it", calls(("edit", {"edits": [EDIT]})), present, options=again)
    assert model.run("reject", "--note", "Say more").code == 0
    unstage = calls(("draft", {"diff": True}), ("edit", {"edits": [OTHER]}))
    say(model, "Go on", unstage, present, options=again)
    assert model.run("approve", "--digest", digest(model), "--build").code == 0
    say(model, "And now?", calls(("shell", {"command": "cat README.md"})), DONE, options=again)
    for mode in ("ask", "auto-edit", "yolo"):
        read = calls(("read", {"path": "shop/cart.py"}), ("write_plan", {"text": "x"}))
        say(model, f"Now in {mode}", read, DONE, options=(*again, "--mode", mode))
    back = {"path": "README.md", "old": "# The shop", "new": "# Shop"}
    made = calls(("edit", back), ("more_tools", {"names": ["fetch", "task"]}))
    say(model, "Back", made, calls(("shell", {"command": "ls"})), DONE, options=again)
    assert model.undo().code == 0
    say(model, "What now?", DONE, options=again)
    plan = (*again, "--mode", "plan")
    say(model, "Plan again", calls(("edit", {"edits": [EDIT, OTHER]})), DONE, options=plan)
    bodies = sent(model)
    assert len(bodies) == 20
    check_growth(bodies)
    names = [each["function"]["name"] for each in bodies[-1]["tools"]]
    assert names[-2:] == ["fetch", "task"]
    assert names.count("write_plan") == 1


def test_a_message_that_changes_is_found() -> None:
    one, other = {"role": "user", "content": "a"}, {"role": "user", "content": "b"}
    tool = [{"name": "read"}]
    check_growth([{"tools": tool, "messages": [one]}, {"tools": tool, "messages": [one, other]}])
    for tools, messages in ((tool, [other, one]), ([{"name": "x"}], [one]), ([], [one])):
        with pytest.raises(AssertionError):
            check_growth(
                [{"tools": tool, "messages": [one]}, {"tools": tools, "messages": messages}]
            )


def test_f136_the_system_prompt_is_the_same_in_every_mode(model: Model) -> None:
    for mode in MODES:
        say(model, "Look", DONE, options=("--mode", mode))
    first, *others = sent(model)
    assert [body["messages"][0] for body in others] == [first["messages"][0]] * 3
    assert first["messages"][0]["role"] == "system"
    told = [json.dumps(body["messages"][1]) for body in (first, *others)]
    assert "You plan." in told[0]
    assert [("You plan." in each, "You build." in each) for each in told[1:]] == [(False, True)] * 3
    assert others[0]["tools"] == others[1]["tools"] == others[2]["tools"]


def test_f136_a_session_that_started_elsewhere_gets_the_instructions_it_lacks(model: Model) -> None:
    say(model, "Look", DONE, options=("--mode", "yolo"))
    say(model, "Plan", DONE, options=("-c", "--mode", "plan"))
    say(model, "And again", DONE, options=("-c",))
    bodies = sent(model)
    check_growth(bodies)
    counted = [json.dumps(body["messages"]).count("You plan.") for body in bodies]
    assert counted == [0, 1, 1]


def test_f12_a_session_in_yolo_mode_reads_nothing_about_planning(model: Model) -> None:
    say(model, "Look", DONE, options=("--mode", "yolo"))
    [body] = sent(model)
    body["messages"][-1]["content"] = body["messages"][-1]["content"].replace("the plan", "")
    tools = json.dumps(body["tools"]).lower()
    assert [word for word in ("plan", "stage") if word in tools] == []
    assert "plan" not in body["messages"][0]["content"].lower()


SETTINGS = {
    "as it comes": "",
    "without staging": "[plan]\nstaging = false\n",
    "with suggestions": "[plan]\nsuggest = true\n",
    "nothing on demand": '[permission]\nmore_tools = "deny"\n',
    "no commands": '[permission]\nbash = "deny"\n',
}
AGENTS = {"": "", "explore": "explore", "own": "own"}
OWN = b'---\ndescription: Own\nmode: all\ntools: {"todo": false, "task": false}\n---\nBe kind.\n'


@pytest.mark.parametrize("config", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("agent", AGENTS)
def test_f12_a_request_names_no_tool_that_it_neither_offers_nor_lets_ask_for(
    tmp_path: Path, server: StoryServer, config: str, agent: str
) -> None:
    model = Model(tmp_path, server, config)
    model.put(".opencode/agents/own.md", OWN)
    given = ("--agent", agent) if agent else ()
    for mode in MODES:
        say(model, "Look", DONE, options=("--mode", mode, *given))
        say(model, "Go on", DONE, options=("-c", "--mode", "yolo" if mode == "plan" else "plan"))
    assert len(sent(model)) == 8
    for body in sent(model):
        check_mentions(body)


def test_f12_a_sub_agent_reads_only_of_tools_that_it_has(model: Model) -> None:
    for agent in ("explore", "general"):
        for mode in ("plan", "yolo"):
            task = calls(("task", {"prompt": "Look around", "agent": agent}))
            say(model, "Let others look", task, DONE, DONE, options=("--mode", mode))
    bodies = sent(model)
    assert len(bodies) == 12
    for body in bodies:
        check_mentions(body)
    children = [json.dumps(body) for body in bodies if "Look around" in str(body["messages"][1])]
    assert len(children) == 4
    assert [each for each in children if "`todo`" in each or '"todo"' in each] == []


def check_mentions(body: dict[str, Any]) -> None:
    """Checks that a request speaks of no tool that the model cannot have."""
    offered = {each["function"]["name"]: each["function"] for each in body["tools"]}
    more = offered.get("more_tools", {"description": ""})["description"]
    obtainable = {name for name in TOOL_NAMES if f" {name}" in more}
    absent = set(TOOL_NAMES) - offered.keys() - obtainable
    texts = [str(each["content"]) for each in body["messages"] if each["role"] != "assistant"]
    texts += [each["description"] for each in offered.values()]
    texts += [str(each["parameters"]) for each in offered.values()]
    assert texts
    assert [text for text in texts if mentions_tool(text, absent)] == []


def test_a_mention_of_a_tool_that_is_not_there_is_found() -> None:
    tool = {"function": {"name": "read", "description": "Reads.", "parameters": {}}}
    check_mentions({"tools": [tool], "messages": [{"role": "user", "content": "Use `read`."}]})
    with pytest.raises(AssertionError):
        check_mentions({"tools": [tool], "messages": [{"role": "user", "content": "Use `todo`."}]})
