"""A model's command becomes part of the plan only if the call says so; log and answers agree."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.stories import StoryServer, story_server
from tests.cli.harness import World

from assent.agent.draft_results import STAGED_COMMAND
from assent.llm.scripted import ScriptedCall, ScriptedTurn
from assent.permissions.check import NOT_STAGED, NOTHING_STAGED
from assent.permissions.commands.read_only.alternatives import unlisted_command_reason

MAKES = "touch made"
WHY = f"{NOT_STAGED.format(why=unlisted_command_reason('touch'))} Nothing was done."


class Planner(World):
    """A workspace with a model on a server; keeps what it was sent, and what was logged."""

    def __init__(self, base: Path, server: StoryServer, config: str = "") -> None:
        super().__init__(base, config)
        self.server = server
        self.env |= {"OPENAI_BASE_URL": server.url}
        self.put("a.txt", b"one\n")

    def plays(self, *turns: ScriptedTurn, options: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        """Has the model answer in turns; returns the stream of the session's events."""
        self.server.answers = [*turns, ScriptedTurn("Done.")]
        words = ("-p", "Make it", *options, "--model", "openai/m", "--output-format", "stream-json")
        answer = self.run(*words)
        assert answer.code in (0, 3), answer
        return [json.loads(line) for line in answer.out.splitlines()]

    def shells(self, *args: dict[str, Any], options: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        """Has the model call `shell` in one answer; returns how each call ended."""
        calls = tuple(ScriptedCall("shell", each) for each in args)
        rows = self.plays(ScriptedTurn("I work.", calls=calls), options=options)
        return [row["body"] for row in rows if row["kind"] == "call_ended"]

    @property
    def results(self) -> list[str]:
        """The results of calls as the last request has them."""
        messages = json.loads(self.server.bodies[-1])["messages"]
        return [each["content"] for each in messages if each["role"] == "tool"]

    def staged(self) -> list[str]:
        return [row["script"] for row in self.ok("stage", "list")["operations"]]

    def offered(self) -> dict[str, Any]:
        """The arguments of `shell` that the first request offers."""
        tools = [each["function"] for each in json.loads(self.server.bodies[0])["tools"]]
        [shell] = [each for each in tools if each["name"] == "shell"]
        return dict(shell["parameters"]["properties"])


@pytest.fixture
def server() -> Iterator[StoryServer]:
    with story_server() as server:
        yield server


@pytest.fixture
def planner(tmp_path: Path, server: StoryServer) -> Planner:
    return Planner(tmp_path, server)


@pytest.fixture
def stager(tmp_path: Path, server: StoryServer) -> Planner:
    """One whose commands are staged and run nowhere before."""
    return Planner(tmp_path, server, '[plan]\nshell = "stage"\n')


def test_f13_a_command_is_staged_only_if_the_call_says_so(stager: Planner) -> None:
    refused, staged, read = stager.shells(
        {"command": MAKES}, {"command": MAKES, "stage": True}, {"command": "cat a.txt"}
    )
    verdicts = [(end["verdict"], end["result"]["failed"]) for end in (refused, staged, read)]
    assert verdicts == [("deny", True), ("stage", False), ("run", False)]
    assert stager.results[0] == refused["result"]["text"] == WHY
    assert stager.results[1].startswith(STAGED_COMMAND.format(number=1, count=1, id="")[:-1])
    assert stager.results[2] == "one"
    assert stager.staged() == [MAKES]
    assert not (stager.root / "made").exists()


def test_f13_what_is_said_before_a_command_is_what_happens_to_it(stager: Planner) -> None:
    """The execution plan, the log, the decisions and the model have one story of each call."""
    calls = (
        ScriptedCall("shell", {"command": MAKES}),
        ScriptedCall("shell", {"command": MAKES, "stage": True}),
    )
    rows = stager.plays(ScriptedTurn("I work.", calls=calls))
    planned = [
        one for row in rows if row["kind"] == "batch_planned" for one in row["body"]["calls"]
    ]
    ended = [row["body"] for row in rows if row["kind"] == "call_ended"]
    assert [one["verdict"] for one in planned] == [one["verdict"] for one in ended]
    assert planned[0]["reasons"] == [WHY.removesuffix(" Nothing was done.")]
    decisions = stager.ok("log", "--decisions")["decisions"]
    assert [row["decision"] for row in decisions] == ["deny", "stage"]
    shown = stager.run("sessions", "show").out.decode()
    assert NOT_STAGED.partition(" {why}")[0] in shown


@pytest.mark.parametrize("wish", [{"stage": True}, {"at_end": True}])
def test_f61_a_command_that_only_reads_is_staged_if_the_call_says_so(
    planner: Planner, wish: dict[str, Any]
) -> None:
    [end] = planner.shells({"command": "cat a.txt", **wish})
    assert end["verdict"] == "stage"
    assert planner.results == [end["result"]["text"]]
    assert planner.results[0].startswith(STAGED_COMMAND.format(number=1, count=1, id="")[:-1])
    assert "one" not in planner.results[0].split()
    assert planner.staged() == ["cat a.txt"]


def test_f61_a_check_at_the_end_is_staged_without_further_words(planner: Planner) -> None:
    [end] = planner.shells({"command": "make check", "at_end": True})
    assert end["verdict"] == "stage"
    assert planner.staged() == ["make check"]


def test_a_refusal_that_stage_would_not_change_does_not_advise_it(planner: Planner) -> None:
    ends = planner.shells(
        {"command": "rm -rf ."},
        {"command": "make deploy"},
        options=("--deny", "bash:make deploy"),
    )
    assert {end["verdict"] for end in ends} == {"deny"}
    assert not any("`stage" in text for text in planner.results)


def test_outside_plan_mode_stage_changes_nothing(planner: Planner) -> None:
    for mode, verdict in (("yolo", "run"), ("ask", "ask")):
        ends = planner.shells(
            {"command": f"touch {mode}"},
            {"command": f"touch {mode}", "stage": True},
            {"command": "cat a.txt", "stage": True},
            options=("--mode", mode),
        )
        assert [end["verdict"] for end in ends] == [verdict, verdict, "run"]
    assert (planner.root / "yolo").exists()
    assert not (planner.root / "ask").exists()


def test_where_nothing_can_be_staged_nothing_of_it_is_offered(
    tmp_path: Path, server: StoryServer
) -> None:
    planner = Planner(tmp_path, server, "[plan]\nstaging = false\n")
    refused, reads = planner.shells({"command": MAKES, "stage": True}, {"command": "cat a.txt"})
    assert (refused["verdict"], reads["verdict"]) == ("deny", "run")
    assert not any("`stage" in text for text in planner.results)
    assert not {"stage", "at_end", "network"} & planner.offered().keys()
    [asked] = planner.shells({"command": "cat a.txt", "stage": True})
    assert (asked["verdict"], asked["result"]["text"]) == (
        "deny",
        f"{NOTHING_STAGED} Nothing was done.",
    )


def test_plan_mode_offers_staging_and_says_what_it_is(planner: Planner) -> None:
    planner.shells({"command": "cat a.txt"})
    offered = planner.offered()
    assert offered["stage"] == {"type": "boolean", "description": "do not run"}
    assert offered["keep"] == {"type": "string", "description": "true or globs"}
    assert list(offered) == ["command", "keep", "stage", "network", "at_end", "timeout"]


def test_a_model_that_follows_the_advice_gets_there(stager: Planner) -> None:
    """Refused once, staged with the next answer; the loop guard has nothing to say about it."""
    stager.plays(
        ScriptedTurn("I try.", calls=(ScriptedCall("shell", {"command": MAKES}),)),
        ScriptedTurn("Then so.", calls=(ScriptedCall("shell", {"command": MAKES, "stage": True}),)),
        ScriptedTurn("Plan.", calls=(ScriptedCall("write_plan", {"text": "# Make\n\nIt.\n"}),)),
        ScriptedTurn("Here.", calls=(ScriptedCall("present_plan", {}),)),
    )
    review = stager.ok("review")
    assert [row["script"] for row in review["operations"]] == [MAKES]


def test_what_is_explained_to_a_person_is_what_a_call_with_stage_gets(planner: Planner) -> None:
    told = planner.ok("rules", "explain", "bash", MAKES)
    assert told["verdict"] == "stage"
    assert "`stage: true`" in told["note"]
    assert not planner.ok("rules", "explain", "bash", "cat a.txt")["note"]
