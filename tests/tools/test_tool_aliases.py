"""Aliases: names from elsewhere mean a tool here, or are refused with the right name."""

from pathlib import Path

import pytest
from tests.tools.call_harness import Desk

from assent.core.llm import ToolCall
from assent.core.session.event import Question, QuestionOption, Todo
from assent.core.tool import (
    MemoryEffect,
    PresentPlanEffect,
    QuestionsEffect,
    TodosEffect,
    without_missing_tools,
)
from assent.tools.aliases import (
    ALIASES,
    ARGUMENTS,
    IGNORED_ARGUMENTS,
    IGNORED_VALUES,
    UNSUPPORTED,
    UNSUPPORTED_ARGUMENTS,
    normalized_name,
    resolve_alias,
)
from assent.tools.registry import TOOLS

BY_NAME = {tool.name: tool for tool in TOOLS}
NAMES = {
    "Write": "write", "Edit": "edit", "MultiEdit": "edit", "Read": "read", "LS": "list",
    "Glob": "glob", "Grep": "grep", "Bash": "shell", "NotebookEdit": "notebook_edit",
    "WebFetch": "fetch", "TodoWrite": "todo", "AskUserQuestion": "question",
    "ExitPlanMode": "present_plan", "EnterPlanMode": "enter_plan", "write_file": "write",
    "read_file": "read", "str_replace": "edit", "create_file": "write", "apply_patch": "patch",
    "list_dir": "list", "list_directory": "list", "search_codebase": "search",
    "run_terminal_cmd": "shell", "bash": "shell", "exec": "shell", "exit_plan": "present_plan",
    "todowrite": "todo", "webfetch": "fetch", "update_plan": "todo", "delete_file": "delete",
    "rename-file": "move", "SaveMemory": "remember", "Present_Plan": "present_plan",
    "Task": "task", "Agent": "task", "delegate": "task", "spawn_agent": "task", "new_task": "task",
}  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    desk.put("f", "a\nb\n")
    return desk


def understood(name: str, args: dict[str, object]) -> tuple[str, object]:
    call = resolve_alias(ToolCall("c", name, args), BY_NAME)
    return call.tool, call.args


@pytest.mark.parametrize(("alias", "tool"), NAMES.items())
def test_a_name_from_elsewhere_means_a_tool_here(alias: str, tool: str) -> None:
    assert understood(alias, {})[0] == tool


def test_every_alias_leads_to_a_tool_and_every_argument_to_a_field() -> None:
    fields = {field for tool in TOOLS for field in tool.args.__struct_encode_fields__}
    inner = {"content", "old", "new", "replace_all", "multiple", "header", "label"}
    assert set(ALIASES.values()) == set(BY_NAME)
    assert not ALIASES.keys() & UNSUPPORTED.keys()
    assert {normalized_name(name) for name in (*ALIASES, *UNSUPPORTED)} == {*ALIASES, *UNSUPPORTED}
    assert [names for names in ARGUMENTS.values() if not {*names} & (fields | inner)] == []
    known = {*ARGUMENTS, *IGNORED_ARGUMENTS, *IGNORED_VALUES, *UNSUPPORTED_ARGUMENTS}
    assert {normalized_name(name) for name in known} == known
    assert not {*IGNORED_ARGUMENTS} & {*IGNORED_VALUES, *UNSUPPORTED_ARGUMENTS}


CALLS: dict[str, tuple[dict[str, object], tuple[str, dict[str, object]]]] = {
    "Write": ({"file_path": "n", "content": "x"}, ("write", {"path": "n", "content": "x"})),
    "create_file": ({"path": "n", "file_text": "x"}, ("write", {"path": "n", "content": "x"})),
    "Edit": (
        {"file_path": "f", "old_string": "a", "new_string": "b", "replace_all": True},
        ("edit", {"edits": [{"path": "f", "old": "a", "new": "b", "replace_all": True}]}),
    ),
    "MultiEdit": (
        {"file_path": "f", "edits": [{"old_string": "a", "new_string": "b"}]},
        ("edit", {"edits": [{"path": "f", "old": "a", "new": "b"}]}),
    ),
    "update_file": ({"path": "f", "content": "x"}, ("write", {"path": "f", "content": "x"})),
    "edit_file": (
        {"path": "f", "edits": [{"oldText": "a", "newText": "b"}]},
        ("edit", {"edits": [{"path": "f", "old": "a", "new": "b"}]}),
    ),
    "str_replace_editor": (
        {"command": "str_replace", "path": "f", "old_str": "a", "new_str": "b"},
        ("edit", {"edits": [{"path": "f", "old": "a", "new": "b"}]}),
    ),
    "str_replace_based_edit_tool": (
        {"command": "create", "path": "n", "file_text": "x"},
        ("write", {"path": "n", "content": "x"}),
    ),
    "Bash": (
        {"command": "ls", "description": "List", "timeout": 5},
        ("shell", {"command": "ls", "subject": "List", "timeout": 5.0}),
    ),
    "apply_patch": ({"input": "p"}, ("patch", {"patch": "p"})),
    "mv": ({"source": "a", "destination": "b"}, ("move", {"path": "a", "to": "b"})),
    "NotebookEdit": (
        {"notebook_path": "n", "cell_id": "1", "new_source": "x", "edit_mode": "insert",
         "cell_type": "code"},
        ("notebook_edit", {"path": "n", "cell": "1", "source": "x", "action": "insert",
                           "kind": "code"}),
    ),
    "write": ({"file_path": "n", "content": "x"}, ("write", {"path": "n", "content": "x"})),
    "WebFetch": ({"url": "https://x", "prompt": "?"}, ("fetch", {"url": "https://x"})),
    "Grep": (
        {"pattern": "x", "glob": "*.py", "output_mode": "content", "-n": True, "head_limit": 5},
        ("grep", {"pattern": "x", "include": "*.py", "show": "content", "limit": 5}),
    ),
    "Glob": ({"glob_pattern": "*.py"}, ("glob", {"pattern": "*.py"})),
    "Task": (
        {"description": "d", "prompt": "p", "subagent_type": "general", "run_in_background": True},
        ("task", {"description": "d", "prompt": "p", "agent": "general", "background": True}),
    ),
    "delegate_to_agent": (
        {"agent_name": "explore", "objective": "p", "task_id": "1"},
        ("task", {"agent": "explore", "prompt": "p", "session": "1"}),
    ),
    "nobody_knows_it": ({"path": "a"}, ("nobody_knows_it", {"path": "a"})),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_arguments_are_renamed(name: str) -> None:
    args, wanted = CALLS[name]
    assert understood(name, args) == wanted


def test_an_argument_that_is_there_twice_is_not_guessed_at(desk: Desk) -> None:
    told = desk.failing("Write", path="a", file_path="b", content="x")
    assert "`file_path` is unknown" in told


def test_whole_lists_of_other_families_are_taken_in(desk: Desk) -> None:
    todos = [{"content": "a", "status": "in_progress", "activeForm": "Doing a", "id": "1"}]
    assert desk.call("TodoWrite", todos=todos).effect == TodosEffect((Todo("a", "in_progress"),))
    steps = [{"step": "a", "status": "completed"}]
    called = desk.call("update_plan", explanation="x", plan=steps)
    assert called.effect == TodosEffect((Todo("a", "completed"),))
    options = [{"label": "x", "description": "y"}]
    question = {"question": "Q?", "header": "H", "options": options, "multiSelect": True}
    wanted = QuestionsEffect((Question("H", "Q?", (QuestionOption("x", "y"),), multiple=True),))
    assert desk.call("AskUserQuestion", questions=[question]).effect == wanted
    assert desk.call("ask_user", **question).effect == wanted
    worded = {"header": "H", "question": "Q?", "options": ["x"]}
    wanted = QuestionsEffect((Question("H", "Q?", (QuestionOption("x"),)),))
    assert desk.call("question", questions=[worded]).effect == wanted
    assert desk.call("save_memory", memory="m").effect == MemoryEffect("m")


def test_a_plan_that_comes_with_the_exit_is_not_lost_silently(desk: Desk) -> None:
    assert "write_plan" in desk.failing("ExitPlanMode", plan="# My plan")
    assert desk.call("ExitPlanMode", plan="").effect == PresentPlanEffect()


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_has_no_counterpart_is_refused_with_what_to_use(desk: Desk, name: str) -> None:
    told = without_missing_tools(UNSUPPORTED[name], {"fetch"})  # which no host is allowed for here
    assert desk.failing(name, path="f") == f"{told} Nothing was done."


def test_an_editors_other_commands_are_refused_with_the_right_name(desk: Desk) -> None:
    assert "`edit`" in desk.failing("str_replace_editor", command="insert", path="f")
    assert "`edit`" in desk.failing("str_replace_editor", command="undo_edit", path="f")
    assert "Unknown tool `str_replace_editor`" in desk.failing(
        "str_replace_editor", command="explode", path="f"
    )
