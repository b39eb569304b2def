"""No advice names a tool that the model does not have, in whatever mode, agent and setting."""

import ast
from itertools import product
from pathlib import Path

import msgspec
import pytest
from tests.adversarial.harness import Stage, events

import assent
from assent.agent.prompt import (
    ReminderContext,
    build_rules,
    child_rules,
    mode_rules,
    prompt_layers,
    reminder,
)
from assent.config.agents import agent_folders, load_agents
from assent.core.permission.mode import MODES
from assent.core.session.agent import PromptContext
from assent.core.session.record import SessionRecord
from assent.core.tool import TOOL_NAMES, mentions_tool, missing_tools, without_missing_tools
from assent.executor.disk import Disk
from assent.tools.registry import TOOLS

SOURCE = Path(assent.__file__).parent
# Who says something to a model; the tables of the shell also speak of programs of those names.
FOLDERS = ("tools", "permissions", "agent", "core/shell/parser.py", "sandbox/read_only_shell.py")
EDITING = {"write", "edit", "patch", "delete", "move", "notebook_edit"}
SETS = [
    frozenset(),
    *[frozenset({name}) for name in TOOL_NAMES],
    frozenset(EDITING),
    frozenset({*EDITING, "write_plan", "present_plan"}),
    frozenset({"shell", "git", "task", "fetch", "question", "todo"}),
    frozenset(TOOL_NAMES) - {"read"},
    frozenset(TOOL_NAMES),
]  # fmt: skip


def texts() -> list[str]:
    """Every string in the code of those who talk to models, docstrings aside."""
    found: list[str] = []
    for folder in FOLDERS:
        place = SOURCE / folder
        paths = [place] if place.is_file() else sorted(place.rglob("*.py"))
        assert paths, folder
        for path in paths:
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.append(node.value)
    return [text for text in found if " " in text and mentions_tool(text, TOOL_NAMES)]


def test_every_tool_has_its_name_here() -> None:
    assert sorted(TOOL_NAMES) == sorted(tool.name for tool in TOOLS)
    assert missing_tools(TOOL_NAMES) == frozenset()


def test_no_text_keeps_the_name_of_an_absent_tool() -> None:
    known = texts()
    assert len(known) > 40
    for text, absent in product(known, SETS):
        told = without_missing_tools(text, absent)
        assert not mentions_tool(told, absent), (text, told)
        assert absent or told == text


@pytest.mark.parametrize(
    ("text", "absent", "told"),
    [
        ("a does not exist. Use `write` to create it.", {"write"}, "a does not exist."),
        ("a does not exist. Use `write` to create it.", {"edit"}, None),
        ("It is in a.txt; use `read` to see any part of it.", {"read"}, "It is in a.txt."),
        ("`rm` only: use the `delete` tool (manually: `x`).", {"delete"}, "`rm` only."),
        ("Use the `write` or `edit` tool.", {"write"}, "Use the `edit` tool."),
        ("`read`, `grep` and `glob` see it.", {"grep"}, "`read` and `glob` see it."),
        ("`read`, `grep` and `glob` see it.", {"grep", "read", "glob"}, ""),
        ("Write it with write_plan.", {"write_plan"}, ""),
        ("1. Look.\n2. Use `todo`.\n3. Go. Use `todo`.", {"todo"}, "1. Look.\n3. Go."),
        ("No `grep` here? Read.", {"read"}, None),
    ],
)
def test_the_advice_goes_and_the_reason_stays(
    text: str, absent: set[str], told: str | None
) -> None:
    assert without_missing_tools(text, absent) == (text if told is None else told)


def test_reminders_name_no_tool_at_all() -> None:
    record = SessionRecord("s", "w", "slug", "plan", "then", "then", 1)
    told = [mode_rules(mode, staging=staging) for mode in MODES for staging in (True, False)]
    told += [child_rules(mode) for mode in MODES] + [build_rules(("src/**",))]
    told += [
        reminder(msgspec.structs.replace(record, mode=mode), None, ReminderContext(staging=staging))
        for mode in MODES
        for staging in (True, False)
    ]
    assert [text for text in told if mentions_tool(text, TOOL_NAMES)] == []


@pytest.mark.parametrize("absent", SETS, ids=lambda each: " ".join(sorted(each))[:40] or "none")
def test_no_prompt_of_our_own_names_an_absent_tool(tmp_path: Path, absent: frozenset[str]) -> None:
    briefing = PromptContext(("Sub-agents for `task`: explore (looks around)", "Branch: main"))
    places = agent_folders(tmp_path, tmp_path, bytes(tmp_path))
    agents, _ = load_agents(places, Disk().open)
    for agent in agents.values():
        for layer in prompt_layers(agent, briefing, "openai/x", absent=absent):
            assert not mentions_tool(layer.text, absent), (agent.name, layer)


CALLS = [
    ("read", {"path": "missing.txt"}), ("edit", {"path": "missing", "old": "a", "new": "b"}),
    ("edit", {"path": "a.txt", "old": "", "new": "b"}), ("shell", {"command": "rm a.txt"}),
    ("shell", {"command": "cp a.txt b.txt"}), ("shell", {"command": "echo x > b.txt"}),
    ("shell", {"command": "sed -i s/a/b/ a.txt"}), ("shell", {"command": "find . -delete"}),
    ("shell", {"command": "vim a.txt"}), ("present_plan", {}), ("present_plan", {"plan": "# X"}),
    ("web_search", {"query": "x"}), ("python", {"code": "1"}), ("insert", {"path": "a.txt"}),
    ("undo_edit", {"path": "a.txt"}), ("todo_read", {}), ("bash_output", {"id": "1"}),
    ("write", {"path": ".opencode/plans/x/PLAN_x.md", "content": "x"}),
    ("notebook_edit", {"path": "a.txt", "cell": "0", "source": ""}), ("enter_plan", {}),
    ("shell", {"command": "cat long.txt"}), ("fetch", {"url": "http://x.test/"}),
    ("task", {"description": "x", "prompt": "x", "agent": "none"}), ("nonsense", {}),
]  # fmt: skip
NARROW = '[modes.narrow]\nbase = "plan"\ntools = ["shell", "present_plan"]\n'
WORLDS = {
    "plan": ("", ()),
    "without staging": ("[plan]\nstaging = false\n", ()),
    "a mode with two tools": (NARROW, ("--mode", "narrow")),
    "an agent that looks": ("", ("--agent", "explore")),
    "ask": ("", ("--mode", "ask")),
    "yolo": ("", ("--mode", "yolo")),
    "a rule": ('[permission]\nedit = "deny"\nread = "deny"\n', ()),
}


@pytest.mark.parametrize(("config", "options"), WORLDS.values(), ids=WORLDS)
def test_no_result_names_a_tool_that_was_not_offered(
    tmp_path: Path, config: str, options: tuple[str, ...]
) -> None:
    # An editor waits for keys until its time is over.
    stage = Stage(tmp_path, config + "[loops]\ngive_up = 0\n[shell]\ntimeout_s = 2\n")
    stage.put("a.txt", b"one\n")
    stage.put("long.txt", b"line\n" * 40_000)
    made = [{"calls": [{"tool": tool, "args": args}]} for tool, args in CALLS]
    answer = stage.play(*made, {"text": "That is all."}, options=options)
    mode = [word for word in options if options[:1] != ("--agent",)]
    agent = [word for word in options if options[:1] == ("--agent",)]
    rows = stage.ok("debug", "tools", *mode, *agent)["tools"]
    absent = {row["name"] for row in rows if not row["offered"]} & set(TOOL_NAMES)
    assert absent
    ended = [event["body"] for event in events(answer) if event["kind"] == "call_ended"]
    assert len(ended) == len(CALLS) or any(each["tool"] == "present_plan" for each in ended)
    for each in ended:
        own = {each["tool"], *({"git", "grep"} if each["tool"] == "shell" else ())}
        assert not mentions_tool(each["result"]["text"], absent - own), each
