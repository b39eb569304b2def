"""Tools on demand as a provider sees them: which tools requests offer, in one session and later."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from bench.stories import StoryServer, story_server
from tests.cli.harness import World

from assent.llm.scripted import ScriptedCall, ScriptedTurn

FIRST = [
    "read", "glob", "grep", "shell", "write", "edit", "write_plan", "todo", "question",
    "present_plan", "more_tools",
]  # fmt: skip
DONE = ScriptedTurn("Done.")
AGENT = b"---\ndescription: Reviews.\nmode: subagent\n---\nReview.\n"


@pytest.fixture
def server(world: World) -> Iterator[StoryServer]:
    with story_server() as found:
        world.env |= {"OPENAI_BASE_URL": found.url}
        yield found


def calls(tool: str, **args: object) -> ScriptedTurn:
    return ScriptedTurn("I call it.", calls=(ScriptedCall(tool, dict(args)),))


def say(world: World, server: StoryServer, *words: str, answers: tuple[ScriptedTurn, ...]) -> None:
    server.answers = [*answers]
    answer = world.run("-p", *words, "--model", "openai/m")
    assert (answer.code, server.answers, server.excess) == (0, [], 0), answer


def sent(server: StoryServer) -> list[dict[str, Any]]:
    return [json.loads(body) for body in server.bodies]


def offers(server: StoryServer) -> list[list[str]]:
    return [[each["function"]["name"] for each in body["tools"]] for body in sent(server)]


def test_the_list_grows_at_its_end_and_is_the_same_after_a_restart(
    world: World, server: StoryServer
) -> None:
    asked = calls("more_tools", names=["task", "patch"])
    say(world, server, "Look", answers=(asked, calls("search", name="x"), DONE))
    say(world, server, "-c", "And now", answers=(DONE,))
    grown = [*FIRST, "patch", "task"]
    assert offers(server) == [FIRST, grown, [*grown, "search"], [*grown, "search"]]
    bodies = sent(server)
    for before, later in pairwise(bodies):
        assert later["messages"][: len(before["messages"])] == before["messages"]
        assert later["tools"][: len(before["tools"])] == before["tools"]


def test_a_rewind_does_not_take_tools_away_and_a_fork_has_what_it_copied(
    world: World, server: StoryServer
) -> None:
    say(world, server, "Look", answers=(DONE,))
    say(world, server, "-c", "Further", answers=(calls("more_tools", names=["git"]), DONE))
    [session] = world.ok("sessions", "list")["sessions"]
    fork = world.ok("sessions", "fork", session["slug"])["slug"]
    world.ok("sessions", "rewind", session["slug"])
    say(world, server, "-r", session["slug"], "Back", answers=(DONE,))
    say(world, server, "-r", fork, "On", answers=(DONE,))
    assert offers(server)[-2:] == [[*FIRST, "git"], [*FIRST, "git"]]


def test_a_call_of_a_tool_that_was_not_offered_runs_if_the_gate_lets_it(
    world: World, server: StoryServer
) -> None:
    world.put("a.txt", b"a\n")
    say(world, server, "Look", answers=(calls("delete", path="a.txt"), DONE))
    assert offers(server) == [FIRST, [*FIRST, "unstage", "draft", "rehearse", "delete"]]
    assert [each["kind"] for each in world.ok("stage", "list")["operations"]] == ["delete"]
    assert world.files()[b"a.txt"][2] == b"a\n"


def test_f13_one_that_the_mode_does_not_allow_is_refused_and_never_listed(
    world: World, server: StoryServer
) -> None:
    world.config.write_text("[plan]\nstaging = false\n", encoding="utf-8")
    world.put("a.txt", b"a\n")
    answers = (calls("delete", path="a.txt"), calls("more_tools", names=["delete"]), DONE)
    say(world, server, "Delete a.txt", answers=answers)
    told = [m["content"] for m in sent(server)[-1]["messages"] if m["role"] == "tool"]
    assert "is not available, so nothing was done" in told[0]
    assert "choose from these: list, search, git, options, remember, task." in told[1]
    assert not any("delete" in names for names in offers(server))
    assert "delete" not in json.dumps(sent(server)[-1]["tools"])
    assert world.files()[b"a.txt"][2] == b"a\n"


def test_what_a_message_or_a_result_shows_to_be_needed_is_offered(
    world: World, server: StoryServer
) -> None:
    world.put("data/b.ipynb", b"{}")
    say(world, server, "Have a sub-agent look", answers=(calls("glob", pattern="**/*"), DONE))
    assert offers(server) == [[*FIRST, "task"], [*FIRST, "task", "notebook_edit"]]
    task = sent(server)[0]["tools"][-1]["function"]["description"]
    assert "Agents: explore (Finds and explains code; changes nothing.), general (" in task


def test_sub_agents_of_the_project_are_known_at_once(world: World, server: StoryServer) -> None:
    world.put(".opencode/agents/critic.md", AGENT)
    say(world, server, "Look", answers=(DONE,))
    [names] = offers(server)
    assert names == [*FIRST[:-1], "task", "more_tools"]
    described = {each["function"]["name"]: each["function"] for each in sent(server)[0]["tools"]}
    assert "critic (Reviews.)" in described["task"]["description"]


def test_a_rule_against_asking_has_everything_offered(world: World, server: StoryServer) -> None:
    world.config.write_text('[permission]\nmore_tools = "deny"\n', encoding="utf-8")
    say(world, server, "Look", answers=(DONE,))
    [names] = offers(server)
    assert "more_tools" not in names
    assert {*names} >= {"git", "search", "task", "patch", "delete", "move", "notebook_edit"}


def test_a_sub_agent_has_a_list_of_its_own(world: World, server: StoryServer) -> None:
    task = calls("task", prompt="Look", agent="explore")
    say(world, server, "Look", answers=(task, calls("git", command="status"), DONE, DONE))
    first, child, later, last = offers(server)
    assert (first, last) == (FIRST, [*FIRST, "task"])
    assert child == ["read", "list", "glob", "grep", "search", "shell", "question", "more_tools"]
    assert later == [*child, "git"]


def test_the_system_prompt_stays_when_a_tool_comes(world: World, server: StoryServer) -> None:
    say(world, server, "Look", answers=(calls("more_tools", names=["task"]), DONE))
    first, second = (body["messages"][0] for body in sent(server))
    assert first == second
    assert "`task`" not in first["content"]
