"""Tools of servers: what is started when, under which names, and what counts as reading."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from tests.sandbox import serving

from assent.app.mcp import McpTools
from assent.config.settings import McpSettings
from assent.core.mcp import McpTool
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.sandbox.runner.user_program import IN_WORKSPACE
from assent.tools.tool import RawArguments, Tool, ToolContext

AROUND = cast(ToolContext, None)  # no tool of a server looks around
PROGRAM = str(Path(serving.__file__))
PEEK = McpTool("peek", "Looks at a file.", serving.SCHEMA).digest
POKE = McpTool("poke", "Writes a file.", serving.SCHEMA).digest
PICTURE = "[image, image/png, 4 characters; not shown]"


class Bench:
    """A workspace, a folder in which servers count, and their tools."""

    def __init__(self, base: Path) -> None:
        self.root, self.notes = base / "project", base / "notes"
        self.root.mkdir()
        self.notes.mkdir()
        self.warnings: list[str] = []
        self.opened: list[McpTools] = []

    def server(self, behaviour: str = "", **more: Any) -> McpSettings:
        words = (sys.executable, "-I", "-S", PROGRAM, str(self.notes), behaviour)
        return McpSettings(words, **more)

    def open(self, *taken: str, **servers: McpSettings) -> McpTools:
        opened = McpTools(servers, os.fsencode(self.root), taken, self.warnings.append)
        self.opened.append(opened)
        return opened

    def noted(self, name: str) -> list[str]:
        path = self.notes / name
        return path.read_text("utf-8").splitlines() if path.exists() else []


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    found = Bench(tmp_path)
    yield found
    for each in found.opened:
        each.close()


def by_name(tools: tuple[Tool, ...]) -> dict[str, Action]:
    return {tool.name: tool.action for tool in tools}


def test_f15_while_planning_only_servers_with_reading_tools_start(bench: Bench) -> None:
    opened = bench.open(one=bench.server(), two=bench.server(enabled=False, reads={"peek": "*"}))
    assert opened.tools("plan") == ()
    assert bench.noted("starts") == []
    tools = opened.tools("ask")
    assert by_name(tools) == {"one_peek": Action.TOOL, "one_poke": Action.TOOL}
    assert opened.tools("auto-edit") is tools
    assert (len(bench.noted("starts")), bench.warnings) == (1, [])


@pytest.mark.parametrize("said", ["*", PEEK])
def test_f15_a_tool_reads_once_the_user_says_so_and_no_other(bench: Bench, said: str) -> None:
    opened = bench.open(one=bench.server(reads={"peek": said}))
    expected = {"one_peek": Action.READ, "one_poke": Action.TOOL}
    assert [by_name(opened.tools(mode)) for mode in ("plan", "ask")] == [expected] * 2
    peek, poke = opened.tools("plan")
    free = RawArguments({"path": "a"})
    assert list(peek.touches(free, AROUND)) == [ResourceAccess(Action.READ, "one_peek", "one_peek")]
    assert list(poke.touches(free, AROUND)) == [ResourceAccess(Action.TOOL, "one_poke", "one_poke")]
    assert bench.noted("calls") == []


@pytest.mark.parametrize("said", [POKE, "", PEEK[:12], "yes"])
def test_f15_another_digest_voids_it(bench: Bench, said: str) -> None:
    opened = bench.open(one=bench.server(reads={"peek": said}))
    assert set(by_name(opened.tools("plan")).values()) == {Action.TOOL}
    assert bench.warnings == [
        "Tool 'peek' of MCP server one changed since you listed it as read-only: its digest is now "
        f"{PEEK}. It is treated as a tool that changes things. Run `assent mcp list` to check it."
    ]


def test_a_call_is_answered_in_words(bench: Bench) -> None:
    (peek, _) = bench.open(one=bench.server()).tools("ask")
    assert peek.run(RawArguments({"path": "a"}), AROUND) == ToolOutcome(
        f"peek: a\n{PICTURE}", "one_peek"
    )
    assert peek.run(RawArguments({"path": "nowhere"}), AROUND).failed
    assert bench.noted("calls") == ["peek a", "peek nowhere"]


def test_the_schema_is_the_servers_own(bench: Bench) -> None:
    (peek, _) = bench.open(one=bench.server()).tools("ask")
    assert peek.schema == serving.SCHEMA
    assert peek.text == "Looks at a file.\n\nThis is a tool of the MCP server one."


def test_names_are_nobody_elses(bench: Bench) -> None:
    opened = bench.open("a_b_poke", **{"a b": bench.server(), "a.b": bench.server()})
    names = [tool.name for tool in opened.tools("ask")]
    assert names == ["a_b_peek", "a_b_poke_2", "a_b_peek_2", "a_b_poke_3"]


def test_one_that_fails_is_a_warning_and_the_others_go_on(bench: Bench) -> None:
    servers = {"bad": bench.server("dead"), "good": bench.server()}
    opened = bench.open(**servers, gone=McpSettings(("no-such-server-here",)))
    assert [tool.name for tool in opened.tools("ask")] == ["good_peek", "good_poke"]
    assert bench.warnings == [
        'MCP server bad failed: it exited. Last error output: "no licence today". It was '
        "stopped. Its tools are not offered.",
        "MCP server gone could not be started: no-such-server-here not found or not executable. "
        "Its tools are not offered.",
    ]
    opened.tools("yolo")
    assert len(bench.noted("starts")) == 2


def test_a_reading_tool_that_the_server_has_not_is_remarked(bench: Bench) -> None:
    bench.open(one=bench.server(reads={"stare": "*"})).tools("plan")
    assert bench.warnings == ["`mcp.one.reads` lists 'stare', but the server has no such tool."]


def test_a_server_gets_few_variables_and_its_own(bench: Bench) -> None:
    script = 'env | cut -d= -f1 | sort > "$NOTES"'
    settings = McpSettings(("sh", "-c", script), {"NOTES": str(bench.notes / "env"), "MINE": "1"})
    bench.open(one=settings).tools("ask")
    theirs = {*bench.noted("env")} - {"PWD", "OLDPWD", "SHLVL", "_"}
    assert {"MINE", "NOTES"} <= theirs
    assert theirs - {"MINE", "NOTES"} <= {*os.environ}
    assert all("KEY" not in name and "TOKEN" not in name for name in theirs)


def test_a_program_of_the_workspace_is_no_server(bench: Bench) -> None:
    inner = bench.root / "server.sh"
    inner.write_text("#!/bin/sh\n", encoding="utf-8")
    inner.chmod(0o755)
    for command in ((str(inner),), ("sh", str(inner)), ("sh", "{workspace}/server.sh")):
        bench.warnings.clear()
        assert bench.open(one=McpSettings(command)).tools("ask") == ()
        assert IN_WORKSPACE in bench.warnings[0]


def test_a_server_starts_outside_the_workspace_and_can_be_told_of_it(bench: Bench) -> None:
    script = 'pwd > "$1/where"; echo "$2" >> "$1/where"'
    words = ("sh", "-c", script, "sh", str(bench.notes), "--root={workspace}")
    bench.open(one=McpSettings(words)).tools("ask")
    where, told = bench.noted("where")
    assert (Path(where) != bench.root, told) == (True, f"--root={bench.root}")
